package datasets

import (
	"net/http"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
)

// takes checks the query before an endpoint: an unknown parameter is refused, or noted if
// the service is loose.
func (a *API) takes(do endpoint, names ...string) http.HandlerFunc {
	return a.serve(func(w http.ResponseWriter, r *http.Request) error {
		if unknown := answer.UnknownParameters(w, r, a.conf.Loose, names...); len(unknown) > 0 {
			return refused(shortened(unknown[0]), unknownParameter)
		}
		return do(w, r)
	})
}

// readBody reads a body that is an object.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, most int64) (*document.Table, error) {
	body, err := document.Body(w, r, most, a.conf.Loose)
	if err != nil {
		field, reason, _ := strings.Cut(err.Error(), " ")
		return nil, refused(field, sentence(reason))
	}
	t, err := document.JSON(body)
	if err != nil {
		return nil, parseError("Request body is not JSON, or not what is asked for: %s", err)
	}
	return t.Loose(a.conf.Loose), nil
}

// finish is called after the last field of a body. It notes unknown fields that a loose
// service accepts.
func finish(w http.ResponseWriter, t *document.Table) error {
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
		return bad
	}
	for _, name := range t.Ignored() {
		answer.NoteUnknown(w, name)
	}
	return nil
}

// maxFaults bounds the list of what is wrong with a body.
const maxFaults = 100

func sentence(reason string) string { return strings.ToUpper(reason[:1]) + reason[1:] }

// between reads a whole number; otherwise is its value if it is missing.
func between(t *document.Table, name string, least, most, otherwise int) int {
	if !t.Has(name) {
		return otherwise
	}
	return int(t.Int(name, int64(least), int64(most)))
}
