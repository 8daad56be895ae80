package inbox

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// askListen asks for the address and begins to receive, or ends it.
func (b *Inbox) askListen() tea.Cmd {
	store := b.deps.Store
	if b.here {
		return b.does(func(context.Context) (string, error) {
			refused, err := store.Stop()
			says, count := "no more webhooks are received here", 0
			for _, r := range refused {
				count += r.Count
			}
			switch len(refused) {
			case 0:
			case 1:
				says += "; " + b.refusal(refused[0])
			default:
				says += fmt.Sprintf("; %d were refused, and Activity says why", count)
			}
			return says, err
		})
	}
	const field = "address"
	form := widget.NewForm(b.deps.Theme, widget.Field{
		Name: field, Label: "Address", Kind: widget.FieldText, Value: b.deps.Address, Check: widget.Required("name HOST:PORT, with port 0 for any"),
		Help: "Of this machine alone; 'zonedeck webhook listen --allow-remote' takes others.",
	})
	dialog := widget.NewFormDialog(b.deps.Theme, "Receive webhooks", form)
	dialog.Intro = "Each is stored before it is answered. Then its sender is checked, its job found, and the service asked: nothing that a webhook says is believed."
	if b.deps.Warning != "" {
		dialog.Intro += " Mind: " + b.deps.Warning + "."
	}
	dialog.Submit, dialog.Width = "receive", 70
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		address := strings.TrimSpace(f.Value(field))
		return tea.Sequence(kit.CloseOverlay(dialog), b.does(func(ctx context.Context) (string, error) {
			url, err := store.Listen(ctx, address)
			return "webhooks are received at " + url, err
		}))
	}
	return kit.OpenOverlay(dialog)
}

// askEdited asks where an edited copy goes.
func (b *Inbox) askEdited(e edited) tea.Cmd {
	if e.err != nil {
		return kit.Fail("the copy was not edited: " + e.err.Error())
	}
	return b.askReplay(e.delivery, e.file)
}

// askReplay asks where a webhook is sent once more.
func (b *Inbox) askReplay(d model.Delivery, file string) tea.Cmd {
	const fieldTo, fieldSign = "to", "sign"
	store := b.deps.Store
	form := widget.NewForm(b.deps.Theme,
		widget.Field{
			Name: fieldTo, Label: "Address", Kind: widget.FieldText, Placeholder: "http://127.0.0.1:8080/hook", Check: widget.Required("name an address of this machine"),
			Help: "Of this machine alone: 127.0.0.1, ::1 or localhost.",
		},
		widget.Field{
			Name: fieldSign, Label: "Sign anew", Kind: widget.FieldToggle,
			Help: "By the first [[webhook.verify]] with a signing secret, and the time of now.",
		})
	title, what := "Replay "+d.ID, "Its bytes go out as they came, with its headers; values of secret ones are not kept, and not sent."
	if file != "" {
		title, what = "Replay an edited copy of "+d.ID, "The edited bytes go out as another webhook, with the headers of "+d.ID+"; values of secret ones are not kept, and not sent."
	}
	dialog := widget.NewFormDialog(b.deps.Theme, title, form)
	dialog.Intro, dialog.Submit, dialog.Width = what, "replay", 70
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		to, sign := strings.TrimSpace(f.Value(fieldTo)), f.On(fieldSign)
		return tea.Sequence(kit.CloseOverlay(dialog), b.does(func(ctx context.Context) (string, error) {
			said, err := store.Replay(ctx, d, to, file, sign)
			return "replayed " + d.ID + ": " + said, err
		}))
	}
	return kit.OpenOverlay(dialog)
}
