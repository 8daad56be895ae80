package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/tidwall/gjson"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/lab"
)

// running are the processes that use a pool's folder, by the command lines.
func running(t *testing.T, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	noerr.Must(t, err)
	var found []string
	for _, name := range lines {
		if raw, err := os.ReadFile(name); err == nil && strings.Contains(string(raw), dir) {
			found = append(found, strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return found
}

// folders is how many Chromiums have a folder in dir.
func folders(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "chromium-*"))
	noerr.Must(t, err)
	return len(found)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestCloseLeavesNoProcessAndNoFolder(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 20)) // deeper than the path of a socket can be
	noerr.Must(t, os.Mkdir(deep, 0o700))
	t.Setenv("TMPDIR", deep)
	b := open(t, Config{})
	base := shop(t)
	c := dialClient(t, entry(t, b))
	c.page()
	noerr.Must(t, noerr.From(b.Render(t.Context(), Request{URL: base + "/", Dial: dial})))
	if runtime.GOOS == "linux" && len(running(t, b.dir)) < 2 || folders(t, b.dir) != 2 {
		t.Fatalf("%d folders, %q", folders(t, b.dir), running(t, b.dir))
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err := <-closed:
		noerr.Must(t, err)
	case <-time.After(patience):
		t.Fatal("Close does not end")
	}
	if why := c.ended(); !strings.HasPrefix(why, "worker_disconnect") {
		t.Errorf("%q", why)
	}
	if left := running(t, b.dir); len(left) != 0 {
		t.Errorf("%q", left)
	}
	if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder stands: %v", err)
	}
	if _, err := b.Render(t.Context(), Request{URL: base + "/", Dial: dial}); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
}

func TestCancellingTheContextEndsTheWork(t *testing.T) {
	needChromium(t)
	ctx, cancel := context.WithCancel(t.Context())
	b := Open(ctx, Config{Login: login})
	t.Cleanup(func() { b.Close() })
	asked := make(chan struct{}, 8)
	ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(ts.Close)
	c := dialClient(t, entry(t, b))
	c.page()
	failed := make(chan error, 1)
	go func() {
		_, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial})
		failed <- err
	}()
	<-asked
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if why := c.ended(); !strings.HasPrefix(why, "worker_disconnect") {
		t.Errorf("%q", why)
	}
	eventually(t, "no Chromium is left", func() bool { return folders(t, b.dir) == 0 })
	if _, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial}); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
}

func TestACrashIsSurvived(t *testing.T) {
	b := open(t, Config{})
	hold := make(chan struct{})
	var asked atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			close(hold)
			<-r.Context().Done()
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>again</title>")
	}))
	t.Cleanup(ts.Close)
	failed := make(chan error, 1)
	go func() {
		_, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial})
		failed <- err
	}()
	<-hold
	b.mu.Lock()
	killGroup(b.shared.chrom.cmd)
	b.mu.Unlock()
	var page *PageError
	if err := <-failed; !errors.As(err, &page) || page.Code != codeDisconnected {
		t.Errorf("%v", err)
	}
	if res, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial}); err != nil || !strings.Contains(string(res.Body), "again") {
		t.Errorf("%v", err)
	}
}

func TestAnIdleBrowserEnds(t *testing.T) {
	b := open(t, Config{Idle: time.Millisecond})
	noerr.Must(t, noerr.From(b.Render(t.Context(), Request{URL: shop(t) + "/", Dial: dial})))
	eventually(t, "the idle browser is gone", func() bool { return folders(t, b.dir) == 0 })
}

