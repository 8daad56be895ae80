package proxy

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// testLines are what was measured of the exits, and the test of the login.
func (m *Model) testLines(w int) []string {
	exits := m.exits.Summary(w)
	switch {
	case len(exits) == 0:
		return m.loginLines(w)
	case m.test.done || m.test.problem != "" || m.test.slot.Running():
		return append(append(exits, ""), m.loginLines(w)...)
	default:
		return exits
	}
}

// loginLines are the test of the login.
func (m *Model) loginLines(w int) []string {
	t := m.deps.Theme
	switch {
	case m.test.slot.Running():
		return []string{
			t.Accent.Render("● ") + text.Cut(text.Clean(m.test.line), w-2),
			t.Muted.Render(text.Duration(m.deps.Now().Sub(m.test.started)) + " · esc stops it"),
		}
	case m.test.problem != "":
		return widget.Wrapped(t.Warn, "! "+m.test.problem, w)
	case m.test.done:
		return m.resultLines(w)
	}
	if why := m.whyNotTest(); why != "" {
		return widget.Wrapped(t.Muted, "not now: "+why, w)
	}
	out := widget.Wrapped(t.Muted, fmt.Sprintf("%s logs in and makes %d calls, to see the login work and the exit rotate", t.Bound(m.loginBindings()[:1])[0].Chords()[0], rounds), w)
	return append(append(out, ""), widget.Offers(t, m.loginBindings()[1:], "Credential", w)...)
}

// resultLines are the verdict, the exits, the next steps, what each step showed, the evidence and
// the proxy's answer: on a short screen one scrolls to what comes last.
func (m *Model) resultLines(w int) []string {
	t, r := m.deps.Theme, m.test.result
	glyph, ink := t.ClassMark(r.Diagnosis.Class)
	parts := []string{glyph + " " + model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause)}
	if r.ConnectStatus != 0 {
		parts = append(parts, fmt.Sprintf("CONNECT %d", r.ConnectStatus))
		if r.Timing.ProxyConnect >= 0 {
			parts = append(parts, text.Duration(r.Timing.ProxyConnect))
		}
	}
	if r.TargetStatus != 0 {
		parts = append(parts, fmt.Sprintf("target %d", r.TargetStatus))
	}
	if r.Timing.Total >= 0 {
		parts = append(parts, "total "+text.Duration(r.Timing.Total))
	}
	if r.Spend != (model.Spend{}) {
		parts = append(parts, "cost "+r.Spend.String())
	}
	var out []string
	if username, _ := m.cred.Username(); username != m.test.username {
		out = append(out, widget.Wrapped(t.Note, "! tested with another login: "+m.test.username, w)...)
	}
	for _, l := range flowed(parts, w) {
		out = append(out, ink.Render(l))
	}
	out = append(out, m.exitLines(w)...)
	if !r.Diagnosis.OK() {
		out = append(out, widget.Wrapped(t.Text, r.Diagnosis.Summary, w)...)
		out = append(out, m.nextLines(w)...)
	}
	out = append(out, m.stepLines(w)...)
	for _, e := range r.Diagnosis.Evidence {
		if !r.Diagnosis.OK() {
			out = append(out, widget.Wrapped(t.Muted, "evidence  "+e.Text, w)...)
		}
	}
	out = append(out, widget.Wrapped(t.Muted, "via "+r.Proxy+" to "+r.Target+" · "+text.ClockAndAge(r.Started, m.deps.Now()), w)...)
	return append(out, m.headerLines(w)...)
}

// flowed joins parts to as few lines as possible, without breaking one.
func flowed(parts []string, w int) []string {
	var out []string
	line := ""
	for _, p := range parts {
		switch {
		case line == "":
			line = p
		case text.Width(line)+3+text.Width(p) <= w:
			line += " · " + p
		default:
			out = append(out, text.Cut(line, w))
			line = "  " + p
		}
	}
	return append(out, text.Cut(line, w))
}

// exitLines say whether the exit rotates between calls and is kept in a session.
func (m *Model) exitLines(w int) []string {
	t, r := m.deps.Theme, m.test.result
	var seen []string
	unknown := 0
	for _, e := range r.Exits {
		if e == "" {
			unknown++
		} else if !slices.Contains(seen, e) {
			seen = append(seen, e)
		}
	}
	var out []string
	switch {
	case len(r.Exits) == 0:
	case unknown == len(r.Exits):
		out = append(out, widget.Wrapped(t.Muted, "neither the proxy nor the page reports the exit", w)...)
	case len(r.Exits) == 1:
		out = append(out, "exit "+text.Clean(seen[0]))
	default:
		calls := "calls"
		if r.StickyRun {
			calls = "calls without the session"
		}
		exits := fmt.Sprintf("%d addresses in %d %s: %s", len(seen), len(r.Exits), calls, strings.Join(seen, " "))
		out = append(out, widget.Wrapped(t.Text, exits, w)...)
	}
	if r.StickyRun {
		text, ink := "✓ sticky: both calls in the session had one address", t.Good
		if !r.Sticky {
			text, ink = "! not sticky: the two calls in the session had different addresses", t.Warn
		}
		out = append(out, widget.Wrapped(ink, text, w)...)
	}
	return out
}

// stepLines are the steps of the test, as far as each was measured.
func (m *Model) stepLines(w int) []string {
	t := m.deps.Theme
	var out []string
	for _, s := range m.test.result.Steps() {
		mark, ink, words := "✓", t.Good, s.Text
		switch s.State {
		case model.ProbeFailed:
			mark, ink = "✗", t.Bad
		case model.ProbeNotReached:
			mark, ink, words = "·", t.Muted, "not reached"
		case model.ProbeNotNeeded:
			mark, ink = "-", t.Muted
		}
		took := ""
		if s.Duration >= 0 {
			took = text.Duration(s.Duration)
		}
		head := ink.Render(mark+" "+text.Fit(s.Name, 8)) + text.FitRight(took, 7) + " "
		out = append(out, widget.Hung(head, t.Text, words, w)...)
	}
	if r := m.test.result; r.Code != "" {
		out = append(out, widget.Hung(t.Muted.Render("  reason  "), t.Warn, model.CodeText(r.Code, r.Reason), w)...)
	}
	return out
}

// headerLines are the answer to CONNECT as it came.
func (m *Model) headerLines(w int) []string {
	t, h := m.deps.Theme, m.test.result.ConnectHead
	if len(h) == 0 {
		h = text.HeaderLines(m.test.result.ConnectHeader)
	}
	var out []string
	for _, l := range h {
		out = append(out, widget.Wrapped(t.Muted, l, w)...)
	}
	return out
}
