package model

import (
	"strings"
	"time"
)

// Certificate is one certificate of the chain that a peer presented in its TLS handshake.
// Its texts are remote and bounded.
type Certificate struct {
	Subject string
	Issuer  string
	// Names are the hosts that it is valid for; empty for an authority's.
	Names     []string
	NotBefore time.Time
	NotAfter  time.Time
	// SHA256 is the fingerprint: 64 lower-case hexadecimal digits.
	SHA256 string
	// Authority says that it may sign others, SelfSigned that it names itself as its issuer.
	Authority  bool
	SelfSigned bool
	// DER is the certificate itself.
	DER []byte `json:"-"`
}

// IssuerName is the common name of the issuer, or all of it without one.
func (c Certificate) IssuerName() string {
	for part := range strings.SplitSeq(strings.ReplaceAll(c.Issuer, `\,`, "\x00"), ",") {
		if name, ok := strings.CutPrefix(part, "CN="); ok {
			return strings.ReplaceAll(name, "\x00", ",")
		}
	}
	return c.Issuer
}
