package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// errOtherForm says that a file writes a profile in a form that is not changed by program.
var errOtherForm = errors.New("the file writes the profile in another form: change it there by hand")

// EditProfile changes a profile of config.toml from before, as it was read, to p, whose name says
// which. Only the lines of what differs between the two are written; everything else stays as the
// file has it now, comments included. What differs between them and was changed in the file as well
// is ErrChanged. The text is checked before it replaces the old one, and what cannot be changed so is
// an error: the file is not touched then. Variables are left as they are. The profile is returned as
// it is in the file then.
func EditProfile(ctx context.Context, path string, before, p model.Profile) (model.Profile, error) {
	saved, err := checked(p)
	if err == nil {
		before, _ = checked(before) // for its defaults
		err = rewrite(ctx, path, p.Name, func(f File, text []byte) ([]byte, error) {
			now := f.profiles[p.Name]
			if saved, err = merged(before, now, saved); err == nil {
				saved, err = checked(saved)
			}
			if err != nil {
				return nil, err
			}
			return edited(path, text, now, saved)
		})
	}
	if err != nil {
		return p, fmt.Errorf("changing profile %q: %w", p.Name, err)
	}
	return saved, nil
}

// RemoveProfile takes a profile out of config.toml, and out of default_profile: the only other one takes
// its place; of several others none does by itself, so that the emulator is the default then.
func RemoveProfile(ctx context.Context, path, name string) error {
	err := rewrite(ctx, path, name, func(f File, text []byte) ([]byte, error) { return removed(path, text, f, name) })
	if err != nil {
		return fmt.Errorf("removing profile %q: %w", name, err)
	}
	return nil
}

// rewrite replaces the file by what change makes of its text.
func rewrite(ctx context.Context, path, name string, change func(f File, text []byte) ([]byte, error)) error {
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	f, text, err := loadText(path)
	if err != nil {
		return err
	}
	if _, ok := f.profiles[name]; !ok {
		return fmt.Errorf("%w in %s", ErrNoSuchProfile, path)
	}
	changed, err := change(f, text)
	if err != nil || bytes.Equal(changed, text) {
		return err
	}
	return textfile.Write(path, changed)
}

// line is one field of a table as the file writes it; empty text is a field that is not there.
type line struct{ name, value string }

// fields are the fields of a profile's own table, as render writes them.
func fields(p model.Profile) []line {
	out := lines(settings(&p))
	for i, f := range out {
		switch {
		case f.name == "proxy_port" && p.ProxyHost == "", f.name == "verify" && p.Verify, f.name == timeouts: // which are a table
			out[i].value = ""
		case f.name == "verify":
			out[i].value = "false"
		}
	}
	return out
}

// timeouts is the table of a profile's timeouts.
const timeouts = "timeouts"

// timeoutLines are its fields, those of all products in their order.
func timeoutLines(t model.Timeouts) (out []line) {
	for _, p := range model.TimedProducts() {
		l := line{name: p.String()}
		if d, ok := t[p]; ok {
			l.value = textfile.Quote(d.String())
		}
		out = append(out, l)
	}
	return out
}

// lines write settings. What has no value, or is false, is not there.
func lines(settings []setting) []line {
	out := make([]line, len(settings))
	for i, s := range settings {
		out[i].name = s.name
		switch v := s.value(); {
		case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		case v.Kind() == reflect.String:
			out[i].value = textfile.Quote(v.String())
		case v.Kind() == reflect.Slice:
			out[i].value = quotedList(*s.at.(*[]string))
		default:
			out[i].value = fmt.Sprint(v)
		}
	}
	return out
}

// edited is the text with another profile in the place of before.
func edited(path string, text []byte, before, p model.Profile) ([]byte, error) {
	e := editor{path: path, name: p.Name, text: text}
	e.table(nil, fields(before), fields(p))
	if len(before.Timeouts) > 0 && len(p.Timeouts) > 0 {
		e.table([]any{timeouts}, timeoutLines(before.Timeouts), timeoutLines(p.Timeouts))
	} else if len(before.Timeouts) > 0 {
		e.remove(timeouts)
	}
	for i, z := range slices.Backward(before.Zones) {
		after, ok := p.Zone(string(z.Name))
		if ok {
			e.table([]any{"zones", i}, lines(zoneSettings(&z)), lines(zoneSettings(&after)))
		} else {
			e.remove("zones", i)
		}
	}
	var added strings.Builder
	for _, z := range p.Zones {
		if _, known := before.Zone(string(z.Name)); !known {
			renderZone(&added, p.Name, z)
		}
	}
	if len(before.Timeouts) == 0 {
		renderTimeouts(&added, p)
	}
	e.append(added.String())
	if e.err != nil {
		return nil, e.err
	}
	f, err := Parse(path, e.text)
	p.Variables = before.Variables
	if err != nil || !equalProfiles(f.profiles[p.Name], p) {
		return nil, errors.Join(errOtherForm, err)
	}
	return e.text, nil
}

