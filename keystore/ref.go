package keystore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Ref is a reference to a secret, as files and flags write it:
//
//	env:NAME               an environment variable
//	cmd:op read op://x/y   the output of a command (see SplitArgs for its words)
//	keyring:service/name   the operating system's keyring
//	file:NAME              an encrypted file in the console's own folder
//	demo:NAME              a demo key or password of the embedded emulator
//
// The zero value refers to nothing.
type Ref string

// The schemes of a reference.
const (
	SchemeEnv     = "env"
	SchemeCmd     = "cmd"
	SchemeKeyring = "keyring"
	SchemeFile    = "file"
	SchemeDemo    = "demo"
)

// Schemes lists the schemes in the order in which they are explained.
func Schemes() []string {
	return []string{SchemeEnv, SchemeCmd, SchemeKeyring, SchemeFile, SchemeDemo}
}

// RefForms lists the forms of a reference, in one phrase.
const RefForms = "env:NAME, keyring:service/name, file:NAME, cmd:program arguments or demo:NAME"

// errRefForm is wrapped by every refusal of a reference's form.
var errRefForm = errors.New("not a secret reference")

// ParseRef checks the form of a reference. The Resolver finds out whether there is a
// secret behind it. Errors wrap errRefForm and do not repeat the text: it may be the
// secret itself, in the wrong place.
func ParseRef(s string) (Ref, error) {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !slices.Contains(Schemes(), scheme) {
		return "", fmt.Errorf("%w: write %s; a secret itself is never kept here", errRefForm, RefForms)
	}
	var problem string
	switch scheme {
	case SchemeEnv:
		if !isEnvName(rest) {
			problem = "env: needs the name of a variable: letters, digits and underscores, not starting with a digit"
		}
	case SchemeCmd:
		if _, err := SplitArgs(rest); err != nil {
			problem = "cmd: " + err.Error()
		}
	case SchemeKeyring:
		service, name, _ := strings.Cut(rest, "/")
		if service == "" || name == "" || !printable(rest) {
			problem = "keyring: needs service/name"
		}
	case SchemeFile:
		if !isFileName(rest) {
			problem = "file: needs a name of at most 64 letters, digits, dots, dashes and underscores, starting with a letter or a digit"
		}
	case SchemeDemo:
		if rest == "" || !printable(rest) {
			problem = "demo: needs the name of a demo key or zone"
		}
	}
	if problem != "" {
		return "", fmt.Errorf("%w: %s", errRefForm, problem)
	}
	return Ref(s), nil
}

// Scheme is the part before the first colon.
func (r Ref) Scheme() string {
	scheme, _, _ := strings.Cut(string(r), ":")
	return scheme
}

// Target is the part after the first colon.
func (r Ref) Target() string {
	_, rest, _ := strings.Cut(string(r), ":")
	return rest
}

// Label names the reference on screens and in errors. For a command it shows only the
// program: arguments may contain a token.
func (r Ref) Label() string {
	if r.Scheme() != SchemeCmd {
		return string(r)
	}
	words, err := SplitArgs(r.Target())
	if err != nil {
		return "cmd:…"
	}
	if len(words) == 1 {
		return "cmd:" + words[0]
	}
	return "cmd:" + words[0] + " …"
}

// StoreSchemes are those of the places where the Resolver can put a secret, the one to prefer first.
func StoreSchemes() []string { return []string{SchemeKeyring, SchemeFile} }

// Storable reports whether the Resolver can put a secret there.
func (r Ref) Storable() bool { return slices.Contains(StoreSchemes(), r.Scheme()) }

func isEnvName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func isFileName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !word && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' })
}

// Calls reports whether a rotation still makes calls as a profile.
func (p RotationPlan) Calls(profile string) bool {
	return slices.ContainsFunc(p.Users, func(u RotationUser) bool { return u.Profile == profile })
}

// NeedsReference reports whether a reference must not change until a rotation is over.
func (p RotationPlan) NeedsReference(ref string) bool {
	if ref == "" {
		return false
	}
	return slices.Contains([]string{p.NewRef, p.Ref, p.OldHeld, p.NewHeld}, ref) ||
		slices.ContainsFunc(p.Users, func(u RotationUser) bool { return u.Ref == ref })
}

// References are the references where a rotation keeps the old and the new value while it is under way.
// There may be nothing behind them.
func (p RotationPlan) References() (before, after string) {
	return "file:rotation-" + p.ID + "-old", "file:rotation-" + p.ID + "-new"
}

// RefNamed makes a reference from a name; it is to an encrypted file if scheme is not SchemeKeyring. A name that cannot
// be a file name is changed into one; different names give different references.
func RefNamed(scheme, name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name)
	if clean = strings.TrimLeft(clean, "._-"); clean != name || len(clean) > 64 { // different names must stay different
		sum := sha256.Sum256([]byte(name))
		clean = strings.TrimLeft(clean[:min(len(clean), 55)]+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	if scheme == SchemeKeyring {
		return "keyring:zonedeck/" + clean
	}
	return "file:" + clean
}
