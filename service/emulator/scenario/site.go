package scenario

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/fault"
)

// Hosts are the names that the scenario's targets stand under, in lower case.
func (s *Scenario) Hosts() []string {
	hosts := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		hosts[i] = t.Host
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Site serves the scenario's targets, and everything else from next. The first target
// that fits answers; a host of the scenario without a page that fits answers 404.
func (s *Scenario) Site(next http.Handler) http.Handler {
	if len(s.Targets) == 0 {
		return next
	}
	hosts := map[string][]Target{}
	for _, t := range s.Targets {
		hosts[t.Host] = append(hosts[t.Host], t)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		pages, ok := hosts[strings.ToLower(strings.TrimSuffix(host, "."))]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		for i := range pages {
			if pages[i].fits(r) {
				pages[i].ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
}

func (t *Target) fits(r *http.Request) bool {
	method := t.Method == "" || t.Method == r.Method || t.Method == http.MethodGet && r.Method == http.MethodHead
	return method && fault.Glob(t.Path, r.URL.Path)
}

// ServeHTTP answers with the page.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t.Delay > 0 && clock.Pause(r.Context(), t.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	for name, v := range t.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(cmp.Or(t.Status, http.StatusOK))
	_, _ = io.WriteString(w, t.Body) // the caller may be gone
}
