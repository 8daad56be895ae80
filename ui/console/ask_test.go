package console

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/ask"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// sentTo is a screen whose messages a test delivers.
type sentTo chan tea.Msg

func (s sentTo) Send(msg tea.Msg) { s <- msg }

// A passphrase can be asked for while the screen is up; a no holds for what else the same action asks.
func TestAPassphraseIsAskedForOnTheScreen(t *testing.T) {
	secrets := ask.Question{Kind: ask.Passphrase, About: "secrets", Text: "the passphrase of zonedeck's secrets", Want: ask.Secret}
	type outcome struct {
		ask.Answer

		err error
	}
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		a, sent := newAsker(theme), make(sentTo, 9)
		begin := func(ctx context.Context) chan outcome {
			out := make(chan outcome, 1)
			go func() {
				answer, err := a.Ask(ctx, secrets)
				out <- outcome{answer, err}
			}()
			return out
		}
		if out := <-begin(t.Context()); !errors.As(out.err, new(*ask.Unanswered)) {
			t.Errorf("before there is a screen: %v", out.err)
		}
		var on screen = sent
		a.up.Store(&on)
		s := uitest.Start(t, ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Keys, View: &uitest.OtherTab{}}}}), 80, 24)

		out := begin(t.Context())
		s.Send(<-sent)
		s.Expect("Unlock the secrets", "The passphrase of zonedeck's secrets.")
		s.Type("correct horse")
		s.ExpectNot("correct horse")
		s.Press("enter")
		if got := <-out; got.err != nil || got.Secret.Reveal() != "correct horse" {
			t.Errorf("answered %q, %v", got.Secret.Reveal(), got.err)
		}
		s.ExpectNot("Unlock the secrets")

		out = begin(t.Context())
		s.Send(<-sent)
		s.Press("esc")
		if got := <-out; got.err != nil || !got.Secret.Empty() {
			t.Errorf("after a no: %v", got.err)
		}
		if got := <-begin(t.Context()); !errors.As(got.err, new(*ask.Unanswered)) || len(sent) > 0 {
			t.Errorf("right after a no: %v", got.err)
		}

		s.After(noHolds)
		ctx, cancel := context.WithCancel(t.Context())
		out = begin(ctx)
		s.Send(<-sent)
		s.Expect("Unlock the secrets")
		cancel()
		s.Send(<-sent)
		s.ExpectNot("Unlock the secrets")
		if got := <-out; !errors.Is(got.err, context.Canceled) {
			t.Errorf("after the call has ended: %v", got.err)
		}
	})
}
