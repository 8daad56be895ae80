package exchange

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/roots"
)

// Handshake is what the client saw in the TLS handshake, and what vouches for it. The zero
// value means that there was none, or that it ended before the certificates came.
func (tr *Trace) Handshake() model.Chain {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	c := tr.tls
	c.Certificates = certificates(tr.chain)
	return c
}

// judge finds out what vouches for the certificates of a handshake that ended with err. cfg
// has the authorities of the system and of the profile's file.
func (tr *Trace) judge(tc *tls.Conn, cfg *tls.Config, peer string, err error) model.Chain {
	state := tc.ConnectionState()
	c := model.Chain{Peer: peer, ServerName: cfg.ServerName, Unchecked: cfg.InsecureSkipVerify}
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &bad):
		c.UntrustedReason = bad.Err.Error()
	case err != nil: // TLS failed for another reason, and the outcome says which
		return model.Chain{}
	default:
		c.Version, c.Cipher = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
		verified := state.VerifiedChains
		if cfg.InsecureSkipVerify {
			if verified, err = roots.Verify(state.PeerCertificates, cfg.RootCAs, cfg.ServerName, time.Time{}); err != nil {
				c.UntrustedReason = err.Error()
			}
		}
		c.Trust = tr.trust(verified, state.PeerCertificates, cfg.ServerName)
	}
	c.UntrustedReason = model.Line(c.UntrustedReason, nameText)
	return c
}

// trust says which authorities the verified chains end at. An authority of both the system
// and the file counts as the system's.
func (tr *Trace) trust(verified [][]*x509.Certificate, presented []*x509.Certificate, name string) model.Trust {
	if len(verified) == 0 {
		return model.TrustNone
	}
	tr.mu.Lock()
	file := tr.file
	tr.mu.Unlock()
	for _, chain := range verified {
		if root := chain[len(chain)-1]; !slices.ContainsFunc(file, root.Equal) {
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

// The bounds of what is kept of a chain.
const (
	chainLength = 10
	nameText    = 200
	chainNames  = 20
)

// presented notes the chain of a handshake, the peer's own certificate first, and the verdict on it.
func (tr *Trace) presented(chain []*x509.Certificate, verdict model.Chain) {
	tr.connecting(func() { tr.chain, tr.tls = chain, verdict })
}

// refusedChain is the chain of a handshake that failed its verification, else nil.
func refusedChain(err error) []*x509.Certificate {
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		return verify.UnverifiedCertificates
	}
	return nil
}

// certificates returns what is kept of a chain.
func certificates(chain []*x509.Certificate) []model.Certificate {
	var out []model.Certificate
	for _, c := range chain[:min(len(chain), chainLength)] {
		sum := sha256.Sum256(c.Raw)
		kept := model.Certificate{
			Subject: model.Line(c.Subject.String(), nameText), Issuer: model.Line(c.Issuer.String(), nameText),
			NotBefore: c.NotBefore, NotAfter: c.NotAfter, SHA256: hex.EncodeToString(sum[:]),
			Authority: c.IsCA, SelfSigned: signsItself(c), DER: c.Raw,
		}
		for _, name := range c.DNSNames[:min(len(c.DNSNames), chainNames)] {
			kept.Names = append(kept.Names, model.Line(name, nameText))
		}
		for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), chainNames)] {
			kept.Names = append(kept.Names, ip.String())
		}
		out = append(out, kept)
	}
	return out
}

func signsItself(c *x509.Certificate) bool {
	return bytes.Equal(c.RawSubject, c.RawIssuer) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}
