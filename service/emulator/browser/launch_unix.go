//go:build unix

package browser

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// startPiped starts cmd in a process group of its own with the debugging pipes as
// its descriptors 3 (commands) and 4 (answers).
func startPiped(cmd *exec.Cmd) (io.ReadWriteCloser, error) {
	read, write, ours, err := ends()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	defer write.Close()
	cmd.ExtraFiles = []*os.File{read, write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

// killGroup kills the process and all its children. A group that is gone is fine.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
