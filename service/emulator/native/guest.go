package native

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// guestIdle is how long a guest's tunnel may carry nothing: a page may keep a WebSocket
// open as long as its session lasts.
const guestIdle = time.Hour

// Guest is one session of the emulator's browser. The browser has checked its login, decides
// which targets it may reach, and counts what it costs.
type Guest interface {
	// DialContext opens a connection to a target (host:port).
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// RoundTrip sends a plain request to its target.
	http.RoundTripper
}

// Guests is the proxy for guests. Its tunnels end with the guests' connections.
type Guests struct{ proxy *Proxy }

// NewGuests makes a proxy that serves guests alone.
func NewGuests(ctx context.Context, log *slog.Logger) *Guests {
	g := &Guests{&Proxy{ctx: ctx, conf: Config{Log: log}}}
	g.proxy.tunnels.idle = guestIdle
	return g
}

// Serve forwards a plain request, or opens the tunnel of a CONNECT, and returns when it has
// ended. It refuses a tunnel whose target cannot be reached. It cuts a plain request instead,
// because the page would take a refusal for the target's answer.
func (g *Guests) Serve(w http.ResponseWriter, r *http.Request, guest Guest) {
	v := &Visit{Entry: entryGuest, guest: guest, Client: addrPortOf(r.RemoteAddr), Method: r.Method, Host: r.URL.Hostname(), Target: r.URL.String(), Began: time.Now()}
	if r.Method == http.MethodConnect {
		v.Target = r.Host
		g.proxy.connect(w, r, v, nil)
		return
	}
	g.proxy.forward(w, r, v)
}
