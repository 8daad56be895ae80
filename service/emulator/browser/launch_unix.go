//go:build unix

package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// inherit gives cmd the debugging pipes as its descriptors 3 (commands) and 4 (answers), and a
// separate process group.
func inherit(cmd *exec.Cmd, read, write *os.File) error {
	cmd.ExtraFiles = []*os.File{read, write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// killGroup kills the process and all its children. The group may have ended.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
