package emulator

import (
	"crypto/x509"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/fetch"
)

func (s *Server) openFetch(chromium string) {
	s.browsers = browser.Open(s.ctx, browser.Config{Path: chromium, Trust: []*x509.Certificate{s.ca.Root()}, Now: s.now, Login: s.loginCDP, Log: s.log})
	s.fetch = fetch.New(fetch.Config{
		Account: s.account, Meter: s.meter, Route: s.way, Log: s.log, Now: s.now, Loose: s.loose, Browser: s.browsers,
		Target: s.targetFaults, Async: s.asyncMode,
	})
}

// asyncMode returns how a zone of the scenario accepts requests.
func (s *Server) asyncMode(z account.Zone) fetch.AsyncMode {
	for _, own := range s.scenario.Zones {
		if own.Name != z.Name {
			continue
		}
		switch own.Async {
		case "off":
			return fetch.AsyncOff
		case "only":
			return fetch.AsyncOnly
		default: // both
		}
	}
	return fetch.AsyncToo
}
