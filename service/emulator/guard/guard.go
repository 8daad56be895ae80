// Package guard decides which targets the emulator may connect to: public addresses, and
// those that --allow-private opens. Everything that dials asks it about the address that is
// about to be dialled, after DNS and on every redirect, so that a name cannot pass with one
// address and connect to another.
//
// The dialer in exits calls it. The command line and the server show [Rules.Notes], and ask
// [ThisMachine] about Host headers. [Rules] do not change and are safe for concurrent use.
package guard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ErrBlocked means that the emulator does not connect to a target.
var ErrBlocked = errors.New("the target is not a public address")

// maxRules bounds the rules.
const maxRules = 256

// Rules open addresses that are not public. The zero value opens none.
type Rules struct {
	rules []rule
	never []netip.AddrPort
}

// rule opens a range of addresses, or any address that a name resolves to.
type rule struct {
	text   string // as it was written
	prefix netip.Prefix
	host   string // lower case, without a trailing dot; empty for a prefix
	port   uint16 // 0 is any
}

// Parse reads the values of --allow-private: "HOST", "ADDRESS" or "CIDR", each with an
// optional ":port". An IPv6 address or range with a port needs brackets: "[fd00::1]:80",
// "[fd00::/8]:80". The error names the entry.
func Parse(specs []string) (*Rules, error) {
	if len(specs) > maxRules {
		return nil, fmt.Errorf("%d private targets to allow, at most %d are taken", len(specs), maxRules)
	}
	r := &Rules{}
	for _, s := range specs {
		one, err := parseRule(s)
		if err != nil {
			return nil, fmt.Errorf("private target to allow %q: %w", s, err)
		}
		r.rules = append(r.rules, one)
	}
	return r, nil
}

func parseRule(s string) (rule, error) {
	out := rule{text: s}
	target, port, hasPort := s, "", false
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if target, port, ok = strings.Cut(inner, "]"); !ok {
			return rule{}, errors.New("a bracket is not closed")
		}
		if port, hasPort = strings.CutPrefix(port, ":"); port != "" && !hasPort {
			return rule{}, errors.New("only :port may follow the bracket")
		}
	} else if strings.Count(s, ":") == 1 {
		target, port, hasPort = strings.Cut(s, ":")
	}
	if hasPort && port == "" {
		return rule{}, errors.New("the port is missing")
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return rule{}, fmt.Errorf("%q is not a port", port)
		}
		out.port = uint16(n)
	}
	return out, out.setTarget(target)
}

// setTarget parses an address, a range, or a name.
func (r *rule) setTarget(s string) error {
	if p, err := netip.ParsePrefix(s); err == nil {
		if a := p.Addr(); a.Is4In6() {
			if p.Bits() < 96 {
				return errors.New("a range of IPv4 addresses inside IPv6 is wider than IPv4")
			}
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		r.prefix = p.Masked()
		return nil
	}
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return errors.New("an address with a zone is not taken")
		}
		a = a.Unmap()
		r.prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	if !isName(s) {
		return errors.New("it is neither a host name, nor an address, nor a range like 10.0.0.0/8")
	}
	r.host = canonical(s)
	return nil
}

// isName accepts names of letters, digits, "-", "_" and ".". It rejects digits and dots
// alone, which are a misspelt address.
func isName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	s = strings.TrimSuffix(s, ".")
	return len(s) <= 253 && strings.ContainsAny(s, letters) && strings.Trim(s, letters+"0123456789-.") == "" && s[0] != '.' && !strings.Contains(s, "..")
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Never returns rules that also block these listeners, whatever else is open: the control API
// must not be reachable through the proxy.
func (r *Rules) Never(listeners ...netip.AddrPort) *Rules {
	out := &Rules{rules: r.rules}
	for _, l := range listeners {
		out.never = append(out.never, netip.AddrPortFrom(l.Addr().Unmap(), l.Port()))
	}
	return out
}

// And returns rules that open what either opens.
func (r *Rules) And(o *Rules) *Rules {
	return &Rules{rules: slices.Concat(r.rules, o.rules), never: slices.Concat(r.never, o.never)}
}

