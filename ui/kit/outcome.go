package kit

import "zonedeck/model"

// StepKey is the key of a next step, the same in every tab.
func StepKey(a model.Action) string {
	return map[model.Action]string{
		model.ActionRetry: "r", model.ActionSlowDown: "s", model.ActionTryUnlocker: "u", model.ActionTryBrowser: "b",
		model.ActionCheckKey: "K", model.ActionCheckLogin: "L", model.ActionTrustCA: "L", model.ActionRaiseTimeout: "T",
		model.ActionCheckZone: "f", model.ActionFixRequest: "f", model.ActionMakeJob: "J", model.ActionTwin: "t",
		model.ActionShowFields: "F", model.ActionSaveSample: "S", model.ActionCheckNetwork: "P", model.ActionDialect: "P",
	}[a]
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
