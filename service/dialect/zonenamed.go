package dialect

import (
	"encoding/json"
	"fmt"
	"net/url"
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
// has to name exactly one, in the query or in the body. Every call of the API passes here
// before it is sent, whoever made it and whatever its method. The error is a
// *model.RequestError.
func NamesZone(path string, query url.Values, body []byte) error {
	if path = "/" + strings.Trim(path, "/"); path != zonePaths && !strings.HasPrefix(path, zonePaths+"/") || slices.Contains(zoneless, path) {
		return nil
	}
	var in struct {
		Zone json.RawMessage `json:"zone"`
	}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil {
		return unnamed(path)
	}
	names := slices.Concat(query["zone"], query["zones"])
	if len(in.Zone) > 0 {
		var name string
		var made struct { // POST /zone makes one
			Name string `json:"name"`
		}
		if json.Unmarshal(in.Zone, &name) != nil {
			_ = json.Unmarshal(in.Zone, &made) // then it names none
			name = made.Name
		}
		names = append(names, name)
	}
	if len(names) != 1 {
		return unnamed(path)
	}
	// A list or a pattern is not one zone.
	if _, err := model.ParseZoneName(names[0]); err != nil || strings.ContainsAny(names[0], "*,;|") {
		return unnamed(path)
	}
	return nil
}

func unnamed(path string) error {
	return &model.RequestError{Problems: []model.FieldProblem{{
		Field: "zone", Err: fmt.Errorf("%s without the name of one zone could concern every zone of the account: nothing was sent", clean(path)),
	}}}
}

// AsksAccount reports whether a call is about the account itself, which a service of this kind
// answers less often than fetches and jobs.
func AsksAccount(path string) bool {
	path = "/" + strings.Trim(path, "/")
	return slices.ContainsFunc([]string{zonePaths, "/status", "/customer", "/costs", "/domains", "/network_status"}, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
