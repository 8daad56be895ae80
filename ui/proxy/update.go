package proxy

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, results, typed and pasted text.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.SessionChanged:
		return m.setSession(msg.Session)
	case kit.OpenLogin:
		m.openLogin(msg)
		return nil
	case kit.Tick, kit.Resized:
		return nil
	case tea.MouseClickMsg:
		m.click(msg)
		m.changed()
		return nil
	case tea.MouseWheelMsg:
		m.wheel(msg)
		return nil
	case intent:
		return m.act(msg)
	case kit.Copy:
		return func() tea.Msg { return msg }
	case tea.PasteMsg:
		if !m.form.CapturingText() {
			return m.readPaste(msg.Content)
		}
	case tea.KeyPressMsg:
		if !m.form.CapturingText() {
			m.scroll(m.ring.At, msg)
			return nil
		}
	default:
		if cmd, ok := m.result(msg); ok {
			return cmd
		}
	}
	cmd, changed := m.form.Update(msg)
	if changed {
		m.changed()
	}
	return cmd
}

func (m *Model) setSession(s kit.Session) tea.Cmd {
	if s.ProfileName != m.session.ProfileName {
		m.hide()
		m.test.slot.Drop()
		m.test = test{slot: m.test.slot}
		m.pasted = pasted{}
	}
	m.session = s
	m.setProfile()
	return nil
}

func (m *Model) openLogin(o kit.OpenLogin) {
	c := model.Credential{Zone: model.ZoneName(o.Zone)}
	for _, p := range []model.Param{{Name: "country", Value: o.Country}, {Name: "session", Value: o.Session}} {
		if p.Value != "" {
			c.Params = append(c.Params, p)
		}
	}
	m.pasted = pasted{}
	m.ring.At, m.ring.Zoomed = paneForm, false
	m.take(c)
}

func (m *Model) act(i intent) tea.Cmd {
	switch i {
	case intentTest:
		return m.startTest(0)
	case intentStop:
		m.test.slot.Cancel()
	case intentPaste:
		return m.openPaste()
	case intentReveal:
		return m.startReveal()
	case intentCopy:
		return m.copyMenu()
	case intentUse:
		return m.use()
	case intentSandbox:
		return kit.GotoTab(kit.Sandbox, kit.OpenURL{Zone: string(m.zone().Name), URL: m.login().Target})
	case intentNextPane:
		m.ring.Next()
	case intentPrevPane:
		m.ring.Prev()
	case intentZoom:
		m.ring.Zoomed = !m.ring.Zoomed
	case intentBack:
		m.back()
	}
	return nil
}

func (m *Model) back() {
	switch {
	case m.ring.Zoomed:
		m.ring.Zoomed = false
	case m.pasted.open:
		m.pasted = pasted{}
		m.fillUses()
		m.ring.At = paneForm
	default:
		m.ring.At = paneForm
	}
}

// scroll passes a motion to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) {
	switch pane {
	case paneUse:
		m.uses.Update(msg)
	case paneName:
		m.nameTop = max(0, m.nameTop+widget.ScrollBy(msg))
	case paneTest:
		m.test.top = max(0, m.test.top+widget.ScrollBy(msg))
	}
}

// result handles the results of commands; ok is false for other messages.
func (m *Model) result(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case testLine:
		m.test.line = msg.text
	case tested:
		return m.tested(msg), true
	case revealed:
		return m.revealed(msg), true
	case hidePassword:
		if msg.gen == m.reveal.gen {
			m.hide()
		}
	case askSecretCopy:
		return m.askSecretCopy(msg.form), true
	case doSecretCopy:
		return m.secretCopy(msg.form), true
	case doStep:
		return m.takeStep(msg.action), true
	case takeReading:
		return m.takeReading(msg.at), true
	default:
		return nil, false
	}
	return nil, true
}

func (m *Model) tested(msg tested) tea.Cmd {
	m.test.line, m.test.top = "", 0
	m.test.result, m.test.err = msg.result, msg.err
	m.test.done = msg.err == ""
	switch {
	case msg.stopped:
		m.test.err = "stopped"
		return kit.Info("the test was stopped")
	case msg.err != "":
		return kit.Fail("test of zone " + string(msg.zone) + ": " + msg.err)
	}
	return nil
}

func (m *Model) revealed(msg revealed) tea.Cmd {
	if msg.err != "" {
		return kit.Fail(fmt.Sprintf("password of zone %s: %s", msg.zone.Name, msg.err))
	}
	if msg.zone.Name != m.zone().Name {
		return kit.Warn("the zone was changed meanwhile: nothing was copied or shown")
	}
	if msg.form != "" {
		l := m.login()
		l.Password = msg.secret.Reveal()
		return kit.CopySecret(string(msg.form)+" with the password of "+string(msg.zone.Name), exportText(l, msg.form, msg.secret))
	}
	m.reveal.gen++
	m.reveal.zone, m.reveal.secret = msg.zone.Name, msg.secret
	return kit.After(m.deps.Ctx, showFor, kit.Addressed{View: kit.Proxy, Msg: hidePassword{gen: m.reveal.gen}})
}
