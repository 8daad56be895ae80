package native

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
)

// establishTimeout is how long a client may take to read the answer to CONNECT.
const establishTimeout = 10 * time.Second

// noteNoUnlock is for zones with the identity check, whose HTTPS the service cannot read.
const noteNoUnlock = "this zone is identity-verified, so HTTPS is tunnelled end to end and cannot be unlocked"

func (p *Proxy) serveConnect(w http.ResponseWriter, r *http.Request, l *login) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		answer.Refuse(w, answer.NewRefusal(http.StatusForbidden, "client_10080", "CONNECT needs host:port", answer.BasisProxyRefused))
		return
	}
	v, refused := p.visit(EntryProxy, l, r.RemoteAddr, host, port)
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	v.Method, v.Target = http.MethodConnect, r.Host
	p.around(w, r, v, func(w http.ResponseWriter, r *http.Request, v *Visit) { p.connect(w, r, v, l) })
}

// connect opens a tunnel, or re-signs the connection as service.md 5.2 rule 3 demands. It
// dials a tunnel's target first, so that the client gets an answer if the dial fails.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, v *Visit, l *login) {
	var target net.Conn
	if !v.Zone.Resigned() {
		var err error
		if target, err = p.dial(r.Context(), v, v.Target); err != nil {
			p.refuse(w, v, route.RefusalOf(err))
			return
		}
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if target != nil {
			target.Close()
		}
		p.conf.Log.Error("a connection could not be taken over", "error", err)
		p.refuse(w, v, answer.NewRefusal(http.StatusInternalServerError, "proxy_error", "internal error", answer.BasisTarget))
		return
	}
	h := http.Header{}
	p.describe(h, v)
	if v.Zone.Product == "unlocker" && target != nil {
		h.Set(answer.NoteHeader, noteNoUnlock)
	}
	c := &tunnelled{Conn: conn, r: buffered.Reader, login: l, visit: v}
	if !p.tunnels.add(c, target) {
		p.stages.Done(v, Outcome{Status: http.StatusOK, Cut: true})
		return // the server is shutting down; add closed both
	}
	// The client may have sent more already, such as its ClientHello: buffered holds it.
	if err := writeHead(conn, "200 Connection established", h); err != nil {
		p.stages.Done(v, Outcome{Status: http.StatusOK, Cut: true})
		p.tunnels.drop(c, target)
		return
	}
	if target == nil {
		p.resign(c)
		return
	}
	p.tunnel(c, target)
}

// tunnel carries bytes between a client and its target until it ends.
func (p *Proxy) tunnel(c *tunnelled, target net.Conn) {
	b := p.bill(c.visit, strings.HasSuffix(c.visit.Target, ":443"))
	b.request(true, 0)
	defer p.conf.Route.Hold(c.visit.Zone, c.visit.Flags)()
	o := p.tunnels.pipe(c, target, b)
	p.stages.Done(c.visit, o)
	p.tunnels.drop(c, target)
}

// describe sets the headers of a successful answer that describe its exit and its basis.
func (p *Proxy) describe(h http.Header, v *Visit) {
	if v.guest != nil {
		return
	}
	p.conf.Route.Describe(h, v.Host, v.Exit, v.Flags, v.ID)
	h["X-Emulator-Basis"] = []string{answer.BasisProxy}
	if v.Flags.Debug == "full" {
		h.Set("x-brd-timeline", "init:0,ready:"+strconv.FormatInt(time.Since(v.Began).Milliseconds(), 10))
	}
}

// writeHead writes the head of an answer to a hijacked connection.
func writeHead(c net.Conn, status string, h http.Header) error {
	if err := c.SetWriteDeadline(time.Now().Add(establishTimeout)); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + status + "\r\n")
	if err := h.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	if _, err := c.Write(b.Bytes()); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}
