package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/tidwall/gjson"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
)

// client is a CDP client that sends what it is told to.
type client struct {
	t      *testing.T
	conn   net.Conn
	n      int
	events []string
}

func dialClient(t *testing.T, addr string) *client {
	t.Helper()
	d := ws.Dialer{Header: ws.HandshakeHeaderHTTP(basic()), Timeout: patience}
	conn, _, _, err := d.Dial(t.Context(), "ws://"+addr+"/")
	noerr.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, conn: conn}
}

// call sends a command and returns its answer; params are JSON.
func (c *client) call(method, params, session string) gjson.Result {
	c.t.Helper()
	c.n++
	msg := map[string]any{"id": c.n, "method": method}
	if params != "" {
		msg["params"] = json.RawMessage(params)
	}
	if session != "" {
		msg["sessionId"] = session
	}
	raw, err := json.Marshal(msg)
	noerr.Must(c.t, err)
	return c.raw(raw, c.n)
}

func (c *client) raw(raw []byte, id int) gjson.Result {
	c.t.Helper()
	if err := wsutil.WriteClientText(c.conn, raw); err != nil {
		c.t.Fatalf("%s: %v", raw, err)
	}
	noerr.Must(c.t, c.conn.SetReadDeadline(time.Now().Add(patience)))
	for {
		got, err := wsutil.ReadServerText(c.conn)
		if err != nil {
			c.t.Fatalf("after %s: %v", raw, err)
		}
		m := gjson.ParseBytes(got)
		if m.Get("id").Int() == int64(id) {
			return m
		}
		c.events = append(c.events, string(got))
	}
}

// page attaches to a new page.
func (c *client) page() string {
	c.t.Helper()
	made := c.call("Target.createTarget", `{"url":"about:blank"}`, "")
	session := c.call("Target.attachToTarget", fmt.Sprintf(`{"flatten":true,"targetId":%q}`, made.Get("result.targetId")), "").Get("result.sessionId").String()
	if session == "" {
		c.t.Fatal("no page")
	}
	return session
}

// ended waits for the end of the connection and returns its reason.
func (c *client) ended() string {
	c.t.Helper()
	noerr.Must(c.t, c.conn.SetReadDeadline(time.Now().Add(patience)))
	for {
		_, err := wsutil.ReadServerText(c.conn)
		var closed wsutil.ClosedError
		switch {
		case errors.As(err, &closed):
			return closed.Reason
		case err != nil:
			c.t.Fatal(err)
		}
	}
}

