package console

import (
	"context"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/ask"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// noHolds is for how long a no answers what else the same action asks.
const noHolds = 2 * time.Second

// screen takes messages for the views while it is up.
type screen interface{ Send(msg tea.Msg) }

// asker asks the operator with dialogs, one at a time. Nobody is asked before the screen is up.
type asker struct {
	theme *kit.Theme
	turn  chan struct{}
	up    atomic.Pointer[screen]
	no    time.Time // of the last one, in turn
}

func newAsker(theme *kit.Theme) *asker {
	return &asker{theme: theme, turn: make(chan struct{}, 1)}
}

// Ask opens a dialog and waits for what is answered there. ctx closes it.
func (a *asker) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	on := a.up.Load()
	if on == nil {
		return ask.Nobody.Ask(ctx, q)
	}
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ask.Answer{}, context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	if time.Since(a.no) < noHolds {
		return ask.Answer{}, &ask.Unanswered{Questions: []ask.Question{q}, Refused: true}
	}
	answered := make(chan ask.Answer, 1)
	dialog := widget.NewAsk(a.theme, widget.Asking{Title: title(q), Yes: "answer", Questions: []ask.Question{q}, Then: func(given ask.Answers) tea.Msg {
		answered <- given.To(q)
		return nil
	}})
	(*on).Send(kit.OpenOverlay(dialog)())
	select {
	case answer := <-answered:
		if !answer.Answers(q.Want) {
			a.no = time.Now()
		}
		return answer, nil
	case <-ctx.Done():
		(*on).Send(kit.Close{Overlay: dialog})
		return ask.Answer{}, context.Cause(ctx)
	}
}

// title heads the dialog of a question.
func title(q ask.Question) string {
	if q.Kind == ask.Passphrase {
		return "Unlock the secrets"
	}
	return widget.Sentence(q.Text)
}
