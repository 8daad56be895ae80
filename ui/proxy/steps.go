package proxy

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// step is a next step of the last test with a key.
type step struct {
	key, label, help string
	disabled         string
	do               doStep
}

// doStep is the message of a step's key.
type doStep struct{ action model.Action }

// steps returns the next steps with keys, one per key, and the advice without. The
// keys are those of the Sandbox.
func (m *Model) steps() (act []step, advice []string) {
	if !m.test.done || m.test.slot.Running() {
		return nil, nil
	}
	used := map[string]bool{}
	for _, s := range m.test.result.Diagnosis.Steps {
		next := m.stepOf(s.Action)
		switch {
		case next.label == "":
			advice = append(advice, s.Text)
		case !used[next.key]:
			used[next.key] = true
			next.help, next.do = kit.StepHelp(s), doStep{action: s.Action}
			act = append(act, next)
		}
	}
	return act, advice
}

// stepOf is the key of an action; a step without a label is advice.
func (m *Model) stepOf(a model.Action) step {
	s := step{key: kit.StepKey(a)}
	switch a {
	case model.ActionRetry:
		s.label, s.disabled = "test again", m.whyNotTest()
	case model.ActionSlowDown:
		s.label, s.disabled = "wait "+text.Took(kit.Pause(m.test.result.Diagnosis))+", test again", m.whyNotTest()
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		p := kit.StepProduct(a)
		if z, ok := kit.ZoneOf(m.profile.Zones, p); ok {
			s.label = "try zone " + string(z.Name)
		} else {
			s.label, s.disabled = "try the "+p.Label(), "the profile has no "+p.Label()+" zone"
		}
	case model.ActionTwin:
		s.key, s.label = "o", "the page in the Sandbox"
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
	act, _ := m.steps()
	var out []kit.Binding
	for _, s := range act {
		if s.key == "o" {
			continue // the tab's own key does it
		}
		out = append(out, kit.Binding{
			Keys: []string{s.key}, Label: s.label, Help: s.help, Group: "Next steps", Intent: s.do, Disabled: s.disabled, Hidden: true,
		})
	}
	return out
}

func (m *Model) takeStep(a model.Action) tea.Cmd {
	switch a {
	case model.ActionRetry:
		return m.startTest(0)
	case model.ActionSlowDown:
		return m.startTest(kit.Pause(m.test.result.Diagnosis))
	case model.ActionTryUnlocker, model.ActionTryBrowser:
		return m.tryProduct(kit.StepProduct(a))
	case model.ActionCheckLogin:
		m.panes.At, m.name = paneName, widget.Scroll{}
	case model.ActionTrustCA:
		m.panes.At = paneName
		m.name.End() // the verdict on the CA is last
	case model.ActionCheckZone:
		m.panes.At = paneForm
		field := fieldZone
		if m.test.result.Diagnosis.Cause == model.CauseTargetError { // the page is what is wrong
			field = fieldTarget
		}
		return m.form.FocusOn(field, false)
	case model.ActionFixRequest:
		m.panes.At = paneForm
		return m.form.FocusOn(fieldTarget, true)
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
	return kit.Info(fmt.Sprintf("the form has zone %s now: t tests it", z.Name))
}

// nextLines are the next steps, each with its key, or with the reason why it is
// disabled.
func (m *Model) nextLines(w int) []string {
	t := m.deps.Theme
	act, advice := m.steps()
	var out []string
	add := func(mark string, ink kit.Ink, words string) {
		head := ""
		if len(out) == 0 {
			head = "do next"
		}
		out = append(out, widget.Hung(t.Muted.Render(text.Fit(head, 10))+mark, ink, words, w)...)
	}
	for _, s := range act {
		if s.disabled != "" {
			add("·   ", t.Muted, s.help+" · "+s.disabled)
			continue
		}
		add(t.KeyHint.Render("["+s.key+"]")+" ", t.Text, s.help)
	}
	for _, a := range advice {
		add("·   ", t.Muted, a)
	}
	return out
}