func TestCommandsThatReachBeyondPagesAreRefused(t *testing.T) {
	b := open(t, Config{})
	c := dialClient(t, entry(t, b))
	page := c.page()
	for _, k := range []struct{ method, params string }{
		{"Page.navigate", `{"url":"file:///etc/passwd"}`},
		{"Page.navigate", `{"url":" \u0001FILE:///etc/passwd"}`},
		{"Page.navigate", `{"url":"fi\tle:///etc/passwd"}`},
		{"Page.navigate", `{"url":"view-source:file:///etc/passwd"}`},
		{"Page.navigate", `{"url":"view-source:http://127.0.0.1/"}`},
		{"Page.navigate", `{"url":"chrome://version"}`},
		{"Page.navigate", `{"url":"about:version"}`},
		{"Page.navigate", `{"url":"devtools://devtools/bundled/inspector.html"}`},
		{"Page.navigate", `{"url":"filesystem:file:///x"}`},
		{"Page.navigate", `{"url":"blob:file:///x"}`},
		{"Page.navigate", `{"url":"javascript:1"}`},
		{"Page.navigate", `{"url":"http://x.test/","url":"file:///etc/passwd"}`},
		{"Page.navigate", `{"url":["file:///etc/passwd"]}`},
		{"Page.navigate", `{}`},
		{"Target.createTarget", `{"url":"file:///etc/passwd"}`},
		{"Target.createTarget", `{"url":"chrome://gpu"}`},
		{"Network.loadNetworkResource", `{"url":"file:///etc/passwd","options":{"disableCache":true,"includeCredentials":false}}`},
		{"Fetch.continueRequest", `{"requestId":"x","url":"file:///etc/passwd"}`},
		{"Target.createBrowserContext", `{"proxyServer":"http://127.0.0.1:1"}`},
		{"Target.createBrowserContext", `{"proxyBypassList":"*"}`},
		{"Target.createBrowserContext", `{"originsWithUniversalNetworkAccess":["http://a"]}`},
		{"Target.sendMessageToTarget", `{"message":"{}"}`},
		{"Target.exposeDevToolsProtocol", `{"targetId":"x"}`},
		{"Target.setRemoteLocations", `{"locations":[]}`},
		{"Target.openDevTools", `{"targetId":"x"}`},
		{"DOM.setFileInputFiles", `{"files":["/etc/passwd"],"nodeId":1}`},
		{"DOM.getFileInfo", `{"objectId":"x"}`},
		{"Input.dispatchDragEvent", `{"type":"drop","x":1,"y":1,"data":{"items":[],"files":["/etc/passwd"],"dragOperationsMask":1}}`},
		{"Page.setDownloadBehavior", `{"behavior":"allow","downloadPath":"/tmp"}`},
		{"Page.handleFileChooser", `{"action":"accept","files":["/etc/passwd"]}`},
		{"Browser.executeBrowserCommand", `{"commandId":"openTabSearch"}`},
		{"Browser.getBrowserCommandLine", `{}`},
		{"Browser.crash", `{}`},
		{"SystemInfo.getInfo", `{}`},
		{"SystemInfo.getProcessInfo", `{}`},
		{"Tracing.start", `{}`},
		{"Tethering.bind", `{"port":8080}`},
		{"Extensions.loadUnpacked", `{"path":"/tmp"}`},
		{"FileSystem.getDirectory", `{}`},
		{"Cast.enable", `{}`},
		{"DeviceAccess.enable", `{}`},
		{"PWA.launch", `{"manifestId":"x"}`},
		{"Nothing.atAll", `{}`},
		{"page.navigate", `{"url":"file:///etc/passwd"}`},
	} {
		t.Run(k.method+k.params, func(t *testing.T) {
			for _, session := range []string{"", page} {
				m := c.call(k.method, k.params, session)
				if !m.Get("error").Exists() {
					t.Errorf("%s", m)
				}
				if text := m.Get("error.message").String(); !strings.Contains(text, "available") && !strings.Contains(text, "pages here are") && !strings.Contains(text, "url is not a string") {
					t.Errorf("that was not us: %s", m)
				}
			}
		})
	}
	// What clients send without being asked works, and does not do it.
	m := c.call("Browser.setDownloadBehavior", `{"behavior":"allowAndName","downloadPath":"/tmp/x","eventsEnabled":true}`, "")
	if m.Get("error").Exists() {
		t.Errorf("%s", m)
	}
	// A repeated name does not get past the filter.
	if m := c.raw([]byte(`{"id":900,"method":"Browser.getVersion","method":"SystemInfo.getInfo"}`), 900); !m.Get("error").Exists() {
		t.Errorf("%s", m)
	}
	if m := c.call("Runtime.evaluate", `{"expression":"1"}`, "0123456789ABCDEF"); m.Get("error.code").Int() != codeNoSession {
		t.Errorf("%s", m)
	}
}

