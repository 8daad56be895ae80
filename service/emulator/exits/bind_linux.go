package exits

import (
	"fmt"
	"net/netip"
	"syscall"
)

// ipBindAddressNoPort has connect choose the port, so that many connections from one exit
// do not use up the ports (ip(7)).
const ipBindAddressNoPort = 24

// bindTo binds a socket to the exit's address before it connects to target.
// Linux takes any address of 127/8 as a source to loopback targets.
func bindTo(c syscall.RawConn, target netip.Addr, e Exit) error {
	if !e.Bound(target.Unmap()) {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1) // an old kernel chooses the port in bind
		failed = syscall.Bind(int(fd), &syscall.SockaddrInet4{Addr: e.Addr.As4()})
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("leaving from exit %s: %w", e.Addr, err)
	}
	return nil
}
