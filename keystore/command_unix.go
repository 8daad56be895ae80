//go:build unix

package keystore

import (
	"os/exec"
	"syscall"
)

// detach runs the command in its own session: it has no terminal, and cancelling it
// also kills the processes that it started.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
