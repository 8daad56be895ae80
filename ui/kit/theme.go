package kit

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"zonedeck/model"
	"zonedeck/service/config"
)

// Ink is a precomputed text style: rendering with it only joins strings. The zero
// value leaves the text unchanged.
type Ink struct {
	style   lipgloss.Style
	on, off string
}

// newInk precomputes a style. Only text attributes and colours count; borders,
// padding and widths are ignored.
func newInk(s lipgloss.Style) Ink {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return Ink{style: s, on: on, off: off}
}

// Render draws one line of text.
func (i Ink) Render(s string) string {
	if i.on == "" || s == "" {
		return s
	}
	return i.on + s + i.off
}

// Plain reports whether the ink leaves text unchanged.
func (i Ink) Plain() bool { return i.on == "" }

// Equal reports whether text looks the same in both inks.
func (i Ink) Equal(other Ink) bool { return i.on == other.on }

// Style is the lipgloss style behind the ink.
func (i Ink) Style() lipgloss.Style { return i.style }

// Theme is the set of inks of the program. The root replaces its content in
// place when the terminal reports its background colour: hold the pointer, not a
// copy, and do not keep rendered text when Version changes.
type Theme struct {
	Version int
	Dark    bool
	NoColor bool

	Text, Muted, Strong, Accent       Ink
	Good, Warn, Bad, Note             Ink
	Border, BorderFocus, Title        Ink
	Selected, SelectedBlur            Ink // the cursor row, with and without focus
	KeyHint, KeyLabel                 Ink
	TabOn, TabOff, Banner             Ink
	Placeholder, Cursor               Ink
	Match, MatchNow, Invisible, LineN Ink
	Syntax                            SyntaxInks

	// Rebound are the operator's own keys of actions; see Bound and Key.
	Rebound config.Bindings

	profiles map[string]Ink
}

// SyntaxInks colour the body viewer's tokens.
type SyntaxInks struct{ Key, String, Number, Word, Punct, Tag, Attr, Comment Ink }

// palette is the colours of one background.
type palette struct {
	text, muted, accent, good, warn, bad, note, line, selBack, selText, keyword, str, num color.Color
}

func darkPalette() palette {
	return palette{
		text: lipgloss.Color("#d6deeb"), muted: lipgloss.Color("#8792a6"), accent: lipgloss.Color("#7fb4ff"),
		good: lipgloss.Color("#7fd88f"), warn: lipgloss.Color("#f0c674"), bad: lipgloss.Color("#ff7b7b"),
		note: lipgloss.Color("#c3a6ff"), line: lipgloss.Color("#4a5568"), selBack: lipgloss.Color("#26435f"),
		selText: lipgloss.Color("#ffffff"), keyword: lipgloss.Color("#7fb4ff"), str: lipgloss.Color("#a5d6a7"), num: lipgloss.Color("#f0b27a"),
	}
}

func lightPalette() palette {
	return palette{
		text: lipgloss.Color("#1f2933"), muted: lipgloss.Color("#5d6b7a"), accent: lipgloss.Color("#1557b0"),
		good: lipgloss.Color("#1b6e2f"), warn: lipgloss.Color("#8a5a00"), bad: lipgloss.Color("#b3261e"),
		note: lipgloss.Color("#6a3fb0"), line: lipgloss.Color("#a5b1bf"), selBack: lipgloss.Color("#cfe3fb"),
		selText: lipgloss.Color("#0b1a2b"), keyword: lipgloss.Color("#1557b0"), str: lipgloss.Color("#1b6e2f"), num: lipgloss.Color("#9a4b00"),
	}
}

// NewTheme makes the theme for a dark or light background. With noColor it uses only
// bold, faint, underline and reverse.
func NewTheme(dark, noColor bool) *Theme {
	t := &Theme{}
	t.Set(dark, noColor)
	return t
}

