package exchange

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

func TestAKeyThatARelaySentWasUsed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	noerr.Must(t, closed.Close())
	secret := keystore.NewSecret("s3cret")
	for address, want := range map[string][]string{s.URL: {"acme etl " + secret.Fingerprint(), "acme etl " + secret.Fingerprint()}, "http://" + closed.Addr().String(): nil} {
		var used []string
		w := New(Config{Used: func(profile, key, fingerprint string) { used = append(used, profile+" "+key+" "+fingerprint) }})
		r := w.NewRelay(t.Context(), model.Profile{Name: "acme", AgentURL: address, Local: true}, "etl", secret, "", Mask{})
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
			noerr.Must(t, err)
			if resp, err := r.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		}
		if !slices.Equal(used, want) {
			t.Errorf("%s: %q, want %q", address, used, want)
		}
	}
}
