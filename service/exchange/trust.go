package exchange

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/roots"
)

// Handshake is what the client saw in the TLS handshake, and what vouches for it; its zero
// value means that there was none, or that it ended before the certificates came.
func (tr *Trace) Handshake() model.Chain {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	c := tr.tls
	c.Certificates = certificates(tr.chain)
	return c
}

// judge finds out what vouches for the certificates of a handshake that is over, with its
// error. cfg has the authorities of the system and those of the profile's file.
func (tr *Trace) judge(tc *tls.Conn, cfg *tls.Config, peer string, err error) {
	state := tc.ConnectionState()
	c := model.Chain{Peer: peer, ServerName: cfg.ServerName, Unchecked: cfg.InsecureSkipVerify}
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &bad):
		c.Why = bad.Err.Error()
	case err != nil: // TLS failed for another reason, which the outcome tells
		return
	default:
		c.Version, c.Cipher = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
		verified := state.VerifiedChains
		if cfg.InsecureSkipVerify {
			if verified, err = roots.Verify(state.PeerCertificates, cfg.RootCAs, cfg.ServerName, time.Time{}); err != nil {
				c.Why = err.Error()
			}
		}
		c.Trust = tr.trust(verified, state.PeerCertificates, cfg.ServerName)
	}
	c.Why = model.Line(c.Why, nameText)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.tls = c
}

// trust says which authorities the verified chains end at. One that the system and the
// file share is the system's.
func (tr *Trace) trust(verified [][]*x509.Certificate, presented []*x509.Certificate, name string) model.Trust {
	if len(verified) == 0 {
		return model.TrustNone
	}
	for _, chain := range verified {
		if root := chain[len(chain)-1]; !slices.ContainsFunc(tr.file, root.Equal) {
			return model.TrustSystem
		}
	}
	system, err := x509.SystemCertPool()
	if err != nil {
		return model.TrustFile
	}
	if _, err := roots.Verify(presented, system, name, time.Time{}); err == nil {
		return model.TrustSystem
	}
	return model.TrustFile
}
