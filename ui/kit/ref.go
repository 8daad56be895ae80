package kit

import (
	"strings"

	"zonedeck/keystore"
)

// RefLabel describes a reference to a secret for display, without the arguments of a
// command, which may hold more than the operator wants on a screen. It is empty for an
// empty reference.
func RefLabel(ref string) string {
	if ref == "" {
		return ""
	}
	r, err := keystore.ParseRef(ref)
	if err != nil {
		return "not a reference"
	}
	return r.Label()
}

// CheckRef checks a reference in a form; an empty one is valid.
func CheckRef(ref string) error {
	if ref = strings.TrimSpace(ref); ref == "" {
		return nil
	}
	_, err := keystore.ParseRef(ref)
	return err
}
