package keystore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// inventoryFile is keys.toml.
type inventoryFile struct {
	Version int        `toml:"version"`
	Keys    []keyEntry `toml:"keys"`
}

type keyEntry struct {
	Name        string   `toml:"name"`
	Level       string   `toml:"level"`
	Duty        string   `toml:"duty"`
	Expires     any      `toml:"expires"` // see momentText
	Created     any      `toml:"created"`
	Rotated     any      `toml:"rotated"`
	Secret      string   `toml:"secret"`
	Fingerprint string   `toml:"fingerprint"`
	Last4       string   `toml:"last4"`
	UsedBy      []string `toml:"used_by"`
	Note        string   `toml:"note"`
}

// momentText is a date as text, whether the file has it in quotes or in TOML's own form.
// Anything else becomes text that does not parse as a date.
func momentText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case toml.LocalDate:
		return v.String()
	case time.Time:
		return v.Format(time.RFC3339)
	default:
		return fmt.Sprint(v)
	}
}

// inventoryVersion is the version of the file format. A later version is refused: writing
// it back would lose its new fields.
const inventoryVersion = 1

const inventoryHeader = `# zonedeck: the key inventory. It holds no secret; "secret" says where one is kept.
# You may edit it while no console runs a change; comments of your own are not kept.
#
# name         how you call the key
# level        ADMIN, FINANCE, OPS, LIMIT or USER; leave it out when you do not know it
# duty         "human", "batch job", "CI" or "service"
# expires      a date (2027-01-31), a moment (2027-01-31T12:00:00Z) or "Unlimited"
# created      when the key was made, however often its value was made anew since
# rotated      when its value was made: creation or last refresh; leave it out when unknown
# secret       env:NAME, keyring:service/name, file:NAME, cmd:program arguments
# fingerprint  first 16 hex digits of the value's SHA-256, filled in by zonedeck
# used_by      what stops working when the key does
version = 1
`

func (f inventoryFile) keys(doc textfile.Doc) ([]model.Key, error) {
	if f.Version > inventoryVersion || f.Version < 0 {
		return nil, doc.Fault(textfile.At("version"), fmt.Sprintf("the inventory's form is %d", f.Version),
			"1; it was written by another version of zonedeck")
	}
	seen := map[string]bool{}
	var out []model.Key
	for i, e := range f.Keys {
		k, err := e.key(doc, i)
		if err != nil {
			return nil, err
		}
		if seen[k.Name] {
			return nil, doc.Fault(textfile.At("keys", i, "name"), fmt.Sprintf("a second key is named %q", k.Name), "every name once")
		}
		seen[k.Name] = true
		out = append(out, k)
	}
	return out, nil
}

func (e keyEntry) key(doc textfile.Doc, i int) (model.Key, error) {
	fault := func(field, msg, expected string) error {
		return doc.Fault(textfile.At("keys", i, field), msg, expected)
	}
	if problem := keyNameProblem(e.Name); problem != "" {
		return model.Key{}, fault("name", problem, `a line like name = "etl-main"`)
	}
	level, err := model.ParseLevel(e.Level)
	if err != nil {
		return model.Key{}, fault("level", err.Error(), "a level of contract 5.3, or no line when it is not known")
	}
	expires, err := model.ParseExpiry(momentText(e.Expires))
	if err != nil {
		return model.Key{}, fault("expires", err.Error(), "")
	}
	rotated, err := parseMoment(momentText(e.Rotated))
	if err != nil {
		return model.Key{}, fault("rotated", err.Error(), "a date like 2026-08-01, or no line when it is not known")
	}
	created, err := parseMoment(momentText(e.Created))
	if err != nil {
		return model.Key{}, fault("created", err.Error(), "a date like 2026-08-01, or no line when it is not known")
	}
	if e.Secret != "" {
		if _, err := ParseRef(e.Secret); err != nil {
			return model.Key{}, fault("secret", "secret is "+err.Error(), "")
		}
	}
	if e.Fingerprint != "" && !isHex16(e.Fingerprint) {
		return model.Key{}, fault("fingerprint", "fingerprint is not 16 hex digits", "no line; zonedeck fills it in")
	}
	if len([]rune(e.Last4)) > 4 {
		return model.Key{}, fault("last4", "last4 has more than four characters", "no line; zonedeck fills it in")
	}
	return model.Key{
		Name: e.Name, Level: level, Duty: model.Duty(e.Duty),
		Fingerprint: e.Fingerprint, Last4: e.Last4,
		Expires: expires, Rotation: model.Rotation{Last: rotated}, Created: created,
		Secret: e.Secret, UsedBy: slices.Clip(e.UsedBy), Note: e.Note,
	}, nil
}

