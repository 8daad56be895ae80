package emulator

import (
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/state"
)

const (
	// siteSecrets stores the lab's signing secret under siteName.
	siteSecrets = state.Table[[]byte]("settings")
	siteName    = "lab"
	// siteSecretBytes is the length of that secret.
	siteSecretBytes = 32
)

func (s *Server) serveLab(ln net.Listener) error {
	secret, err := s.siteSecret()
	if err != nil {
		return err
	}
	h := s.scenario.Site(lab.New(lab.Options{Now: s.now, Secret: secret, Origin: origin, Drifted: s.drifted}))
	s.serveBoth(ln, h, &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if s.dialer.Serves(hello.ServerName) {
			return s.ca.Leaf(hello.ServerName)
		}
		return s.ca.Leaf(exits.LabHost)
	}})
	return nil
}

// serveBoth serves http and https on one port.
func (s *Server) serveBoth(ln net.Listener, h http.Handler, config *tls.Config) {
	srv, both := s.newHTTP(h), lab.Split(newLimitListener(ln), config)
	s.wg.Go(func() { s.served(srv.Serve(both)) })
}

// siteSecret returns the secret that the lab signs its challenges with. It is stored, so that a
// client's clearance survives a restart.
func (s *Server) siteSecret() ([]byte, error) {
	secret, _, err := siteSecrets.Get(s.state, siteName)
	if err != nil || len(secret) == siteSecretBytes {
		return secret, err
	}
	secret = make([]byte, siteSecretBytes)
	rand.Read(secret) // never fails (crypto/rand)
	return secret, s.state.Update(func(tx *state.Tx) error { return siteSecrets.Put(tx, siteName, secret) })
}

// origin returns what the lab knows about a visitor: the network and country of an exit.
func origin(a netip.Addr) lab.Origin {
	product, country, ok := exits.Where(a)
	if !ok {
		return lab.Origin{}
	}
	return lab.Origin{Country: country, Network: product}
}

// drifted reports whether the shop shows its changed markup. A fault sets the moment of the
// change, for requests of any kind, also through tunnels and the browser.
func (s *Server) drifted(r *http.Request) bool {
	e := s.rehearsal.faults
	if !e.Active(fault.Target) {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	return e.Drifts(fault.Call{Host: host, Path: r.URL.Path, Method: r.Method})
}
