package proxy

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// step is a next step of the last test.
type step struct {
	name, key, label, help string
	disabled               string
	do                     doStep
}

// doStep is the message of a step's key.
type doStep struct{ action model.Action }

// steps returns the next steps. Two may share a key; the keys are those of the Sandbox.
func (m *Model) steps() []step {
	if !m.test.done || m.test.slot.Running() {
		return nil
	}
	var out []step
	for _, s := range m.test.result.Diagnosis.Steps {
		next := m.stepOf(s.Action)
		if next.label != "" {
			next.help, next.do = kit.StepHelp(s), doStep{action: s.Action}
			out = append(out, next)
		}
	}
	return out
}

// stepOf is the step of an action; without a label it cannot be taken here.
func (m *Model) stepOf(a model.Action) step {
	s := step{name: kit.StepName(a), key: kit.StepKey(a)}
	switch a {
	case model.ActionRetry:
		s.name, s.label, s.disabled = "proxy.test-now", "test again", m.whyNotTest()
	case model.ActionSlowDown:
		s.label, s.disabled = "wait "+text.Duration(m.test.result.Diagnosis.Pause())+m.test.result.Diagnosis.Repeated()+", test again", m.whyNotTest()
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		p := kit.StepProduct(a)
		if z, ok := kit.ZoneOf(m.profile.Zones, p); ok {
			s.label = "try zone " + string(z.Name)
		} else {
			s.label, s.disabled = "try the "+p.Label(), "the profile has no "+p.Label()+" zone"
		}
	case model.ActionOtherWay, model.ActionRaiseTimeout: // the Sandbox has API and Native, and a timeout
		s.name, s.key, s.label = "proxy.sandbox", "o", "the page in the Sandbox"
	case model.ActionWhatRefuses:
		s.label = "what refuses?"
	case model.ActionCheckKey:
		s.label = "check the key"
	case model.ActionCheckNetwork, model.ActionDialect:
		s.label = "see the profile"
	case model.ActionCheckLogin:
		s.label = "check the login"
	case model.ActionTrustCA:
		s.label = "CA trust"
	case model.ActionCheckZone:
		s.label = "check zone and page"
	case model.ActionFixRequest:
		s.label = "correct the page"
	case model.ActionMakeJob:
		s.label = "make it a job"
	}
	return s
}

// stepBindings are the keys of the next steps. The test pane shows them, so the footer
// does not.
func (m *Model) stepBindings() []kit.Binding {
	var out []kit.Binding
	for _, s := range m.steps() {
		if _, have := kit.Find(out, s.key, false); have || s.name == "proxy.sandbox" || s.name == "proxy.test-now" { // the tab's own keys
			continue
		}
		out = append(out, kit.Binding{
			Name: s.name, Keys: []string{s.key}, Label: s.label, Help: s.help, Group: "Next steps", Intent: s.do, Disabled: s.disabled, Dangerous: kit.StepSends(s.do.action), Hidden: true,
		})
	}
	return out
}

func (m *Model) takeStep(a model.Action) tea.Cmd {
	switch a {
	case model.ActionSlowDown:
		return m.askTest(m.test.result.Diagnosis.Pause())
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		return m.tryProduct(kit.StepProduct(a))
	case model.ActionWhatRefuses:
		r := m.test.result
		return m.logins.Refusal(model.FetchResult{
			Request: model.FetchRequest{Zone: r.Zone, URL: r.Target, Via: model.ViaNative}, Status: r.TargetStatus, ServiceStatus: r.ConnectStatus, Diagnosis: r.Diagnosis,
		})
	case model.ActionCheckLogin:
		m.panes.At, m.name = paneName, widget.Scroll{}
	case model.ActionTrustCA:
		m.panes.At = paneName
		m.name.End() // the verdict on the CA is last
	case model.ActionCheckZone, model.ActionFixRequest:
		m.panes.At = paneForm
		field := fieldZone
		if a == model.ActionFixRequest || m.test.result.Diagnosis.Cause == model.CauseTargetError { // the page is what is wrong
			field = fieldTarget
		}
		return m.form.FocusOn(field, false)
	case model.ActionCheckKey:
		return kit.GotoTab(kit.Keys, kit.OpenKey{Name: m.profile.Key})
	case model.ActionCheckNetwork, model.ActionDialect:
		return kit.Send(kit.ShowProfile{})
	case model.ActionMakeJob:
		return kit.GotoTab(kit.Jobs, kit.NewJob{URLs: []string{m.test.result.Target}})
	}
	return nil
}

func (m *Model) tryProduct(p model.Product) tea.Cmd {
	z, ok := kit.ZoneOf(m.profile.Zones, p)
	if !ok {
		return kit.Warn("the profile has no " + p.Label() + " zone")
	}
	m.form.SetValue(fieldZone, string(z.Name))
	m.changed()
	m.panes.At = paneForm
	return kit.Info(fmt.Sprintf("the form now has zone %s · %s tests it", z.Name, m.deps.Theme.Key("proxy.test-now")))
}

// nextLines are the next steps, each with its key, or with the reason why it is
// disabled.
func (m *Model) nextLines(w int) []string {
	t := m.deps.Theme
	var out []string
	add := func(mark string, ink kit.Ink, words string) {
		head := ""
		if len(out) == 0 {
			head = "do next"
		}
		out = append(out, widget.Hung(t.Muted.Render(text.Fit(head, 10))+mark, ink, words, w)...)
	}
	for _, s := range m.steps() {
		if s.disabled != "" {
			add("·   ", t.Muted, s.help+" · "+s.disabled)
			continue
		}
		add(t.KeyHint.Render("["+t.Key(s.name)+"]")+" ", t.Text, s.help)
	}
	return out
}
