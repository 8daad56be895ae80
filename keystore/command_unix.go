//go:build unix

package keystore

import (
	"os/exec"
	"syscall"
)

// detach gives the command a session of its own, so that it has no terminal and
// is ended together with what it started.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
