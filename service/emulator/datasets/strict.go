package datasets

import (
	"net/http"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
)

// takes is h behind a look at the query: a parameter that is not among the names is
// refused, or noted where the service is loose.
func (a *API) takes(h http.HandlerFunc, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if unknown := answer.UnknownParameters(w, r, a.conf.Loose, names...); len(unknown) > 0 {
			refuse(w, shortened(unknown[0]), unknownParameter)
			return
		}
		h(w, r)
	}
}

func noteParameter(w http.ResponseWriter, name string) {
	answer.NoteUnknown(w, "query parameter "+name)
}

// readBody reads a body that is an object; where it is something else, it has answered.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, most int64) (*document.Table, bool) {
	body, err := document.Body(w, r, most, a.conf.Loose)
	if err != nil {
		field, reason, _ := strings.Cut(err.Error(), " ")
		refuse(w, field, sentence(reason))
		return nil, false
	}
	t, err := document.JSON(body)
	if err != nil {
		answer.JSON(w, http.StatusBadRequest, basisInput, parseError("Request body is not JSON, or not what is asked for: %s", err))
		return nil, false
	}
	return t.Loose(a.conf.Loose), true
}

// finish ends a body of which every field was asked for: it notes what a loose service
// lets pass. When something was wrong, it has answered.
func (a *API) finish(w http.ResponseWriter, t *document.Table) bool {
	t.Done()
	bad := inputErrors("")
	for _, e := range t.Errs()[:min(len(t.Errs()), maxFaults)] {
		reason := sentence(e.Reason())
		if e.Unknown {
			reason = "Unknown field"
		}
		bad.Errors = append(bad.Errors, [2]string{shortened(e.Field), reason})
	}
	if len(bad.Errors) > 0 {
		answer.JSON(w, http.StatusBadRequest, basisInput, bad)
		return false
	}
	for _, name := range t.Ignored() {
		answer.NoteUnknown(w, name)
	}
	return true
}

// maxFaults bounds the list of what is wrong with a body.
const maxFaults = 100

func sentence(reason string) string { return strings.ToUpper(reason[:1]) + reason[1:] }

// between is a field with a whole number; otherwise is what it is where it is missing.
func between(t *document.Table, name string, least, most, otherwise int) int {
	if !t.Has(name) {
		return otherwise
	}
	return int(t.Int(name, int64(least), int64(most)))
}
