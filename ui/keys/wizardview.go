package keys

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// planProgress is "3 of 7 steps done, next: make one call with the new value".
func planProgress(p keystore.RotationPlan) string {
	done := 0
	for _, s := range p.Steps {
		if s.Done {
			done++
		}
	}
	text := fmt.Sprintf("%d of %d steps done", done, len(p.Steps))
	if next, ok := p.Next(); ok {
		text += ", next: " + next.Text
	}
	return text
}

// Render draws the blast radius and the steps.
func (w *wizard) Render(width, h int) string {
	return widget.Block(strings.Join(widget.Indent(w.lines(width-2, h)), "\n"), width, h)
}

// lines are the head, the uses and the steps. Where they are more than h, the uses give way
// and are counted, because the steps must be in view; an h of 0 shows everything.
func (w *wizard) lines(width, h int) []string {
	t, now := w.m.deps.Theme, w.m.clock(w.plan.Key)
	head := widget.Wrapped(t.Muted, "Begun "+text.When(w.plan.Started, now)+". Every step is recorded: [✓] the console saw it, [~] you vouch for it. Esc leaves, R resumes.", width)
	head = append(head, "")
	if len(w.plan.Users) == 0 {
		head = append(head, widget.Wrapped(t.Warn, "! no use of this key is recorded, but there may be some", width)...)
	} else {
		head = append(head, t.Strong.Render("Blast radius"))
	}
	next, _ := w.plan.Next()
	users := make([]string, len(w.plan.Users))
	for i, u := range w.plan.Users {
		users[i] = text.Cut(w.userLine(u, next.Kind == keystore.StepEach && i == w.user, now), width)
	}
	steps := []string{""}
	for _, s := range w.plan.Steps {
		steps = append(steps, w.stepLines(s, s.Kind == next.Kind, width, now)...)
	}
	if w.plan.NewRef != "" {
		steps = append(steps, "", t.Muted.Render(text.Cut("new value: "+kit.RefLabel(w.plan.NewRef)+" · ••••"+w.plan.NewLast4, width)))
	}
	if w.err != nil {
		steps = append(steps, widget.Wrapped(t.Bad, "✗ "+w.err.Error(), width)...)
	}
	if room := h - len(head) - len(steps); h > 0 && room < len(users) {
		room = max(room-1, 1) // a line counts the rest
		from := min(max(w.user-room+1, 0), len(users)-room)
		rest := t.Muted.Render(fmt.Sprintf("  … and %d more", len(users)-room))
		users = append(slices.Clone(users[from:from+room]), rest)
	}
	return slices.Concat(head, users, steps)
}

// userLine is a use of the key and what is known of its call with the new value.
func (w *wizard) userLine(u keystore.RotationUser, current bool, now time.Time) string {
	t, mark := w.m.deps.Theme, "  "
	if current {
		mark = "› "
	}
	state := t.Muted.Render("not seen with the new value")
	switch {
	case u.Proved && u.By == keystore.Measured:
		state = t.Good.Render("✓ a call worked at " + text.Clock(u.At, now))
	case u.Proved:
		state = t.Note.Render("~ you vouch for a call at " + text.Clock(u.At, now))
	}
	return mark + text.Clean(u.Name) + "  " + state
}

func (w *wizard) stepLines(s keystore.RotationStep, next bool, width int, now time.Time) []string {
	t := w.m.deps.Theme
	mark, ink := "[ ] ", t.Muted
	switch {
	case s.Done && s.By == keystore.Measured:
		mark, ink = "[✓] ", t.Good
	case s.Done:
		mark, ink = "[~] ", t.Note
	case next:
		mark, ink = "[›] ", t.Strong
	}
	words := s.Text
	if s.Done {
		words += " · " + s.By.Words() + " " + text.Clock(s.At, now)
		if s.Note != "" {
			words += " · " + s.Note
		}
	}
	out := widget.Hung(ink.Render(mark), ink, words, width)
	if next && s.Kind == keystore.StepProve {
		out = append(out, widget.Hung("    ", t.Muted, w.proofHint(), width)...)
	}
	return out
}
