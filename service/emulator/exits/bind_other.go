//go:build !linux

package exits

import (
	"net/netip"
	"syscall"
)

// bindTo does nothing here: only Linux has the whole of 127/8. Exits are simulated.
func bindTo(syscall.RawConn, netip.Addr, Exit) error { return nil }
