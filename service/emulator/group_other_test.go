//go:build !unix

package emulator

import "os/exec"

// inGroup gives what ends cmd: there are no process groups here.
func inGroup(cmd *exec.Cmd) func() error {
	return func() error { return cmd.Process.Kill() }
}
