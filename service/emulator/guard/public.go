package guard

import (
	"net/netip"
	"sync"
)

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

// Public reports whether an address belongs to the public internet.
func Public(a netip.Addr) bool {
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
