package servicetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// OpenIn counts what this process has open of a folder, the folder included.
func OpenIn(t *testing.T, dir string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatal("no list of open files", err)
	}
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && strings.HasPrefix(name, dir) {
			n++
		}
	}
	return n
}