func renderInventory(keys []model.Key) []byte {
	var b strings.Builder
	b.WriteString(inventoryHeader)
	for _, k := range keys {
		b.WriteString("\n[[keys]]\n")
		line := func(name, value string) {
			if value != "" {
				b.WriteString(name + strings.Repeat(" ", len("fingerprint")-len(name)) + " = " + textfile.Quote(value) + "\n")
			}
		}
		line("name", k.Name)
		line("level", string(k.Level))
		line("duty", string(k.Duty))
		if k.Expires.Kind != model.ExpiryUnknown {
			line("expires", k.Expires.String())
		}
		line("created", FormatMoment(k.Created))
		line("rotated", FormatMoment(k.Rotation.Last))
		line("secret", k.Secret)
		line("fingerprint", k.Fingerprint)
		line("last4", k.Last4)
		if len(k.UsedBy) > 0 {
			b.WriteString("used_by     = " + textfile.List(k.UsedBy) + "\n")
		}
		line("note", k.Note)
	}
	return []byte(b.String())
}

// parseMoment reads a date (the start of that day in UTC) or an RFC 3339 moment.
func parseMoment(s string) (time.Time, error) {
	if s == "" || s == "unknown" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date", s)
}

// FormatMoment formats a moment as in the inventory: a date for the start of a day in UTC, else RFC 3339;
// empty for the zero time.
func FormatMoment(t time.Time) string { return formatMoment(t, time.RFC3339) }

func formatMoment(t time.Time, layout string) string {
	switch {
	case t.IsZero():
		return ""
	case t.Equal(t.Truncate(24 * time.Hour)):
		layout = time.DateOnly
	}
	return t.UTC().Format(layout)
}

// keyNameProblem says what is wrong with a key's name; empty if nothing is.
func keyNameProblem(name string) string {
	switch {
	case name == "":
		return "the key has no name"
	case len(name) > 100:
		return "the key's name is longer than 100 bytes"
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("the key's name %q begins or ends with a space", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("the key's name %q holds a control character", name)
	default:
		return ""
	}
}

// CheckName refuses a new key's name if it contains the key's value, or something that may be a value: names are
// shown everywhere. value is empty if it is not known. The error wraps ErrKeyFields and does not repeat the name.
func CheckName(name string, value Secret) error { return checkName(name, value.Fingerprint()) }

func checkName(name, fingerprint string) error {
	const instead = "write another name, as etl-main: names are kept and shown in plain text, and nothing was written"
	switch {
	case holdsValue(name, fingerprint):
		return fmt.Errorf("%w: its name holds its value; %s", ErrKeyFields, instead)
	case model.MayBeToken(name):
		return fmt.Errorf("%w: its name may be a key's value, because it has a long word of letters and digits; %s", ErrKeyFields, instead)
	default:
		return nil
	}
}

// CheckKeyValue refuses a value that was copied with its header: every service would reject it without saying
// why. The error wraps ErrKeyValue.
func CheckKeyValue(value Secret) error {
	text := strings.ToLower(strings.TrimLeft(value.Reveal(), " \t\"'"))
	for _, header := range []string{"authorization:", "bearer "} {
		if strings.HasPrefix(text, header) {
			return fmt.Errorf("%w: it begins with %q; give what stands after \"Bearer\" alone", ErrKeyValue, strings.TrimSpace(header))
		}
	}
	return nil
}

func isHex16(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// holdsValue reports whether a word of text has the given fingerprint: then somebody pasted
// the key's value into a text field. Words end at blanks, and also at the punctuation that
// surrounds values in commands and files.
func holdsValue(text, fingerprint string) bool {
	if fingerprint == "" {
		return false
	}
	is := func(word string) bool { return NewSecret(word).Fingerprint() == fingerprint }
	marks := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=:,;\"'`()[]{}<>", r) }
	return is(text) || slices.ContainsFunc(strings.Fields(text), is) || slices.ContainsFunc(strings.FieldsFunc(text, marks), is)
}

// keyField is one recorded property of a key.
type keyField struct {
	name string // its label in the forms
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

// Changes names the fields that differ between two records of a key, by their labels in the forms.
func Changes(before, after model.Key) []string {
	var out []string
	for _, f := range keyFields() {
		if f.text(before) != f.text(after) {
			out = append(out, f.name)
		}
	}
	return out
}

// ConflictError refuses an edit: the same fields were changed elsewhere since the record was read.
type ConflictError struct {
	// Base is the base for the next Merge, after the editor has seen the present record.
	Base   model.Key
	Fields []string // the fields in conflict; those of Merge come with their present text
}

func (e *ConflictError) Error() string {
	return "changed elsewhere meanwhile: " + strings.Join(e.Fields, ", ")
}

// Merge applies to now what an editor changed from base, the record as it was read, to edited.
// If a field was changed elsewhere to something else, the error is a *ConflictError.
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
