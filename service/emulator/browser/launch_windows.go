package browser

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// startPiped starts cmd with the debugging pipes. There are no descriptors 3 and 4
// on Windows: Chromium is told two inherited handles.
func startPiped(cmd *exec.Cmd) (io.ReadWriteCloser, error) {
	read, write, ours, err := ends()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	defer write.Close()
	handles := make([]syscall.Handle, 0, 2)
	for _, f := range []*os.File{read, write} {
		h := syscall.Handle(f.Fd())
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return nil, errors.Join(err, ours.Close())
		}
		handles = append(handles, h)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: handles}
	// Before the address of the first page, where switches end.
	last := len(cmd.Args) - 1
	cmd.Args = append(cmd.Args[:last:last], fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", handles[0], handles[1]), cmd.Args[last])
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

// killGroup kills the process; its children end with it, by Chromium's own job object.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
}
