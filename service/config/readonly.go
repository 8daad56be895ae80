package config

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrReadOnly is wrapped by every refusal of a read-only profile.
var ErrReadOnly = errors.New("read-only")

// ReadOnlyError is a refusal of a read-only profile. It wraps ErrReadOnly.
type ReadOnlyError struct {
	Profile string
	Action  string // as "launch jobs"
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("profile %s is %v: it does not %s", e.Profile, ErrReadOnly, e.Action)
}

// Unwrap returns ErrReadOnly.
func (e *ReadOnlyError) Unwrap() error { return ErrReadOnly }

// Refuse is why a read-only profile does not do something ("launch jobs"); nil for one that
// may. What changes nothing but costs what a fetch costs is not asked about: fetches by GET,
// HEAD or OPTIONS, tests of a login, downloads.
func (p Profile) Refuse(what string) error {
	if !p.ReadOnly {
		return nil
	}
	return &ReadOnlyError{Profile: p.Name, Action: what}
}

// RefuseMethod is Refuse for a fetch by a method, which may change something at the target.
func (p Profile) RefuseMethod(method string) error {
	switch method = strings.ToUpper(method); method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	default:
		return p.Refuse("send " + method)
	}
}

// Colors are the colours that a profile's name can have on the screen.
func Colors() []string { return []string{"red", "yellow", "green", "blue", "magenta"} }
