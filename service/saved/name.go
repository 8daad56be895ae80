package saved

import (
	"errors"
	"fmt"
	"strings"
)

// ErrName is wrapped by every refusal of a name.
var ErrName = errors.New("name of a saved request")

// The bounds of a name: of each of its parts in bytes, because file systems stop at 255 and
// screens earlier, and how many folders it may lead through.
const (
	maxName    = 64
	maxFolders = 4
)

// CheckName refuses what cannot be a file's name on every system the console
// runs on: the name is the file's, so a request saved on Linux opens on Windows. Folders
// stand before it, each with a "/" after it.
func CheckName(name string) error {
	parts := strings.Split(name, "/")
	if len(parts)-1 > maxFolders {
		return fmt.Errorf("%w is in more than %d folders", ErrName, maxFolders)
	}
	for _, part := range parts {
		if part == "" && len(parts) > 1 {
			return fmt.Errorf("%w: write folder/name, with both", ErrName)
		}
		if err := checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w is empty", ErrName)
	case len(name) > maxName:
		return fmt.Errorf("%w is longer than %d characters", ErrName, maxName)
	case !alnum(name[0]):
		return fmt.Errorf("%w %q: it must start with a letter or a digit", ErrName, name)
	case !alnum(name[len(name)-1]):
		return fmt.Errorf("%w %q: it must end with a letter or a digit", ErrName, name)
	}
	for i := range len(name) {
		if b := name[i]; !alnum(b) && b != '-' && b != '_' && b != '.' && b != ' ' {
			return fmt.Errorf("%w %q: use letters, digits, spaces, \"-\", \"_\" and \".\"", ErrName, name)
		}
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	if reserved(strings.TrimSpace(stem)) {
		return fmt.Errorf("%w %q: Windows keeps this name for a device", ErrName, name)
	}
	return nil
}

func alnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func reserved(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(stem) != 4 {
		return false
	}
	device := stem[:3]
	return (device == "com" || device == "lpt") && stem[3] >= '0' && stem[3] <= '9'
}
