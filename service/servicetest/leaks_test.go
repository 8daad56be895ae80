package servicetest

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestASecretIsFoundInEveryForm(t *testing.T) {
	const secret = "Zd+K3y/Marked=Value&0123"
	for _, before := range []string{"", "a", "ab", "abc"} {
		long := before + secret + "tail"
		for _, text := range []string{
			long, strings.ToUpper(long), strings.ReplaceAll(long, "&", `\u0026`), url.QueryEscape(long), url.PathEscape(long), strings.ToLower(url.QueryEscape(long)),
			base64.StdEncoding.EncodeToString([]byte(long)), base64.RawURLEncoding.EncodeToString([]byte(long)),
		} {
			if len(Leaks("x", []byte("..."+text+"..."), "another-secret", secret)) == 0 {
				t.Errorf("it is not found in %s", text)
			}
		}
	}
	if found := Leaks("x", []byte("Zd+K3y/Marked=Value&012 and base64 "+base64.StdEncoding.EncodeToString([]byte("Zd+K3y"))), secret); len(found) > 0 {
		t.Errorf("found where it is not: %v", found)
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte("a text with " + secret)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "z"), slices.Concat([]byte("\x1f\x8b\x08 is none"), zipped.Bytes(), []byte("a tail")), 0o600))
	if found, err := LeaksUnder(dir, []string{"a", "b"}, secret); err != nil || len(found) == 0 || !strings.HasPrefix(found[0], "z, compressed at byte 11, holds secret 0") {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := LeaksUnder(dir, []string{"a"}, secret); err != nil || len(found) == 0 || !strings.HasPrefix(found[0], "b, holds secret 0") {
		t.Errorf("%v, %v", found, err)
	}
}

// What lies compressed in a database, in pieces of its pages, is found as well.
func TestASecretIsFoundInADatabase(t *testing.T) {
	const secret = "Zd+K3y/Marked=Value&0123"
	dir := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	noise := make([]byte, 40_000) // is longer than a page when it is compressed, too
	source := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(source.Uint64())
	}
	if _, err := z.Write([]byte(hex.EncodeToString(noise) + secret)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "a.db")))
	noerr.Must(t, err)
	for _, c := range []struct {
		query string
		args  []any
	}{{"CREATE TABLE inputs (n INTEGER, body BLOB)", nil}, {"INSERT INTO inputs VALUES (1, ?)", []any{zipped.Bytes()}}} {
		noerr.Must(t, noerr.From(db.ExecContext(t.Context(), c.query, c.args...)))
	}
	noerr.Must(t, db.Close())
	found, err := LeaksUnder(dir, nil, secret)
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0], "a.db, table inputs, compressed at byte 0, holds secret 0, plain") {
		t.Errorf("%v, %v", found, err)
	}
}
