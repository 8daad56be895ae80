package proxy

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// backOff is how long "slow down" waits if the answer names no delay: the longest of
// the example delays in service.md 8.
const backOff = 5 * time.Second

// maxPause bounds the delay that an answer asks for.
const maxPause = 5 * time.Minute

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
		next := m.stepOf(s)
		switch {
		case next.key == "":
			advice = append(advice, s.Text)
		case !used[next.key]:
			used[next.key] = true
			next.help, next.do = s.Text, doStep{action: s.Action}
			if s.Documented {
				next.help += " (service.md 7)"
			}
			act = append(act, next)
		}
	}
	return act, advice
}

func (m *Model) stepOf(s model.Step) step {
	switch s.Action {
	case model.ActionRetry:
		return step{key: "r", label: "test again", disabled: m.whyNotTest()}
	case model.ActionSlowDown:
		return step{key: "s", label: "wait " + text.Took(m.pause()) + ", test again", disabled: m.whyNotTest()}
	case model.ActionTryUnlocker:
		return m.productStep("u", model.ProductUnlocker)
	case model.ActionTryBrowser:
		return m.productStep("b", model.ProductBrowser)
	case model.ActionTwin:
		return step{key: "o", label: "the page in the Sandbox"}
	case model.ActionCheckLogin:
		return step{key: "L", label: "check the login"}
	case model.ActionTrustCA:
		return step{key: "L", label: "CA trust"}
	case model.ActionCheckZone:
		return step{key: "f", label: "check zone and page"}
	case model.ActionFixRequest:
		return step{key: "f", label: "correct the page"}
	case model.ActionMakeJob:
		return step{key: "J", label: "make it a job"}
	default:
		return step{}
	}
}

// productStep offers a zone of a product, or says that the profile has none.
func (m *Model) productStep(key string, p model.Product) step {
	z, ok := m.zoneOf(p)
	if !ok {
		return step{key: key, label: "try the " + p.Label(), disabled: "the profile has no " + p.Label() + " zone"}
	}
	return step{key: key, label: "try zone " + string(z.Name)}
}

func (m *Model) zoneOf(p model.Product) (model.Zone, bool) {
	for _, z := range m.profile.Zones {
		if z.Product == p {
			return z, true
		}
	}
	return model.Zone{}, false
}

// pause is the delay the answer asks for, or the back-off.
func (m *Model) pause() time.Duration {
	if after := m.test.result.Diagnosis.RetryAfter; after > 0 {
		return min(after, maxPause)
	}
	return backOff
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
		return m.startTest(m.pause())
	case model.ActionTryUnlocker:
		return m.tryProduct(model.ProductUnlocker)
	case model.ActionTryBrowser:
		return m.tryProduct(model.ProductBrowser)
	case model.ActionCheckLogin:
		m.ring.At, m.nameTop = paneName, 0
	case model.ActionTrustCA:
		m.ring.At, m.nameTop = paneName, 1<<20 // the verdict on the CA is last
	case model.ActionCheckZone:
		m.ring.At = paneForm
		field := fieldZone
		if m.test.result.Diagnosis.Cause == model.CauseTargetError { // the page is what is wrong
			field = fieldTarget
		}
		return m.form.FocusOn(field, false)
	case model.ActionFixRequest:
		m.ring.At = paneForm
		return m.form.FocusOn(fieldTarget, true)
	case model.ActionMakeJob:
		return kit.GotoTab(kit.Jobs, kit.NewJob{URLs: []string{m.test.result.Target}})
	}
	return nil
}

func (m *Model) tryProduct(p model.Product) tea.Cmd {
	z, ok := m.zoneOf(p)
	if !ok {
		return kit.Warn("the profile has no " + p.Label() + " zone")
	}
	m.form.SetValue(fieldZone, string(z.Name))
	m.changed()
	m.ring.At = paneForm
	return kit.Info(fmt.Sprintf("the form has zone %s now: t tests it", z.Name))
}

// nextLines are the next steps, each with its key, or with the reason why it is
// disabled.
func (m *Model) nextLines(w int) []string {
	t := m.deps.Theme
	act, advice := m.steps()
	var out []string
	add := func(mark string, ink kit.Ink, words string) {
		head := strings.Repeat(" ", 10)
		if len(out) == 0 {
			head = t.Muted.Render(text.Fit("do next", 10))
		}
		room := max(w-10-text.Width(mark), 8)
		for i, l := range text.Wrap(text.Clean(words), room) {
			if i > 0 {
				head, mark = strings.Repeat(" ", 10), strings.Repeat(" ", text.Width(mark))
			}
			out = append(out, head+mark+ink.Render(l))
		}
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
