//go:build !windows

package local

import "syscall"

// detached starts a process in a session of its own: no signal of this one's terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
