//go:build unix

package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// doubt says who besides the user and root may have written something, or is empty.
func doubt(path string, info fs.FileInfo, uid int, by asked) string {
	stat, known := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	switch {
	case !known:
		return ""
	case stat.Uid != 0 && int(stat.Uid) != uid:
		return fmt.Sprintf("belongs to another user, with the uid %d, and zonedeck runs as %d: see who put it there, then make it yours with chown", stat.Uid, uid)
	case mode&fs.ModeSymlink != 0, mode.IsDir() && mode&fs.ModeSticky != 0:
		return ""
	case mode&0o022 == 0, by.readOnly(path):
		return ""
	case mode&0o002 != 0:
		return "may be written by every user: look at what it holds, then run chmod o-w on it"
	case !by.ownGroup(int(stat.Gid), uid):
		return fmt.Sprintf("may be written by the group %d, which is not yours alone: look at what it holds, then run chmod g-w on it", stat.Gid)
	}
	return ""
}

// system asks the system that the program runs on.
type system struct{}

// readOnly reports whether a file system is mounted read-only. The modes of a ConfigMap's folder let everybody write.
func (system) readOnly(path string) bool {
	const writing = 2 // W_OK of access(2)
	return errors.Is(syscall.Access(path, writing), syscall.EROFS)
}

// ownGroup reports whether a group has no member besides the user and root. None is known to be so for a user that
// /etc/passwd does not have: a directory keeps its groups as well, and those of macOS are everybody's.
func (system) ownGroup(gid, uid int) bool {
	accounts, err := os.ReadFile("/etc/passwd")
	groups, gerr := os.ReadFile("/etc/group")
	return err == nil && gerr == nil && onlyMember(strconv.Itoa(uid), strconv.Itoa(gid), string(accounts), string(groups))
}

// onlyMember reports whether a group has a user as its only member besides root, by the texts of passwd(5) and
// group(5).
func onlyMember(uid, gid, accounts, groups string) bool {
	own, members := []string{"root"}, []string{}
	for line := range strings.Lines(accounts) {
		f := strings.Split(line, ":")
		if len(f) > 3 && f[2] == uid {
			own = append(own, f[0])
		}
		if len(f) > 3 && f[3] == gid {
			members = append(members, f[0])
		}
	}
	for line := range strings.Lines(groups) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 4 && f[2] == gid && f[3] != "" {
			members = append(members, strings.Split(f[3], ",")...)
		}
	}
	another := func(name string) bool { return !slices.Contains(own, name) }
	return len(own) > 1 && len(members) > 0 && !slices.ContainsFunc(members, another)
}
