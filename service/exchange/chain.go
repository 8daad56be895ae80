package exchange

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"

	"zonedeck/model"
)

// The bounds of a chain as it is kept.
const (
	chainLength = 10
	nameText    = 200
	chainNames  = 20
)

// presented notes the chain of a handshake, the peer's own certificate first.
func (tr *Trace) presented(chain []*x509.Certificate) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.chain = chain
}

// refusedChain is the chain of a handshake that failed because nobody vouches for it.
func refusedChain(err error) []*x509.Certificate {
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		return verify.UnverifiedCertificates
	}
	return nil
}

// certificates are the values that are kept of a chain.
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