// Check decides about one connection: host is the requested name or address, and to the
// address about to be dialled. The error wraps [ErrBlocked] and names the address.
func (r *Rules) Check(host string, to netip.AddrPort) error {
	a := to.Addr().Unmap().WithZone("")
	if r.closed(a, to.Port()) {
		return fmt.Errorf("%w: %s is the emulator's own", ErrBlocked, to)
	}
	if public(a) || r.open(host, a, to.Port()) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrBlocked, a)
}

// closed reports whether an address reaches a blocked listener. All of 127/8 reaches a listener
// on 127.0.0.1 or on every address.
func (r *Rules) closed(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(r.never, func(l netip.AddrPort) bool {
		return port == l.Port() && (a == l.Addr() || a.IsUnspecified() || a.IsLoopback() && l.Addr().IsLoopback())
	})
}

func (r *Rules) open(host string, a netip.Addr, port uint16) bool {
	if a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return false // never a target, whatever the rules say
	}
	host = canonical(host)
	for i := range r.rules {
		ru := &r.rules[i]
		if ru.port != 0 && ru.port != port {
			continue
		}
		if ru.host != "" && ru.host == host || ru.host == "" && ru.prefix.Contains(a) {
			return true
		}
	}
	return false
}

// Opens reports whether the rules open anything.
func (r *Rules) Opens() bool { return len(r.rules) > 0 }

// AllowsPort reports whether a rule names this port, which opens it even if it would
// otherwise be refused.
func (r *Rules) AllowsPort(host, port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return false
	}
	a, err := netip.ParseAddr(host)
	host = canonical(host)
	return slices.ContainsFunc(r.rules, func(ru rule) bool {
		if ru.port != uint16(n) {
			return false
		}
		return ru.host == host || err == nil && ru.host == "" && ru.prefix.Contains(a.Unmap())
	})
}

// Notes describes the rules, one line each, for people to read at the start.
func (r *Rules) Notes() []string {
	out := make([]string, 0, len(r.rules))
	for _, ru := range r.rules {
		what := ru.host
		if what == "" {
			what = ru.prefix.String()
		} else {
			what += ", whatever address it resolves to,"
		}
		where := "on every port"
		if ru.port != 0 {
			where = "on port " + strconv.Itoa(int(ru.port))
		}
		out = append(out, fmt.Sprintf("WARNING: private target %s %s can be reached through this emulator by everyone with a zone's login or a key (--allow-private %s)", what, where, ru.text))
	}
	return out
}

// ThisMachine reports whether a host, with or without a port, names this machine. A hostile web page
// can make its name resolve to a loopback address, but it cannot use one of these names.
func ThisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// Listen decides whether to listen on an address: only on loopback, unless remote is true.
// The note warns when other machines can reach the address.
func Listen(addr string, remote bool) (note string, err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "localhost" {
		return "", nil
	}
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.IsLoopback() {
		return "", nil
	}
	if !remote {
		return "", fmt.Errorf("%q is not a loopback address (--allow-remote permits others)", addr)
	}
	if err != nil && host != "" && !isName(host) {
		return "", fmt.Errorf("%q is not an address to listen on", addr)
	}
	return fmt.Sprintf("WARNING: %s can be reached from other machines; keys and passwords of a demo account are no secret", addr), nil
}

// Network is the one of net.Listen for an address. A literal IP address is of its own family alone: by "tcp"
// 0.0.0.0 would be all addresses of IPv6 as well.
func Network(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil: // a name, or nothing: every address
		return "tcp"
	case ip.Unmap().Is4():
		return "tcp4"
	default:
		return "tcp6"
	}
}

// special lists ranges that netip's predicates do not cover (the IANA registries of
// special-purpose addresses). It is built on first use, so that it does not slow the start.
var special = sync.OnceValue(func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		// IPv6: documentation, local, or with an embedded IPv4 address, which a translator
		// on the way could turn into a blocked one.
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
})

// public reports whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is6() && a.As16()[0]>>5 != 1 {
		// Only 2000::/3 is allocated. Outside are NAT64 and the like, site-local addresses,
		// and overlay networks.
		return false
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
