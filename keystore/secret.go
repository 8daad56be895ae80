package keystore

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unicode"

	"github.com/zalando/go-keyring"
)

const dots = "••••"

// shortest is the minimum length, in characters, of a value whose last four may be
// shown. For a shorter value they would give away too much.
const shortest = 12

// Secret is the value of a key or of a password. It prints, encodes and logs as
// "••••" and the last four characters, or as "••••" alone when it is shorter
// than twelve. The zero value is empty.
//
// The value is in a closure. Neither fmt nor other code that uses reflection can reach
// it there, not even through an unexported field of another struct. So a Secret cannot
// be compared with ==; use Equal.
type Secret struct {
	reveal func() string
}

// NewSecret wraps a value; the empty string gives the zero Secret.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return value }}
}

// Reveal is the value itself. Call it only where the value itself is needed, as in a
// header, a login or a copy that a user asks for.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.reveal == nil }

// Equal compares two values in constant time.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// Last4 is the last four characters of the value. It is empty if the value is shorter
// than twelve characters or if they are not printable.
func (s Secret) Last4() string {
	r := []rune(s.Reveal())
	if len(r) < shortest {
		return ""
	}
	r = r[len(r)-4:]
	for _, c := range r {
		if !unicode.IsGraphic(c) || c == unicode.ReplacementChar {
			return ""
		}
	}
	return string(r)
}

// Fingerprint is the first 16 hex digits of the value's SHA-256; empty if there is no
// value. It identifies a key without giving away anything of a random value.
func (s Secret) Fingerprint() string {
	if s.Empty() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:8])
}

// String is the mask.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return dots + s.Last4()
}

// Format writes the mask, whatever the verb and flags.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON is the mask as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText is the mask, for TOML, XML and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is the mask, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Delete deletes an entry.
func (systemKeyring) Delete(service, name string) error {
	if err := busThere(); err != nil {
		return err
	}
	err := keyring.Delete(service, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrSecretMissing
	}
	return err
}

// ProbeKeyring returns nil if the keyring answers, else why it does not. It asks for an entry that nobody
// has. An answer is remembered for good; a failure only as long as that of any other call.
func (r *Resolver) ProbeKeyring(ctx context.Context) error {
	r.probe.Lock()
	defer r.probe.Unlock()
	if r.answered {
		return nil
	}
	_, err := r.keyring.get(ctx, "keyring:zonedeck/probe-of-the-keyring")
	if err == nil || errors.Is(err, ErrSecretMissing) {
		r.answered = true
		return nil
	}
	return err
}
