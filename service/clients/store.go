package clients

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/roots"
)

// The bounds of what is read as certificates.
const (
	maxBundle = 8 << 20 // bytes of a file
	maxFolder = 2000    // files of a folder
)

// Machine is where stores and variables are looked for. Getenv and Now must be set.
type Machine struct {
	Getenv func(name string) string
	// Now is the clock by which certificates are valid: the machine's, as for crypto/tls.
	Now func() time.Time
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
	presented []*x509.Certificate
	now       time.Time
}

func parseChain(list []model.Certificate, now time.Time) (chain, error) {
	c := chain{now: now}
	for i, kept := range list {
		cert, err := x509.ParseCertificate(kept.DER)
		if err != nil {
			return c, fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
		c.presented = append(c.presented, cert)
	}
	if len(c.presented) == 0 {
		return c, errors.New("no certificate was presented")
	}
	return c, nil
}

// by checks the chain against authorities; the host's name is checked apart.
func (c chain) by(pool *x509.CertPool) (v model.TrustVerdict, why string, toRoot bool) {
	chains, err := roots.Verify(c.presented, pool, "", c.now)
	if err == nil {
		return model.TrustYes, "", slices.ContainsFunc(chains, func(one []*x509.Certificate) bool {
			end := one[len(one)-1]
			return bytes.Equal(end.RawSubject, end.RawIssuer)
		})
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return model.TrustNo, "no certificate in it signed this chain", false
	}
	return model.TrustNo, model.Line(strings.TrimPrefix(err.Error(), "x509: "), settingText), false
}

// reads says what a client makes of the path that it is given.
type reads struct {
	file, folder bool // it takes a file, a folder as OpenSSL reads one, or either
	// toRoot means that a chain has to end at a root: an authority in the middle, which curl
	// and Go accept, is accepted by some versions only.
	toRoot bool
}

// check checks the chain against what a client reads at path.
func (c chain) check(name, path string, how reads) model.TrustStore {
	s := model.TrustStore{Name: name, Path: path}
	info, err := os.Stat(path)
	var list []*x509.Certificate
	none := "it holds no certificate in PEM form"
	switch {
	case err != nil:
	case info.IsDir() && !how.folder:
		s.Verdict, s.Reason, s.Empty = model.TrustNo, "it is a folder, and a file is wanted", true
		return s
	case !info.IsDir() && !how.file:
		s.Verdict, s.Reason, s.Empty = model.TrustNo, "it is a file, and a folder is wanted", true
		return s
	case !info.IsDir():
		var b []byte
		b, err = textfile.ReadBounded(path, maxBundle)
		list = roots.Parse(b)
	default:
		list, err = folder(path)
		none = "OpenSSL finds no certificate in it: it looks for hashed names, which openssl rehash makes"
	}
	s.Empty = len(list) == 0
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Verdict, s.Reason = model.TrustNo, "there is no such file"
	case err != nil:
		s.Verdict, s.Reason = model.TrustUnknown, "it cannot be read: "+model.Line(err.Error(), settingText)
	case len(list) == 0:
		s.Verdict, s.Reason = model.TrustNo, none
	default:
		var toRoot bool
		if s.Verdict, s.Reason, toRoot = c.by(poolOf(list)); s.Verdict == model.TrustYes && how.toRoot && !toRoot {
			s.Verdict, s.Reason = model.TrustUnknown, "it vouches for the chain without its root, which some versions accept"
		}
	}
	return s
}

func poolOf(list []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range list {
		pool.AddCert(c)
	}
	return pool
}

// system checks the chain against the system store, whatever the environment says.
func (m Machine) system(c chain) model.TrustStore {
	s := model.TrustStore{Name: "system store"}
	if !m.unix() {
		pool, err := x509.SystemCertPool()
		if err != nil {
			s.Verdict, s.Reason = model.TrustUnknown, model.Line(err.Error(), settingText)
			return s
		}
		s.Verdict, s.Reason, _ = c.by(pool)
		return s
	}
	pool, path, n := m.systemPool("", m.folders())
	s.Path = path
	if n == 0 {
		s.Verdict, s.Reason = model.TrustNo, "this machine has none: the usual files and folders hold no certificate"
		return s
	}
	s.Verdict, s.Reason, _ = c.by(pool)
	return s
}

// systemPool reads file, or without one the first bundle that can be read, and all files of the
// folders, as crypto/x509 does.
func (m Machine) systemPool(file string, folders []string) (pool *x509.CertPool, path string, n int) {
	files := m.bundles()
	if file != "" {
		files = []string{file}
	}
	pool = x509.NewCertPool()
	add := func(path string) (added int, ok bool) {
		b, err := textfile.ReadBounded(path, maxBundle)
		list := roots.Parse(b)
		for _, c := range list {
			pool.AddCert(c)
		}
		return len(list), err == nil
	}
	for _, f := range files {
		if added, ok := add(f); ok {
			path, n = f, added
			break
		}
	}
	for _, dir := range folders {
		list, _ := os.ReadDir(dir) // a folder that cannot be read is one that clients cannot read either
		before := n
		for _, e := range list[:min(len(list), maxFolder)] {
			added, _ := add(filepath.Join(dir, e.Name()))
			n += added
		}
		if path == "" && n > before {
			path = dir
		}
	}
	return pool, path, n
}

// folder reads the certificates that OpenSSL finds in a folder: it opens HASH.0, HASH.1 and so on, where
// HASH is of the subject's name, as "openssl rehash" makes them.
func folder(dir string) ([]*x509.Certificate, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	there := map[string]fs.DirEntry{}
	for _, e := range list[:min(len(list), maxFolder)] {
		there[e.Name()] = e
	}
	var out []*x509.Certificate
	for name := range there {
		hash, isFirst := strings.CutSuffix(name, ".0")
		for n := 0; isFirst && there[fmt.Sprintf("%s.%d", hash, n)] != nil; n++ {
			b, err := textfile.ReadBounded(filepath.Join(dir, fmt.Sprintf("%s.%d", hash, n)), maxBundle)
			if err != nil {
				continue
			}
			for _, c := range roots.Parse(b) {
				if subjectHash(c.RawSubject) == hash {
					out = append(out, c)
				}
			}
		}
	}
	return out, nil
}

// attribute is one part of a name.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// subjectHash is the name under which OpenSSL looks for a certificate: four bytes of the SHA-1 of the
// subject with its texts as UTF-8, in small letters and with single spaces (X509_NAME_hash). It
// is empty for a name that cannot be read.
func subjectHash(subject []byte) string {
	var name asn1.RawValue
	if _, err := asn1.Unmarshal(subject, &name); err != nil {
		return ""
	}
	var canonical []byte
	for rest := name.Bytes; len(rest) > 0; {
		var set []attribute
		var err error
		if rest, err = asn1.UnmarshalWithParams(rest, &set, "set"); err != nil {
			return ""
		}
		for i, a := range set {
			var text string
			if _, err := asn1.Unmarshal(a.Value.FullBytes, &text); err == nil { // else it stays as it is
				set[i].Value = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(canonicalText(text))}
			}
		}
		one, err := asn1.MarshalWithParams(set, "set")
		if err != nil {
			return ""
		}
		canonical = append(canonical, one...)
	}
	sum := sha1.Sum(canonical) //nolint:gosec // as above
	return fmt.Sprintf("%02x%02x%02x%02x", sum[3], sum[2], sum[1], sum[0])
}

// canonicalText has small ASCII letters and single spaces.
func canonicalText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }), " ")
}
