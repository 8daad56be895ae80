package local

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached starts a process without this one's console: closing that does not end it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
