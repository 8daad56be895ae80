package jobs

import (
	"zonedeck/model"
	"zonedeck/ui/kit"
)

// step is a next step of a job's last failed call. It has a key if one takes it, and a label if that key is not one of
// the tab's own.
type step struct {
	key, help, label string
	disabled         string // the reason why it cannot be taken now, or ""
	do               intent
}

// steps are the next steps after a job's last failed call. Two may share a key.
func (m *Model) steps(j model.Job) []step {
	var out []step
	for _, s := range j.Fault.Diagnosis.Steps {
		next := step{help: kit.StepHelp(s)}
		switch s.Action {
		case model.ActionCheckKey:
			next.key, next.label, next.do = kit.StepKey(s.Action), "check the key", intentKey
		case model.ActionSlowDown: // no key sets how much is sent at once
		case model.ActionFixRequest:
			if j.State != model.JobRefused { // what would be corrected is a request that has been accepted
				break
			}
			next.key, next.do, next.help = "a", intentAgain, next.help+": a, then e"
			next.disabled = m.whyNot(next.do)
		case model.ActionCheckNetwork, model.ActionTrustCA, model.ActionDialect:
			next.key, next.label, next.do = kit.StepKey(model.ActionCheckNetwork), "see the profile", intentProfile
		case model.ActionLaunch:
			next.key, next.do = "a", intentAgain
			next.disabled = m.whyNot(next.do)
		default: // make the call again
			if j.Fault.Call == model.CallNone { // the job failed, not a call: what is next is done in the Sandbox
				next.key = "1"
				break
			}
			next.key, next.do = callKey(j)
			next.disabled = m.whyNot(next.do)
		}
		out = append(out, next)
	}
	return out
}

// callKey is the tab's key that makes the call again which failed; where it is not known whether a trigger
// has started a job, the one that finds out.
func callKey(j model.Job) (string, intent) {
	switch j.Fault.Call {
	case model.CallTrigger:
		if j.State == model.JobMayHave {
			return "s", intentSettle
		}
		return "a", intentAgain
	case model.CallDownload:
		if j.State == model.JobExpired || j.State == model.JobCanceled { // there is no result any more
			return "a", intentAgain
		}
		return "d", intentDownload
	case model.CallCancel:
		return "c", intentCancel
	default:
		return "f", intentFollow
	}
}

// stepBindings are the keys of the selected job's next steps, except the tab's own. The
// detail shows them, so the footer does not.
func (m *Model) stepBindings() []kit.Binding {
	j, ok := m.selected()
	if !ok {
		return nil
	}
	var out []kit.Binding
	for _, s := range m.steps(j) {
		if _, have := kit.Find(out, s.key, false); s.label != "" && !have {
			out = append(out, kit.Binding{Keys: []string{s.key}, Label: s.label, Help: s.help, Group: "Next steps", Intent: s.do, Hidden: true})
		}
	}
	return out
}
