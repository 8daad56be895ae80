package textfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// UntrustedError says that others may have written what stands in one of the program's own files.
type UntrustedError struct{ File, Reason string }

func (e *UntrustedError) Error() string { return e.File + " is not trusted: " + e.Reason }

// maxLinks is how many links the system follows.
const maxLinks = 40

// Trusted refuses a file or a folder that somebody besides the user and root may have put there or changed, with an
// *UntrustedError. It judges the file, each link that its last name leads through, and the folder that holds each of
// them; the folders above are not judged. What is in a sticky folder, such as /tmp, is its owner's alone, whoever may
// write there; and so is what is in a file system that is mounted read-only, as a ConfigMap is. A missing file is
// trusted; what cannot be looked at is left to whoever opens it. Windows has no such modes: everything is trusted there.
func Trusted(path string) error { return trusted(path, os.Geteuid(), system{}) }

// TrustedSecret is Trusted for a file that must not be a link either.
func TrustedSecret(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &UntrustedError{path, "it is a link, and a secret must not be one: put the file itself in its place"}
	}
	return Trusted(path)
}

// asked is what the system says of groups and file systems.
type asked interface {
	ownGroup(gid, uid int) bool
	readOnly(path string) bool
}

func trusted(path string, uid int, by asked) error {
	at, what := path, "it"
	for range maxLinks {
		// Neither Clean nor Join: they would take the name of a linked folder and ".." together, which lead elsewhere.
		folder, _ := filepath.Split(at)
		if folder == "" {
			folder = "." + string(filepath.Separator)
		}
		info, err := os.Lstat(at)
		if err == nil {
			if reason := doubt(at, info, uid, by); reason != "" {
				return &UntrustedError{path, what + " " + reason}
			}
		}
		if info, err = os.Stat(folder); err == nil {
			if reason := doubt(folder, info, uid, by); reason != "" {
				return &UntrustedError{path, "the folder " + folder + " " + reason}
			}
		}
		target, _ := os.Readlink(at)
		if target == "" { // it is no link
			return nil
		}
		if at = target; !filepath.IsAbs(target) {
			at = folder + target
		}
		what = "it is a link to " + at + ", which"
	}
	return &UntrustedError{path, "it leads through too many links"}
}
