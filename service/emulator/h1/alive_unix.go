//go:build unix

package h1

import "syscall"

// alive looks whether a kept connection has nothing to read: neither its end, nor bytes
// that nobody asked for.
func (c *conn) alive() bool {
	if c.raw == nil || c.br.Buffered() > 0 {
		return false
	}
	silent := false
	// Not by Read, which does nothing once the deadline of the last request is over.
	err := c.raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return err == nil && silent
}
