package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"zonedeck/model"
)

// SchemaVersion is the version of every JSON object the command line prints;
// docs/schema describes them.
const SchemaVersion = 1

// Version is [SchemaVersion] as a field of an object.
type Version struct{}

// MarshalJSON gives SchemaVersion.
func (Version) MarshalJSON() ([]byte, error) { return []byte(strconv.Itoa(SchemaVersion)), nil }

// Encode writes a value as one line of JSON. It holds no character that a terminal would obey.
func Encode(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err //nolint:wrapcheck // it says what cannot be encoded
	}
	_, err := w.Write(Visible(b.Bytes()))
	return err //nolint:wrapcheck // the caller says what it writes to
}

// Visible escapes what a terminal would not show in an encoded value: DEL, C1,
// bidirectional, zero-width and other characters without a width. It means the same.
func Visible(encoded []byte) []byte {
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		r, n := utf8.DecodeRune(encoded)
		switch {
		case r < 0x7f || model.Visible(r):
			out = append(out, encoded[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		encoded = encoded[n:]
	}
	return out
}

// milliseconds is a duration in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measured is a duration in milliseconds, or null where it is negative: it was not measured.
func measured(d time.Duration) *float64 {
	return known(milliseconds(d), d >= 0)
}

// counted is a count, or null where it is negative: it is not known.
func counted[N int | int64 | float64](n N) *N { return known(n, n >= 0) }

// known is a value, or null where it is not known.
func known[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// each converts a slice to one that is never null.
func each[S, T any](in []S, convert func(S) T) []T {
	out := make([]T, len(in))
	for i, s := range in {
		out[i] = convert(s)
	}
	return out
}

// list is a slice that is never null.
func list[T any](s []T) []T { return append([]T{}, s...) }

// moment is a moment in UTC, or "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// stamp is a moment in UTC, or null for none.
func stamp(t time.Time) *time.Time {
	return known(t.UTC(), !t.IsZero())
}
