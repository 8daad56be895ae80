package service

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/keystore"
	"zonedeck/model"
)

// TestNoSecretIsKept sends the secrets to a service that repeats everything it
// gets, in headers, bodies and errors, and then looks through every file.
func TestNoSecretIsKept(t *testing.T) {
	var log bytes.Buffer
	change, dir := withJournal(t)
	logging := func(o *Options) {
		o.BodiesDir = filepath.Join(dir, "bodies")
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	echo := func(w http.ResponseWriter, r *http.Request, secret string) {
		w.Header().Set("X-Seen", secret)
		w.Header().Set("x-brd-error", "you sent "+secret)
		if r.Header.Get("X-Refused") != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		if r.URL.Path == "/large" || r.Header.Get("X-Large") != "" {
			for range 20_000 {
				_, _ = io.WriteString(w, "<p>the key is "+secret+" and it is repeated</p>\n")
			}
			return
		}
		_, _ = io.WriteString(w, "<p>"+secret+"</p>")
	}
	p := api(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("/large")) {
			r.Header.Set("X-Large", "1")
		}
		if bytes.Contains(body, []byte("/refused")) {
			r.Header.Set("X-Refused", "1")
		}
		echo(w, r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	px := &testProxy{plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo(w, r, loginOf(r.Header.Get("Proxy-Authorization"))+" "+r.Header.Get("Proxy-Authorization"))
	})}
	p.ProxyHost, p.ProxyPort = startProxy(t, px)
	c := newTestClient(t, p, change, logging)
	for _, path := range []string{"/ok", "/large", "/refused"} {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			r := ask(p, "dc1")
			r.URL, r.Via = "http://lab.test"+path, via
			res, err := c.Fetch(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Size < 20 || !strings.Contains(res.Header.Get("X-Seen"), "****") {
				t.Fatalf("the answer is not what this test is about: %+v", res)
			}
			if path == "/large" && res.Body.File == "" {
				t.Fatal("the large body is not in a file")
			}
			again, err := c.LoadFetch(t.Context(), res.ID)
			if err != nil || again.Diagnosis.Class != res.Diagnosis.Class || again.Body.SHA256 != res.Body.SHA256 {
				t.Errorf("the journal gives %+v: %v", again.Diagnosis, err)
			}
		}
	}
	if err := c.o.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	token := base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_test01-zone-dc1:" + testPassword))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		noSecret(t, path, string(b))
		if bytes.Contains(b, []byte(token)) {
			t.Errorf("%s holds the login", path)
		}
		files++
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files looked through: %v", files, err)
	}
	noSecret(t, "the log", log.String())
}

func TestMaskFindsASecretAcrossReads(t *testing.T) {
	m := maskerOf(keystore.NewSecret(testKey), proxyLogin{})
	in := strings.Repeat("x", 40<<10) + testKey + "tail" + testKey + strings.Repeat("y", 33<<10) + testKey[:10]
	want := strings.ReplaceAll(in, testKey, strings.Repeat("*", len(testKey)))
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(in),
		"one byte":      iotest.OneByteReader(strings.NewReader(in)),
		"half":          iotest.HalfReader(strings.NewReader(in)),
		"end with data": iotest.DataErrReader(strings.NewReader(in)),
	} {
		mr := m.reader(r)
		got, err := io.ReadAll(mr)
		if err != nil || string(got) != want || !mr.found {
			t.Errorf("%s: %d bytes, found %v: %v", name, len(got), mr.found, err)
		}
	}
	if got, err := io.ReadAll(m.reader(iotest.ErrReader(io.ErrUnexpectedEOF))); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
		t.Errorf("an error of the connection becomes %v", err)
	}
	short := maskerOf(keystore.NewSecret("abc"), proxyLogin{})
	if got := short.text("abc"); got != "abc" {
		t.Errorf("a secret of three characters was looked for: %q", got)
	}
}
