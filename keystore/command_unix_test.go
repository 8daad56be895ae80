//go:build unix

package keystore

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sessionProcess prints whether it leads a session of its own.
func sessionProcess() {
	sid, err := unix.Getsid(0)
	fmt.Println("own-session", err == nil && sid == os.Getpid())
}

func TestACommandRunsWithoutTheTerminal(t *testing.T) {
	s, err := waiting(time.Minute).Resolve(t.Context(), self(t, "session"))
	if err != nil || s.Reveal() != "own-session true" {
		t.Errorf("got %q, %v", s.Reveal(), err)
	}
}
