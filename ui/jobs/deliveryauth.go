package jobs

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// askInbox looks whether the inbox receives, and at an address that the service can reach.
func (l *launch) askInbox() tea.Cmd {
	hooks := l.m.deps.Inbox
	if hooks == nil {
		return nil
	}
	return kit.Load(kit.Jobs, &l.inbox.slot, l.m.deps.Ctx, func(ctx context.Context) (string, error) {
		address, warning, err := hooks.NewAddress(ctx)
		if err != nil || warning != "" {
			return "", err
		}
		return strings.TrimSuffix(address, model.WebhookToken(address)), nil
	}, func(at string, _ error) tea.Cmd {
		l.inboxReceives(at)
		return nil
	})
}

// inboxReceives fills in the inbox where nobody is called, unless the inputs were checked already,
// or a job is to be launched again as it was. at is empty if it does not receive.
func (l *launch) inboxReceives(at string) {
	if at == "" || l != l.m.launches.form || l.ready || l.dialog.Busy || l.base.Repeats != "" || l.form.Value(fieldNotify) != "" {
		return
	}
	l.inbox.at = at
	l.form.SetValue(fieldNotify, model.InboxEndpoint)
	l.offerAuth()
	l.showSettings()
}

// offerAuth fills in, once, what the inbox checks webhooks by, if they come only to it: without it they
// would be rejected, and nobody else may get it.
func (l *launch) offerAuth() {
	asked := model.JobSettings{Notify: strings.TrimSpace(l.form.Value(fieldNotify)), Endpoint: strings.TrimSpace(l.form.Value(fieldEndpoint))}
	if l.m.deps.Inbox == nil || l.inbox.auth || !asked.CallsInboxAlone() {
		return
	}
	ref := l.m.deps.Inbox.Authorization()
	l.inbox.auth = ref != ""
	if l.inbox.auth && l.form.Value(fieldAuth) == "" {
		l.form.SetValue(fieldAuth, ref)
	}
}

// showInbox shows what was filled in, although nobody asked for more fields. A job of a product
// calls nobody.
func (l *launch) showInbox(sent, product bool) {
	l.inbox.product = product
	if l.inbox.at == "" {
		return
	}
	note := widget.Note{}
	if strings.TrimSpace(l.form.Value(fieldNotify)) == model.InboxEndpoint {
		note = widget.Note{Mark: widget.NoteGood, Text: "the inbox, which receives: " + l.inbox.at + "…"}
	}
	l.form.SetNote(fieldNotify, note)
	l.form.SetHidden(fieldNotify, !sent || product)
}

// notify is the address that is called when the job has ended.
func (l *launch) notify() string {
	v := strings.TrimSpace(l.form.Value(fieldNotify))
	if v == model.InboxEndpoint && l.inbox.at != "" && l.inbox.product {
		return ""
	}
	return v
}
