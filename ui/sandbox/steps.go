package sandbox

import (
	"zonedeck/model"
)

// stepKey is the key of an action; empty if the step is only advice.
func stepKey(a model.Action) string {
	switch a {
	case model.ActionRetry:
		return "r"
	case model.ActionSlowDown:
		return "s"
	case model.ActionTryUnlocker:
		return "u"
	case model.ActionTryBrowser:
		return "b"
	case model.ActionCheckKey:
		return "K"
	case model.ActionCheckLogin, model.ActionTrustCA:
		return "L"
	case model.ActionRaiseTimeout:
		return "T"
	case model.ActionCheckZone, model.ActionFixRequest:
		return "f"
	case model.ActionMakeJob:
		return "J"
	case model.ActionTwin:
		return "t"
	default:
		return ""
	}
}

// zoneOf finds a zone of a product for "try the unlocker" and "try the browser".
func zoneOf(zones []model.Zone, p model.Product) (model.Zone, bool) {
	for _, z := range zones {
		if z.Product == p {
			return z, true
		}
	}
	return model.Zone{}, false
}

// otherWay is the other access method.
func otherWay(v model.Via) model.Via {
	if v == model.ViaNative {
		return model.ViaAPI
	}
	return model.ViaNative
}
