package datasets

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"zonedeck/service/emulator/answer"
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

// ignore notes an unknown parameter of a query where the service is loose.
func (a *API) ignore(w http.ResponseWriter) func(name string) {
	if !a.conf.Loose {
		return nil
	}
	return func(name string) { answer.NoteUnknown(w, "query parameter "+name) }
}

// text keeps a value that passes the checks.
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

// oneOf checks that a value is one of a few words.
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
