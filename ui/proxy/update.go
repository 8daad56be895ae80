package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, results, typed and pasted text.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if cmd, ok := m.updatePage(msg); ok {
		return cmd
	}
	if m.panes.Update(msg) {
		return nil
	}
	switch msg := msg.(type) {
	case kit.SessionChanged:
		return m.setSession(msg.Session)
	case kit.OpenLogin:
		m.openLogin(msg)
		return nil
	case kit.Tick, kit.Resized:
		return nil
	case tea.MouseClickMsg:
		cmd := m.click(msg)
		m.changed()
		return cmd
	case tea.MouseWheelMsg:
		if hit, ok := m.panes.Under(msg.Mouse()); ok {
			m.scroll(hit.Pane, msg)
		}
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
			m.scroll(m.panes.At, msg)
			return nil
		}
	default:
		if cmd, ok := m.confirmed(msg); ok {
			return cmd
		}
	}
	cmd, changed := m.form.Update(msg)
	if changed {
		m.changed()
	}
	return cmd
}

// updatePage passes a message to the page that covers the login; false for one that is not the
// page's.
func (m *Model) updatePage(msg tea.Msg) (tea.Cmd, bool) {
	switch m.page {
	case pageTrust:
		return m.updateTrust(msg)
	case pageMatrix:
		return m.updateMatrix(msg)
	default:
		return nil, false
	}
}

func (m *Model) setSession(s kit.Session) tea.Cmd {
	if s.ProfileName != m.session.ProfileName {
		m.hide()
		m.test.slot.Drop()
		m.test = test{slot: m.test.slot}
		m.pasted = pasted{}
		m.forget()
	}
	m.session = s
	m.setProfile()
	return nil
}

// forget drops what was measured with another profile.
func (m *Model) forget() {
	m.rotation.slot.Drop()
	m.matrix.slot.Drop()
	m.matrix.load.Drop()
	m.page, m.rotation.have, m.matrix.have, m.matrix.based, m.trust.known = pageLogin, false, false, false, false
}

func (m *Model) openLogin(o kit.OpenLogin) {
	c := model.Credential{Zone: model.ZoneName(o.Zone)}
	for _, p := range []model.Param{{Name: "country", Value: o.Country}, {Name: "session", Value: o.Session}} {
		if p.Value != "" {
			c.Params = append(c.Params, p)
		}
	}
	m.pasted = pasted{}
	m.page, m.panes.At, m.panes.Zoomed = pageLogin, paneForm, false
	m.fillCredential(c)
}

func (m *Model) act(i intent) tea.Cmd {
	switch i {
	case intentTest:
		return m.askTest(0)
	case intentTestNow:
		return m.startTest(0)
	case intentStop:
		m.test.slot.Cancel()
		m.rotation.slot.Cancel()
	case intentRotation:
		return m.askRotation()
	case intentTrust:
		m.openTrust()
	case intentMatrix:
		return m.openMatrix()
	case intentRenew:
		return m.chooseKey()
	case intentPaste:
		return m.openPaste()
	case intentReveal:
		return m.resolve(false)
	case intentCopy:
		return m.copyMenu()
	case intentUse:
		return m.use()
	case intentSandbox:
		return kit.GotoTab(kit.Sandbox, kit.OpenURL{
			Zone: string(m.zone().Name), URL: m.target(), Via: model.ViaNative,
			Country: strings.TrimSpace(m.form.Value("country")), Session: strings.TrimSpace(m.form.Value("session")),
		})
	case intentBack:
		m.back()
	}
	return nil
}

func (m *Model) back() {
	if m.page != pageLogin {
		m.page = pageLogin
		return
	}
	if m.panes.Zoomed {
		m.panes.Zoomed = false
		return
	}
	m.pasted = pasted{}
	m.panes.At = paneForm
}

// scroll passes a motion to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) {
	switch pane {
	case paneUse:
		if m.pasted.open {
			m.readings.Update(msg)
		} else {
			m.example.Update(msg)
		}
	case paneName:
		m.name.Update(msg)
	case paneTest:
		m.test.text.Update(msg)
	}
}

// confirmed handles what the operator confirmed; ok is false for other messages.
func (m *Model) confirmed(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case askSecretCopy:
		return m.askSecretCopy(), true
	case doSecretCopy:
		return m.resolve(true), true
	case doStep:
		return m.takeStep(msg.action), true
	case beginTest:
		return m.startTest(msg.pause), true
	case beginRotation:
		return m.startRotation(msg.calls), true
	case matrixIntent:
		return m.matrixAct(msg), true
	default:
		return nil, false
	}
}

func (m *Model) tested(zone model.ZoneName, t tested, err error) tea.Cmd {
	m.trust.report, m.trust.known = t.trust, t.trusted
	m.test.text, m.test.result, m.test.done = widget.Scroll{}, t.result, err == nil
	switch {
	case errors.Is(err, context.Canceled):
		m.test.problem = "stopped"
		return kit.Info("the test was stopped")
	case err != nil:
		m.test.problem = err.Error()
		return kit.Fail("test of zone " + string(zone) + ": " + m.test.problem)
	}
	return nil
}

func (m *Model) revealed(z model.Zone, copies bool, secret keystore.Secret, err error) tea.Cmd {
	if err != nil {
		return kit.Fail(fmt.Sprintf("password of zone %s: %v", z.Name, err))
	}
	if z.Name != m.zone().Name {
		return kit.Warn("the zone was changed meanwhile: nothing was copied or shown")
	}
	if copies {
		return kit.CopySecret("password of "+string(z.Name), secret.Reveal())
	}
	m.reveal.gen++
	m.reveal.zone, m.reveal.secret = z.Name, secret
	gen := m.reveal.gen
	return kit.After(m.deps.Ctx, showFor, kit.Call(kit.Proxy, func() tea.Cmd {
		if gen == m.reveal.gen {
			m.hide()
		}
		return nil
	}))
}
