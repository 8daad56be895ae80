package clients

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// Verdict says whether something vouches for a chain.
type Verdict string

// The verdicts. Unknown is never shown as one of the others.
const (
	Trusted   Verdict = "trusted"
	Untrusted Verdict = "untrusted"
	Unknown   Verdict = "unknown"
)

// Store is one place where certificates of authorities are looked for, and what it says of a
// chain.
type Store struct {
	Name    string // "system store", "CURL_CA_BUNDLE", …
	Path    string // a file or a folder, or empty
	Verdict Verdict
	// Why says why the verdict is not Trusted, or what it rests on; it may be empty.
	Why string
}

// The bounds of what is read as certificates.
const (
	maxBundle = 8 << 20 // bytes of a file
	maxFolder = 2000    // files of a folder
)

// Machine is where stores and variables are looked for. Getenv must be set.
type Machine struct {
	Getenv func(name string) string
	// OS is GOOS; empty means the one that this program runs on.
	OS string
	// Bundles and Folders are the system store of a Unix, the first bundle that is there and
	// every folder; nil means the usual ones.
	Bundles, Folders []string
}

// The places of the system store, as Go's crypto/x509 and the distributions have them.
var (
	usualBundles = []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem", "/usr/local/etc/ssl/cert.pem", "/usr/local/share/certs/ca-root-nss.crt",
	}
	usualFolders = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
)

func (m Machine) os() string {
	if m.OS != "" {
		return m.OS
	}
	return runtime.GOOS
}

func (m Machine) bundles() []string {
	if m.Bundles != nil {
		return m.Bundles
	}
	return usualBundles
}

func (m Machine) folders() []string {
	if m.Folders != nil {
		return m.Folders
	}
	return usualFolders
}

// unix reports whether the system store is files.
func (m Machine) unix() bool {
	switch m.os() {
	case "windows", "darwin", "ios", "plan9", "js", "wasip1":
		return false
	default:
		return true
	}
}

// chain is what was presented, parsed.
type chain struct {
	leaf  *x509.Certificate
	above *x509.CertPool
	now   time.Time
}

func parseChain(list []model.Certificate, now time.Time) (chain, error) {
	c := chain{above: x509.NewCertPool(), now: now}
	for i, kept := range list {
		cert, err := x509.ParseCertificate(kept.DER)
		if err != nil {
			return c, fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
		if i == 0 {
			c.leaf = cert
		} else {
			c.above.AddCert(cert)
		}
	}
	if c.leaf == nil {
		return c, errors.New("no certificate was presented")
	}
	return c, nil
}

// by checks the chain against roots; the host's name is checked apart.
func (c chain) by(roots *x509.CertPool) (Verdict, string) {
	_, err := c.leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: c.above, CurrentTime: c.now})
	if err == nil {
		return Trusted, ""
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return Untrusted, "no certificate in it signed this chain"
	}
	return Untrusted, model.Line(strings.TrimPrefix(err.Error(), "x509: "), settingText)
}

// check checks the chain against a file or a folder of certificates.
func (c chain) check(name, path string) Store {
	s := Store{Name: name, Path: path}
	pool, n, err := poolOf(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Verdict, s.Why = Untrusted, "there is no such file"
	case err != nil:
		s.Verdict, s.Why = Unknown, "it cannot be read: "+model.Line(err.Error(), settingText)
	case n == 0:
		s.Verdict, s.Why = Untrusted, "it holds no certificate in PEM form; in a folder OpenSSL looks for hashed names, which openssl rehash makes"
	default:
		s.Verdict, s.Why = c.by(pool)
	}
	return s
}

// system checks the chain against the system store, whatever the environment says.
func (m Machine) system(c chain) Store {
	s := Store{Name: "system store"}
	if !m.unix() {
		pool, err := x509.SystemCertPool()
		if err != nil {
			s.Verdict, s.Why = Unknown, model.Line(err.Error(), settingText)
			return s
		}
		s.Verdict, s.Why = c.by(pool)
		return s
	}
	pool, path, n := m.systemPool("", m.folders())
	s.Path = path
	if n == 0 {
		s.Verdict, s.Why = Untrusted, "this machine has none: the usual files and folders hold no certificate"
		return s
	}
	s.Verdict, s.Why = c.by(pool)
	return s
}

// systemPool reads file, or without one the first bundle that is there, and the folders.
func (m Machine) systemPool(file string, folders []string) (pool *x509.CertPool, path string, n int) {
	files := m.bundles()
	if file != "" {
		files = []string{file}
	}
	pool = x509.NewCertPool()
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			continue
		}
		path, n = f, addFile(pool, f)
		break
	}
	for _, dir := range folders {
		added, _ := addFolder(pool, dir, func(string) bool { return true }) // a folder that cannot be read is one that clients cannot read either
		if path == "" && added > 0 {
			path = dir
		}
		n += added
	}
	return pool, path, n
}

// hashed reports whether OpenSSL finds a file of a folder: by the hash of its subject.
func hashed(name string) bool {
	hash, number, ok := strings.Cut(name, ".")
	return ok && len(hash) == 8 && strings.Trim(hash, "0123456789abcdef") == "" && number != "" && strings.Trim(number, "0123456789") == ""
}

// poolOf reads a file, or a folder as OpenSSL does. n counts its certificates.
func poolOf(path string) (pool *x509.CertPool, n int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	pool = x509.NewCertPool()
	if info.IsDir() {
		n, err = addFolder(pool, path, hashed)
		return pool, n, err
	}
	b, err := textfile.ReadBounded(path, maxBundle)
	if err != nil {
		return nil, 0, err
	}
	return pool, addPEM(pool, b), nil
}

// addFolder adds the certificates of the files of a folder that counts says.
func addFolder(pool *x509.CertPool, dir string, counts func(name string) bool) (n int, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list[:min(len(list), maxFolder)] {
		if counts(e.Name()) {
			n += addFile(pool, filepath.Join(dir, e.Name()))
		}
	}
	return n, err
}

func addFile(pool *x509.CertPool, path string) int {
	b, err := textfile.ReadBounded(path, maxBundle)
	if err != nil {
		return 0
	}
	return addPEM(pool, b)
}

func addPEM(pool *x509.CertPool, b []byte) (n int) {
	for len(b) > 0 {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return n
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			pool.AddCert(cert)
			n++
		}
	}
	return n
}
