package emulator

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/username"
)

// login is one accepted proxy login and the exit it got for this request.
type login struct {
	zone  Zone
	flags username.Flags
	exit  exits.Exit
}

// serveProxy is native access (service.md 4.3, 5.2): CONNECT, and plain requests in
// absolute form.
func (s *Server) serveProxy(w http.ResponseWriter, r *http.Request) {
	l, refused := s.login(r)
	if refused != nil {
		refuse(w, *refused)
		return
	}
	if r.Method == http.MethodConnect {
		s.connect(w, r, l)
		return
	}
	switch {
	case r.URL.Host == "":
		refuse(w, refusal{http.StatusBadRequest, "client_10080", "this is a proxy: the request needs an absolute address", basisProxyRefused})
	case r.URL.Scheme != "http":
		refuse(w, refusal{http.StatusBadRequest, "client_10070", "use CONNECT for " + strconv.QuoteToASCII(r.URL.Scheme), basisProxyRefused})
	default:
		if refused := portRefused(r.URL.Hostname(), r.URL.Port()); refused != nil {
			refuse(w, *refused)
			return
		}
		s.forward(w, r, l)
	}
}

// login checks the credential of service.md 5.2 and picks the exit.
func (s *Server) login(r *http.Request) (login, *refusal) {
	user, password, ok := proxyAuth(r.Header.Get("Proxy-Authorization"))
	if !ok {
		return login{}, authRefused("client_10010", "no proxy credentials were sent")
	}
	n, err := username.Parse(user)
	if errors.Is(err, username.ErrForm) {
		return login{}, authRefused("client_10000", "authentication failed: "+username.ErrForm.Error())
	}
	if n.Prefix != s.account.prefix || n.Account != s.account.id {
		return login{}, authRefused("client_10000", "authentication failed: unknown account")
	}
	z, zerr := s.account.zone(n.Zone)
	if zerr != nil {
		if flag := s.misspelt(n); flag != "" {
			return login{}, authRefused("client_10001", fmt.Sprintf("invalid username: unknown flag %q", flag))
		}
		return login{}, authRefused("client_10002", fmt.Sprintf("zone %q not found", n.Zone))
	}
	if subtle.ConstantTimeCompare([]byte(password), []byte(z.Password)) != 1 {
		return login{}, authRefused("client_10000", "authentication failed: wrong password")
	}
	if err != nil {
		return login{}, authRefused("client_10001", "invalid username: "+err.Error())
	}
	if !native(z.Product) {
		return login{}, &refusal{
			http.StatusForbidden, "client_10090",
			fmt.Sprintf("zone %q is a %s zone: it has no native access, use the API", z.Name, z.Product), basisProxyProduct,
		}
	}
	e, err := s.pick(z, n.Flags)
	if err != nil {
		ref := refusalOf(err)
		return login{}, &ref
	}
	return login{z, n.Flags, e}, nil
}

// misspelt finds the word after the zone that is no flag: the zone of the name is
// unknown, but a shorter one is known.
func (s *Server) misspelt(n username.Name) string {
	for i := len(n.ZoneParts) - 1; i > 0; i-- {
		if _, err := s.account.zone(strings.Join(n.ZoneParts[:i], "-")); err == nil {
			return n.ZoneParts[i]
		}
	}
	return ""
}

// proxyAuth reads Basic credentials; the password may hold colons, the user may not.
func proxyAuth(h string) (user, password string, ok bool) {
	scheme, enc, found := strings.Cut(h, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(enc))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(b), ":")
}

func authRefused(code, msg string) *refusal {
	return &refusal{http.StatusProxyAuthRequired, code, msg, basisProxyRefused}
}

// portRefused keeps the proxy, and the API and the jobs as well, from being a relay to mail servers and the like.
func portRefused(host, port string) *refusal {
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || !exits.IsLab(host) && n != 80 && n != 443 && n < 1024 {
		return &refusal{http.StatusForbidden, "policy_20020", "port " + strconv.QuoteToASCII(port) + " is not allowed", basisTarget}
	}
	return nil
}

// refuse answers with the refusal's own status, its x-brd-* headers and RFC 9209.
func refuse(w http.ResponseWriter, r refusal) {
	h := w.Header()
	if r.status == http.StatusProxyAuthRequired {
		h.Set("Proxy-Authenticate", `Basic realm="zonedeck emulator"`)
	}
	h.Set("x-brd-err-code", headerText(r.code))
	h.Set("x-brd-err-msg", headerText(r.msg))
	h.Set("x-brd-error", headerText(r.msg))
	h.Set("Proxy-Status", proxyStatus(r))
	answerText(w, r.status, r.basis, r.msg+"\n")
}

// proxyStatus is the header of RFC 9209, quoted the way the public service does.
func proxyStatus(r refusal) string {
	reason := "http_request_denied"
	switch {
	case r.code == "target_40001":
		reason = "dns_error"
	case r.code == "target_40021":
		reason = "connection_timeout"
	case r.code == "target_40020":
		reason = "connection_refused"
	case r.status == http.StatusBadGateway:
		reason = "destination_unavailable"
	}
	details := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(headerText(r.code + ": " + r.msg))
	return fmt.Sprintf(`zonedeck-emulator; received-status=%d; error="%s"; details="%s"`, r.status, reason, details)
}

// headerText keeps a text on one line of visible ASCII: parts of it came from a client.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// connect opens a tunnel, or re-signs where service.md 5.2 rule 3 says so.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, l login) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		refuse(w, refusal{http.StatusBadRequest, "client_10080", "CONNECT needs host:port", basisProxyRefused})
		return
	}
	if refused := portRefused(host, port); refused != nil {
		refuse(w, *refused)
		return
	}
	var target net.Conn
	if !l.zone.resigned() {
		if target, err = s.dialer.Dial(r.Context(), r.Host, l.exit); err != nil {
			refuse(w, refusalOf(err))
			return
		}
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if target != nil {
			target.Close()
		}
		s.log.Error("a connection could not be taken over", "error", err)
		refuse(w, refusal{http.StatusInternalServerError, "proxy_error", "internal error", basisTarget})
		return
	}
	h := http.Header{}
	s.exitHeaders(h, host, l.exit, l.flags)
	h.Set(basisHeader, basisProxy)
	c := &tunnelled{Conn: conn, r: buffered.Reader, login: l, authority: r.Host, host: host}
	if !s.tunnels.add(c, target) {
		return // the server is going down; add closed both
	}
	// What the client already sent, its ClientHello perhaps, lies in buffered.
	if err := writeEstablished(conn, h); err != nil {
		s.tunnels.drop(c, target)
		return
	}
	if target == nil {
		s.resign(c)
		return
	}
	s.tunnels.pipe(c, target)
}
