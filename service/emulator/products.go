package emulator

import (
	"crypto/x509"
	"fmt"

	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/fetch"
)

// openFetch prepares what gets pages by zones.
func (s *Server) openFetch(o Options) (err error) {
	// Profiles lie in the machine's own temporary folder: Chromium puts a socket among
	// them, whose path may have some 100 bytes only.
	s.browsers, err = browser.Open(browser.Config{Trust: []*x509.Certificate{s.ca.Root()}, Now: s.now})
	if err != nil {
		return fmt.Errorf("preparing the browsers: %w", err)
	}
	s.fetch = fetch.New(fetch.Config{
		Account: s.account, Meter: s.meter, Route: s.way, Log: s.log, Now: s.now, Loose: o.Loose, Browser: s.browsers,
	})
	return nil
}
