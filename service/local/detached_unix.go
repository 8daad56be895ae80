//go:build !windows

package local

import "syscall"

// inheritable bounds the descriptors that whoever started this process may have left open in it.
const inheritable = 1024

// detached starts a process in a session of its own: no signal of this one's terminal reaches it. It gets no descriptor
// that this one inherited, such as a pipe whose reader waits for its end.
func detached() *syscall.SysProcAttr {
	for fd := 3; fd < inheritable; fd++ {
		syscall.CloseOnExec(fd)
	}
	return &syscall.SysProcAttr{Setsid: true}
}
