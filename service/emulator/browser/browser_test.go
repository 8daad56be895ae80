package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(holdBrowser(dir))
	}
	code := m.Run()
	shared.close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the pool that tests use which do nothing to it; its Chromium starts once.
var shared pool

type pool struct {
	once sync.Once
	b    *Browsers
}

func (p *pool) close() {
	if p.b != nil {
		p.b.Close()
	}
}

func browsers(t *testing.T) *Browsers {
	t.Helper()
	needChromium(t)
	shared.once.Do(func() {
		shared.b = Open(context.WithoutCancel(t.Context()), Config{}) // other tests use it, too
	})
	return shared.b
}

// patience is how long a test waits for what has to come, however busy the machine is.
const patience = time.Minute

func needChromium(t *testing.T) {
	t.Helper()
	if _, err := Find(os.Getenv("CHROME_PATH")); err != nil {
		t.Skip("no Chromium: install the package chromium")
	}
}

// site serves pages and returns its address.
func site(t *testing.T, pages map[string]string) string {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(body))
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

func TestRenderGivesThePageAfterItsScriptsRan(t *testing.T) {
	b := browsers(t)
	base := site(t, map[string]string{"/": `<!doctype html><title>t</title><p id=x>before</p><script>
		setTimeout(() => { document.getElementById("x").textContent = "made " + "by a script" }, 20)</script>`})
	res, err := b.Render(t.Context(), Request{URL: base + "/", Dial: dial})
	noerr.Must(t, err)
	if res.Status != 200 || res.URL != base+"/" || !strings.HasPrefix(string(res.Body), "<!DOCTYPE html>") || !strings.Contains(string(res.Body), "made by a script") {
		t.Errorf("%d %s\n%s", res.Status, res.URL, res.Body)
	}
	if res.Bytes == 0 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d bytes, %v", res.Bytes, res.Header)
	}
}

func TestScreenshotIsAPNGOfTheWholePage(t *testing.T) {
	b := browsers(t)
	for height, want := range map[int]int{100: 720, 1500: 1500} { // the window is 720 high
		base := site(t, map[string]string{"/": fmt.Sprintf(`<body style="margin:0;background:#0a0"><div style="height:%dpx"></div>`, height)})
		res, err := b.Screenshot(t.Context(), Request{URL: base + "/", Dial: dial})
		noerr.Must(t, err)
		img, err := png.Decode(bytes.NewReader(res.Body))
		noerr.Must(t, err)
		if s := img.Bounds().Size(); s.X != 1280 || s.Y != want {
			t.Errorf("%d: %v", height, s)
		}
		if _, g, _, _ := img.At(200, 150).RGBA(); g>>8 != 0xaa {
			t.Errorf("the middle is %v", img.At(200, 150))
		}
	}
}

func TestFailedPagesHaveTheirCodes(t *testing.T) {
	b := browsers(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="x.bin"`)
		w.Write([]byte("xx"))
	})
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<p>nothing else"))
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	secure := httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = log.New(t.Output(), "", 0) // it logs the client that does not trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	refused := errors.New("a private address")
	for _, c := range []struct {
		name string
		req  Request
		code string
	}{
		{"a target that never answers", Request{URL: ts.URL + "/slow", Timeout: time.Second}, codeNavigationTimeout},
		{"a target that ends the connection", Request{URL: ts.URL + "/cut"}, codeClosed},
		{"a download", Request{URL: ts.URL + "/file"}, codeDocumentLoad},
		{"an element that never comes", Request{URL: ts.URL + "/plain", Timeout: 2 * time.Second, Expect: Expect{Element: "#late"}}, codeExpectElement},
		{"a text that never comes", Request{URL: ts.URL + "/plain", Timeout: 2 * time.Second, Expect: Expect{Text: "late"}}, codeExpectElement},
		{"an invalid selector", Request{URL: ts.URL + "/plain", Timeout: patience, Expect: Expect{Element: "p["}}, codeExpectElement},
		{"an unknown authority", Request{URL: secure.URL + "/plain"}, "net_err_cert_authority_invalid"},
		{"a target that may not be reached", Request{URL: ts.URL + "/plain", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}, codeProxy},
		{"the same by TLS", Request{URL: secure.URL + "/plain", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}, codeProxy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.req.Dial == nil {
				c.req.Dial = dial
			}
			_, err := b.Render(t.Context(), c.req)
			var page *PageError
			// On a busy machine the time may be up before the page has loaded.
			for c.code == codeExpectElement && errors.As(err, &page) && page.Code == codeNavigationTimeout && c.req.Timeout < patience {
				c.req.Timeout *= 2
				_, err = b.Render(t.Context(), c.req)
			}
			if !errors.As(err, &page) || page.Code != c.code {
				t.Fatalf("%v", err)
			}
			if c.code == codeProxy && !errors.Is(err, refused) {
				t.Errorf("%v does not say why", err)
			}
		})
	}
}
