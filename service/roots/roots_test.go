package roots

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

var day = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func signed(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noerr.Must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: day.Add(-time.Hour), NotAfter: day.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	noerr.Must(t, err)
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyCertificatesAreTakenFromAFile(t *testing.T) {
	c := signed(t, "lab.test")
	block := func(kind string, b []byte, headers map[string]string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b, Headers: headers})
	}
	text := slices.Concat([]byte("# ours\n"), block("PRIVATE KEY", []byte("no"), nil), block("CERTIFICATE", []byte("no"), nil),
		block("CERTIFICATE", c.Raw, map[string]string{"Proc-Type": "4,ENCRYPTED"}), block("CERTIFICATE", c.Raw, nil), []byte("-----BEGIN CERTIFICATE"))
	if got := Parse(text); len(got) != 1 || !got[0].Equal(c) {
		t.Errorf("%d certificates", len(got))
	}
	if got := Parse(nil); got != nil {
		t.Errorf("%v", got)
	}
}

func TestAChainIsVerifiedForANameAndATime(t *testing.T) {
	c, other := signed(t, "lab.test"), signed(t, "lab.test")
	pool := x509.NewCertPool()
	pool.AddCert(c)
	for name, tc := range map[string]struct {
		presented []*x509.Certificate
		host      string
		at        time.Time
		ok        bool
	}{
		"as it is":     {[]*x509.Certificate{c}, "lab.test", day, true},
		"any name":     {[]*x509.Certificate{c}, "", day, true},
		"another name": {[]*x509.Certificate{c}, "shop.test", day, false},
		"too late":     {[]*x509.Certificate{c}, "lab.test", day.Add(2 * time.Hour), false},
		"another key":  {[]*x509.Certificate{other}, "lab.test", day, false},
		"nothing":      {nil, "lab.test", day, false},
	} {
		chains, err := Verify(tc.presented, pool, tc.host, tc.at)
		if (err == nil) != tc.ok || tc.ok != (len(chains) == 1) {
			t.Errorf("%s: %v, %v", name, chains, err)
		}
	}
}
