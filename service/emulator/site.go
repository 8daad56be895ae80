package emulator

import (
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"

	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/state"
)

const (
	// siteSecrets keeps what the lab signs with, under siteName.
	siteSecrets = state.Table[[]byte]("settings")
	siteName    = "lab"
	// siteSecretBytes is how long that secret is.
	siteSecretBytes = 32
)

// serveLab serves http and https on the one port of the lab.
func (s *Server) serveLab(ln net.Listener) error {
	secret, err := s.siteSecret()
	if err != nil {
		return err
	}
	plain, secure, waitSplit := lab.Split(newLimitListener(ln))
	h := s.scenario.Site(lab.New(lab.Options{Now: s.now, Secret: secret, Origin: origin, Drifted: s.drifted}))
	http1, https := s.newHTTP(h), s.newHTTP(h)
	https.TLSConfig = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if host := s.ownHost(hello.ServerName); host != "" {
			return s.ca.Leaf(host)
		}
		return s.ca.Leaf(exits.LabHost)
	}}
	s.wg.Go(func() { s.served(http1.Serve(plain)) })
	s.wg.Go(func() { s.served(https.ServeTLS(secure, "", "")) })
	s.wg.Go(waitSplit)
	return nil
}

// siteSecret is what the lab signs its challenges with; it is kept, so that a client's
// clearance is good for the next start as well.
func (s *Server) siteSecret() ([]byte, error) {
	secret, _, err := siteSecrets.Get(s.state, siteName)
	if err != nil || len(secret) == siteSecretBytes {
		return secret, err
	}
	secret = make([]byte, siteSecretBytes)
	rand.Read(secret) // never fails (crypto/rand)
	return secret, s.state.Update(func(tx *state.Tx) error { return siteSecrets.Put(tx, siteName, secret) })
}

// origin is what the lab can know of a visitor: exits tell their network and country.
func origin(a netip.Addr) lab.Origin {
	product, country, ok := exits.Where(a)
	if !ok {
		return lab.Origin{}
	}
	return lab.Origin{Country: country, Network: product}
}

// drifted reports whether the shop shows its changed markup: a fault says so, from a
// moment on, by whichever way the request came (a tunnel and a browser, too).
func (s *Server) drifted(r *http.Request) bool {
	e := s.rehearsal.faults
	if !e.Active(fault.Target) {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return e.Drifts(fault.Call{Host: host, Path: r.URL.Path, Method: r.Method})
}
