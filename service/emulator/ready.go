package emulator

import (
	"slices"
	"time"

	"zonedeck/service/emulator/account"
)

// Ready is the object that `zonedeck emulate --json` prints: the emulator's addresses and the
// logins of the demo account.
type Ready struct {
	SchemaVersion int `json:"schema_version"`
	// API and Control are base URLs, Proxy and SOCKS host:port, for clients on this machine.
	API   string `json:"api"`
	Proxy string `json:"proxy"`
	SOCKS string `json:"socks"`
	// CDP is the address for clients of the Chrome DevTools Protocol, ws://host:port. The
	// same port accepts wss.
	CDP string `json:"cdp"`
	// Lab is the site's address through the emulator, LabDirect its loopback address.
	Lab       string `json:"lab"`
	LabDirect string `json:"lab_direct"`
	// CA is the absolute path of the certificate authority's PEM, CAPEM its content.
	CA             string         `json:"ca"`
	CAPEM          string         `json:"ca_pem"`
	Control        string         `json:"control"`
	ControlToken   string         `json:"control_token"`
	Account        string         `json:"account"`
	UsernamePrefix string         `json:"username_prefix"`
	Keys           []account.Key  `json:"keys"`
	Zones          []account.Zone `json:"zones"`
	// FirstStart is when the state folder was first used, by the emulator's clock: the dates of
	// the scenario's keys count from it.
	FirstStart time.Time `json:"first_start"`
	Notes      []string  `json:"notes"`
	PID        int       `json:"pid"`
}

// Ready returns the emulator's addresses and its current keys and zones. Keys that were created
// or refreshed at run time have no value here, because a value is shown once. The default key
// of an account that begins without keys is shown the first time only.
func (s *Server) Ready() Ready {
	r := s.ready
	r.Notes = append([]string{}, slices.Clone(s.ready.Notes)...)
	r.Keys = s.account.HandOut()
	r.Zones = s.account.Zones()
	for i, z := range r.Zones {
		rate := s.rate(z.Name, z.Product)
		r.Zones[i].RatePer1000, r.Zones[i].RatePerGB = rate.Thousand, rate.GB
	}
	return r
}
