package exits

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// LabHost is the name under which the lab is reached through the emulator, whatever
// the port.
const LabHost = "lab.test"

// ErrBlocked is a target in a range that the emulator never connects to.
var ErrBlocked = errors.New("the target is not a public address")

// headersTimeout is how long a target may take to begin its answer.
const headersTimeout = 150 * time.Second

// maxTransports bounds the connection pools kept to the lab, one per exit.
const maxTransports = 256

// Dialer reaches targets: the lab by its name, public addresses, and nothing else.
// Addresses are checked after DNS, on every dial.
type Dialer struct {
	lab     netip.AddrPort
	dialer  net.Dialer
	labTLS  *tls.Config
	timeout time.Duration

	public *http.Transport

	mu   sync.Mutex
	labs map[netip.Addr]*http.Transport
}

// NewDialer makes a dialer for the lab at lab, whose certificates labTLS verifies.
func NewDialer(lab netip.AddrPort, labTLS *tls.Config) *Dialer {
	d := &Dialer{lab: lab, labTLS: labTLS, timeout: 10 * time.Second, labs: map[netip.Addr]*http.Transport{}}
	d.dialer = net.Dialer{Timeout: d.timeout, Control: refusePrivate}
	d.public = newTransport(d.dialer.DialContext, nil)
	return d
}

// UseResolver replaces the name resolution of public targets; call it before the
// first dial.
func (d *Dialer) UseResolver(r *net.Resolver) { d.dialer.Resolver = r }

// IsLab reports whether a host (without port) is the lab.
func IsLab(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), LabHost)
}

// Bound reports whether traffic to host really leaves from e.
func (d *Dialer) Bound(host string, e Exit) bool { return IsLab(host) && e.Bound(d.lab.Addr()) }

// Dial opens a TCP connection to address ("host:port") from an exit. Errors:
// [ErrBlocked], *net.DNSError, or what the connect gave.
func (d *Dialer) Dial(ctx context.Context, address string, e Exit) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dialing %q: %w", address, err)
	}
	if IsLab(host) {
		return d.dialLab(ctx, e)
	}
	return d.dialer.DialContext(ctx, "tcp", address)
}

func (d *Dialer) dialLab(ctx context.Context, e Exit) (net.Conn, error) {
	nd := net.Dialer{Timeout: d.timeout}
	if e.Bound(d.lab.Addr()) {
		nd.LocalAddr = &net.TCPAddr{IP: e.Addr.AsSlice()}
	}
	return nd.DialContext(ctx, "tcp", d.lab.String())
}

// Transport is the HTTP client side for a target host and an exit. Connections to
// the lab are pooled per exit, so that a kept-alive connection never carries another
// exit's traffic. Redirects are the caller's matter: a transport follows none.
func (d *Dialer) Transport(host string, e Exit) http.RoundTripper {
	if !IsLab(host) {
		return d.public
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.labs[e.Addr]; ok {
		return t
	}
	if len(d.labs) >= maxTransports {
		for a, t := range d.labs {
			t.CloseIdleConnections()
			delete(d.labs, a)
			break
		}
	}
	t := newTransport(func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dialLab(ctx, e) }, d.labTLS.Clone()) // a transport writes to its own
	d.labs[e.Addr] = t
	return t
}

// Close drops the idle connections; those in use end with their requests.
func (d *Dialer) Close() {
	d.public.CloseIdleConnections()
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, t := range d.labs {
		t.CloseIdleConnections()
		delete(d.labs, a)
	}
}

func newTransport(dial func(context.Context, string, string) (net.Conn, error), conf *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // the environment's proxy must not reroute the emulator
		DialContext:            dial,
		TLSClientConfig:        conf,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // bodies pass as they are; nothing is inflated here
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		ResponseHeaderTimeout:  headersTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// refusePrivate runs after DNS, with the very address that is about to be dialled.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrBlocked, address)
	}
	if !Public(ap.Addr()) {
		return fmt.Errorf("%w: %s", ErrBlocked, ap.Addr())
	}
	return nil
}

// notPublic are the ranges that the netip predicates do not know.
var notPublic = func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		// IPv6 ranges that are documentation, local, or carry an IPv4 address inside.
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "3fff::/20", "::/96",
		"fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