func TestACallerWhoLeavesEndsThePage(t *testing.T) {
	b := browsers(t)
	asked := make(chan struct{}, 8)
	ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(ts.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := b.Render(ctx, Request{URL: ts.URL, Dial: dial}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// clock is a time that tests move.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, c.ns.Load()) }
func (c *clock) forward(d time.Duration) { c.ns.Add(int64(d)) }

func TestSessionsEndAtTheirLimits(t *testing.T) {
	c := &clock{}
	b := open(t, Config{Now: c.now})
	addr := entry(t, b)
	idle := dialClient(t, addr)
	idle.page()
	c.forward(5 * time.Minute)
	if why := idle.ended(); !strings.HasPrefix(why, "inactivity_timeout") {
		t.Errorf("%q", why)
	}
	long := dialClient(t, addr)
	for range 14 {
		c.forward(4 * time.Minute)
		long.call("Browser.getVersion", "", "")
	}
	c.forward(4 * time.Minute)
	if why := long.ended(); !strings.HasPrefix(why, "session_timeout") {
		t.Errorf("%q", why)
	}
	crashed := dialClient(t, addr)
	b.register.mu.Lock()
	s := b.register.sessions[len(b.register.sessions)-1]
	b.register.mu.Unlock()
	killGroup(s.chrom.cmd)
	if why := crashed.ended(); !strings.HasPrefix(why, "browser_disconnected") {
		t.Errorf("%q", why)
	}
	eventually(t, "the folders are gone", func() bool { return folders(t, b.dir) == 0 })
	list := b.Sessions()
	for i, code := range []string{"browser_disconnected", "session_timeout", "inactivity_timeout"} {
		if list[i].Status != statusFailed || list[i].Error == nil || list[i].Error.Code != code {
			t.Errorf("%d: %+v", i, list[i])
		}
	}
	if list[1].Duration != 3600 {
		t.Errorf("%+v", list[1])
	}
}

func TestASessionHasOneDomain(t *testing.T) {
	b := open(t, Config{Sessions: 1})
	base := shop(t)
	addr := entry(t, b)
	c := dialClient(t, addr)
	page := c.page()
	if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, base+"/"), page); m.Get("error").Exists() {
		t.Errorf("%s", m)
	}
	if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, base+"/second"), page); m.Get("error").Exists() {
		t.Errorf("%s", m)
	}
	if m := c.call("Page.navigate", `{"url":"http://elsewhere.test/"}`, page); !strings.HasPrefix(m.Get("error.message").String(), "navigate_domains_limit") {
		t.Errorf("%s", m)
	}
	// Every browser is taken.
	d := ws.Dialer{Header: ws.HandshakeHeaderHTTP(basic())}
	if conn, _, _, err := d.Dial(t.Context(), "ws://"+addr+"/"); err == nil || !strings.Contains(err.Error(), "503") {
		if conn != nil {
			conn.Close()
		}
		t.Errorf("%v", err)
	}
	eventually(t, "the navigation is noted", func() bool { return b.Sessions()[0].Navigations == 2 })
	if s := b.Sessions(); len(s) != 1 || s[0].Navigations != 2 || s[0].EndURL != base+"/second" || s[0].TargetURL != base+"/" {
		t.Errorf("%+v", s)
	}
	c.conn.Close()
	eventually(t, "the session is over", func() bool { return b.Sessions()[0].Status == statusFinished })
}

func TestTheLoginOfTheEgressIsRemembered(t *testing.T) {
	b := open(t, Config{})
	base := shop(t)
	c := dialClient(t, entry(t, b))
	page := c.page()
	c.call("Network.enable", "", page)
	for _, method := range []string{"Network.clearBrowserCookies", "Network.clearBrowserCache", "Storage.clearCookies"} {
		if m := c.call(method, "", page); m.Get("error").Exists() {
			t.Errorf("%s: %s", method, m)
		}
	}
	c.call("Storage.clearDataForOrigin", `{"origin":"*","storageTypes":"all"}`, page)
	if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, base+"/"), page); m.Get("result.errorText").Exists() || m.Get("error").Exists() {
		t.Errorf("%s", m)
	}
	c.call("Browser.getVersion", "", "")
	b.egress.mu.Lock()
	defer b.egress.mu.Unlock()
	for _, seat := range b.egress.seats {
		for _, e := range c.events {
			if strings.Contains(e, seat.secret()) {
				t.Errorf("the client sees the login: %s", e)
			}
		}
	}
}

