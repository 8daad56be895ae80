package native

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
)

// Bytes of RFC 1928 and RFC 1929.
const (
	socksVersion      = 5
	socksLoginVersion = 1
	socksByPassword   = 2
	socksNoMethod     = 0xff
	socksConnect      = 1

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4

	socksOK             = 0
	socksFailed         = 1
	socksNotAllowed     = 2
	socksUnreachable    = 4
	socksRefused        = 5
	socksTimeout        = 6
	socksNotCommand     = 7
	socksNotAddressType = 8
)

// errSOCKS means that a client does not speak SOCKS5, and gets no answer.
var errSOCKS = errors.New("not SOCKS5")

type socksError struct {
	reply  byte
	reason string
}

func (e *socksError) Error() string { return e.reason }

// ServeSOCKS accepts SOCKS5 connections (RFC 1928, RFC 1929; port and bounds: public
// documentation) until the listener is closed, and returns the listener's error. Logins are
// those of the proxy. Targets are host names, for residential zones on port 443 only.
func (p *Proxy) ServeSOCKS(ln net.Listener) error {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				continue
			}
			return fmt.Errorf("accepting SOCKS5: %w", err)
		}
		c := &tunnelled{Conn: conn, r: bufio.NewReader(conn)}
		if p.tunnels.add(c) {
			go p.serveSOCKS(c)
		}
	}
}

// serveSOCKS serves one connection, which belongs to the tunnels.
func (p *Proxy) serveSOCKS(c *tunnelled) {
	if err := c.SetDeadline(time.Now().Add(p.conf.Handshake)); err != nil {
		p.tunnels.drop(c)
		return
	}
	target, refused := p.socksOpen(c)
	if refused != nil {
		defer p.tunnels.drop(c, target)
		p.conf.Log.Debug("a SOCKS5 connection was refused", "error", refused)
		if c.visit != nil {
			o := Outcome{Status: http.StatusForbidden}
			if r, ok := errors.AsType[answer.Refusal](refused); ok {
				o.Status, o.Code = r.Status, r.Code
			}
			p.stages.Done(c.visit, o)
		}
		return
	}
	if target == nil {
		p.resign(c)
		return
	}
	p.tunnel(c, target)
}

// socksOpen does the handshake up to the answer. A nil target without an error means that
// the connection is to be re-signed.
func (p *Proxy) socksOpen(c *tunnelled) (target net.Conn, err error) {
	cred, err := socksLogin(c.r, c.Conn)
	if err != nil {
		return nil, err
	}
	l, refused := p.login(cred)
	if refused != nil {
		c.visit = socksVisit(c, &login{credential: cred}, "")
		_, _ = c.Write([]byte{socksLoginVersion, 1}) // RFC 1929: then the connection is closed
		return nil, *refused
	}
	if _, err := c.Write([]byte{socksLoginVersion, 0}); err != nil {
		return nil, err
	}
	host, port, err := socksRequest(c.r)
	if bad := (*socksError)(nil); errors.As(err, &bad) {
		_, _ = c.Write(socksReply(bad.reply, netip.AddrPort{})) // the connection is closed next
	}
	if err != nil {
		return nil, err
	}
	c.login = l
	target, refused = p.socksTarget(c, l, host, port)
	if refused != nil {
		if c.visit == nil {
			c.visit = socksVisit(c, l, net.JoinHostPort(host, port))
		}
		_, _ = c.Write(socksReply(socksCode(*refused), netip.AddrPort{}))
		return target, *refused
	}
	if target != nil && !p.tunnels.add(target) {
		return nil, net.ErrClosed
	}
	if _, err := c.Write(socksReply(socksOK, netip.AddrPortFrom(c.visit.Exit.Addr, 0))); err != nil {
		return target, err
	}
	return target, c.SetDeadline(time.Time{})
}

// socksVisit makes the visit of a refused connection. A client of SOCKS5 learns one byte at
// most; the visit tells the reason.
func socksVisit(c *tunnelled, l *login, target string) *Visit {
	return &Visit{
		Entry: entrySOCKS, User: l.user, Zone: l.zone, Client: addrPortOf(c.RemoteAddr().String()),
		Method: http.MethodConnect, Target: target, Began: time.Now(),
	}
}

