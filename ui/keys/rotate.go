package keys

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/ui/kit"
)

// rotate continues the key's rotation, or begins one.
func (m *Model) rotate(k model.Key, method keystore.RotationMethod) tea.Cmd {
	if p, running := m.running(k.Name); running {
		return m.page.Show(k, p)
	}
	return m.page.Look(keys.RotationSubject{Key: k, Profile: m.origin(k.Name), Method: method})
}

// ended is the last rotation of a key that is over; the records are sorted, the newest first.
func (m *Model) ended(k model.Key) (keystore.RotationPlan, bool) {
	i := slices.IndexFunc(m.records.plans, func(p keystore.RotationPlan) bool { return p.Over() && p.OfKey(m.origin(k.Name), m.ownName(k)) })
	if i < 0 {
		return keystore.RotationPlan{}, false
	}
	return m.records.plans[i], true
}

// rotatePassword continues the rotation of a zone's password, or shows a new one.
func (m *Model) rotatePassword(msg kit.RotatePassword) tea.Cmd {
	s, err := m.deps.Rotations.ZonePassword(msg.Zone, msg.Key)
	if err != nil {
		return kit.Fail("new password: " + err.Error())
	}
	for _, p := range m.records.plans {
		if p.OfZone(string(s.Password.Account), string(s.Password.Zone.Name)) && !p.Over() {
			return m.page.Show(model.Key{}, p)
		}
	}
	return m.page.Look(s)
}

// recordedRotation takes a rotation's record as it is on disk now: keys and their values may be
// others.
func (m *Model) recordedRotation(plan keystore.RotationPlan) tea.Cmd {
	i := slices.IndexFunc(m.records.plans, func(p keystore.RotationPlan) bool { return p.ID == plan.ID })
	if i < 0 {
		m.records.plans = append([]keystore.RotationPlan{plan}, m.records.plans...)
	} else {
		m.records.plans[i] = plan
	}
	cmd := tea.Batch(m.fill(), m.deps.Changed)
	if m.records.slot.Running() { // what is being read may be older
		return tea.Batch(cmd, m.loadRecords())
	}
	return cmd
}

// planProgress is "3 of 7 steps done, next: test profile acme".
func planProgress(p keystore.RotationPlan) string {
	measured, vouched := p.Count()
	words := fmt.Sprintf("%d of %d steps done", measured+vouched, len(p.Steps))
	if n := p.Now(); n >= 0 {
		words += ", next: " + p.Steps[n].Name()
	}
	return words
}

// datesOf says whose dates are shown of a key that has its new value; see keystore.RotationPlan.Rotated.
func datesOf(p keystore.RotationPlan) string {
	if refused, _ := p.Step(keystore.StepRefused, ""); refused.Done || !p.HasTakenOver() {
		return ""
	}
	return " · the dates are those of the old value (••••" + p.OldLast4 + ") until the console saw it refused"
}
