package database_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// authority makes an authority, and a certificate of it for localhost with its key, as PEM.
func authority(t *testing.T) (root, cert, key []byte) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, k, by *ecdsa.PrivateKey) []byte {
		return noerr.Try(x509.CreateCertificate(rand.Reader, template, parent, &k.PublicKey, by)).Must(t)
	}
	keyOf := func() *ecdsa.PrivateKey { return noerr.Try(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t) }
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zonedeck test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	caKey, serverKey := keyOf(), keyOf()
	text := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return text("CERTIFICATE", sign(ca, ca, caKey, caKey)), text("CERTIFICATE", sign(server, ca, serverKey, caKey)),
		text("PRIVATE KEY", noerr.Try(x509.MarshalPKCS8PrivateKey(serverKey)).Must(t))
}

// withCertificate has the tests' server use a certificate, until the test ends. It writes the files as the server's user.
func withCertificate(t *testing.T, path string, cert, key []byte) {
	t.Helper()
	s := postgrestest.Raw(t, path)
	exec := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			noerr.Must(t, noerr.From(s.ExecContext(context.WithoutCancel(t.Context()), statement)))
		}
	}
	write := func(text []byte, file string) {
		exec(fmt.Sprintf("COPY (SELECT unnest(string_to_array('%s', '|'))) TO PROGRAM 'umask 077; cat > %s'", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "|"), file))
	}
	write(cert, "zonedeck.crt")
	write(key, "zonedeck.key")
	exec("ALTER SYSTEM SET ssl_cert_file = 'zonedeck.crt'", "ALTER SYSTEM SET ssl_key_file = 'zonedeck.key'", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	t.Cleanup(func() {
		exec("ALTER SYSTEM RESET ssl_cert_file", "ALTER SYSTEM RESET ssl_key_file", "ALTER SYSTEM RESET ssl", "SELECT pg_reload_conf()")
	})
}

func TestTheCertificateOfAServerIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	address := noerr.Try(url.Parse(postgrestest.Address(t, path))).Must(t)
	root, cert, key := authority(t)
	other, _, _ := authority(t)
	withCertificate(t, path, cert, key)
	file := func(name string, text []byte) string {
		name = filepath.Join(t.TempDir(), name)
		noerr.Must(t, os.WriteFile(name, text, 0o600))
		return name
	}
	open := func(host, rootFile string) (*database.Server, error) {
		u, q := *address, address.Query()
		q.Set("sslmode", "verify-full")
		q.Set("sslrootcert", rootFile)
		u.Host, u.RawQuery = net.JoinHostPort(host, address.Port()), q.Encode()
		return database.OpenServer(t.Context(), u.String())
	}
	rootFile := file("root.pem", root)
	s, err := open("localhost", rootFile)
	for range 600 { // until the server has read its configuration again
		if err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another program's pace
		s, err = open("localhost", rootFile)
	}
	noerr.Must(t, err)
	defer s.Close()
	var encrypted bool
	noerr.Must(t, s.QueryRowContext(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted))
	if !encrypted {
		t.Error("the connection is not encrypted")
	}
	none := filepath.Join(t.TempDir(), "none.pem")
	for name, c := range map[string]struct {
		host, root, want string
		kind             error
	}{
		"another authority": {"localhost", file("other.pem", other), "the database cannot be reached: its certificate is of an authority that is not trusted here: name the file of the right one with sslrootcert", database.ErrGone},
		"another host":      {"127.0.0.1", rootFile, "the database cannot be reached: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs", database.ErrGone},
		"no file":           {"localhost", none, "sslrootcert of the database's address: open " + none + ": no such file or directory", database.ErrAddress},
	} {
		if _, err := open(c.host, c.root); err == nil || !strings.HasSuffix(err.Error(), c.want) || !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
