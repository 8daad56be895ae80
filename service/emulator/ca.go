package emulator

import (
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
	"io/fs"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

const (
	caCertFile = "ca.pem"
	caKeyFile  = "ca.key"
	maxLeaves  = 1024
)

// authority is the emulator's certificate authority (service.md 5.2 rule 3) and the
// leaves it minted, one per host over one shared P-256 key. Certificates are dated by
// the real clock, not the server's: the clients that check them have no other.
type authority struct {
	cert    *x509.Certificate
	key     crypto.Signer
	pem     []byte
	leafKey *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func openAuthority(s *state) (*authority, error) {
	a := &authority{leaves: map[string]*tls.Certificate{}}
	var err error
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("making the leaf key: %w", err)
	}
	err = a.load(s)
	if err == nil {
		return a, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if err := s.putAside(caCertFile, err); err != nil {
			return nil, err
		}
	}
	return a, a.create(s)
}

func (a *authority) load(s *state) error {
	certPEM, err := os.ReadFile(s.path(caCertFile))
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(s.path(caKeyFile))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("its key is missing")
		}
		return err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return errors.New("not a certificate authority")
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		return errors.New("it has expired")
	}
	a.cert, a.key, a.pem = pair.Leaf, key, certPEM
	return nil
}

func (a *authority) create(s *state) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the CA key: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "zonedeck local emulator CA", Organization: []string{"zonedeck local emulator"}},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return fmt.Errorf("signing the CA: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return fmt.Errorf("signing the CA: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the CA key: %w", err)
	}
	a.key = key
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	// Key first: a certificate on disk always has its key beside it.
	if err := writeFile(s.path(caKeyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})); err != nil {
		return err
	}
	return writeFile(s.path(caCertFile), a.pem)
}

// leaf is the certificate for a host, minted once.
func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.leaves[host]; ok {
		return c, nil
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{Organization: []string{"zonedeck local emulator"}},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	if len(host) <= 64 {
		t.Subject.CommonName = host
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("minting a certificate: %w", err)
	}
	if len(a.leaves) >= maxLeaves {
		for h := range a.leaves {
			delete(a.leaves, h)
			break
		}
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leafKey}
	a.leaves[host] = c
	return c, nil
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // never fails (crypto/rand)
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
