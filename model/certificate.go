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

// Trust is what vouches for a chain of certificates.
type Trust string

// The kinds of trust.
const (
	TrustNone   Trust = ""       // nothing that the client knows
	TrustSystem Trust = "system" // an authority of the operating system
	TrustFile   Trust = "file"   // an authority of the profile's CA file alone
)

// Chain is the certificates of a TLS handshake as the client saw them, the leaf first,
// and what they were worth to it. The zero value means that there was no TLS.
type Chain struct {
	// Peer is whose handshake it was: "service" (its API) or "target" (through the tunnel).
	Peer string
	// ServerName is the name that the certificate was asked for.
	ServerName string
	// Version and Cipher are what was agreed ("TLS 1.3"); empty when the handshake failed.
	Version, Cipher string
	Trust           Trust
	// UntrustedReason says why nothing vouches for the chain; empty with trust.
	UntrustedReason string
	// Unchecked says that the connection was used whatever the certificates say (verify = false).
	Unchecked    bool
	Certificates []Certificate
}

// HasCertificates reports whether there are certificates to show.
func (c Chain) HasCertificates() bool { return len(c.Certificates) > 0 }
