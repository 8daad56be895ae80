package kit

import (
	"slices"
	"strings"

	"zonedeck/model"
)

// StepKey is the key of a next step, the same in every tab.
func StepKey(a model.Action) string {
	return map[model.Action]string{
		model.ActionRetry: "ctrl+j", model.ActionSlowDown: "H", model.ActionTryUnlocker: "u", model.ActionTryBrowser: "b",
		model.ActionCheckKey: "K", model.ActionCheckLogin: "L", model.ActionTrustCA: "L", model.ActionRaiseTimeout: "T",
		model.ActionCheckZone: "f", model.ActionFixRequest: "f", model.ActionMakeJob: "J", model.ActionOtherWay: "t",
		model.ActionShowFields: "F", model.ActionSaveSample: "S", model.ActionCheckNetwork: "P", model.ActionDialect: "P",
		model.ActionWhatRefuses: "I",
	}[a]
}

// StepName is the name of a next step's binding: "steps.check-key". To try again is to send the form again.
func StepName(a model.Action) string {
	if a == model.ActionRetry {
		return "sandbox.send"
	}
	return "steps." + strings.ReplaceAll(string(a), "_", "-")
}

// StepSends reports whether a letter of a next step sends; where that is billed, it asks first.
func StepSends(a model.Action) bool {
	return a == model.ActionSlowDown || a == model.ActionOtherWay || a == model.ActionWhatRefuses
}

// StepHelp describes a next step and says if service.md recommends it.
func StepHelp(s model.Step) string {
	if s.Documented {
		return s.Text + " (contract 7)"
	}
	return s.Text
}

// StepProduct is the product that a step suggests, or empty.
func StepProduct(a model.Action) model.Product {
	switch a {
	case model.ActionTryUnlocker:
		return model.ProductUnlocker
	case model.ActionTryBrowser:
		return model.ProductBrowser
	default:
		return model.ProductUnknown
	}
}

// ZoneOf finds the first zone of a product.
func ZoneOf(zones []model.Zone, p model.Product) (model.Zone, bool) {
	for _, z := range zones {
		if z.Product == p {
			return z, true
		}
	}
	return model.Zone{}, false
}

// Weighed sorts the evidence, the most informative first: a place in the body, an
// error, the time of a timeout, and statuses last.
func Weighed(d model.Diagnosis) []model.Evidence {
	weight := func(e model.Evidence) int {
		switch {
		case e.Length > 0:
			return 0
		case e.Kind == "error" || e.Note() != "":
			return 1
		case e.Kind == "timing" && d.Class == model.ClassTimeout:
			return 2
		case e.Kind == "body" && d.Class != model.ClassOK:
			return 3
		case e.Kind == "status":
			return 4
		case e.Kind == "service_status":
			return 5
		default:
			return 6
		}
	}
	out := slices.Clone(d.Evidence)
	slices.SortStableFunc(out, func(a, b model.Evidence) int { return weight(a) - weight(b) })
	return out
}
