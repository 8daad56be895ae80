package kit

import (
	"slices"
	"strings"

	"zonedeck/model"
)

// Bound gives bindings the operator's own keys.
func (t *Theme) Bound(list []Binding) []Binding {
	if len(t.Rebound) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i, b := range list {
		list[i].Keys = t.Rebound.Keys(b.Name, b.Keys)
	}
	return list
}

// Key is the key of an action, for a sentence that names it.
func (t *Theme) Key(name string) string { return t.Rebound.Key(name) }

// StepName is the name of a next step's binding: "steps.check-key". To try again is to send the form again.
func StepName(a model.Action) string {
	if a == model.ActionRetry {
		return "sandbox.send"
	}
	return "steps." + strings.ReplaceAll(string(a), "_", "-")
}