func TestTheVersionGivesAnAddressForOneConnection(t *testing.T) {
	b := open(t, Config{})
	addr := entry(t, b)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/json/version", nil)
	noerr.Must(t, err)
	req.Header = basic()
	resp, err := http.DefaultClient.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	var v map[string]string
	noerr.Must(t, json.NewDecoder(resp.Body).Decode(&v))
	target := v["webSocketDebuggerUrl"]
	if !strings.HasPrefix(target, "ws://"+addr+"/devtools/browser/") || !strings.HasPrefix(v["Browser"], "Chrome/") || strings.Contains(v["User-Agent"], "Headless") {
		t.Fatalf("%v", v)
	}
	conn, _, _, err := ws.Dial(t.Context(), target)
	noerr.Must(t, err)
	c := &client{t: t, conn: conn}
	if m := c.call("Browser.getVersion", "", ""); m.Get("result.userAgent").String() != v["User-Agent"] {
		t.Errorf("%s", m)
	}
	c.call("Browser.close", "", "")
	if why := c.ended(); why != "" {
		t.Errorf("%q", why)
	}
	conn.Close()
	if again, _, _, err := ws.Dial(t.Context(), target); err == nil {
		again.Close()
		t.Error("the address was good twice")
	}
}

func TestTheLabsCaptchaIsSolvedByATick(t *testing.T) {
	b := open(t, Config{Captcha: patience})
	ts := httptest.NewServer(lab.New(lab.Options{}))
	t.Cleanup(ts.Close)
	c := dialClient(t, entry(t, b))
	page := c.page()
	// Without being asked, unless that is turned off.
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/captcha?first"), page)
	if m := c.call("Captcha.waitForSolve", `{"detectTimeout":60000}`, page); m.Get("result.status").String() != "solve_finished" {
		t.Errorf("unasked: %s", m)
	}
	c.call("Network.clearBrowserCookies", "", page)
	c.call("Captcha.setAutoSolve", `{"autoSolve":false}`, page)
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/captcha"), page)
	m := c.call("Captcha.solve", `{"detectTimeout":60000}`, page)
	if m.Get("result.status").String() != "solve_finished" {
		t.Errorf("%s", m)
	}
	m = c.call("Runtime.evaluate", `{"expression":"document.querySelector('.behind') !== null"}`, page)
	if !m.Get("result.result.value").Bool() {
		t.Errorf("%s", m)
	}
	c.told("Captcha.detected", "Captcha.solveFinished")
	if s := b.Sessions(); s[0].Captcha != "solved" {
		t.Errorf("%+v", s)
	}
}

func TestACaptchaThatATickDoesNotSolveIsGivenUp(t *testing.T) {
	b := open(t, Config{Captcha: time.Second})
	ts := httptest.NewServer(lab.New(lab.Options{}))
	t.Cleanup(ts.Close)
	c := dialClient(t, entry(t, b))
	page := c.page()
	c.call("Captcha.setAutoSolve", `{"autoSolve":false}`, page)
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/captcha?hard=1"), page)
	m := c.call("Captcha.solve", `{"detectTimeout":60000}`, page)
	if m.Get("result.status").String() != "solve_failed" || m.Get("result.type").String() != "recaptcha" {
		t.Errorf("%s", m)
	}
	c.told("Captcha.detected", "Captcha.SolveFailed")
}

// told checks that the client had events of these names.
func (c *client) told(names ...string) {
	c.t.Helper()
	events := strings.Join(c.events, "\n")
	for _, name := range names {
		if !strings.Contains(events, name) {
			c.t.Errorf("no %s", name)
		}
	}
}

func TestRenderPassesABlockByItsScript(t *testing.T) {
	b := browsers(t)
	ts := httptest.NewServer(lab.New(lab.Options{}))
	t.Cleanup(ts.Close)
	for path, want := range map[string]string{
		"/forbidden": `class="behind"`, "/js": "Brass desk lamp", "/docs/sticky-sessions-for-proxies": "1 min read",
	} {
		res, err := b.Render(t.Context(), Request{URL: ts.URL + path, Dial: dial})
		if err != nil || res.Status != 200 || !strings.Contains(string(res.Body), want) {
			t.Errorf("%s: %v %d\n%s", path, err, res.Status, res.Body)
		}
	}
}

