package rehearse

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

const fieldBy = "by"

// timeForm is the overlay that moves the emulator's time.
type timeForm struct {
	*widget.FormDialog
	deps Deps
}

// moveNow is the operator's confirmation; timeMoved is the result of the call.
type (
	moveNow   struct{ by time.Duration }
	timeMoved struct {
		told tea.Msg
		err  error
	}
)

func newTimeForm(d Deps) *timeForm {
	f := &timeForm{deps: d}
	f.FormDialog = widget.NewFormDialog(d.Theme, "Move the emulator's time forward", widget.NewForm(d.Theme, widget.Field{
		Name: fieldBy, Label: "Forward by", Placeholder: "such as 36h, 7d, 2w or 1d12h", Help: "A confirmation follows.",
		Check: func(v string) error { _, err := rehearsal.ParseSpan(strings.TrimSpace(v)); return err },
	}))
	f.Intro = "The emulator's time is " + moment(d.Now()) + ". Keys expire and rotations come due as if the time had passed."
	f.Submit = "go on"
	f.OnSubmit = f.ask
	return f
}

func moment(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") }

// ask explains what the move does: it cannot be undone.
func (f *timeForm) ask(values *widget.Form) tea.Cmd {
	by, err := rehearsal.ParseSpan(strings.TrimSpace(values.Value(fieldBy)))
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	now := f.deps.Now()
	body := fmt.Sprintf("The emulator's clock goes from %s to %s (%s). Keys, sticky sessions and snapshots expire, rotations come due, and faults with a time begin or end; this console and everything else that uses the emulator follow.\n"+
		"It never goes back: to start over, end every zonedeck and delete %s.", moment(now), moment(now.Add(by)), text.Ahead(by), f.deps.StateDir)
	return widget.Confirm(f.deps.Theme, widget.ConfirmSpec{
		Title: "Move time forward?", Body: body, Yes: "move it", Intent: kit.ForOverlay{Overlay: f, Msg: moveNow{by}},
	})
}

// Update moves the time after the confirmation and leaves the rest to the dialog.
func (f *timeForm) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case moveNow:
		f.Busy, f.Problem = true, ""
		d := f.deps
		return func() tea.Msg {
			_, err := d.Emulator.Advance(d.Ctx, msg.by)
			if err != nil {
				return kit.ForOverlay{Overlay: f, Msg: timeMoved{err: err}}
			}
			return kit.ForOverlay{Overlay: f, Msg: timeMoved{told: d.Moved(d.Ctx)}}
		}
	case timeMoved:
		f.Busy = false
		if msg.err != nil {
			f.Problem = msg.err.Error()
			return nil
		}
		return tea.Batch(func() tea.Msg { return kit.Close{Overlay: f} }, func() tea.Msg { return msg.told })
	}
	return f.FormDialog.Update(msg)
}
