package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
)

func open(t testing.TB, dir string) (*Authority, *state.Dir) {
	t.Helper()
	d, err := state.Open(dir, time.Now)
	noerr.Must(t, err)
	t.Cleanup(func() { _ = d.Close() }) // closed twice where a test closes it first
	a, err := Open(d)
	noerr.Must(t, err)
	return a, d
}

func TestALeafIsMintedOnceHoweverManyAskAtOnce(t *testing.T) {
	a, _ := open(t, "")
	const many = 64
	got := make([]*tls.Certificate, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			host := "example.com"
			if i%2 == 1 {
				host = "EXAMPLE.com"
			}
			c, err := a.Leaf(host)
			noerr.Want(t, err)
			got[i] = c
		})
	}
	wg.Wait()
	for _, c := range got {
		if c != got[0] {
			t.Fatal("minted more than once")
		}
	}
	other, err := a.Leaf("example.org")
	if err != nil || other == got[0] || other.PrivateKey != got[0].PrivateKey {
		t.Errorf("another host: %v", err)
	}
	if k, ok := other.PrivateKey.(*ecdsa.PrivateKey); !ok || k.Curve != elliptic.P256() {
		t.Errorf("the key is a %T", other.PrivateKey)
	}
}

func TestLeavesAreTrustedByTheRoot(t *testing.T) {
	a, _ := open(t, "")
	for _, host := range []string{"example.com", "a.very.long.name.that.is.beyond.the.sixty.four.bytes.of.a.common.name.example.com", "127.0.0.1", "::1"} {
		c, err := a.Leaf(host)
		noerr.Must(t, err)
		full, err := a.Leaf(host + ".")
		if err != nil || full != c {
			t.Errorf("%s with its dot has a certificate for %q, %v", host, full.Leaf.DNSNames, err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: a.Pool()}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestLeavesAreBounded(t *testing.T) {
	a, _ := open(t, "")
	for i := range maxLeaves + 20 {
		noerr.Must(t, noerr.From(a.Leaf(fmt.Sprintf("h%d.example", i))))
	}
	if len(a.leaves) != maxLeaves {
		t.Errorf("%d leaves are kept", len(a.leaves))
	}
}

func TestTheAuthorityIsMadeAtFirstStartAndKept(t *testing.T) {
	dir := t.TempDir()
	a, d := open(t, dir)
	noerr.Must(t, d.Close())
	b, d2 := open(t, dir)
	if string(a.PEM) != string(b.PEM) {
		t.Error("another authority at the second start")
	}
	if block, _ := pem.Decode(a.PEM); block == nil || block.Type != "CERTIFICATE" {
		t.Error("no PEM")
	}
	if runtime.GOOS != "windows" {
		if fi, err := os.Stat(d2.Path(CertFile)); err != nil || fi.Mode().Perm() != fs.FileMode(0o600) {
			t.Errorf("%s: %v %v", CertFile, fi.Mode(), err)
		}
	}
	// The file is only what clients read: it is written again, and they trust on.
	noerr.Must(t, os.WriteFile(d2.Path(CertFile), []byte("broken"), 0o600))
	noerr.Must(t, d2.Close())
	c, d3 := open(t, dir)
	if b, err := os.ReadFile(d3.Path(CertFile)); err != nil || !bytes.Equal(b, a.PEM) || !bytes.Equal(c.PEM, a.PEM) || len(d3.Notes()) > 0 {
		t.Errorf("after the file was broken: %v, notes %q", err, d3.Notes())
	}
}

func TestAnUnusableAuthorityIsReplacedWithANote(t *testing.T) {
	dir := t.TempDir()
	a, d := open(t, dir)
	leaf, err := a.Leaf("example.com")
	noerr.Must(t, err)
	notAnAuthority := pair{Key: "none", Cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}))}
	noerr.Must(t, d.Update(func(tx *state.Tx) error { return pairTable.Put(tx, pairName, notAnAuthority) }))
	b, err := Open(d)
	noerr.Must(t, err)
	if n := d.Notes(); bytes.Equal(a.PEM, b.PEM) || len(n) != 1 || !strings.HasPrefix(n[0], "the certificate authority cannot be used (") {
		t.Errorf("notes %q", n)
	}
	if file, err := os.ReadFile(d.Path(CertFile)); err != nil || !bytes.Equal(file, b.PEM) {
		t.Errorf("%s is not the new one: %v", CertFile, err)
	}
}

func BenchmarkMint(b *testing.B) {
	a, _ := open(b, "")
	for b.Loop() {
		noerr.Must(b, noerr.From(a.mint("example.com")))
	}
}
