package inbox

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// askListen asks for an address and begins to receive there, or ends receiving.
func (b *Inbox) askListen() tea.Cmd {
	store := b.deps.Store
	if b.receivesHere {
		return b.act("receiving webhooks", func(context.Context) (kit.Toast, error) {
			refused, err := store.Stop()
			says, count := "stopped receiving webhooks · "+b.deps.Theme.Key("inbox.receive")+" starts again", 0
			for _, r := range refused {
				count += r.Count
			}
			switch len(refused) {
			case 0:
			case 1:
				says += "; " + b.refusal(refused[0])
			default:
				says += fmt.Sprintf("; %d were refused, and History says why", count)
			}
			return kit.Toast{Text: says}, err
		}, nil)
	}
	const field = "address"
	form := widget.NewForm(b.deps.Theme, widget.Field{
		Name: field, Label: "Address", Kind: widget.FieldText, Value: b.deps.Address, Check: widget.Required("name HOST:PORT, with port 0 for any"),
		Help: "On this machine only; 'zonedeck webhook listen --allow-remote' accepts others.",
	})
	dialog := widget.NewFormDialog(b.deps.Theme, "Receive webhooks", form)
	dialog.Intro = "Each webhook is stored before it is answered. Then its sender is checked, its job found, and the service asked: a webhook alone proves nothing."
	if b.deps.Warning != "" {
		dialog.Intro += " Warning: " + b.deps.Warning + "."
	}
	dialog.Submit, dialog.Width = "receive", 70
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		address := strings.TrimSpace(f.Value(field))
		return b.submits(dialog, "receiving webhooks", func(ctx context.Context) (kit.Toast, error) {
			url, err := store.Listen(ctx, address)
			return kit.Toast{Text: "receiving webhooks at " + url + " · type inbox as an address of a new job"}, err
		})
	}
	return kit.OpenOverlay(dialog)
}

// submits makes the call of a dialog. If it succeeds, it closes the dialog; otherwise the dialog keeps its input.
func (b *Inbox) submits(dialog *widget.FormDialog, about string, call func(ctx context.Context) (kit.Toast, error)) tea.Cmd {
	dialog.Busy = true
	return b.act(about, call, func(err error) tea.Cmd {
		dialog.Busy = false
		if err != nil {
			return nil
		}
		return kit.CloseOverlay(dialog)
	})
}

// askReplay asks where to replay a webhook.
func (b *Inbox) askReplay(d model.Webhook) tea.Cmd {
	const fieldTo = "to"
	store := b.deps.Store
	form := widget.NewForm(b.deps.Theme,
		widget.Field{
			Name: fieldTo, Label: "Address", Kind: widget.FieldText, Placeholder: "http://127.0.0.1:8080/hook", Value: b.to, Check: func(to string) error { return inbox.CheckReplay(strings.TrimSpace(to)) },
			Help: "On this machine only: 127.0.0.1, ::1 or localhost.",
		})
	dialog := widget.NewFormDialog(b.deps.Theme, "Replay "+d.ID, form)
	dialog.Intro = "It is sent again byte for byte, with its headers. Values of secret headers are not kept, so they are not sent."
	dialog.Submit, dialog.Width = "replay", 70
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		to := strings.TrimSpace(f.Value(fieldTo))
		b.to = to
		return b.submits(dialog, "the replay of "+d.ID, func(ctx context.Context) (kit.Toast, error) {
			said, taken, err := store.Replay(ctx, d, to)
			out := kit.Toast{Text: "replayed " + d.ID + ": " + text.Clean(said)}
			if !taken {
				out.Kind = kit.ToastWarn
			}
			return out, err
		})
	}
	return kit.OpenOverlay(dialog)
}
