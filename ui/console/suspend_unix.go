//go:build !windows

package console

import (
	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// suspend is the command that stops the program and goes back to the shell, or nil when no
// shell waits for it: the system then ignores the stop, and the console would wait for good.
// A shell that does is the parent, in the same session and in another process group.
func suspend() tea.Cmd {
	parent := unix.Getppid()
	here, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	there, err := unix.Getsid(parent)
	if err != nil || there != here {
		return nil
	}
	if group, err := unix.Getpgid(parent); err != nil || group == unix.Getpgrp() {
		return nil
	}
	return tea.Suspend
}