// equalProfiles compares two profiles whatever the order of their zones.
func equalProfiles(a, b model.Profile) bool {
	for _, p := range []*model.Profile{&a, &b} {
		p.Zones = slices.SortedFunc(slices.Values(p.Zones), func(x, y model.Zone) int { return cmp.Compare(x.Name, y.Name) })
		if len(p.AllowedDomains) == 0 {
			p.AllowedDomains = nil
		}
		if len(p.Variables) == 0 {
			p.Variables = nil
		}
		if len(p.Timeouts) == 0 {
			p.Timeouts = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

// removed is the text without a profile.
func removed(path string, text []byte, f File, name string) ([]byte, error) {
	e := editor{path: path, name: name, text: text}
	p := f.profiles[name]
	if len(p.Variables) > 0 {
		e.remove("variables")
	}
	if len(p.Timeouts) > 0 {
		e.remove(timeouts)
	}
	for i := range slices.Backward(p.Zones) {
		e.remove("zones", i)
	}
	e.remove()
	if f.fallback == name {
		next := ""
		switch others := slices.DeleteFunc(f.Names(), func(n string) bool { return n == name }); len(others) {
		case 0:
		case 1:
			next = textfile.Quote(others[0]) // it stays the default when more are added
		default:
			next = textfile.Quote(model.LocalName)
		}
		e.field(textfile.At("default_profile"), "default_profile", next)
	}
	if e.err != nil {
		return nil, e.err
	}
	left, err := Parse(path, e.text)
	if err != nil || len(left.profiles) != len(f.profiles)-1 {
		return nil, errors.Join(errOtherForm, err)
	}
	for other, p := range left.profiles {
		if !equalProfiles(p, f.profiles[other]) || other == name {
			return nil, errOtherForm
		}
	}
	return e.text, nil
}

// editor changes the lines of one profile. The first error ends it.
type editor struct {
	path, name string
	text       []byte
	err        error
}

// at finds the line of a place, counted from 0, and checks how it begins.
func (e *editor) at(place, begins string) (lines []string, n int) {
	if e.err != nil {
		return nil, 0
	}
	var c configFile
	doc, err := textfile.Decode(e.path, e.text, &c)
	if err != nil {
		e.err = err
		return nil, 0
	}
	lines = slices.Collect(strings.Lines(string(e.text)))
	n = doc.Fault(place, "", "").Line - 1
	if n < 0 || n >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[n]), begins) {
		e.err = errOtherForm
	}
	return lines, n
}

func (e *editor) place(parts ...any) string {
	return textfile.At(append([]any{"profiles", e.name}, parts...)...)
}

func (e *editor) put(lines []string) { e.text = []byte(strings.Join(lines, "")) }

// table changes the fields of a table of the profile that differ.
func (e *editor) table(at []any, before, after []line) {
	for i, f := range after {
		switch {
		case e.err != nil || f == before[i]:
		case e.has(append(at, f.name)...):
			e.field(e.place(append(at, f.name)...), f.name, f.value)
		case f.value != "":
			e.insert(at, f)
		}
	}
}

// has reports whether the file writes a field, whatever its value.
func (e *editor) has(parts ...any) bool {
	probe := *e
	probe.at(e.place(parts...), fmt.Sprint(parts[len(parts)-1]))
	return probe.err == nil
}

// field writes another value into a field's line, or takes the line out.
func (e *editor) field(place, name, value string) {
	lines, n := e.at(place, name)
	if e.err != nil {
		return
	}
	end := n + 1
	for depth := brackets(lines[n]); depth > 0 && end < len(lines); end++ { // a list over several lines
		depth += brackets(lines[end])
	}
	var put []string
	if value != "" {
		put = []string{name + " = " + value + comment(lines[end-1]) + "\n"}
	}
	e.put(slices.Replace(lines, n, end, put...))
}

// brackets is how many lists a line opens more than it closes, outside its texts.
func brackets(s string) int {
	n, quote := 0, rune(0)
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '#':
			return n
		case r == '[':
			n++
		case r == ']':
			n--
		}
	}
	return n
}

// comment is the comment at the end of a line, with the space before it.
func comment(s string) string {
	quote, escaped := rune(0), false
	for i, r := range s {
		switch {
		case escaped:
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '#':
			start := len(strings.TrimRight(s[:i], " \t"))
			return strings.TrimRight(s[start:], "\r\n")
		}
	}
	return ""
}

// insert writes a field that is not there yet below the others of its table.
func (e *editor) insert(at []any, f line) {
	lines, n := e.at(e.place(at...), "[")
	if e.err != nil {
		return
	}
	end := tableEnd(lines, n)
	for end > n+1 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	if !strings.HasSuffix(lines[end-1], "\n") {
		lines[end-1] += "\n"
	}
	e.put(slices.Insert(lines, end, f.name+" = "+f.value+"\n"))
}

// remove takes a table out, with the comments in it. Those right above the next one stay.
func (e *editor) remove(at ...any) {
	lines, n := e.at(e.place(at...), "[")
	if e.err == nil {
		e.put(slices.Delete(lines, n, tableEnd(lines, n)))
	}
}

// tableEnd is the line behind a table whose header is line n.
func tableEnd(lines []string, n int) int {
	end, depth := n+1, 0
	for ; end < len(lines); end++ {
		trimmed := strings.TrimSpace(lines[end])
		if depth == 0 && strings.HasPrefix(trimmed, "[") {
			break
		}
		depth += brackets(lines[end])
	}
	if end == len(lines) {
		return end
	}
	for end > n+1 && strings.HasPrefix(strings.TrimSpace(lines[end-1]), "#") {
		end--
	}
	return end
}

// append adds tables behind the last one of the profile.
func (e *editor) append(text string) {
	if text == "" || e.err != nil {
		return
	}
	lines, header := e.at(e.place(), "[")
	last := header
	for i := 0; e.err == nil; i++ {
		_, n := e.at(e.place("zones", i), "[")
		if n == header { // there is none of that number
			break
		}
		last = max(last, n)
	}
	if e.err != nil {
		return
	}
	end := tableEnd(lines, last)
	if !strings.HasSuffix(lines[end-1], "\n") {
		lines[end-1] += "\n"
	}
	e.put(slices.Insert(lines, end, text))
}
