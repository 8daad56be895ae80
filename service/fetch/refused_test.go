package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/servicetest"
)

func TestWithoutAProfileNothingIsSent(t *testing.T) {
	gone := errors.New("the profile cannot be read")
	c := newFetcher(t, profile.Profile{}, func(c *Config) {
		c.Access.Profile = func(context.Context) (profile.Profile, error) { return profile.Profile{}, gone }
	})
	if res, err := c.Fetch(t.Context(), servicetest.Ask(servicetest.Profile(""), "unlocker1"), nil); !errors.Is(err, gone) {
		t.Errorf("a fetch: %+v, %v", res, err)
	}
	if res, err := c.Probe(t.Context(), ProbeRequest{Target: "http://lab.test/"}, nil); !errors.Is(err, gone) {
		t.Errorf("a probe: %+v, %v", res, err)
	}
}

func TestAProxyThatRepeatsTheLoginDoesNotGetItIntoTheResult(t *testing.T) {
	for name, status := range map[string]int{"a page": http.StatusOK, "a refusal": http.StatusProxyAuthRequired} {
		t.Run(name, func(t *testing.T) {
			px := &servicetest.Proxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Seen", servicetest.LoginOf(r.Header.Get("Proxy-Authorization")))
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "you are "+servicetest.LoginOf(r.Header.Get("Proxy-Authorization")))
			})}
			p := servicetest.NativeProfile(t, px)
			c := newFetcher(t, p)
			probed, err := c.Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			fetched, err := c.Fetch(t.Context(), native(p, "http://lab.test/"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for what, result := range map[string]any{"the probe": probed, "the fetch": fetched} {
				b, err := json.Marshal(result)
				if err != nil {
					t.Fatal(err)
				}
				servicetest.NoSecret(t, what, string(b))
			}
			for what, d := range map[string]model.Diagnosis{"the probe": probed.Diagnosis, "the fetch": fetched.Diagnosis} {
				if last := d.Evidence[len(d.Evidence)-1]; !strings.Contains(last.Text, "repeated a secret") {
					t.Errorf("%s does not say so: %+v", what, d.Evidence)
				}
			}
		})
	}
}
