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
	err := c.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && silent
}
