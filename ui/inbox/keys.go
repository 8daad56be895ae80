package inbox

import (
	"cmp"
	"slices"

	"zonedeck/service/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Bindings are the overlay's keys.
func (b *Inbox) Bindings() []kit.Binding {
	group := "Webhooks"
	if b.open != nil {
		group = "One webhook"
	}
	d, ok := b.selected()
	if b.CapturingText() {
		return b.filter.Bindings("webhooks", inbox.Fields(b.deps.Now()).Examples(), true)
	}
	none, busy := kit.Reason(!ok, "no webhook is selected"), kit.Reason(b.work.Running(), "it is being worked on")
	receive := kit.Binding{Name: "inbox.receive", Keys: []string{"s"}, Label: "receive", Help: "Receive webhooks here, at an address of this machine.", Group: group, Intent: listen{}, Disabled: busy}
	switch {
	case b.receivesHere:
		receive.Label, receive.Help = "stop", "Stop receiving webhooks here."
	case b.url != "":
		receive.Disabled = "another zonedeck receives already, at " + b.url
	}
	bookmark := kit.Binding{Name: "inbox.bookmark", Keys: []string{"b"}, Label: "bookmark", Help: "Keep the webhook from being cleaned up, or let it be cleaned up again.", Group: group, Intent: mark{}, Disabled: cmp.Or(none, busy)}
	if d.Bookmarked {
		bookmark.Label = "no bookmark"
	}
	about := []kit.Binding{
		bookmark,
		{Name: "inbox.replay", Keys: []string{"R"}, Label: "replay", Help: "Send its bytes once more, to an address of this machine.", Group: group, Intent: replay{}, Disabled: cmp.Or(none, busy)},
		{Name: "inbox.reload", Keys: []string{"r"}, Label: "reload", Help: "Read the inbox again.", Group: group, Intent: readAgain{}, Hidden: true},
	}
	if b.open != nil {
		return slices.Concat([]kit.Binding{
			{Name: "inbox.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the list.", Group: group, Intent: back{}},
			{Name: "inbox.bytes", Keys: []string{"]"}, Label: "bytes", Help: "Show the bytes in hexadecimal digits, or as text.", Group: group, Intent: bytes{}},
		}, about, []kit.Binding{receive}, widget.MotionBindings())
	}
	leave := []string{"esc", "i"}
	if b.filter.Text() != "" {
		leave = []string{"i"} // esc clears the filter
	}
	return slices.Concat(b.filter.Bindings("webhooks", inbox.Fields(b.deps.Now()).Examples(), true), []kit.Binding{
		{Name: "inbox.open", Keys: []string{"enter"}, Label: "open", Help: "Show its headers, its bytes and what came of it.", Group: group, Intent: show{}, Disabled: none},
		receive,
	}, about, []kit.Binding{
		{Name: "inbox.close", Keys: leave, Label: "close", Help: "Go back to the jobs.", Group: group, Intent: kit.Close{}},
	}, widget.MotionBindings())
}
