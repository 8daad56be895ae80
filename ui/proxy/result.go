package proxy

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

func (m *Model) testLines(w int) []string {
	t := m.deps.Theme
	switch {
	case m.test.slot.Running():
		return []string{
			t.Accent.Render("● ") + text.Cut(text.Clean(m.test.line), w-2),
			t.Muted.Render(text.Took(m.deps.Now().Sub(m.test.started)) + " · esc stops it"),
		}
	case m.test.problem != "":
		return widget.Wrapped(t.Warn, "! "+m.test.problem, w)
	case m.test.done:
		return m.resultLines(w)
	}
	if why := m.whyNotTest(); why != "" {
		return widget.Wrapped(t.Muted, "not now: "+why, w)
	}
	return widget.Wrapped(t.Muted, fmt.Sprintf("t logs in and makes %d calls, to see the login work and the exit rotate", rounds), w)
}

// resultLines are the verdict, the proxy's answer, the exits, the evidence and the next
// steps.
func (m *Model) resultLines(w int) []string {
	t, r := m.deps.Theme, m.test.result
	glyph, ink := t.ClassMark(r.Diagnosis.Class)
	parts := []string{glyph + " " + model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause)}
	if r.ConnectStatus != 0 {
		parts = append(parts, fmt.Sprintf("CONNECT %d", r.ConnectStatus))
		if r.Timing.ProxyConnect >= 0 {
			parts = append(parts, text.Took(r.Timing.ProxyConnect))
		}
	}
	if r.TargetStatus != 0 {
		parts = append(parts, fmt.Sprintf("target %d", r.TargetStatus))
	}
	if r.Timing.Total >= 0 {
		parts = append(parts, "total "+text.Took(r.Timing.Total))
	}
	var out []string
	if username, _ := m.cred.Username(); username != m.test.username {
		out = append(out, widget.Wrapped(t.Note, "! of another login: "+m.test.username, w)...)
	}
	for _, l := range flowed(parts, w) {
		out = append(out, ink.Render(l))
	}
	out = append(out, m.exitLines(w)...)
	if !r.Diagnosis.OK() {
		out = append(out, m.failureLines(w)...)
	}
	out = append(out, widget.Wrapped(t.Muted, "via "+r.Proxy+" to "+r.Target+" · "+text.When(r.Started, m.deps.Now()), w)...)
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

// failureLines are the cause, the next steps and the evidence, which comes last: on a
// short screen one scrolls to it.
func (m *Model) failureLines(w int) []string {
	t, d := m.deps.Theme, m.test.result.Diagnosis
	out := widget.Wrapped(t.Text, d.Summary, w)
	out = append(out, m.nextLines(w)...)
	for _, e := range d.Evidence {
		out = append(out, widget.Wrapped(t.Muted, "evidence  "+e.Text, w)...)
	}
	return out
}

// shownHeaders bounds the headers of the CONNECT answer on the screen.
const shownHeaders = 12

func (m *Model) headerLines(w int) []string {
	t, h := m.deps.Theme, text.HeaderLines(m.test.result.ConnectHeader)
	var out []string
	for i, l := range h {
		if i == shownHeaders {
			out = append(out, t.Muted.Render(fmt.Sprintf("… %d headers more", len(h)-i)))
			break
		}
		out = append(out, widget.Wrapped(t.Muted, l, w)...)
	}
	return out
}
