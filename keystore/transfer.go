package keystore

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// ErrTransfer is wrapped by every refusal of an imported file.
var ErrTransfer = errors.New("the file cannot be imported")

// Portable is a reference as exports show it: empty for a command, because its arguments may
// contain a token.
func Portable(ref string) string {
	if Ref(ref).Scheme() == SchemeCmd {
		return ""
	}
	return ref
}

// ThisConsole is the name in lists and exports for the user that reads a key's own reference.
const ThisConsole = "this console"

// PortableUsers are the users in a key's record, as exports show them.
func PortableUsers(k model.Key) []string {
	var out []string
	for _, user := range k.UsedBy {
		if user == k.Secret {
			user = ThisConsole
		}
		if user == "" || Portable(user) != "" {
			out = append(out, user)
		}
	}
	return out
}

// withOwnReference undoes PortableUsers: it replaces ThisConsole by the key's own reference.
func withOwnReference(k model.Key) model.Key {
	for i, user := range k.UsedBy {
		if user == ThisConsole {
			k.UsedBy[i] = k.Secret
		}
	}
	k.UsedBy = slices.DeleteFunc(k.UsedBy, func(user string) bool { return user == "" }) // the file has no reference for the key
	return k
}

// notRun refuses a reference to a command: an imported file must not make the console run a
// program.
func notRun(ref string) error {
	if Ref(ref).Scheme() == SchemeCmd {
		return errors.New("a command is not imported, because the console would run it: record it in the Keys tab")
	}
	return nil
}

// unlessRead replaces a parse error by words, which say what belongs into the cell. The error does
// not repeat the cell: a key's value may be in the wrong column.
func unlessRead(err error, words string) error {
	if err == nil {
		return nil
	}
	return errors.New("it cannot be read: " + words)
}

// column is one column of the CSV form, and one field of the JSON form.
type column struct {
	name string
	text func(k model.Key) string
	read func(k *model.Key, s string) error
}

func columns() []column {
	date := func(into func(k *model.Key) *time.Time) func(k *model.Key, s string) error {
		return func(k *model.Key, s string) (err error) {
			*into(k), err = parseMoment(s)
			return unlessRead(err, "write a date like 2027-01-31")
		}
	}
	text := func(into func(k *model.Key) *string) func(k *model.Key, s string) error {
		return func(k *model.Key, s string) error { *into(k) = s; return nil }
	}
	return []column{
		{"name", func(k model.Key) string { return k.Name }, text(func(k *model.Key) *string { return &k.Name })},
		{"level", func(k model.Key) string { return string(k.Level) }, func(k *model.Key, s string) (err error) {
			if s != "unknown" {
				k.Level, err = model.ParseLevel(strings.ToUpper(s))
			}
			return unlessRead(err, "write ADMIN, FINANCE, OPS, LIMIT, USER or unknown")
		}},
		{"duty", func(k model.Key) string { return string(k.Duty) }, func(k *model.Key, s string) error { k.Duty = model.Duty(s); return nil }},
		{"expires", func(k model.Key) string { return unlessUnknown(k.Expires.String()) }, func(k *model.Key, s string) (err error) {
			k.Expires, err = model.ParseExpiry(s)
			return unlessRead(err, "write a date like 2027-01-31, or Unlimited")
		}},
		{"created", func(k model.Key) string { return FormatMoment(k.Created) }, date(func(k *model.Key) *time.Time { return &k.Created })},
		{"rotated", func(k model.Key) string { return FormatMoment(k.Rotation.Last) }, date(func(k *model.Key) *time.Time { return &k.Rotation.Last })},
		{"secret", func(k model.Key) string { return Portable(k.Secret) }, func(k *model.Key, s string) error {
			if s == "" {
				return nil
			}
			ref, err := ParseRef(s)
			k.Secret = string(ref)
			return errors.Join(err, notRun(s))
		}},
		{"fingerprint", func(k model.Key) string { return k.Fingerprint }, text(func(k *model.Key) *string { return &k.Fingerprint })},
		{"last4", func(k model.Key) string { return k.Last4 }, text(func(k *model.Key) *string { return &k.Last4 })},
		{"used_by", func(k model.Key) string { return strings.Join(PortableUsers(k), "; ") }, func(k *model.Key, s string) error {
			for _, user := range strings.Split(s, ";") {
				if user = strings.TrimSpace(user); user == "" {
					continue
				}
				if err := notRun(user); err != nil {
					return err
				}
				k.UsedBy = append(k.UsedBy, user)
			}
			return nil
		}},
		{"note", func(k model.Key) string { return k.Note }, text(func(k *model.Key) *string { return &k.Note })},
	}
}

func unlessUnknown(s string) string {
	if s == "unknown" {
		return ""
	}
	return s
}

