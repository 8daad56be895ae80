package browser

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// inherit gives cmd the debugging pipes. There are no descriptors 3 and 4 on Windows:
// Chromium gets two inherited handles.
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

// killGroup kills the process; its children end with it, by Chromium's own job object.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
}
