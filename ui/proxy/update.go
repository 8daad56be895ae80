package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, typed and pasted text, and the mouse.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.SessionChanged:
		return m.setSession(msg.Session)
	case kit.OpenLogin:
		m.openLogin(msg)
	case kit.Tick, kit.Resized:
	case intent:
		return m.act(msg)
	case request:
		return msg.do(m)
	case trustIntent:
		return m.copyInstall(msg)
	case compare.Intent:
		if p := m.comparison(); p != nil {
			return p.Update(msg)
		}
	case compare.Login:
		m.closeComparisons()
		m.form.SetValue(fieldZone, msg.Zone)
		m.changed()
		m.panes.At = paneForm
	case kit.Copy:
		return func() tea.Msg { return msg }
	default:
		return m.toPage(msg)
	}
	return nil
}

// toPage passes keys, pastes, the mouse and the intents of widgets to what is on screen.
func (m *Model) toPage(msg tea.Msg) tea.Cmd {
	if paste, ok := msg.(tea.PasteMsg); ok && (!m.CapturingText() || m.isLogin(paste.Content)) {
		return m.readPaste(paste.Content)
	}
	switch {
	case m.comparison() != nil:
		return m.comparison().Update(msg)
	case m.page == pageTrust:
		m.updateTrust(msg)
		return nil
	case m.panes.Update(msg):
		return nil
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		cmd := m.click(msg)
		m.changed()
		return cmd
	case tea.MouseWheelMsg:
		if hit, ok := m.panes.Under(msg.Mouse()); ok {
			m.scroll(hit.Pane, msg)
		}
		return nil
	case tea.KeyPressMsg:
		if !m.form.CapturingText() {
			m.scroll(m.panes.At, msg)
			return nil
		}
	}
	cmd, changed := m.form.Update(msg)
	if changed {
		m.changed()
	}
	return cmd
}

// isLogin reports whether a pasted text is a login, which may hold a password: no field shows it.
func (m *Model) isLogin(pasted string) bool {
	l, err := fetch.ReadLogin(pasted)
	if err == nil {
		_, err = model.ReadUsername(l.Username, m.profile.ZoneNames())
	}
	return err == nil
}

func (m *Model) setSession(s kit.Session) tea.Cmd {
	if s.ProfileName != m.session.ProfileName {
		m.hide()
		m.test.slot.Drop()
		m.test = test{slot: m.test.slot}
		m.pasted = pasted{}
		m.logins.Forget()
		m.exits.Forget()
		m.page, m.trust.known = pageLogin, false // it was measured with another profile
	}
	m.session = s
	m.logins.SetSession(s)
	m.exits.SetSession(s)
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
	m.closeComparisons()
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
		m.logins.Stop()
		m.exits.Stop()
	case intentExits:
		return m.exits.Exits(model.FetchRequest{Zone: m.zone(), URL: strings.TrimSpace(m.form.Value(fieldTarget))}, m.cred.Params, strings.TrimSpace(m.form.Value("session")))
	case intentTrust:
		m.openTrust()
	case intentLogins:
		return m.logins.Logins(strings.TrimSpace(m.form.Value(fieldTarget)))
	case intentRotate:
		return m.chooseKey()
	case intentZone:
		m.panes.At = paneForm
		return m.form.FocusOn(fieldZone, true)
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
		m.leavePage()
	}
	return nil
}

func (m *Model) leavePage() {
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

func (m *Model) tested(zone model.ZoneName, t tested, err error) tea.Cmd {
	if m.trust.known = t.trust != nil; m.trust.known {
		m.trust.report = *t.trust
	}
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
		return kit.Warn("nothing was copied or shown: the zone has changed meanwhile")
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
