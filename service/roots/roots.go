// Package roots reads the certificates of authorities and says whether a chain ends at one of
// them. A client that verifies a connection and a report about other clients share it, so that
// they mean the same.
package roots

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"
)

// Parse gives the certificates of a PEM file in its order. Other blocks are passed over.
func Parse(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 { // as crypto/x509 reads its bundles
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}

// Verify checks the certificates that a server presented, its own first, as a TLS client does:
// every chain that it returns ends at one of pool. An empty name is not checked; the zero time is now.
func Verify(presented []*x509.Certificate, pool *x509.CertPool, name string, at time.Time) ([][]*x509.Certificate, error) {
	if len(presented) == 0 {
		return nil, errors.New("no certificate was presented")
	}
	between := x509.NewCertPool()
	for _, c := range presented[1:] {
		between.AddCert(c)
	}
	return presented[0].Verify(x509.VerifyOptions{DNSName: name, Roots: pool, Intermediates: between, CurrentTime: at})
}
