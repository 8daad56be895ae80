//go:build unix

package textfile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow opens a file that is no link, or fails.
const noFollow = syscall.O_NOFOLLOW

// another opens what a descriptor of this process has open once more, at the same place in the file.
func another(fd int, name string) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(n), name), nil
}

// errHeld says that another process, or another handle of this one, holds the lock.
var errHeld error = syscall.EWOULDBLOCK

// lock locks a file until its handle is closed. It does not wait.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// syncFolder makes a new name in the folder durable. Some file systems cannot sync a
// folder: their EINVAL or ENOTSUP is no error.
func syncFolder(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
