package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/rows"
)

// digest identifies what a job asks for: the same inputs for the same dataset at
// the same place, whatever their order.
func digest(p config.Profile, r model.TriggerRequest) string {
	lines := make([]string, len(r.Inputs))
	for i, in := range r.Inputs {
		lines[i] = string(rows.Input(in))
	}
	slices.Sort(lines)
	head := []string{place(p), string(p.Account), r.Dataset}
	if r.Settings.Discover != "" {
		head = append(head, "discover_by="+r.Settings.Discover)
	}
	h := sha256.New()
	for _, part := range append(head, lines...) {
		h.Write([]byte(part))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// placeOf is where a call of a profile goes with a key's value.
func placeOf(p config.Profile, key keystore.Secret) model.JobPlace {
	return model.JobPlace{Service: place(p), Version: p.APIVersion, Account: string(p.Account), Key: key.Fingerprint()}
}

// place names the service of a profile.
func place(p config.Profile) string {
	if p.Local { // the embedded emulator has other addresses after each start
		return "the embedded emulator"
	}
	return p.BaseURL
}
