//go:build unix

package textfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// doubt says who besides the user and root may have written something, or is empty.
func doubt(info fs.FileInfo, uid int, own func(gid, uid int) bool) string {
	stat, known := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	switch {
	case !known:
		return ""
	case stat.Uid != 0 && int(stat.Uid) != uid:
		return fmt.Sprintf("belongs to another user, with the uid %d, and zonedeck runs as %d: see who put it there, then make it yours with chown", stat.Uid, uid)
	case mode&fs.ModeSymlink != 0, mode.IsDir() && mode&fs.ModeSticky != 0:
		return ""
	case mode&0o002 != 0:
		return "may be written by every user: look at what it holds, then run chmod o-w on it"
	case mode&0o020 != 0 && !own(int(stat.Gid), uid):
		return fmt.Sprintf("may be written by the group %d, which is not yours alone: look at what it holds, then run chmod g-w on it", stat.Gid)
	}
	return ""
}

// ownGroup reports whether a group is the user's own: the user's first one, or one without another member. Where no
// password file has the user, the first one is the process's.
func ownGroup(gid, uid int) bool {
	account, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return gid == os.Getegid()
	}
	accounts, err := os.ReadFile("/etc/passwd")
	groups, gerr := os.ReadFile("/etc/group")
	return account.Gid == strconv.Itoa(gid) || err == nil && gerr == nil && onlyMember(account.Username, strconv.Itoa(gid), string(accounts), string(groups))
}

// onlyMember reports whether a group has a user as its only member, by the texts of passwd(5) and group(5).
func onlyMember(name, gid, accounts, groups string) bool {
	for line := range strings.Lines(accounts) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[3] == gid && f[0] != name {
			return false
		}
	}
	for line := range strings.Lines(groups) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 4 && f[2] == gid {
			return f[3] == name
		}
	}
	return false
}
