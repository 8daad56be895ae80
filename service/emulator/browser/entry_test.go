package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
)

const (
	testUser     = "brd-customer-hl_test-zone-browser1"
	testPassword = "secret"
)

func login(_ context.Context, user, password string, _ netip.Addr) (Grant, *answer.Refusal) {
	switch {
	case user != testUser:
		r := answer.NewRefusal(407, "zone_not_found", "zone not found", "test")
		return Grant{}, &r
	case password != testPassword:
		r := answer.NewRefusal(407, "wrong_password", "wrong password", "test")
		return Grant{}, &r
	}
	return Grant{Zone: "browser1", Dial: dial}, nil
}

// entry serves a pool's port and returns its address, host:port.
func entry(t *testing.T, b *Browsers) string {
	t.Helper()
	ts := httptest.NewServer(b.Entry())
	t.Cleanup(ts.Close)
	return strings.TrimPrefix(ts.URL, "http://")
}

func open(t *testing.T, cfg Config) *Browsers {
	t.Helper()
	needChromium(t)
	if cfg.Login == nil {
		cfg.Login = login
	}
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	b := Open(context.WithoutCancel(t.Context()), cfg) // Close is what ends it
	t.Cleanup(func() { b.Close() })
	return b
}

const shopPage = `<!doctype html><title>Shop</title><input id=name><input id=file type=file><button id=go>go</button>
<script>document.getElementById("go").onclick = () => {
	const p = document.createElement("p"); p.id = "said"; p.textContent = "hello " + document.getElementById("name").value; document.body.append(p) }</script>`

func shop(t *testing.T) string {
	return site(t, map[string]string{"/": shopPage, "/second": "<title>Second</title>"})
}

func basic() http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(testUser+":"+testPassword))}}
}

// connect is a chromedp client of an entry.
func connect(t *testing.T, addr string) context.Context {
	t.Helper()
	ctx, cancel := remote.NewAllocator(t.Context(), "ws://"+addr+"/", remote.NoModifyURL, remote.WithDialHTTPHeader(basic()))
	t.Cleanup(cancel)
	ctx, cancelCtx := chromedp.NewContext(ctx)
	t.Cleanup(cancelCtx)
	return ctx
}

func TestAChromedpClientDrivesTheBrowser(t *testing.T) {
	b := open(t, Config{})
	base := shop(t)
	ctx := connect(t, entry(t, b))
	noerr.Must(t, chromedp.Do(ctx, chromedp.Navigate(base+"/")))
	title, err := chromedp.Run(ctx, chromedp.Title())
	if err != nil || title != "Shop" {
		t.Fatalf("%q %v", title, err)
	}
	all, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
	noerr.Must(t, err)
	for _, info := range all.TargetInfos {
		if privileged(info.URL) {
			t.Errorf("the client sees %s %s", info.Type, info.URL)
		}
	}
	s := b.Sessions()
	if len(s) != 1 || s[0].Status != statusRunning || s[0].Zone != "browser1" || s[0].TargetURL != base+"/" || s[0].EndURL != base+"/" || s[0].Navigations != 1 || s[0].Bandwidth == 0 {
		t.Errorf("%+v", s)
	}
}

func nodeModules(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no Node.js: install the package nodejs")
	}
	dir := os.Getenv("ZONEDECK_NODE_MODULES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", ".ci", "node", "node_modules")
	}
	dir, err := filepath.Abs(dir)
	noerr.Must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "playwright-core", "package.json")); err != nil {
		t.Skip("no foreign clients: npm ci --prefix .ci/node")
	}
	return dir
}

// script runs a foreign client and returns what it saw.
func script(t *testing.T, name string, args ...string) map[string]any {
	t.Helper()
	modules := nodeModules(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join("testdata", name)}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	raw, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("%v\n%s\n%s", err, raw, stderr)
	}
	var out map[string]any
	noerr.Must(t, json.Unmarshal(raw, &out))
	return out
}

func TestPlaywrightConnects(t *testing.T) {
	b := open(t, Config{})
	base := shop(t)
	out := script(t, "playwright.cjs", "ws://"+testUser+":"+testPassword+"@"+entry(t, b), base+"/")
	for name, want := range map[string]any{
		"title": "Shop", "said": "hello playwright", "shot": "PNG", "routed": "by the client", "popup": "Second",
		"status": 200., "width": 320., "cookies": 0., "upload": "from the client", "captcha": "not_detected",
	} {
		if out[name] != want {
			t.Errorf("%s is %v, not %v", name, out[name], want)
		}
	}
	if s, _ := out["file"].(string); !strings.Contains(s, "pages here are http") {
		t.Errorf("file: %v", out["file"])
	}
	all := b.Sessions()
	if len(all) != 2 || all[0].ID != out["session"] || all[0].Status != statusFinished || all[0].Error != nil {
		t.Errorf("%+v", all)
	}
}

func TestPuppeteerConnects(t *testing.T) {
	b := open(t, Config{})
	base := shop(t)
	out := script(t, "puppeteer.cjs", "ws://"+testUser+":"+testPassword+"@"+entry(t, b), base+"/")
	for name, want := range map[string]any{"title": "Shop", "said": "hello puppeteer", "shot": "PNG", "status": 200., "other": 200.} {
		if out[name] != want {
			t.Errorf("%s is %v, not %v", name, out[name], want)
		}
	}
	if s, _ := out["file"].(string); !strings.Contains(s, "pages here are http") {
		t.Errorf("file: %v", out["file"])
	}
}

func TestTheEntryAsksForALogin(t *testing.T) {
	b := Open(t.Context(), Config{Login: login, Path: "/does/not/exist"})
	defer b.Close()
	addr := entry(t, b)
	for _, c := range []struct {
		name, user, password, path string
		status                     int
		code                       string
	}{
		{"no login", "", "", "/", 407, "missing_credentials"},
		{"an unknown zone", "someone", "x", "/", 407, "zone_not_found"},
		{"a wrong password", testUser, "x", "/devtools/browser/abc", 407, "wrong_password"},
		{"a made-up ticket", "", "", "/devtools/browser/abc", 407, "missing_credentials"},
		{"no Chromium", testUser, testPassword, "/", 503, "feature_not_active"},
		{"no Chromium, asked for its version", testUser, testPassword, "/json/version", 503, "feature_not_active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+c.path, nil)
			noerr.Must(t, err)
			if c.user != "" {
				req.SetBasicAuth(c.user, c.password)
			}
			if !strings.HasPrefix(c.path, "/json") {
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", "websocket")
			}
			resp, err := http.DefaultClient.Do(req)
			noerr.Must(t, err)
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != c.status || resp.Header.Get("x-brd-err-code") != c.code || resp.Header.Get("x-emulator-basis") == "" {
				t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
			}
			if c.code == "feature_not_active" && !strings.Contains(string(body), "install the package chromium") {
				t.Errorf("%s", body)
			}
		})
	}
}

func TestAllBrowsersTakenIsSaid(t *testing.T) {
	b := open(t, Config{Sessions: 1})
	addr := entry(t, b)
	dialClient(t, addr)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/", nil)
	noerr.Must(t, err)
	req.Header = basic()
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := http.DefaultClient.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("x-brd-error-code") != "no_free_workers" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