func TestTheBrowsersOwnPagesAreHidden(t *testing.T) {
	b := open(t, Config{})
	c := dialClient(t, entry(t, b))
	c.call("Target.setDiscoverTargets", `{"discover":true,"filter":[{}]}`, "")
	c.call("Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true,"filter":[{}]}`, "")
	m := c.call("Target.createBrowserContext", `{"disposeOnDetach":true}`, "")
	made := m.Get("result.browserContextId").String()
	if made == "" {
		t.Fatalf("%s", m)
	}
	if m := c.call("Target.getTargets", `{"filter":[{}]}`, ""); len(m.Get("result.targetInfos").Array()) == 0 || strings.Contains(m.Raw, "chrome://") {
		t.Errorf("%s", m)
	}
	for _, e := range c.events {
		if strings.Contains(e, "chrome://") || strings.Contains(e, made) {
			t.Errorf("%s", e)
		}
	}
	if len(c.events) == 0 {
		t.Error("no events at all")
	}
}

func TestFilesOfTheMachineAreOutOfReach(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine.txt")
	noerr.Must(t, os.WriteFile(mine, []byte("kept secret"), 0o600))
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>start</title><iframe src="file://%s"></iframe>`, mine)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file://"+mine)
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="dropped.bin"`)
		w.Write([]byte("dropped"))
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	b := open(t, Config{})
	c := dialClient(t, entry(t, b))
	page := c.page()
	c.call("Page.enable", "", page)
	evaluate := func(js string) string {
		m := c.call("Runtime.evaluate", fmt.Sprintf(`{"expression":%s,"awaitPromise":true,"returnByValue":true}`, quoted(js)), page)
		if v := m.Get("result.result.value"); v.Type == gjson.String {
			return v.String()
		}
		return m.Raw
	}
	if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/"), page); m.Get("result.errorText").Exists() || m.Get("error").Exists() {
		t.Fatalf("%s", m)
	}
	if got := evaluate(`new Promise(d => document.readyState === "complete" ? d("loaded") : addEventListener("load", () => d("loaded")))`); got != "loaded" {
		t.Fatal(got)
	}
	file := "file://" + mine
	for name, js := range map[string]string{
		"a fetch":      `fetch("` + file + `").then(r => r.text(), e => "refused")`,
		"a request":    `new Promise(d => { const x = new XMLHttpRequest(); x.onload = () => d(x.responseText); x.onerror = () => d("refused"); x.open("GET", "` + file + `"); x.send() })`,
		"an iframe":    `new Promise(d => { const f = document.createElement("iframe"); f.onload = () => { try { d(f.contentDocument.body.textContent || "refused") } catch (e) { d("refused") } }; f.src = "` + file + `"; document.body.append(f); setTimeout(() => d("refused"), 500) })`,
		"a navigation": `new Promise(d => { location.href = "` + file + `"; setTimeout(() => d(location.protocol === "http:" ? "refused" : location.href), 300) })`,
		"a window":     `new Promise(d => { const w = window.open("` + file + `"); setTimeout(() => { try { d(w && w.document.body.textContent || "refused") } catch (e) { d("refused") } }, 300) })`,
		"chrome":       `new Promise(d => { location.href = "chrome://version"; setTimeout(() => d(location.protocol === "http:" ? "refused" : location.href), 300) })`,
	} {
		if got := evaluate(js); got != "refused" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/redirect"), page); !strings.Contains(m.Get("result.errorText").String(), "ERR_UNSAFE_REDIRECT") {
		t.Errorf("%s", m)
	}
	// A client may answer for the target, but not lead to a file either.
	c.call("Fetch.enable", `{"patterns":[{"urlPattern":"*"}]}`, page)
	c.n++
	noerr.Must(t, wsutil.WriteClientText(c.conn, fmt.Appendf(nil, `{"id":%d,"method":"Page.navigate","sessionId":%q,"params":{"url":%q}}`, c.n, page, ts.URL+"/answered")))
	c.events = nil
	for len(c.events) == 0 || !strings.Contains(c.events[len(c.events)-1], "Fetch.requestPaused") {
		got, err := wsutil.ReadServerText(c.conn)
		noerr.Must(t, err)
		c.events = append(c.events, string(got))
	}
	request := gjson.Get(c.events[len(c.events)-1], "params.requestId").String()
	c.call("Fetch.fulfillRequest", fmt.Sprintf(`{"requestId":%q,"responseCode":302,"responseHeaders":[{"name":"Location","value":%q}]}`, request, file), page)
	c.call("Fetch.disable", "", page)
	if got := evaluate("document.documentElement.outerHTML"); strings.Contains(got, "kept secret") {
		t.Errorf("%s", got)
	}
	// Downloads end nowhere.
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, ts.URL+"/download"), page)
	noerr.Want(t, filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(path, "dropped") || strings.HasSuffix(path, ".crdownload") {
			t.Errorf("a download: %s", path)
		}
		return nil
	}))
}

