//go:build unix

package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
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

// ownGroup reports whether a group has no member besides the user and root. Where no password file has the user, it
// is the process's first one.
func (system) ownGroup(gid, uid int) bool {
	account, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return gid == os.Getegid()
	}
	accounts, err := os.ReadFile("/etc/passwd")
	groups, gerr := os.ReadFile("/etc/group")
	return err == nil && gerr == nil && onlyMember(account.Username, strconv.Itoa(gid), string(accounts), string(groups))
}

// onlyMember reports whether a group has a user as its only member besides root, by the texts of passwd(5) and
// group(5).
func onlyMember(name, gid, accounts, groups string) (member bool) {
	for line := range strings.Lines(accounts) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[3] == gid {
			if f[0] != name && f[0] != "root" {
				return false
			}
			member = true
		}
	}
	for line := range strings.Lines(groups) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 4 || f[2] != gid || f[3] == "" {
			continue
		}
		for one := range strings.SplitSeq(f[3], ",") {
			if one != name && one != "root" {
				return false
			}
			member = true
		}
	}
	return member
}
