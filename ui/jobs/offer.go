package jobs

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// inboxReceives says at which address webhooks of jobs come to the inbox; at is empty if they do not.
type inboxReceives struct {
	form *launch
	at   string
}

// askInbox looks whether the inbox receives, and at an address that the service can reach.
func (m *Model) askInbox(l *launch) tea.Cmd {
	fill := m.deps.FillHooks
	if fill == nil {
		return nil
	}
	return kit.Do(kit.Jobs, &l.inbox.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		s := model.JobSettings{Notify: model.HookInbox}
		warning, err := fill(ctx, &s)
		if err != nil || warning != "" {
			return inboxReceives{form: l}
		}
		return inboxReceives{l, strings.TrimSuffix(s.Notify, model.HookToken(s.Notify))}
	})
}

// inboxReceives fills in the inbox where nobody is called, unless the inputs were checked already,
// or a job is to be launched again as it was.
func (m *Model) inboxReceives(msg inboxReceives) {
	l := msg.form
	if msg.at == "" || l != m.dialog || l.ready || l.dialog.Busy || l.base.Repeats != "" || l.form.Value(fieldNotify) != "" {
		return
	}
	l.inbox.at = msg.at
	l.form.SetValue(fieldNotify, model.HookInbox)
	l.offerAuth(m)
	l.showSettings(m)
}

// offerAuth fills in, once, what the inbox checks webhooks by, if they come only to it: without it they
// would be rejected, and nobody else may get it.
func (l *launch) offerAuth(m *Model) {
	asked := model.JobSettings{Notify: strings.TrimSpace(l.form.Value(fieldNotify)), Endpoint: strings.TrimSpace(l.form.Value(fieldEndpoint))}
	if m.deps.HookAuth == nil || l.inbox.auth || !asked.CallsInboxAlone() {
		return
	}
	ref := m.deps.HookAuth()
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
	if strings.TrimSpace(l.form.Value(fieldNotify)) == model.HookInbox {
		note = widget.Note{Mark: widget.NoteGood, Text: "the inbox, which receives: " + l.inbox.at + "…"}
	}
	l.form.SetNote(fieldNotify, note)
	l.form.SetHidden(fieldNotify, !sent || product)
}

// notify is the address that is called when the job has ended.
func (l *launch) notify() string {
	v := strings.TrimSpace(l.form.Value(fieldNotify))
	if v == model.HookInbox && l.inbox.at != "" && l.inbox.product {
		return ""
	}
	return v
}