func TestTheListOfSessions(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	b := &Browsers{cfg: Config{Now: func() time.Time { return at.Add(time.Hour) }}}
	for i := range 5 {
		s := &session{b: b, began: at.Add(time.Duration(i) * time.Minute), ended: at.Add(time.Duration(2*i) * time.Minute), seat: &seat{}}
		s.seat.bytes.Store(int64(100 - i))
		s.rec = Session{ID: fmt.Sprint(i), Zone: "z" + fmt.Sprint(i%2), Status: statusFinished, Timestamp: s.began, TargetURL: fmt.Sprintf("http://a.test/%d", i)}
		if i == 4 {
			s.rec.Status, s.rec.Error, s.ended = statusRunning, nil, time.Time{}
		}
		b.register.add(s)
	}
	h := b.ListHandler()
	for _, c := range []struct{ query, ids string }{
		{"", "4 3 2 1 0"},
		{"?order=asc", "0 1 2 3 4"},
		{"?api_name=z1", "3 1"},
		{"?status=running", "4"},
		{"?status=all&limit=2&offset=1", "3 2"},
		{"?sort=bandwidth", "0 1 2 3 4"},
		{"?sort=duration&order=asc", "0 1 2 3 4"},
		{"?target_url=/3", "3"},
		{"?start_date=2026-11-21T08:03:00Z", "4 3"},
		{"?end_date=2026-11-20", ""},
		{"?start_date=2026-11-21&end_date=2026-11-21", "4 3 2 1 0"},
		{"?limit=0", "400"},
		{"?limit=101", "400"},
		{"?status=odd&sort=odd&order=odd&start_date=odd", "400"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/browser_sessions"+c.query, nil))
		var ids []string
		for _, s := range gjson.Get(w.Body.String(), "sessions.#.session_id").Array() {
			ids = append(ids, s.String())
		}
		got := strings.Join(ids, " ")
		if w.Code != 200 {
			got = fmt.Sprint(w.Code)
		}
		if got != c.ids {
			t.Errorf("%s: %s\n%s", c.query, got, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/browser_sessions?limit=2", nil))
	if p := gjson.Get(w.Body.String(), "pagination"); !p.Get("has_more").Bool() || p.Get("next_offset").Int() != 2 || gjson.Get(w.Body.String(), "total").Int() != 5 {
		t.Errorf("%s", w.Body)
	}
	for id, status := range map[string]int{"3": 200, "x": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/browser_sessions/"+id, nil))
		if w.Code != status {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
}

// childDir makes the test binary a process that holds a browser until it is killed.
const childDir = "ZONEDECK_TEST_BROWSER_DIR"

// holdBrowser is that process.
func holdBrowser(dir string) int {
	if err := os.Setenv("TMPDIR", dir); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	b := Open(context.Background(), Config{}) // it is killed
	if err := b.begin(); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	if _, err := b.borrow(b.ctx); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	os.Stdout.WriteString("ready\n")
	select {}
}

// TestAPageThatChangesIsAttachedTo: what chromedp knows of a page's document is not
// written by two at once (under the race detector).
func TestAPageThatChangesIsAttachedTo(t *testing.T) {
	start := site(t, map[string]string{"/": `<title>busy</title><body><script>
		const root = document.documentElement, body = document.body;
		setInterval(() => { for (let i = 0; i < 200; i++) { root.setAttribute("x", i); body.setAttribute("x", i); body.append(document.createElement("p")); body.lastChild.remove(); } }, 0);
	</script>`})
	c := dialClient(t, entry(t, open(t, Config{Limits: Limits{Domains: -1}})))
	page := c.page()
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, start+"/"), page)
	for range 10 {
		if m := c.call("Captcha.solve", `{"detectTimeout":0}`, page); m.Get("result.status").String() != captchaNotDetected {
			t.Fatalf("%s", m)
		}
	}
}
