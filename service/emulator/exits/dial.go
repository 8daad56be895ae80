package exits

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"zonedeck/service/emulator/guard"
)

// LabHost is the lab's host name for clients of the emulator, on any port.
const LabHost = "lab.test"

// testHost has the provider's own test pages (/mygeo.json, /welcome.txt), which clients of its dialect fetch to try a login.
// The lab has them, too, so that such a client needs no other network.
const testHost = "geo.brdtest.com"

// ErrBlocked means that the emulator does not connect to a target ([guard.Rules]).
var ErrBlocked = guard.ErrBlocked

// dialTimeout bounds the dial of one connection to a target, with its DNS lookup.
const dialTimeout = 10 * time.Second

// maxPools bounds the connection pools. Each exit that is not simulated has one.
const maxPools = 256

// Dialer reaches the lab by its name, public addresses, and the addresses that its rules
// open. It checks addresses after DNS, on every dial.
type Dialer struct {
	lab      netip.AddrPort
	labTLS   *tls.Config
	rules    *guard.Rules
	resolver *net.Resolver
	served   map[string]bool // hosts other than the lab's that its listener serves

	public *pool // of all simulated exits

	mu    sync.Mutex
	pools map[poolKey]*pool
}

type poolKey struct {
	exit netip.Addr
	lab  bool
}

// NewDialer makes a dialer for the lab at lab, whose certificates labTLS verifies.
// nil rules open no private address.
func NewDialer(lab netip.AddrPort, labTLS *tls.Config, rules *guard.Rules) *Dialer {
	d := &Dialer{lab: lab, labTLS: labTLS, rules: cmp.Or(rules, &guard.Rules{}), pools: map[poolKey]*pool{}}
	d.public = newPool(func(ctx context.Context, address string) (net.Conn, error) {
		return d.dialChecked(ctx, address, Exit{})
	}, nil)
	return d
}

// UseResolver replaces the name resolution of public targets; call it before the
// first dial.
func (d *Dialer) UseResolver(r *net.Resolver) { d.resolver = r }

// UseLabFor sends connections to these hosts (lower case, without port), the targets of a
// scenario, to the lab's listener, and those to the provider's test pages. Call it before the first dial.
func (d *Dialer) UseLabFor(hosts []string) {
	d.served = map[string]bool{testHost: true}
	for _, h := range hosts {
		d.served[h] = true
	}
}

// Serves reports whether the lab's listener serves a host (without port).
func (d *Dialer) Serves(host string) bool {
	return IsLab(host) || len(d.served) > 0 && d.served[strings.ToLower(strings.TrimSuffix(host, "."))]
}

// Rules returns the rules of what the dialer may connect to.
func (d *Dialer) Rules() *guard.Rules { return d.rules }

// IsLab reports whether a host (without port) is the lab.
func IsLab(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), LabHost)
}

// Bound reports whether traffic to host really leaves from e, as far as this is known before
// the host is resolved.
func (d *Dialer) Bound(host string, e Exit) bool {
	if d.Serves(host) {
		return e.Bound(d.lab.Addr())
	}
	if !d.rules.Opens() {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && e.Bound(a) || strings.EqualFold(host, "localhost") && e.Bound(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}

// Dial opens a TCP connection to address ("host:port") from an exit. Its errors are
// [ErrBlocked], *net.DNSError and those of connecting.
func (d *Dialer) Dial(ctx context.Context, address string, e Exit) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err == nil && d.Serves(host) {
		return d.dialLab(ctx, e)
	}
	return d.dialChecked(ctx, address, e)
}

func (d *Dialer) dialLab(ctx context.Context, e Exit) (net.Conn, error) {
	nd := net.Dialer{Timeout: dialTimeout, Control: func(_, _ string, c syscall.RawConn) error {
		return bindTo(c, d.lab.Addr(), e)
	}}
	return nd.DialContext(ctx, "tcp", d.lab.String())
}

// dialChecked checks the rules after DNS, against the address that is about to be dialled,
// and binds the socket to the exit where possible.
func (d *Dialer) dialChecked(ctx context.Context, address string, e Exit) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dialing %q: %w", address, err)
	}
	nd := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver, Control: func(_, to string, c syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(to)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrBlocked, to)
		}
		if err := d.rules.Check(host, ap); err != nil {
			return err
		}
		return bindTo(c, ap.Addr(), e)
	}}
	return nd.DialContext(ctx, "tcp", address)
}

// Transport returns the HTTP client side for a target host and an exit. It offers HTTP/2 to
// https targets. Exits that are not simulated have separate connection pools, so that a
// kept-alive connection never carries another exit's traffic. It follows no redirects.
func (d *Dialer) Transport(host string, e Exit) http.RoundTripper { return d.pool(host, e).http2 }

// TransportHTTP1 is Transport for requests that prefer HTTP/1.1.
func (d *Dialer) TransportHTTP1(host string, e Exit) http.RoundTripper { return d.pool(host, e).http1 }

func (d *Dialer) pool(host string, e Exit) *pool {
	isLab := d.Serves(host)
	if !isLab && !d.rules.Opens() {
		return d.public
	}
	k := poolKey{e.Addr, isLab}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pools[k]
	if p != nil {
		return p
	}
	if len(d.pools) >= maxPools {
		for k, p := range d.pools {
			p.closeIdle()
			delete(d.pools, k)
			break
		}
	}
	if isLab {
		p = newPool(func(ctx context.Context, _ string) (net.Conn, error) { return d.dialLab(ctx, e) }, d.labTLS)
	} else {
		p = newPool(func(ctx context.Context, address string) (net.Conn, error) { return d.dialChecked(ctx, address, e) }, nil)
	}
	d.pools[k] = p
	return p
}

// Close drops the idle connections. Those in use end with their requests, or wait for the
// next Close.
func (d *Dialer) Close() {
	d.public.closeIdle()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pools {
		p.closeIdle()
	}
}
