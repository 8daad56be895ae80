package rotation

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/rotate"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// late is what was seen of the old value of a rotation that is over.
type late struct {
	slot kit.Slot
	uses *rotate.UsesAfterEnd // nil before a look
}

// lookLate looks again.
type lookLate struct{}

// finished reports whether the old value was ended: of a rotation that was given up it may be in use.
func (p *Page) finished() bool { return p.plan.Over() && !p.plan.Abandoned && !p.plan.Undone }

// lookLate looks for uses of the old value since the rotation ended.
func (p *Page) lookLate() tea.Cmd {
	engine, plan := p.deps.Engine, p.plan
	return kit.Load(kit.Keys, &p.late.slot, p.deps.Ctx, func(ctx context.Context) (rotate.UsesAfterEnd, error) {
		return engine.Late(ctx, plan), nil
	}, func(l rotate.UsesAfterEnd, _ error) tea.Cmd {
		p.late.uses = &l
		return nil
	})
}

// lateLines say what was seen of the old value since the rotation ended.
func (p *Page) lateLines(w int) (out []string) {
	th, seen := p.deps.Theme, p.late.uses
	switch {
	case p.late.slot.Running():
		return widget.Wrapped(th.Accent, "● looking for uses of the old "+p.plan.Value()+" …", w)
	case seen == nil:
		return nil
	case len(seen.Used) == 0:
		out = widget.Hung(th.Good.Render("✓ "), th.Muted, "no use of the old "+p.plan.Value()+" was seen since it ended", w)
	}
	for _, text := range seen.Used {
		out = append(out, widget.Hung(th.Warn.Render("! "), th.Warn, text, w)...)
	}
	for _, text := range seen.Blind {
		out = append(out, widget.Hung(th.Note.Render("? "), th.Muted, "not looked at: "+text, w)...)
	}
	return out
}
