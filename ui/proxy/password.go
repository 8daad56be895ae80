package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// renewal is the renewal of a password under way, or the last one.
type renewal struct {
	slot    kit.Slot
	asking  kit.Slot // finds out what uses the password
	result  model.PasswordRenewal
	started time.Time
	have    bool
	problem string
}

// Messages of a renewal.
type (
	usesFound struct {
		zone model.Zone
		uses model.PasswordUses
		err  error
	}
	askRenewal struct {
		zone model.Zone
		key  string
		uses model.PasswordUses
	}
	beginRenewal struct {
		zone model.Zone
		key  string
	}
	renewed struct {
		result model.PasswordRenewal
		err    error
		over   bool
	}
)

// whyNotRenew says why the zone's password cannot be renewed, or is empty.
func (m *Model) whyNotRenew() string {
	if m.renewal.slot.Running() {
		return "the password is being replaced: esc stops it"
	}
	if m.rotation.slot.Running() || m.test.slot.Running() {
		return "a call is on its way: esc stops it"
	}
	if why := m.session.NotReady(); why != "" {
		return why
	}
	if err := m.deps.Renewer.RefuseRenewal(m.profile, m.zone(), model.Key{}); err != nil {
		return err.Error()
	}
	return ""
}

// findUses looks for what uses the password, before anything is asked.
func (m *Model) findUses() tea.Cmd {
	find, p, z := m.deps.Uses, m.profile, m.zone()
	return kit.Do(kit.Proxy, &m.renewal.asking, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		uses, err := find(ctx, p, z)
		return usesFound{z, uses, err}
	})
}

// chooseKey asks for the key to change the password by.
func (m *Model) chooseKey(found usesFound) tea.Cmd {
	var options []widget.Option
	var first string
	var level model.Level
	for _, k := range m.session.Keys {
		o := widget.Option{Value: k.Name, Note: k.Level.String()}
		if err := m.deps.Renewer.RefuseRenewal(m.profile, found.zone, k); err != nil {
			o.Disabled = "its level may not change a password"
		} else if k.Level == model.LevelLimit && level != model.LevelLimit || k.Level == model.LevelOps && level == "" {
			first, level = k.Name, k.Level // the lowest level that may
		}
		options = append(options, o)
	}
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "key", Label: "Key", Kind: widget.FieldPick, Options: options, Value: first, Check: widget.Required("pick a key whose level is OPS, LIMIT or ADMIN"),
		Help: "The key of the API call; its level has to be OPS, LIMIT or ADMIN (contract 5.3).",
	})
	d := widget.NewFormDialog(m.deps.Theme, "New password of "+text.Clean(string(found.zone.Name)), form)
	d.Intro = usesWords(found)
	d.Submit = "go on"
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Proxy, askRenewal{found.zone, f.Value("key"), found.uses}))
	}
	return kit.OpenOverlay(d)
}

// usesWords name what stops first, and what goes on.
func usesWords(found usesFound) string {
	var b strings.Builder
	for i, s := range found.uses.Stops {
		if i == 0 {
			b.WriteString("Stops first: ")
		} else {
			b.WriteString("Stops too: ")
		}
		b.WriteString(text.Clean(s) + ".\n")
	}
	if len(found.uses.GoOn) > 0 {
		b.WriteString("Goes on by " + kit.RefLabel(found.zone.Password) + ": " + text.Clean(strings.Join(found.uses.GoOn, ", ")) + ".\n")
	}
	if found.err != nil {
		b.WriteString("Not everything could be looked through: " + text.Clean(found.err.Error()) + ".\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (m *Model) askRenewal(q askRenewal) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Replace the password?",
		Body: fmt.Sprintf("A new password is added to zone %s by key %s, seen to work and kept in %s. Then the old one is removed, and what holds it stops at once:\n%s.",
			text.Clean(string(q.zone.Name)), text.Clean(q.key), kit.RefLabel(q.zone.Password), text.Clean(strings.Join(q.uses.Stops, "; "))),
		Yes: "replace the password", View: kit.Proxy, Intent: beginRenewal{q.zone, q.key},
	})
}

func (m *Model) startRenewal(q beginRenewal) tea.Cmd {
	if why := m.whyNotRenew(); why != "" {
		return kit.Warn("new password: " + why)
	}
	m.hide()
	m.renewal.result, m.renewal.problem = model.PasswordRenewal{Zone: q.zone, KeyName: q.key}, ""
	m.renewal.have, m.renewal.started = true, m.deps.Now()
	m.panes.At = paneTest
	r := m.deps.Renewer
	return kit.Stream(kit.Proxy, &m.renewal.slot, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		res, err := r.RenewPassword(ctx, q.zone, q.key, func(now model.PasswordRenewal) { emit(renewed{result: now}) })
		return renewed{result: res, err: err, over: true}
	})
}

func (m *Model) renewed(msg renewed) tea.Cmd {
	m.renewal.result = msg.result
	switch {
	case !msg.over:
		return nil
	case errors.Is(msg.err, context.Canceled):
		m.renewal.problem = "stopped: " + msg.result.Standing()
		return kit.Warn("new password of zone " + string(msg.result.Zone.Name) + ": " + m.renewal.problem)
	case msg.err != nil:
		m.renewal.problem = msg.err.Error()
		return kit.Fail("new password of zone " + string(msg.result.Zone.Name) + ": " + msg.err.Error())
	}
	return kit.Info("zone " + string(msg.result.Zone.Name) + " has a new password; the old one is refused")
}

// renewalLines are the steps of the renewal.
func (m *Model) renewalLines(w int) []string {
	t, r := m.deps.Theme, m.renewal.result
	out := widget.Wrapped(t.Strong, "new password of "+text.Clean(string(r.Zone.Name))+" by key "+text.Clean(r.KeyName), w)
	for _, s := range r.Steps {
		mark, ink := "✓ ", t.Good
		if !s.OK {
			mark, ink = "✗ ", t.Bad
		}
		out = append(out, widget.Hung(ink.Render(mark), t.Text, s.Text, w)...)
	}
	switch {
	case m.renewal.slot.Running():
		out = append(out, t.Accent.Render("● ")+text.Cut("working · "+m.elapsed(m.renewal.started), w-2))
	case m.renewal.problem != "" && len(r.Steps) == 0:
		out = append(out, widget.Wrapped(t.Bad, "✗ "+m.renewal.problem, w)...)
	case m.renewal.problem != "":
		out = append(out, widget.Wrapped(t.Warn, "! "+r.Standing(), w)...)
	default:
		out = append(out, widget.Wrapped(t.Good, r.Standing(), w)...)
	}
	return out
}
