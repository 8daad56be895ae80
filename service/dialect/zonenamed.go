package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"zonedeck/model"
)

// zonePaths is below which an account's zones are changed and shown. A call there that names
// no zone can concern every zone of the account: DELETE /zone, the allow and deny lists, the
// hosts, the passwords.
const zonePaths = "/zone"

// zoneless are the paths below zonePaths that are about no zone in particular and only read.
var zoneless = []string{"/zone/get_active_zones", "/zone/get_all_zones", "/zone/static/cities", "/zone/count_available_ips"}

// NamesZone refuses a call that could concern every zone because it names none: below /zone it
// has to name exactly one where the service looks for it, which is the query of a call that reads and
// the body of one that changes something. Every call of the API passes here before it is sent, whoever
// made it. The error is a *model.RequestError.
func NamesZone(method, to string, query url.Values, body []byte) error {
	at := tidyPath(to)
	reads := method == "" || method == http.MethodGet || method == http.MethodHead
	if at != zonePaths && !strings.HasPrefix(at, zonePaths+"/") || reads && slices.Contains(zoneless, at) {
		return nil
	}
	names := slices.Concat(query["zone"], query["zones"])
	switch {
	case reads && len(body) > 0: // whatever it says, it may be what counts
		return unnamed(to)
	case !reads:
		// Another name in the query, or a list of them, is refused below: it may be what counts.
		name, ok := zoneOf(body, method == http.MethodPost && at == zonePaths)
		if !ok {
			return unnamed(to)
		}
		names = append(names, name)
	}
	// A list or a pattern is not one zone.
	if len(names) != 1 || strings.ContainsAny(names[0], "*,;|") {
		return unnamed(to)
	}
	if _, err := model.ParseZoneName(names[0]); err != nil {
		return unnamed(to)
	}
	return nil
}

// tidyPath is a path as the most lenient server may read it: unescaped, without dots, in lower case.
func tidyPath(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		p = plain
	}
	p, _, _ = strings.Cut(p, "?")
	p, _, _ = strings.Cut(p, ";")
	return path.Clean("/" + strings.ToLower(strings.ReplaceAll(p, "\\", "/")))
}

// zoneOf is the zone that a body names, spelled exactly and once: encoding/json would also take "Zone"
// for it, which the service does not know, and the last of two. With makes it may be the object of a
// zone that is made.
func zoneOf(body []byte, makes bool) (name string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", false
		}
		if !strings.EqualFold(key.(string), "zone") { //nolint:forcetypeassert // a key of an object
			continue
		}
		if ok || key != "zone" {
			return "", false
		}
		ok = true
		if json.Unmarshal(value, &name) == nil {
			continue
		}
		if !makes {
			return "", false
		}
		if name, ok = nameOf(value); !ok {
			return "", false
		}
	}
	if _, err := d.Token(); err != nil {
		return "", false
	}
	_, err := d.Token()
	return name, ok && errors.Is(err, io.EOF)
}

// nameOf is the name of a zone that is made.
func nameOf(zone []byte) (name string, ok bool) {
	var made map[string]json.RawMessage
	if json.Unmarshal(zone, &made) != nil {
		return "", false
	}
	return name, json.Unmarshal(made["name"], &name) == nil
}

func unnamed(path string) error {
	return &model.RequestError{Problems: []model.FieldProblem{{
		Field: "zone", Err: fmt.Errorf("%s without the name of one zone could concern every zone of the account: nothing was sent", clean(path)),
	}}}
}

// AsksAccount reports whether a call is about the account itself, which a service of this kind
// answers less often than fetches and jobs.
func AsksAccount(path string) bool {
	path = tidyPath(path)
	return slices.ContainsFunc([]string{zonePaths, "/status", "/customer", "/costs", "/domains", "/network_status"}, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