func TestTargetsAreReachedByTheDialerAlone(t *testing.T) {
	var asked atomic.Int64
	// A page of 127.0.0.1 may use what only secure pages may.
	start := site(t, map[string]string{"/": "<title>start</title>"})
	refusing := func(context.Context, string, string, netip.Addr) (Grant, *answer.Refusal) {
		return Grant{Zone: "z", Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == strings.TrimPrefix(start, "http://") {
				return dial(ctx, network, addr)
			}
			asked.Add(1)
			return nil, errors.New("a private address")
		}}, nil
	}
	var hits atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(ts.Close)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	noerr.Must(t, err)
	defer udp.Close()
	var packets atomic.Int64
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		buf := make([]byte, 2048)
		for {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
			packets.Add(1)
		}
	}()
	b := open(t, Config{Login: refusing, Limits: Limits{Domains: -1}})
	c := dialClient(t, entry(t, b))
	page := c.page()
	for _, target := range []string{ts.URL, strings.Replace(ts.URL, "127.0.0.1", "localhost", 1), strings.Replace(ts.URL, "http://", "https://", 1)} {
		if m := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, target+"/"), page); !m.Get("result.errorText").Exists() {
			t.Errorf("%s: %s", target, m)
		}
	}
	secondContext := c.call("Target.createBrowserContext", "", "").Get("result.browserContextId").String()
	made := c.call("Target.createTarget", fmt.Sprintf(`{"url":%q,"browserContextId":%q}`, ts.URL+"/", secondContext), "")
	if made.Get("error").Exists() {
		t.Errorf("%s", made)
	}
	host := udp.LocalAddr().String()
	js := fmt.Sprintf(`(async () => {
		const out = {};
		out.socket = await new Promise(d => { const s = new WebSocket("ws://%[1]s/"); s.onerror = () => d("refused"); s.onopen = () => d("open") });
		try { const w = new WebTransport("https://%[2]s/"); await w.ready; out.transport = "open" } catch (e) { out.transport = e.name }
		const p = new RTCPeerConnection({iceServers: [{urls: "stun:%[2]s"}]});
		p.createDataChannel("x");
		out.candidates = [];
		p.onicecandidate = e => e.candidate && out.candidates.push(e.candidate.candidate);
		await p.setLocalDescription(await p.createOffer());
		await new Promise(d => { p.onicegatheringstatechange = () => p.iceGatheringState === "complete" && d(); setTimeout(d, 1500) });
		return JSON.stringify(out);
	})()`, strings.TrimPrefix(ts.URL, "http://"), host)
	c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, start+"/"), page)
	m := c.call("Runtime.evaluate", fmt.Sprintf(`{"expression":%s,"awaitPromise":true,"returnByValue":true}`, quoted(js)), page)
	out := gjson.Parse(m.Get("result.result.value").String())
	if out.Get("socket").String() != "refused" || out.Get("transport").String() != "WebTransportError" || len(out.Get("candidates").Array()) != 0 {
		t.Errorf("%s", m)
	}
	udp.Close()
	<-heard
	if hits.Load() != 0 || packets.Load() != 0 {
		t.Errorf("%d requests and %d packets went past the dialer", hits.Load(), packets.Load())
	}
	if asked.Load() < 5 {
		t.Errorf("the dialer was asked %d times", asked.Load())
	}
}

func TestTheEgressNeedsALogin(t *testing.T) {
	b := open(t, Config{})
	base := shop(t)
	noerr.Must(t, b.begin())
	defer b.work.Done()
	seat := b.egress.open(dial, nil)
	defer seat.close()
	for name, value := range map[string]string{
		"no login": "", "a guessed one": "Basic " + base64.StdEncoding.EncodeToString([]byte(seat.user+":guess")), "another scheme": "Bearer " + seat.password,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/", nil)
		noerr.Must(t, err)
		if value != "" {
			req.Header.Set("Proxy-Authorization", value)
		}
		resp, err := throughProxy(b.egress.addr()).RoundTrip(req)
		noerr.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusProxyAuthRequired {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

func throughProxy(addr string) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, Proxy: func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: addr}, nil }}
}
