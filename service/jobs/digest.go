package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/rows"
)

// digest identifies what a job asks for: the same inputs for the same dataset at
// the same place, whatever their order.
func digest(p profile.Profile, r model.TriggerRequest) string {
	lines := make([]string, len(r.Inputs))
	for i, in := range r.Inputs {
		lines[i] = string(rows.Input(in))
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, part := range append([]string{p.BaseURL, string(p.Account), r.Dataset}, lines...) {
		h.Write([]byte(part))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
