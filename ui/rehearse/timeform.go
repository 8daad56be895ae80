package rehearse

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit/widget"
)

const fieldBy = "by"

// timeForm is the overlay that moves the emulator's time.
type timeForm struct {
	*widget.FormDialog
	deps Deps
}

func newTimeForm(d Deps) *widget.FormDialog {
	f := &timeForm{deps: d}
	f.FormDialog = widget.NewFormDialog(d.Theme, "Move the emulator's time forward", widget.NewForm(d.Theme, widget.Field{
		Name: fieldBy, Label: "Forward by", Placeholder: "such as 36h, 7d, 2w or 1d12h", Help: "A confirmation follows.",
		Check: func(v string) error { _, err := model.ParseSpan(strings.TrimSpace(v)); return err },
	}))
	f.Intro = "The emulator's time is " + widget.Moment(d.Now(), d.Now()) + ". Keys expire and rotations come due as if the time had passed."
	f.Submit = "continue"
	f.OnSubmit = f.ask
	return f.FormDialog
}

// ask explains what the move does: it cannot be undone.
func (f *timeForm) ask(values *widget.Form) tea.Cmd {
	by, err := model.ParseSpan(strings.TrimSpace(values.Value(fieldBy)))
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	d, now := f.deps, f.deps.Now()
	body := fmt.Sprintf("The emulator's clock goes from %s to %s (%s). Keys, sticky sessions and snapshots expire, rotations come due, and faults with a time begin or end; this console and everything else that uses the emulator follow.\n"+
		"It never goes back: to begin again, end every zonedeck and run 'zonedeck emulate reset'.", widget.Moment(now, now), widget.Moment(now.Add(by), now), model.Ahead(by))
	return widget.Confirm(d.Theme, widget.ConfirmSpec{
		Title: "Move time forward?", Body: body, Yes: "move it", Intent: f.Work(func() (tea.Msg, error) {
			return d.Emulator.Advance(d.Ctx, by)
		}),
	})
}