// Set replaces the theme's content in place and increments Version.
func (t *Theme) Set(dark, noColor bool) {
	p := lightPalette()
	if dark {
		p = darkPalette()
	}
	fg := func(c color.Color) lipgloss.Style {
		if noColor {
			return lipgloss.NewStyle()
		}
		return lipgloss.NewStyle().Foreground(c)
	}
	selected := lipgloss.NewStyle().Reverse(true)
	selectedBlur := lipgloss.NewStyle().Underline(true)
	if !noColor {
		selected = lipgloss.NewStyle().Background(p.selBack).Foreground(p.selText).Bold(true)
		selectedBlur = lipgloss.NewStyle().Foreground(p.accent)
	}
	reverse := lipgloss.NewStyle().Reverse(true)
	profiles := map[string]Ink{}
	for name, c := range map[string]color.Color{"red": p.bad, "yellow": p.warn, "green": p.good, "blue": p.accent, "magenta": p.note} {
		profiles[name] = newInk(fg(c).Bold(true).Reverse(true))
	}
	*t = Theme{
		profiles: profiles, Rebound: t.Rebound,
		Version: t.Version + 1, Dark: dark, NoColor: noColor,
		Text: newInk(fg(p.text)), Muted: newInk(fg(p.muted)), Strong: newInk(fg(p.text).Bold(true)), Accent: newInk(fg(p.accent)),
		Good: newInk(fg(p.good)), Warn: newInk(fg(p.warn)), Bad: newInk(fg(p.bad).Bold(true)), Note: newInk(fg(p.note)),
		Border: newInk(fg(p.line)), BorderFocus: newInk(fg(p.accent)), Title: newInk(fg(p.accent).Bold(true)),
		Selected: newInk(selected), SelectedBlur: newInk(selectedBlur),
		KeyHint: newInk(fg(p.accent).Bold(true)), KeyLabel: newInk(fg(p.muted)),
		TabOn: newInk(fg(p.accent).Bold(true)), TabOff: newInk(fg(p.muted)), Banner: newInk(fg(p.warn).Bold(true)),
		Placeholder: newInk(fg(p.text).Faint(true)), Cursor: newInk(reverse),
		Match: newInk(fg(p.warn).Underline(true)), MatchNow: newInk(fg(p.warn).Reverse(true)),
		Invisible: newInk(fg(p.note)), LineN: newInk(fg(p.line)),
		Syntax: SyntaxInks{
			Key: newInk(fg(p.keyword)), String: newInk(fg(p.str)), Number: newInk(fg(p.num)), Word: newInk(fg(p.note)),
			Punct: newInk(fg(p.muted)), Tag: newInk(fg(p.keyword)), Attr: newInk(fg(p.note)), Comment: newInk(fg(p.muted)),
		},
	}
}

// ProfileInk is the ink of a profile's name in one of profile.Colors; false for another word.
func (t *Theme) ProfileInk(name string) (Ink, bool) {
	ink, ok := t.profiles[name]
	return ink, ok
}

// ClassMark is the glyph and the ink of a failure class: colour is never the
// only signal.
func (t *Theme) ClassMark(c model.Class) (glyph string, ink Ink) {
	switch c {
	case model.ClassOK:
		return "✓", t.Good
	case model.ClassTooFast, model.ClassTimeout, model.ClassParsingDrift:
		return "!", t.Warn
	case "":
		return "·", t.Muted
	default:
		return "✗", t.Bad
	}
}

// OutcomeMark is ClassMark for what may be a proof: that it saw what it was made to see is good.
func (t *Theme) OutcomeMark(c model.Class, cause model.Cause) (glyph string, ink Ink) {
	if cause == model.CauseWanted {
		return "✓", t.Good
	}
	return t.ClassMark(c)
}

// KeyMark is the glyph and the ink of a key's state.
func (t *Theme) KeyMark(s model.KeyState) (glyph string, ink Ink) {
	switch s {
	case model.KeyOK:
		return "✓", t.Good
	case model.KeyUnlimited, model.KeySoon, model.KeyDue:
		return "!", t.Warn
	case model.KeyUnknown:
		return "?", t.Note
	default:
		return "✗", t.Bad
	}
}

// JobMark is the glyph and the ink of a job: those of its state, unless that is only the one that was last seen, or its
// result is none to rely on.
func (t *Theme) JobMark(j model.Job) (glyph string, ink Ink) {
	switch {
	case j.GivenUp():
		return "?", t.Warn
	case j.Doubt() == "":
		return t.StateMark(j.State)
	case j.Rows.Worthless() && j.Rows.Drift.Text == "":
		return t.StateMark(model.JobFailed)
	default:
		return "!", t.Warn
	}
}

// StateMark is the glyph and the ink of a job's state.
func (t *Theme) StateMark(s model.JobState) (glyph string, ink Ink) {
	switch s {
	case model.JobReady, model.JobDownloaded:
		return "✓", t.Good
	case model.JobMayHave:
		return "!", t.Warn
	case model.JobRefused, model.JobFailed:
		return "✗", t.Bad
	case model.JobCanceled, model.JobNotSent, model.JobExpired:
		return "-", t.Muted
	default:
		return "●", t.Accent
	}
}
