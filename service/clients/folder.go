package clients

import (
	"crypto/sha1" //nolint:gosec // the name of a file, not a signature
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/service/roots"
)

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
