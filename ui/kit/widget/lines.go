package widget

import (
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Wrapped breaks text, which may be remote, into lines of at most w cells (at least 8),
// all in one ink. Line breaks of the text stay.
func Wrapped(ink kit.Ink, words string, w int) []string {
	out := text.Wrap(text.CleanLines(words), max(w, 8))
	for i := range out {
		out[i] = ink.Render(out[i])
	}
	return out
}

// WrappedTo is Wrapped in at most n lines, the last of which ends with "…" where more of the text follows.
func WrappedTo(ink kit.Ink, words string, w, n int) []string {
	w = max(w, 8)
	out := text.Wrap(text.CleanLines(words), w)
	if len(out) > n && n > 0 {
		out[n-1] = text.Cut(out[n-1]+" …", w)
	}
	out = out[:min(len(out), max(n, 0))]
	for i := range out {
		out[i] = ink.Render(out[i])
	}
	return out
}

// Hung puts head, which may be styled, before the first line of a text and indents the
// others by its width. A line has at most w cells, its head included, but room for at
// least 8 after the head.
func Hung(head string, ink kit.Ink, words string, w int) []string {
	width := text.Width(head)
	out := text.Wrap(text.Clean(words), max(w-width, 8))
	for i := range out {
		out[i] = head + ink.Render(out[i])
		head = text.Spaces(width)
	}
	return out
}

// Offers are the keys of a group that the footer shows, each with what it does: for a pane that
// has nothing to show yet.
func Offers(t *kit.Theme, bindings []kit.Binding, group string, w int) []string {
	var out []string
	for _, b := range t.Bound(bindings) {
		if b.Group == group && !b.Hidden && len(b.Keys) > 0 {
			out = append(out, Hung(t.KeyHint.Render(text.Fit(kit.KeyName(b.Key()), 7)), t.Muted, b.Help, w)...)
		}
	}
	return out
}

// Fact is a value after its name, in a column of 10 cells.
func Fact(t *kit.Theme, name, value string, w int) []string {
	return Hung(t.Muted.Render(text.Fit(name, 10)), kit.Ink{}, value, w)
}

// Age is how long before now, the console's time, something happened with a profile. The
// clock of the emulator's profile may be ahead of the machine's, by which all others are
// dated; another profile does not know how far, so there it is "-", unless it lies ahead: DateAndAge has the date.
func Age(s kit.Session, of string, t, now time.Time) string {
	age, ok := ago(s, of, t, now)
	switch {
	case ok:
		return age
	case t.Sub(now) > time.Minute:
		return text.Ago(t, now)
	}
	return "-"
}

// ago is the Age; ok is false where it is not known.
func ago(s kit.Session, of string, t, now time.Time) (age string, ok bool) {
	foreign := of != "" && of != s.ProfileName
	switch {
	case foreign && s.Local:
		return text.Ago(t, now.Add(-s.Ahead)), true
	case foreign && of == model.LocalName && !t.IsZero():
		return "", false
	default:
		return text.Ago(t, now), true
	}
}

// DateAndAge is the date, and the Age where it is known.
func DateAndAge(s kit.Session, of string, t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	when := text.Clock(t, now)
	if ago, ok := ago(s, of, t, now); ok {
		when += " (" + ago + ")"
	}
	return when
}

// Indent puts a blank before every line.
func Indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = " " + l
	}
	return out
}

// Foot is a rule of w cells with lines below it: what a list says about its selected
// row.
func Foot(t *kit.Theme, w int, lines ...string) []string {
	out := []string{t.Border.Render(strings.Repeat("─", w))}
	for _, l := range lines {
		out = append(out, " "+text.Cut(text.Clean(l), w-2))
	}
	return out
}

// Trouble fills a pane with the reason why there is nothing else to show, and hint, a
// line about what to do.
func Trouble(t *kit.Theme, why, hint string, w, h int) string {
	lines := append(Hung(" "+t.Bad.Render("✗ "), kit.Ink{}, why, w-1), "   "+hint)
	return Block("\n"+strings.Join(lines, "\n"), w, h)
}
