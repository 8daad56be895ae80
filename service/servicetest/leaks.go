package servicetest

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"zonedeck/internal/noerr"
)

// Leaks says where a text holds one of the secrets: as it is, as JSON writes it, in base64 at any place of a
// longer text, or URL-encoded, whatever the case of its letters. It names the secrets by their numbers.
func Leaks(where string, text []byte, secrets ...string) (found []string) {
	lower := bytes.ToLower(text)
	for i, s := range secrets {
		for form, spelling := range spellings(s) {
			in, look := text, spelling
			if !strings.HasPrefix(form, "base64") {
				in, look = lower, strings.ToLower(spelling)
			}
			if at := bytes.Index(in, []byte(look)); at >= 0 {
				found = append(found, fmt.Sprintf("%s holds secret %d, %s, at byte %d", where, i, form, at))
			}
		}
	}
	slices.Sort(found)
	return found
}

// spellings are the forms of a secret that are looked for.
func spellings(s string) map[string]string {
	out := map[string]string{"plain": s, "URL-encoded in a query": url.QueryEscape(s), "URL-encoded in a path": url.PathEscape(s)}
	quoted, _ := json.Marshal(s) // writes & as \u0026
	out["in JSON"] = strings.Trim(string(quoted), `"`)
	for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 of URLs": base64.RawURLEncoding} {
		for before := range 3 { // bytes that stand before it in its group of three
			text := enc.EncodeToString(append(make([]byte, before), s...))
			// Only the characters that nothing else in the text has a part in.
			out[fmt.Sprintf("%s at %d", name, before)] = text[(before*8+5)/6 : (before+len(s))*8/6]
		}
	}
	return out
}

// inflated are the texts that lie compressed in a file, by their places, each as far as it lies
// there in one piece.
func inflated(b []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		magic := []byte{0x1f, 0x8b, 8}
		for at := bytes.Index(b, magic); at >= 0; {
			if z, err := gzip.NewReader(bytes.NewReader(b[at:])); err == nil {
				text, _ := io.ReadAll(io.LimitReader(z, 1<<20)) // what comes after it is no gzip
				if !yield(at, text) {
					return
				}
			}
			next := bytes.Index(b[at+1:], magic)
			if next < 0 {
				return
			}
			at += 1 + next
		}
	}
}

// rows searches every value of a SQLite database: one that is long lies in pieces in the file, and what
// is compressed in it cannot be inflated from there.
func rows(path, name string, secrets []string) (found []string, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing is written
	var tables []string
	err = each(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'", func(row []any) {
		tables = append(tables, fmt.Sprint(row[0]))
	})
	for _, table := range tables {
		err = errors.Join(err, each(db, `SELECT * FROM "`+table+`"`, func(row []any) {
			for _, v := range row {
				value, ok := v.([]byte)
				if text, is := v.(string); is {
					value, ok = []byte(text), true
				}
				if ok {
					found = append(found, leaksIn(name+", table "+table+",", value, secrets)...)
				}
			}
		}))
	}
	return found, err
}

func each(db *sql.DB, query string, f func(row []any)) error {
	rows, err := db.Query(query) //nolint:noctx // it is a file of a test
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has what went wrong
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f(row)
	}
	return rows.Err()
}

// leaksIn is Leaks of a text and of what lies compressed in it.
func leaksIn(where string, text []byte, secrets []string) []string {
	found := Leaks(where, text, secrets...)
	for at, inflated := range inflated(text) {
		found = append(found, Leaks(fmt.Sprintf("%s compressed at byte %d,", where, at), inflated, secrets...)...)
	}
	return found
}

// LeaksUnder is Leaks of every file below a folder, of what lies compressed in it, and of each value of a SQLite database, but not of
// the files that except lists, by their paths in it; of a folder that it lists nothing is searched.
func LeaksUnder(dir string, except []string, secrets ...string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(except, filepath.ToSlash(name)) && d.IsDir():
			return filepath.SkipDir
		case slices.Contains(except, filepath.ToSlash(name)), !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		found = append(found, leaksIn(name+",", b, secrets)...)
		if err == nil && bytes.HasPrefix(b, []byte("SQLite format 3\x00")) {
			var more []string
			more, err = rows(path, name, secrets)
			found = append(found, more...)
		}
		return err
	})
	return found, err
}

// SecretsOf are the secrets of the demo account that an emulator announces in its file, but those
// too short to be told from other text: keys and passwords. It fails where they are so few that a search
// for them would find nothing.
func SecretsOf(t testing.TB, emulatorFile string) (secrets []string) {
	t.Helper()
	raw, err := os.ReadFile(emulatorFile)
	noerr.Must(t, err)
	var ready struct {
		Keys  []struct{ Value string }
		Zones []struct{ Password string }
	}
	noerr.Must(t, json.Unmarshal(raw, &ready))
	for _, k := range ready.Keys {
		secrets = append(secrets, k.Value)
	}
	for _, z := range ready.Zones {
		secrets = append(secrets, z.Password)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 8 })
	if len(secrets) < 10 || len(Leaks("", raw, secrets...)) < len(secrets) {
		t.Fatalf("%d secrets are known: nothing could be seen here", len(secrets))
	}
	return secrets
}