// formula lists the first characters that make a spreadsheet take a cell for a formula.
const formula = "=+-@\t\r"

// defused prefixes a cell that may be taken for a formula with an apostrophe.
func defused(s string) string {
	if s != "" && strings.ContainsRune(formula+"'", rune(s[0])) {
		return "'" + s
	}
	return s
}

func armed(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.ContainsRune(formula+"'", rune(s[1])) {
		return s[1:]
	}
	return s
}

// WriteCSV writes keys as a table with a head. A cell that a spreadsheet would take for a formula
// gets an apostrophe in front, which ReadCSV removes.
func WriteCSV(w io.Writer, keys []model.Key) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range columns() {
		head = append(head, c.name)
	}
	_ = out.Write(head) // Error reports it
	for _, k := range keys {
		row := make([]string, 0, len(head))
		for _, c := range columns() {
			row = append(row, defused(c.text(k)))
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// maxTransfer limits an imported file, in bytes.
const maxTransfer = 64 << 20

// whole reads a file and fails if it is longer than maxTransfer: io.LimitReader would cut it silently.
type whole struct {
	r         io.Reader
	remaining int
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.r.Read(p[:min(len(p), w.remaining+1)])
	if w.remaining -= n; w.remaining < 0 {
		return 0, fmt.Errorf("it is longer than %d MiB", maxTransfer>>20)
	}
	return n, err
}

// beginning is the part of a text that errors repeat: at most 8 characters.
func beginning(s string) string {
	if r := []rune(s); len(r) > 8 {
		return string(r[:8]) + "…"
	}
	return s
}

// ReadCSV reads a table whose head names the columns, in any order. It refuses unknown columns.
// An empty cell stays unknown. Errors wrap ErrTransfer.
func ReadCSV(r io.Reader) ([]model.Key, error) {
	in := csv.NewReader(&whole{r, maxTransfer})
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: the head of the table: %w", ErrTransfer, err)
	}
	known := columns()
	use := make([]column, len(head))
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		at := slices.IndexFunc(known, func(c column) bool { return c.name == name })
		if at < 0 {
			return nil, fmt.Errorf("%w: column %d is %q; expected %s", ErrTransfer, i+1, beginning(name), columnNames())
		}
		use[i] = known[at]
	}
	var keys []model.Key
	names := map[string]bool{}
	for {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return keys, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrTransfer, err)
		}
		line, _ := in.FieldPos(0)
		var k model.Key
		for i, cell := range row {
			if err := use[i].read(&k, armed(strings.TrimSpace(cell))); err != nil {
				return nil, fmt.Errorf("%w: line %d, %s: %w", ErrTransfer, line, use[i].name, err)
			}
		}
		if keys, err = addRead(keys, names, k); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTransfer, line, err)
		}
	}
}

func columnNames() string {
	var names []string
	for _, c := range columns() {
		names = append(names, c.name)
	}
	return "one of " + strings.Join(names, ", ")
}

// addRead checks a key that was read and adds it.
func addRead(keys []model.Key, names map[string]bool, k model.Key) ([]model.Key, error) {
	k, err := normalise(withOwnReference(k))
	if err == nil && names[k.Name] {
		err = fmt.Errorf("a second key is named %q", beginning(k.Name))
	}
	names[k.Name] = true
	return append(keys, k), err
}

// ReadJSON reads {"keys": […]} or […], as 'keys export' and 'keys list --json' print them. It reads
// the fields of the CSV form and ignores all others, which are derived. Errors wrap ErrTransfer.
func ReadJSON(r io.Reader) ([]model.Key, error) {
	body, err := io.ReadAll(&whole{r, maxTransfer})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	var list []map[string]any
	if err := json.Unmarshal(body, &list); err != nil {
		var object struct{ Keys []map[string]any }
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTransfer, err)
		}
		list = object.Keys
	}
	var keys []model.Key
	names := map[string]bool{}
	for i, entry := range list {
		var k model.Key
		for _, c := range columns() {
			if err := c.read(&k, jsonText(entry[c.name])); err != nil {
				return nil, fmt.Errorf("%w: key %d, %s: %w", ErrTransfer, i+1, c.name, err)
			}
		}
		if keys, err = addRead(keys, names, k); err != nil {
			return nil, fmt.Errorf("%w: key %d: %w", ErrTransfer, i+1, err)
		}
	}
	return keys, nil
}

// jsonText is the text of a field as in the CSV form.
func jsonText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, "; ")
	default:
		return fmt.Sprint(v)
	}
}

