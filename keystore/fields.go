package keystore

import (
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
		{"made on", func(k model.Key) string { return formatMoment(k.Rotation.Last.Truncate(time.Second)) }, func(to *model.Key, from model.Key) { to.Rotation = from.Rotation }},
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
