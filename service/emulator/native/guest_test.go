package native

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// guest is a session that may reach one address.
type guest struct {
	allowed string
	*http.Transport
}

func newGuest(allowed string) *guest {
	g := &guest{allowed: allowed}
	g.Transport = &http.Transport{DialContext: g.DialContext, DisableKeepAlives: true}
	return g
}

func (g *guest) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if address != g.allowed {
		return nil, errors.New("not allowed")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func TestGuestsReachWhatTheirDialerDoes(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Emulator-Basis", "the target's")
		io.WriteString(w, "for "+r.Host)
	})
	plain, secure := httptest.NewServer(site), httptest.NewTLSServer(site)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, target := range []*httptest.Server{plain, secure} {
		u, err := url.Parse(target.URL)
		if err != nil {
			t.Fatal(err)
		}
		guests, g := NewGuests(t.Context(), slog.New(slog.DiscardHandler)), newGuest(u.Host)
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { guests.Serve(w, r, g) }))
		t.Cleanup(proxy.Close)
		at, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		client := target.Client()
		transport, ok := client.Transport.(*http.Transport)
		if !ok {
			t.Fatalf("%T", client.Transport)
		}
		transport.Proxy, transport.DisableKeepAlives = http.ProxyURL(at), true
		resp, err := client.Get(target.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "for "+u.Host || resp.Header.Get("X-Emulator-Basis") != "the target's" || resp.Header.Get("X-Brd-Ip") != "" {
			t.Errorf("%s: %q %v, %v", u.Scheme, body, resp.Header, err)
		}
		// Elsewhere a tunnel is refused, and a plain request is cut without a page.
		want := "EOF"
		if target == secure {
			want = "Bad Gateway"
		}
		if resp, err := client.Get(strings.Replace(target.URL, "127.0.0.1", "127.0.0.2", 1)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v %v", u.Scheme, resp, err)
		}
	}
}