// WriteMetrics writes keys for node_exporter's textfile collector: gauges with the times of expiry
// and rotation, in seconds since 1970, and flags. An unknown time has no line. now is the present
// time by the clock that applies to a key. origin is the profile that a key comes with; empty for a
// key of the inventory, which may have the same name.
func WriteMetrics(w io.Writer, keys []model.Key, now func(model.Key) time.Time, origin func(model.Key) string, within time.Duration) error {
	var b strings.Builder
	gauge := func(name, help string, value func(k model.Key) (float64, bool)) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for _, k := range keys {
			if v, ok := value(k); ok {
				fmt.Fprintf(&b, "%s{key=\"%s\",level=\"%s\",duty=\"%s\",profile=\"%s\"} %s\n", name, label(k.Name), label(k.Level.String()), label(string(k.Duty)), label(origin(k)), number(v))
			}
		}
	}
	seconds := func(t time.Time, ok bool) (float64, bool) { return float64(t.Unix()), ok && !t.IsZero() }
	gauge("zonedeck_key_expires_seconds", "When requests with the key are rejected, in seconds since 1970.", func(k model.Key) (float64, bool) {
		return seconds(k.Expires.At, k.Expires.Kind == model.ExpiryDate)
	})
	gauge("zonedeck_key_rotated_seconds", "When the key's value was made, in seconds since 1970.", func(k model.Key) (float64, bool) {
		return seconds(k.Rotation.Last, true)
	})
	gauge("zonedeck_key_rotation_due_seconds", "When the key's value is to be made anew, in seconds since 1970.", func(k model.Key) (float64, bool) {
		return seconds(k.Rotation.Due())
	})
	gauge("zonedeck_key_due", "1 if a clock of the key has run out or does so soon.", func(k model.Key) (float64, bool) {
		if k.DueWithin(now(k), within) {
			return 1, true
		}
		return 0, true
	})
	gauge("zonedeck_key_unknown", "1 if the expiry or the age of the key is not known.", func(k model.Key) (float64, bool) {
		if _, aged := k.Rotation.AgeDays(now(k)); !aged || k.Expires.Kind == model.ExpiryUnknown {
			return 1, true
		}
		return 0, true
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// label escapes a label's value as the text format 0.0.4 demands.
func label(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}

func number(v float64) string { return fmt.Sprintf("%.0f", v) }

// Imported is the result of an import: names of keys.
type Imported struct{ Added, Changed, Skipped []string }

// Import puts keys into the inventory, in one change. A key that exists stays as it is, unless update
// is set: then it gets every field that the imported key has. An imported reference that differs from the
// recorded one is refused: a file must not change where a value is read from.
func (v *Inventory) Import(ctx context.Context, keys []model.Key, update bool) (done Imported, err error) {
	err = v.change(ctx, "importing", fmt.Sprintf("%d keys", len(keys)), func(now []model.Key) (next, changed []model.Key, err error) {
		done = Imported{}
		at := make(map[string]int, len(now))
		for i, k := range now {
			at[k.Name] = i
		}
		var fresh []model.Key
		for n, k := range keys {
			i, there := at[k.Name]
			if err := checkName(k.Name, k.Fingerprint); err != nil && !there {
				return nil, nil, fmt.Errorf("key %d of the source: %w", n+1, err)
			}
			next := k
			if there {
				if update && now[i].Secret != "" && k.Secret != "" && k.Secret != now[i].Secret {
					return nil, nil, fmt.Errorf("%s: the file gives another reference (%s) than the inventory has (%s): change it in the Keys tab, or leave it out of the file", k.Name, Ref(k.Secret).Label(), Ref(now[i].Secret).Label())
				}
				next = known(now[i], k)
			}
			next, err := normalise(next)
			switch {
			case err != nil:
				return nil, nil, fmt.Errorf("%s: %w", k.Name, err)
			case !there:
				fresh, done.Added = append(fresh, next), append(done.Added, k.Name)
			case !update || len(Changes(now[i], next)) == 0:
				done.Skipped = append(done.Skipped, k.Name)
			default:
				now[i], done.Changed, changed = next, append(done.Changed, k.Name), append(changed, next)
			}
		}
		return merged(now, fresh), append(changed, fresh...), nil
	})
	return done, err
}

// merged puts each new key before the first key whose name sorts after it. That keeps two additions apart in the
// file, and git can merge them.
func merged(keys, fresh []model.Key) []model.Key {
	slices.SortStableFunc(fresh, func(a, b model.Key) int { return cmp.Compare(a.Name, b.Name) })
	out := make([]model.Key, 0, len(keys)+len(fresh))
	for _, k := range keys {
		for len(fresh) > 0 && k.Name > fresh[0].Name {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, k)
	}
	return append(out, fresh...)
}

// known copies every field that b has into a.
func known(a, b model.Key) model.Key {
	empty := model.Key{Name: b.Name}
	for _, f := range keyFields() {
		if f.text(b) != f.text(empty) {
			f.copy(&a, b)
		}
	}
	return a
}
