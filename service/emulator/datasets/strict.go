package datasets

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"zonedeck/service/emulator/answer"
)

// takes is h behind a look at the query: a parameter that is not among the names is
// refused, or noted where the service is loose.
func (a *API) takes(h http.HandlerFunc, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
			switch {
			case slices.Contains(names, name):
			case a.conf.Loose:
				noteParameter(w, name)
			default:
				refuse(w, shortened(name), unknownParameter)
				return
			}
		}
		h(w, r)
	}
}

func noteParameter(w http.ResponseWriter, name string) {
	answer.NoteUnknown(w, "query parameter "+name)
}

// readJSONBody reads a body that is a JSON object into v, or answers what is wrong with
// it; [API.knows] looks at its fields.
func (a *API) readJSONBody(w http.ResponseWriter, r *http.Request, most int64, v any) (body []byte, ok bool) {
	if !answer.IsJSON(r.Header) && !a.conf.Loose {
		refuse(w, "Content-Type", "Must be application/json")
		return nil, false
	}
	body, err := answer.ReadBody(w, r, most)
	if err != nil {
		refuse(w, "body", fmt.Sprintf("Could not be read: at most %d bytes within %s", most, answer.BodyTimeout))
		return nil, false
	}
	if json.Unmarshal(body, v) != nil {
		answer.JSON(w, http.StatusBadRequest, basisInput, parseError("Request body is not JSON, or not what is asked for"))
		return nil, false
	}
	return body, true
}

// knows refuses a field of a body that is not among the known paths, as in
// "deliver.type", or notes it where the service is loose.
func (a *API) knows(w http.ResponseWriter, body []byte, known ...string) bool {
	for _, name := range unknownFields(body, "", known) {
		if !a.conf.Loose {
			refuse(w, shortened(name), "Unknown field")
			return false
		}
		answer.NoteUnknown(w, name)
	}
	return true
}

// unknownFields are the paths of an object's fields that nobody knows. An object is
// looked into where a field of it is known.
func unknownFields(raw json.RawMessage, at string, known []string) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil // null
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		path := at + name
		switch {
		case strings.Contains(name, "."): // no path of ours
			out = append(out, path)
		case slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, path+".") }):
			out = append(out, unknownFields(fields[name], path+".", known)...)
		case !slices.Contains(known, path):
			out = append(out, path)
		}
	}
	return out
}
