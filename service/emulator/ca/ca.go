// Package ca is the emulator's certificate authority (service.md 5.2 rule 3). The proxy
// and the lab take their certificates from it. It is safe for concurrent use.
package ca

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	// CertFile is the root certificate in the state folder, for clients to trust.
	CertFile  = "ca.pem"
	maxLeaves = 1024

	pairTable = state.Table[pair]("settings")
	pairName  = "ca"
)

// pair is the root as stored, in PEM.
type pair struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// Authority is the emulator's certificate authority (service.md 5.2 rule 3) with its leaves,
// one per host over one shared P-256 key. Certificates carry the real time, not the
// emulator's, because clients check them by theirs.
type Authority struct {
	cert    *x509.Certificate
	key     crypto.Signer
	PEM     []byte // the root certificate
	leafKey *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*leaf
}

// leaf is a host's certificate. The first caller mints it, while later callers for the same
// host wait.
type leaf struct {
	once sync.Once
	cert *tls.Certificate
	err  error
}

// Open loads or creates the authority of a state folder, and exports its certificate to
// [CertFile].
func Open(s *state.Dir) (*Authority, error) {
	a := &Authority{leaves: map[string]*leaf{}}
	var err error
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("making the leaf key: %w", err)
	}
	p, found, err := pairTable.Get(s, pairName)
	if found && err == nil {
		if err = a.load(p); err != nil {
			s.Note(fmt.Sprintf("the certificate authority cannot be used (%v); a new one begins", err))
			found = false
		}
	}
	if !found {
		err = a.create(s)
	}
	if err != nil {
		return nil, err
	}
	return a, a.export(s.Path(CertFile))
}

func (a *Authority) load(p pair) error {
	root, err := tls.X509KeyPair([]byte(p.Cert), []byte(p.Key))
	if err != nil {
		return err
	}
	key, ok := root.PrivateKey.(crypto.Signer)
	if !ok || !root.Leaf.IsCA {
		return errors.New("not a certificate authority")
	}
	if time.Now().After(root.Leaf.NotAfter) {
		return errors.New("it has expired")
	}
	a.cert, a.key, a.PEM = root.Leaf, key, []byte(p.Cert)
	return nil
}

// export writes the certificate for clients, unless the file has it.
func (a *Authority) export(path string) error {
	if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, a.PEM) {
		return nil
	}
	return state.WriteFile(path, a.PEM)
}

func (a *Authority) create(s *state.Dir) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the CA key: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "zonedeck local emulator CA", Organization: []string{"zonedeck local emulator"}},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	a.key = key
	if a.cert, err = a.sign(t, t, key.Public()); err != nil {
		return fmt.Errorf("signing the CA: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the CA key: %w", err)
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	p := pair{Cert: string(a.PEM), Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))}
	return s.Update(func(tx *state.Tx) error { return pairTable.Put(tx, pairName, p) })
}

// Leaf returns the certificate for a host, in any case and with or without a trailing dot. It
// mints each certificate once and keeps at most maxLeaves.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	host = strings.ToLower(strings.TrimSuffix(host, ".")) // clients check it without the dot
	l := a.entry(host)
	l.once.Do(func() { l.cert, l.err = a.mint(host) })
	return l.cert, l.err
}

// entry finds or adds a host's leaf.
func (a *Authority) entry(host string) *leaf {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.leaves[host]; ok {
		return l
	}
	if len(a.leaves) >= maxLeaves {
		for h := range a.leaves {
			delete(a.leaves, h)
			break
		}
	}
	l := &leaf{}
	a.leaves[host] = l
	return l
}

func (a *Authority) mint(host string) (*tls.Certificate, error) {
	now := time.Now()
	t := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"zonedeck local emulator"}},
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	if len(host) <= 64 {
		t.Subject.CommonName = host
	}
	cert, err := a.sign(t, a.cert, a.leafKey.Public())
	if err != nil {
		return nil, fmt.Errorf("minting a certificate: %w", err)
	}
	// With Leaf, or every handshake would parse it again.
	return &tls.Certificate{Certificate: [][]byte{cert.Raw, a.cert.Raw}, PrivateKey: a.leafKey, Leaf: cert}, nil
}

func (a *Authority) sign(t, parent *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// Pool trusts the authority and nothing else.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Root is the authority's own certificate.
func (a *Authority) Root() *x509.Certificate { return a.cert }
