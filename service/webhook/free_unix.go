//go:build unix

package webhook

import "golang.org/x/sys/unix"

// freeBytes is how many bytes a user may still write on the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a size of blocks is above 0
}
