package browser

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// inherit gives cmd the debugging pipes, as two inherited handles, because Windows has no
// descriptors 3 and 4.
func inherit(cmd *exec.Cmd, read, write *os.File) error {
	handles := []syscall.Handle{syscall.Handle(read.Fd()), syscall.Handle(write.Fd())}
	for _, h := range handles {
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return err
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: handles}
	// Before the address of the first page, where switches end.
	last := len(cmd.Args) - 1
	cmd.Args = append(cmd.Args[:last:last], fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", handles[0], handles[1]), cmd.Args[last])
	return nil
}

// killGroup kills the process. Chromium's job object ends its children with it.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
}