func (p *Proxy) socksTarget(c *tunnelled, l *login, host, port string) (net.Conn, *answer.Refusal) {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil, new(answer.NewRefusal(http.StatusForbidden, "policy_20030", "SOCKS5 takes host names only", answer.BasisProxyRefused))
	}
	if l.zone.Product == "residential" && port != "443" {
		return nil, new(answer.NewRefusal(http.StatusForbidden, "policy_20020", "SOCKS5 through residential zones goes to port 443 only", answer.BasisProxyRefused))
	}
	v, refused := p.visit(entrySOCKS, l, c.RemoteAddr().String(), host, port)
	if refused != nil {
		return nil, refused
	}
	v.Method, v.Target = http.MethodConnect, net.JoinHostPort(host, port)
	c.visit = v
	if l.zone.Resigned() {
		return nil, nil
	}
	target, err := p.dial(p.ctx, v, v.Target)
	if err != nil {
		return nil, new(route.RefusalOf(err))
	}
	return target, nil
}

// socksReader reads the messages of a client. After an error it returns zeros.
type socksReader struct {
	r   io.Reader
	err error
}

func (in *socksReader) bytes(n byte) []byte {
	b := make([]byte, n)
	if in.err == nil {
		_, in.err = io.ReadFull(in.r, b)
	}
	return b
}

func (in *socksReader) byte() byte { return in.bytes(1)[0] }

// after reads a version, which has to be this one, and returns the byte after it.
func (in *socksReader) after(version byte) byte {
	head := in.bytes(2)
	if in.err == nil && head[0] != version {
		in.err = errSOCKS
	}
	return head[1]
}

// socksLogin reads the greeting and the login, and answers the greeting.
func socksLogin(r io.Reader, w io.Writer) (credential, error) {
	in := socksReader{r: r}
	methods := in.bytes(in.after(socksVersion))
	if in.err != nil {
		return credential{}, in.err
	}
	answered := byte(socksNoMethod)
	if slices.Contains(methods, socksByPassword) {
		answered = socksByPassword
	}
	if _, err := w.Write([]byte{socksVersion, answered}); err != nil {
		return credential{}, err
	}
	if answered != socksByPassword {
		return credential{}, fmt.Errorf("%w: no login by password is offered", errSOCKS)
	}
	user := in.bytes(in.after(socksLoginVersion))
	password := in.bytes(in.byte())
	return credential{string(user), string(password)}, in.err
}

// socksRequest reads the request. A [*socksError] has to be answered.
func socksRequest(r io.Reader) (host, port string, err error) {
	in := socksReader{r: r}
	command := in.after(socksVersion)
	kind := in.bytes(2)[1] // after a reserved byte
	switch kind {
	case socksName:
		host = string(in.bytes(in.byte()))
	case socksIPv4: // read to the end of the request before it is refused
		in.bytes(4)
	case socksIPv6:
		in.bytes(16)
	default:
		in.err = cmp.Or[error](in.err, &socksError{socksNotAddressType, "an unknown type of address"})
	}
	p := in.bytes(2)
	switch {
	case in.err != nil:
		return "", "", in.err
	case command != socksConnect:
		return "", "", &socksError{socksNotCommand, "only CONNECT is done"}
	case kind != socksName:
		return "", "", &socksError{socksNotAddressType, "host names only are taken"}
	case host == "" || !validHost(host):
		return "", "", &socksError{socksNotAllowed, "not a host name"}
	}
	return host, strconv.Itoa(int(p[0])<<8 | int(p[1])), nil
}

// validHost keeps invalid names away from dialling, certificates and headers.
func validHost(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || c == '/' || c == '@' || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}

// socksReply encodes an answer; bound is the exit, or the zero value.
func socksReply(code byte, bound netip.AddrPort) []byte {
	a := bound.Addr().Unmap()
	if !a.Is4() {
		a = netip.AddrFrom4([4]byte{})
	}
	ip := a.As4()
	return []byte{socksVersion, code, 0, socksIPv4, ip[0], ip[1], ip[2], ip[3], byte(bound.Port() >> 8), byte(bound.Port())}
}

// socksCode is the reply code for a refusal; SOCKS5 has no field for the text.
func socksCode(r answer.Refusal) byte {
	switch {
	case r.Code == "target_40001" || r.Code == "target_40011":
		return socksUnreachable
	case r.Code == "target_40020":
		return socksRefused
	case r.Code == "target_40021":
		return socksTimeout
	case r.Status < http.StatusInternalServerError:
		return socksNotAllowed
	default:
		return socksFailed
	}
}
