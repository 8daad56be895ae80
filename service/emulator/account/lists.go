package account

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

const (
	// MaxListed bounds a list of a zone.
	MaxListed = 1000
	maxEntry  = 253
	anyone    = "any"
)

// span is the addresses from first to last, both included.
type span struct{ first, last netip.Addr }

func (s span) holds(a netip.Addr) bool {
	return s.first.BitLen() == a.BitLen() && s.first.Compare(a) <= 0 && a.Compare(s.last) <= 0
}

// parseSpan reads an entry of a list of callers: an address, "first-last", a CIDR, or
// "address/netmask" (public documentation).
func parseSpan(entry string) (span, error) {
	wrong := fmt.Errorf("ip %q is not an address, a range, a CIDR or an address with a netmask", entry)
	if len(entry) > maxEntry {
		return span{}, wrong
	}
	if first, last, ok := strings.Cut(entry, "-"); ok {
		a, errA := parseAddr(first)
		b, errB := parseAddr(last)
		if errA != nil || errB != nil || a.BitLen() != b.BitLen() || b.Less(a) {
			return span{}, wrong
		}
		return span{a, b}, nil
	}
	addr, mask, ok := strings.Cut(entry, "/")
	a, err := parseAddr(addr)
	if err != nil {
		return span{}, wrong
	}
	if !ok {
		return span{a, a}, nil
	}
	bits, ok := maskBits(strings.TrimSpace(mask), a)
	if !ok {
		return span{}, wrong
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return span{}, wrong
	}
	return span{p.Addr(), lastOf(p)}, nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err == nil && a.Zone() != "" {
		return a, fmt.Errorf("%q has a zone", s)
	}
	return a.Unmap(), err
}

// maskBits reads what follows the slash: a count of bits, or a netmask like
// 255.255.255.0, whose ones must be together.
func maskBits(mask string, a netip.Addr) (int, bool) {
	if p, err := netip.ParsePrefix(a.String() + "/" + mask); err == nil {
		return p.Bits(), true
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !a.Is4() {
		return 0, false
	}
	bits, length := net.IPMask(m.AsSlice()).Size()
	return bits, length != 0
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b) // 4 or 16 bytes, as they came
	return a
}

// everyone is the two spans of "any".
func everyone() []span {
	return []span{
		{netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{255, 255, 255, 255})},
		{netip.IPv6Unspecified(), lastOf(netip.PrefixFrom(netip.IPv6Unspecified(), 0))},
	}
}

func spans(entries []string) ([]span, error) {
	var out []span
	for _, e := range entries {
		if e == anyone {
			out = append(out, everyone()...)
			continue
		}
		s, err := parseSpan(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func holds(list []span, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(s span) bool { return s.holds(a) })
}

// edited adds entries to a list of callers, or takes them off it; what has the same
// addresses is the same entry.
func edited(list, entries []string, remove bool) ([]string, error) {
	out := slices.Clone(list)
	for _, e := range entries {
		e = strings.TrimSpace(e)
		changed, err := spans([]string{e})
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(o string) bool {
			listed, err := spans([]string{o})
			return err == nil && slices.Equal(listed, changed)
		})
		if !remove {
			out = append(out, e)
		}
	}
	if len(out) > MaxListed {
		return nil, fmt.Errorf("ip: %w: %d entries at most", ErrTooMany, MaxListed)
	}
	return out, nil
}

// domains reads entries of a list of targets: host names, whose subdomains belong to them,
// or addresses; a leading "*." says the same as none.
func domains(entries []string) ([]string, error) {
	var out []string
	for _, e := range entries {
		d := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(e, "*"), "."), "."))
		if !validHost(d) {
			return nil, fmt.Errorf("domain %q is not a host name", e)
		}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > MaxListed {
		return nil, fmt.Errorf("domain: %w: %d entries at most", ErrTooMany, MaxListed)
	}
	return out, nil
}

func validHost(d string) bool {
	if a, err := netip.ParseAddr(d); err == nil {
		return a.Zone() == "" // a zone is a name of one machine, and any bytes
	}
	if d == "" || len(d) > maxEntry {
		return false
	}
	for label := range strings.SplitSeq(d, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r < 0x80
		}) {
			return false
		}
	}
	return true
}

// under reports whether a host is one of the domains or below one.
func under(list []string, host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return slices.ContainsFunc(list, func(d string) bool {
		return host == d || len(host) > len(d) && strings.HasSuffix(host, d) && host[len(host)-len(d)-1] == '.'
	})
}
