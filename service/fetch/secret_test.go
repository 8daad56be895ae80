package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// TestNoSecretIsKept sends the secrets to a service that repeats everything it
// gets, in headers, bodies and errors, and then looks through every file.
func TestNoSecretIsKept(t *testing.T) {
	var log bytes.Buffer
	change, j, dir := withJournal(t)
	logging := func(o *Config) {
		o.Bodies.Dir = filepath.Join(dir, "bodies")
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
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("/large")) {
			r.Header.Set("X-Large", "1")
		}
		if bytes.Contains(body, []byte("/refused")) {
			r.Header.Set("X-Refused", "1")
		}
		echo(w, r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo(w, r, servicetest.LoginOf(r.Header.Get("Proxy-Authorization"))+" "+r.Header.Get("Proxy-Authorization"))
	})}
	p.ProxyHost, p.ProxyPort = startProxy(t, px)
	c := newFetcher(t, p, change, logging)
	for _, path := range []string{"/ok", "/large", "/refused"} {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			r := askFor(p, "dc1")
			r.URL, r.Via = "http://lab.test"+path, via
			res := fetched(t, c, r)
			if res.Body.Size < 20 || !strings.Contains(res.Header.Get("X-Seen"), "****") {
				t.Fatalf("the answer is not the one this test needs: %+v", res)
			}
			if path == "/large" && res.Body.File == "" {
				t.Fatal("the large body is not in a file")
			}
			again, err := j.Fetch(t.Context(), res.ID)
			if err != nil || again.Diagnosis.Class != res.Diagnosis.Class || again.Body.SHA256 != res.Body.SHA256 {
				t.Errorf("the journal gives %+v: %v", again.Diagnosis, err)
			}
		}
	}
	noerr.Must(t, j.Close())
	files := 0
	token := base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_test01-zone-dc1:" + servicetest.Password))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		servicetest.NoSecret(t, path, string(b))
		if bytes.Contains(b, []byte(token)) {
			t.Errorf("%s holds the login", path)
		}
		files++
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files looked through: %v", files, err)
	}
	servicetest.NoSecret(t, "the log", log.String())
}

// TestAnErrorOfTheBodyHoldsNoSecret: net/http quotes the trailer that it cannot read.
func TestAnErrorOfTheBodyHoldsNoSecret(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"+r.Header.Get("Authorization")+"\r\n\r\n")
	})
	res := fetched(t, newFetcher(t, p), askFor(p, "unlocker1"))
	said := fmt.Sprint(res.Diagnosis.Evidence)
	if !strings.Contains(said, "Bearer ****") {
		t.Errorf("the error does not quote what this test needs: %s", said)
	}
	servicetest.NoSecret(t, "the evidence", said)
}

// TestAnAnswerThatIsSlowToSearchIsCut: what was replaced by asterisks is lost, and is said to be.
func TestAnAnswerThatIsSlowToSearchIsCut(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>"+strings.Repeat("a page. ", 8000)+strings.Repeat(`\u0061`, 100_000))
	})
	res, err := newFetcher(t, p, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) {
			return keystore.NewSecret(strings.Repeat("a", 64)), nil
		}}
	}).Fetch(t.Context(), askFor(p, "unlocker1"), nil)
	noerr.Must(t, err)
	said := slices.ContainsFunc(res.Diagnosis.Evidence, func(e model.Evidence) bool {
		return e.Kind == "error" && strings.Contains(e.Text, "asterisks")
	})
	if !res.Diagnosis.OK() || !res.Body.Cut || !said {
		t.Errorf("%s, cut: %v, evidence %v", res.Diagnosis.Class, res.Body.Cut, res.Diagnosis.Evidence)
	}
}

// TestNoSpellingOfASecretIsKept: a service repeats key and password escaped and
// encoded, in errors that are read and in pages that are unwrapped.
func TestNoSpellingOfASecretIsKept(t *testing.T) {
	const key, password = `4f1d/d2c0"b7a9&4e55\a3ce<3e6a`, `zo"ne\pa&ss<wo>rd/1`
	secrets := func(_ context.Context, ref string) (keystore.Secret, error) {
		if ref == "env:KEY" {
			return keystore.NewSecret(key), nil
		}
		return keystore.NewSecret(password), nil
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		noerr.Must(t, err)
		return string(b)
	}
	spell := map[string]func(string) string{
		"json":    func(s string) string { return `{"error":` + quote(s) + `}` },
		"slashes": func(s string) string { return `{"error":` + strings.ReplaceAll(quote(s), "/", `\/`) + `}` },
		"escapes": func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
			return `{"error":"` + b.String() + `"}`
		},
		"wrapped": func(s string) string {
			return `{"status_code":200,"headers":{"x-seen":` + quote(s) + `},"body":` + quote("<p>"+html.EscapeString(s)+"</p>") + `}`
		},
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"hex":    func(s string) string { return hex.EncodeToString([]byte(s)) },
		"url":    url.QueryEscape,
		"html":   func(s string) string { return "<p>" + html.EscapeString(s) + "</p>" },
	}
	for name, spelled := range spell {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			for _, status := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusProxyAuthRequired} {
				secret := key
				if via == model.ViaNative {
					secret = password
				}
				said := spelled(secret)
				answer := func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Brd-Error", said)
					w.WriteHeader(status)
					_, _ = io.WriteString(w, said)
				}
				p := servicetest.API(t, answer)
				px := &loopProxy{Plain: http.HandlerFunc(answer), Connect: func(_ *http.Request, conn net.Conn) bool {
					fmt.Fprintf(conn, "HTTP/1.1 %d No\r\nx-brd-error: %s\r\nContent-Length: %d\r\n\r\n%s", max(status, 400), said, len(said), said)
					return false
				}}
				p.ProxyHost, p.ProxyPort = startProxy(t, px)
				change, j, dir := withJournal(t)
				c := newFetcher(t, p, change, func(o *Config) { o.Source = servicetest.Source{Base: o.Source, SecretBy: secrets} })
				for _, target := range []string{"http://lab.test/", "https://lab.test/"} {
					r := askFor(p, "dc1")
					r.URL, r.Via, r.Retries = target, via, 0
					if name == "wrapped" && via == model.ViaAPI {
						r.Format = model.FormatJSON
					}
					res := fetched(t, c, r)
					shown := fmt.Sprintf("%+v %s", res, res.Body.Bytes)
					if res.Status == 0 && !strings.Contains(shown, "***") {
						t.Errorf("%s: the answer does not repeat the secret: %s", name, shown)
					}
					for _, spelling := range []string{secret, said, quote(secret), html.EscapeString(secret)} {
						if strings.Contains(shown, strings.Trim(spelling, `"`)) {
							t.Errorf("%s by %s, %d, %s: %s", name, via, status, target, shown)
						}
					}
				}
				noerr.Must(t, j.Close())
				b, err := os.ReadFile(filepath.Join(dir, "journal.db"))
				if err != nil || bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte(said)) {
					t.Errorf("%s by %s, %d: the journal holds it: %v", name, via, status, err)
				}
			}
		}
	}
}
