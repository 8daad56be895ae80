package rotation

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// afterEnd is what was seen of the old value of a rotation that is over.
type afterEnd struct {
	slot  kit.Slot
	found *keys.UsesAfterEnd // nil before a look
}

// finished reports whether the old value was ended: of a rotation that was given up it may be in use.
func (p *Page) finished() bool { return p.Plan.Over() && !p.Plan.Abandoned && !p.Plan.Undone }

// lookForUses looks for uses of the old value since the rotation ended.
func (p *Page) lookForUses() tea.Cmd {
	over := p.Rotation
	return kit.Load(kit.Keys, &p.uses.slot, p.deps.Ctx, func(ctx context.Context) (keys.UsesAfterEnd, error) {
		return over.UsesAfterEnd(ctx), nil
	}, func(found keys.UsesAfterEnd, _ error) tea.Cmd {
		p.uses.found = &found
		return nil
	})
}

// useLines say what was seen of the old value since the rotation ended.
func (p *Page) useLines(w int) (out []string) {
	th, seen := p.deps.Theme, p.uses.found
	switch {
	case p.uses.slot.Running():
		return widget.Wrapped(th.Accent, "● looking for uses of the old "+p.Plan.Value()+" …", w)
	case seen == nil:
		return nil
	case len(seen.Used) == 0:
		out = widget.Hung(th.Good.Render("✓ "), th.Muted, "no use of the old "+p.Plan.Value()+" was seen since it ended", w)
	}
	for _, text := range seen.Used {
		out = append(out, widget.Hung(th.Warn.Render("! "), th.Warn, text, w)...)
	}
	for _, text := range seen.Blind {
		out = append(out, widget.Hung(th.Note.Render("? "), th.Muted, "not looked at: "+text, w)...)
	}
	return out
}
