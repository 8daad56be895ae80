//go:build unix

package textfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// lay makes files and folders with modes, as in "file a/b 644, folder a 1777", and links with targets.
func lay(t *testing.T, dir, what string) {
	t.Helper()
	for step := range strings.SplitSeq(what, ", ") {
		f := strings.Fields(step)
		if len(f) != 3 {
			continue
		}
		path := filepath.Join(dir, f[1])
		noerr.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if f[0] == "link" {
			noerr.Must(t, os.Symlink(f[2], path))
			continue
		}
		n, err := strconv.ParseUint(f[2], 8, 32)
		noerr.Must(t, err)
		mode := fs.FileMode(n & 0o777)
		if n&0o1000 != 0 {
			mode |= fs.ModeSticky
		}
		if f[0] == "file" {
			noerr.Must(t, os.WriteFile(path, nil, 0o600))
		} else {
			noerr.Must(t, os.MkdirAll(path, 0o700))
		}
		noerr.Must(t, os.Chmod(path, mode))
	}
}

// answers are those of a system.
type answers struct{ own, mounted bool } // the group has no other member; all is mounted read-only

func (a answers) ownGroup(int, int) bool { return a.own }

func (a answers) readOnly(string) bool { return a.mounted }

func TestAFileThatOthersMayHaveWrittenIsNotTrusted(t *testing.T) {
	all := "may be written by every user: look at what it holds, then run chmod o-w on it"
	group := fmt.Sprintf("may be written by the group %d, which is not yours alone: look at what it holds, then run chmod g-w on it", os.Getegid())
	for name, c := range map[string]struct {
		there string // in the folder that also holds f
		asked answers
		want  string // why f is not trusted; $ is the folder
	}{
		"private":                         {there: "file f 600"},
		"read by all":                     {there: "folder . 755, file f 644"},
		"missing":                         {},
		"missing, in a folder for all":    {there: "folder . 777", want: "the folder $ " + all},
		"written by all":                  {there: "file f 666", want: "it " + all},
		"written by all, with sticky bit": {there: "file f 1666", want: "it " + all},
		"written by a group":              {there: "file f 660", want: "it " + group},
		"a umask of 002":                  {there: "folder . 775, file f 664", asked: answers{own: true}},
		"in a folder for all":             {there: "file f 600, folder . 777", want: "the folder $ " + all},
		"in a folder for a group":         {there: "file f 600, folder . 770", want: "the folder $ " + group},
		"in a sticky folder":              {there: "file f 600, folder . 1777"},
		"a link":                          {there: "file a/real 444, link f a/real"},
		"a link to nothing":               {there: "link f nothing"},
		"a link to itself":                {there: "link f f", want: "it leads through too many links"},
		"a link to a file for all":        {there: "file a/real 666, link f a/real", want: "it is a link to $a/real, which " + all},
		"a link into a folder for all":    {there: "file a/real 600, folder a 777, link f a/real", want: "the folder $a/ " + all},
		"a link by a folder for all":      {there: "file real 600, link a/on ../real, folder a 777, link f a/on", want: "the folder $a/ " + all},
		"a ConfigMap":                     {there: "file a/..1/real 444, link a/..data ..1, link f a/..data/real"},
		"a ConfigMap's folder":            {there: "folder . 777, file a/..1/real 444, link a/..data ..1, link f a/..data/real", asked: answers{mounted: true}},
		"a ConfigMap, written by all":     {there: "file a/..1/real 666, link a/..data ..1, link f a/..data/real", want: "it is a link to $a/..data/real, which " + all},
		"out of a linked folder":          {there: "file a/real 666, folder a/b 700, link in a/b, link f in/../real", want: "it is a link to $in/../real, which " + all},
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "folder") + "/"
			lay(t, dir, "folder . 700, "+c.there)
			noerr.Must(t, os.Chmod(above, 0o777)) //nolint:gosec // folders further up are not judged
			err := trusted(dir+"f", os.Geteuid(), c.asked)
			want := ""
			if c.want != "" {
				want = dir + "f is not trusted: " + strings.ReplaceAll(c.want, "$", dir)
			}
			if err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

func TestAFileOfAnotherUserIsNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	noerr.Must(t, os.WriteFile(path, nil, 0o600))
	me, stranger := os.Geteuid(), 54321
	if me == 0 { // root is trusted, so that the file must be another's
		noerr.Must(t, os.Chown(path, stranger, -1))
	} else {
		me, stranger = stranger, me
	}
	want := fmt.Sprintf("%s is not trusted: it belongs to another user, with the uid %d, and zonedeck runs as %d: see who put it there, then make it yours with chown", path, stranger, me)
	if err := trusted(path, me, answers{own: true, mounted: true}); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	noerr.Want(t, trusted("/", 54321, system{})) // root's
}

func TestASecretIsNoLink(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "file real 600, link f real")
	want := filepath.Join(dir, "f") + " is not trusted: it is a link, and a secret must not be one: put the file itself in its place"
	if err := TrustedSecret(filepath.Join(dir, "f")); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	noerr.Want(t, TrustedSecret(filepath.Join(dir, "real")))
}

func TestAGroupIsTheUsersOwn(t *testing.T) {
	accounts := "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbob:x:1001:2000::/home/bob:/bin/sh\n"
	groups := "staff:*:20:root\nada:x:1000:\nalone:x:1500:ada\nboth:x:1600:ada,bob\nbobs:x:2000:ada\nempty:x:2100:\n"
	for ids, want := range map[string]bool{
		"1000 0": true, "1000 1000": true, "1000 1500": true, "1000 1600": false, "1000 2000": false, "1000 2100": false, "1000 9": false,
		"0 0": true, "501 20": false, "501 0": false, // a user of a directory
	} {
		uid, gid, _ := strings.Cut(ids, " ")
		if got := onlyMember(uid, gid, accounts, groups); got != want {
			t.Errorf("the group %s for the user %s: %t", gid, uid, got)
		}
	}
	if (system{}).ownGroup(os.Getegid(), 4_000_000_000) {
		t.Error("this process's group counts as that of a user whom nobody knows")
	}
}
