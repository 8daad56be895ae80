package keystore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// keyField is one thing that is recorded about a key.
type keyField struct {
	name string // as the forms call it
	text func(k model.Key) string
	copy func(to *model.Key, from model.Key)
}

func keyFields() []keyField {
	return []keyField{
		{"name", func(k model.Key) string { return k.Name }, func(to *model.Key, from model.Key) { to.Name = from.Name }},
		{"level", func(k model.Key) string { return k.Level.String() }, func(to *model.Key, from model.Key) { to.Level = from.Level }},
		{"duty", func(k model.Key) string { return string(k.Duty) }, func(to *model.Key, from model.Key) { to.Duty = from.Duty }},
		{"expiry", func(k model.Key) string { return k.Expires.String() }, func(to *model.Key, from model.Key) { to.Expires = from.Expires }},
		{"created", func(k model.Key) string { return FormatMoment(k.Created.Truncate(time.Second)) }, func(to *model.Key, from model.Key) { to.Created = from.Created }},
		{"made on", func(k model.Key) string { return FormatMoment(k.Rotation.Last.Truncate(time.Second)) }, func(to *model.Key, from model.Key) { to.Rotation = from.Rotation }},
		{"value's place", func(k model.Key) string { return k.Secret }, func(to *model.Key, from model.Key) { to.Secret = from.Secret }},
		{"used by", func(k model.Key) string { return strings.Join(k.UsedBy, ", ") }, func(to *model.Key, from model.Key) { to.UsedBy = slices.Clone(from.UsedBy) }},
		{"note", func(k model.Key) string { return k.Note }, func(to *model.Key, from model.Key) { to.Note = from.Note }},
		{"value", func(k model.Key) string { return k.Fingerprint + k.Last4 }, func(to *model.Key, from model.Key) { to.Fingerprint, to.Last4 = from.Fingerprint, from.Last4 }},
	}
}

// Changes names what differs between two records of a key, as the forms call it.
func Changes(before, after model.Key) []string {
	var out []string
	for _, f := range keyFields() {
		if f.text(before) != f.text(after) {
			out = append(out, f.name)
		}
	}
	return out
}

// ConflictError refuses an edit: somebody else has changed the same fields since the record
// was read.
type ConflictError struct {
	// Base is what to hand to Merge next, after the editor has seen what is there now.
	Base   model.Key
	Fields []string // what both changed, with what it is now
}

func (e *ConflictError) Error() string {
	return "changed elsewhere meanwhile: " + strings.Join(e.Fields, ", ")
}

// Merge puts what an editor changed between base, which was read, and edited into the record
// as it is now. A field that was also changed elsewhere, to something else, is a
// *ConflictError.
func Merge(base, edited, now model.Key) (model.Key, error) {
	out, seen := now, base
	var clashes []string
	for _, f := range keyFields() {
		was, mine, theirs := f.text(base), f.text(edited), f.text(now)
		switch {
		case mine == was || mine == theirs:
		case theirs == was:
			f.copy(&out, edited)
		default:
			f.copy(&seen, now)
			clashes = append(clashes, fmt.Sprintf("%s is %s now", f.name, cmp.Or(theirs, "empty")))
		}
	}
	if len(clashes) > 0 {
		return now, &ConflictError{Base: seen, Fields: clashes}
	}
	return out, nil
}
