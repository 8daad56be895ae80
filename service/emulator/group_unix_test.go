//go:build unix

package emulator

import (
	"os/exec"
	"syscall"
)

// inGroup has cmd start in a process group of its own, and gives what ends all of it.
func inGroup(cmd *exec.Cmd) func() error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
