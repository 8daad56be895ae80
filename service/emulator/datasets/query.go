package datasets

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
)

const unknownParameter = "Unknown parameter"

// parameters read values by name. Each says what is wrong with its value, or "".
type parameters map[string]func(v string) (reason string)

// set reads one value. ignore is told an unknown name; nil refuses it.
func (p parameters) set(name, v string, ignore func(name string)) (reason string) {
	switch read, known := p[name]; {
	case known:
		return read(v)
	case ignore == nil:
		return unknownParameter
	}
	ignore(name)
	return ""
}

// query reads a whole query, in the order of the names, and names the first parameter that
// is wrong.
func (p parameters) query(q url.Values, ignore func(name string)) (name, reason string) {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if reason := p.set(name, q.Get(name), ignore); reason != "" {
			return name, reason
		}
	}
	return "", ""
}

// ignore notes an unknown parameter of a query if the service is loose.
func (a *API) ignore(w http.ResponseWriter) func(name string) {
	if !a.conf.Loose {
		return nil
	}
	return func(name string) { answer.NoteUnknown(w, "query parameter "+name) }
}

func text(to *string, checks ...func(v string) (reason string)) func(string) string {
	return func(v string) string {
		for _, check := range checks {
			if reason := check(v); reason != "" {
				return reason
			}
		}
		*to = v
		return ""
	}
}

func oneOf(reason string, words ...string) func(string) string {
	return func(v string) string {
		if slices.Contains(words, v) {
			return ""
		}
		return reason
	}
}

func truth(to *bool) func(string) string {
	return func(v string) string {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return "Must be true or false"
		}
		*to = b
		return ""
	}
}

// number keeps a whole number that is not below least.
func number(to *int, least int) func(string) string {
	return func(v string) string {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Sprintf("Must be a number above %d", least-1)
		}
		*to = n
		return ""
	}
}

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

const maxFaults = 100

func sentence(reason string) string { return strings.ToUpper(reason[:1]) + reason[1:] }

// between reads a whole number; otherwise is its value if it is missing.
func between(t *document.Table, name string, least, most, otherwise int) int {
	if !t.Has(name) {
		return otherwise
	}
	return int(t.Int(name, int64(least), int64(most)))
}
