//go:build !linux

package exits

import (
	"net/netip"
	"syscall"
)

// bindTo does nothing: only Linux has all of 127/8. Exits are simulated here.
func bindTo(syscall.RawConn, netip.Addr, Exit) error { return nil }
