package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// png is the beginning of a PNG, which is enough of one.
const png = "\x89PNG\r\n\x1a\n"

// devtools is a remote browser that shows one page. say changes what it answers to a
// command: the messages it sends, or nil for the usual.
type devtools struct {
	html   string
	status int
	say    func(method string, id int) []string
	seen   []string // methods
	login  string
}

func (d *devtools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.login = r.Header.Get("Authorization")
	conn, rw, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		raw, err := wsutil.ReadClientText(rw)
		if err != nil {
			return
		}
		var c struct {
			ID     int
			Method string
		}
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		d.seen = append(d.seen, c.Method)
		answers := d.usual(c.Method, c.ID)
		if d.say != nil {
			if own := d.say(c.Method, c.ID); own != nil {
				answers = own
			}
		}
		for _, a := range answers {
			if a == "close" {
				_ = ws.WriteFrame(conn, ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusPolicyViolation, "navigate_domains_limit: one domain")))
				return
			}
			if wsutil.WriteServerText(conn, []byte(a)) != nil {
				return
			}
		}
	}
}

func (d *devtools) usual(method string, id int) []string {
	result := "{}"
	var more []string
	switch method {
	case "Target.createTarget":
		result = `{"targetId":"T"}`
	case "Target.attachToTarget":
		result = `{"sessionId":"S"}`
	case "Page.navigate":
		result = `{"frameId":"F","loaderId":"L"}`
		more = []string{
			fmt.Sprintf(`{"method":"Network.responseReceived","sessionId":"S","params":{"type":"Document","frameId":"F","response":{"status":%d,"mimeType":"text/html","headers":{"X-From":"page","Set-Cookie":"a=1\n_abck=2"}}}}`, d.status),
			`{"method":"Network.responseReceived","sessionId":"S","params":{"type":"Document","frameId":"INNER","response":{"status":418}}}`,
			`{"method":"Page.loadEventFired","sessionId":"OTHER","params":{}}`,
			`{"method":"Page.loadEventFired","sessionId":"S","params":{}}`,
		}
	case "Page.captureScreenshot":
		result = `{"data":"iVBORw0KGgo="}`
	case "Runtime.evaluate":
		value, _ := json.Marshal(d.html)
		result = `{"result":{"value":` + string(value) + `}}`
	}
	session := `,"sessionId":"S"`
	if strings.HasPrefix(method, "Target.") {
		session = ""
	}
	return append([]string{fmt.Sprintf(`{"id":%d,"result":%s%s}`, id, result, session)}, more...)
}

func browserProfile(t *testing.T, h http.Handler) model.Profile {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	p := servicetest.Profile(s.URL)
	p.BrowserURL = strings.Replace(s.URL, "http", "ws", 1)
	p.Zones = append(p.Zones, model.Zone{Name: "browser1", Product: model.ProductBrowser, Password: "env:ZONE"})
	return p
}

func visit(p model.Profile) model.FetchRequest {
	return model.FetchRequest{Zone: servicetest.Zone(p, "browser1"), Via: model.ViaBrowser, URL: "http://lab.test/shop"}
}

func TestTheRemoteBrowserShowsAPage(t *testing.T) {
	d := &devtools{html: `<html><body><b class="price">1</b><p>enough words to be a page</p></body></html>`, status: 200}
	p := browserProfile(t, d)
	keep, j, dir := withJournal(t)
	q := visit(p)
	q.Country, q.Required = "de", []string{".price", ".missing"}
	q.Retries = 0
	r := fetched(t, newFetcher(t, p, keep), q)
	wantVerdict(t, r, model.ClassParsingDrift, model.CauseMissingFields)
	if string(r.Body.Bytes) != png || r.ContentType != "image/png" || r.Status != 200 || r.ServiceStatus != 101 || r.Header.Get("X-From") != "page" ||
		!slices.Equal(r.Header.Values("Set-Cookie"), []string{"a=1", "_abck=2"}) {
		t.Errorf("body %q of type %s, statuses %d and %d, header %v", r.Body.Bytes, r.ContentType, r.Status, r.ServiceStatus, r.Header)
	}
	if got, want := servicetest.LoginOf(d.login), "brd-customer-hl_test01-zone-browser1-country-de:"+servicetest.Password; got != want {
		t.Errorf("login %s, want %s", got, want)
	}
	var steps []string
	for _, p := range r.Phases {
		steps = append(steps, p.Name)
	}
	if got, want := strings.Join(steps, ", "), "connect, CDP handshake, navigate, screenshot"; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	again, err := j.Fetch(t.Context(), r.ID)
	if err != nil || string(again.Body.Bytes) != png || len(again.Phases) != 4 {
		t.Errorf("kept as %+v, %v", again, err)
	}
	noerr.Must(t, j.Close())
	servicetest.NoSecretUnder(t, dir)
}

func TestEveryWayThatTheRemoteBrowserFailsHasItsClass(t *testing.T) {
	refuse := func(code int, body string, head ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(head); i += 2 {
				w.Header().Set(head[i], head[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
	}
	at := func(method string, messages ...string) http.Handler {
		return &devtools{status: 200, say: func(m string, id int) []string {
			if m != method {
				return nil
			}
			var out []string
			for _, text := range messages {
				out = append(out, strings.ReplaceAll(text, "#", fmt.Sprint(id)))
			}
			return out
		}}
	}
	failed := func(reason string) http.Handler {
		return at("Page.navigate", `{"id":#,"sessionId":"S","result":{"frameId":"F","errorText":"`+reason+`"}}`)
	}
	for name, c := range map[string]struct {
		h     http.Handler
		class model.Class
		cause model.Cause
		steps int
		says  string
	}{
		"a refused login":        {refuse(407, "wrong_password: no", "x-brd-err-code", "wrong_password", "x-brd-err-msg", "no"), model.ClassOutside, model.CauseLoginRejected, 1, "the service says: wrong_password no"},
		"401":                    {refuse(401, "no"), model.ClassOutside, model.CauseLoginRejected, 1, "the service says: no"},
		"no free browser":        {refuse(503, "no_free_workers"), model.ClassOutside, model.CauseServiceError, 1, "the service says: no_free_workers"},
		"429":                    {refuse(429, ""), model.ClassTooFast, "", 1, ""},
		"no WebSocket":           {refuse(200, servicetest.Page), model.ClassOutside, model.CauseNetwork, 1, "malformed (at the service) the answer to opening it is 200 OK, not a WebSocket"},
		"a name":                 {failed("net::ERR_NAME_NOT_RESOLVED"), model.ClassOutside, model.CauseNetwork, 3, "dns (at the target) net::ERR_NAME_NOT_RESOLVED"},
		"a certificate":          {failed("net::ERR_CERT_AUTHORITY_INVALID"), model.ClassOutside, model.CauseTLSTrust, 3, "tls_trust (at the target) net::ERR_CERT_AUTHORITY_INVALID"},
		"a slow target":          {failed("net::ERR_CONNECTION_TIMED_OUT"), model.ClassTimeout, model.CauseClientTimeout, 3, "connect_timeout (at the target) net::ERR_CONNECTION_TIMED_OUT"},
		"a refused connection":   {failed("net::ERR_CONNECTION_REFUSED"), model.ClassOutside, model.CauseNetwork, 3, "connect (at the target) net::ERR_CONNECTION_REFUSED"},
		"an empty answer":        {failed("net::ERR_EMPTY_RESPONSE"), model.ClassOutside, model.CauseNetwork, 3, "reset (at the target) net::ERR_EMPTY_RESPONSE"},
		"a refused command":      {at("Page.navigate", `{"id":#,"error":{"message":"policy_20050: not allowed"}}`), model.ClassAccessRestricted, model.CausePolicy, 3, "the service says: policy_20050 policy_20050: not allowed"},
		"a session that ends":    {at("Page.navigate", "close"), model.ClassOutside, model.CauseNetwork, 3, "reset (at the service) the remote browser ended the session: navigate_domains_limit: one domain"},
		"no JSON":                {at("Page.enable", "hello"), model.ClassOutside, model.CauseNetwork, 2, "malformed (at the service) a message is not JSON"},
		"no result":              {at("Target.createTarget", `{"id":#,"result":3}`), model.ClassOutside, model.CauseNetwork, 2, "malformed (at the service) Target.createTarget: the answer cannot be read"},
		"a CAPTCHA":              {&devtools{status: 200, html: `<title>are you a robot</title><div class="g-recaptcha"></div>`}, model.ClassCaptcha, "", 4, ""},
		"a target's error":       {&devtools{status: 500, html: "<p>broken</p>"}, model.ClassOutside, model.CauseTargetError, 4, ""},
		"a document refused":     {at("Runtime.evaluate", `{"id":#,"error":{"message":"no"}}`), model.ClassOK, "", 4, "the document was not read, only the picture: Runtime.evaluate: no"},
		"a document cut off":     {at("Runtime.evaluate", "close"), model.ClassOK, "", 4, "the document was not read, only the picture: the remote browser ended the session: navigate_domains_limit: one domain"},
		"a document that throws": {at("Runtime.evaluate", `{"id":#,"sessionId":"S","result":{"result":{"type":"object"},"exceptionDetails":{"text":"Uncaught"}}}`), model.ClassOK, "", 4, "the document was not read, only the picture: a script of the page keeps it from being read: Uncaught"},
		"a document broken":      {at("Runtime.evaluate", `{"id":#,"sessionId":"S","result":3}`), model.ClassOK, "", 4, "the document was not read, only the picture: Runtime.evaluate: the answer cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := browserProfile(t, c.h)
			q := visit(p)
			q.Retries = 0
			r := fetched(t, newFetcher(t, p), q)
			wantVerdict(t, r, c.class, c.cause)
			got := ""
			for _, e := range r.Diagnosis.Evidence {
				if e.Kind == "error" || e.Note() != "" {
					got = e.Text
				}
			}
			if strings.HasPrefix(name, "a document") && string(r.Body.Bytes) != png {
				t.Errorf("the picture is lost: %q", r.Body.Bytes)
			}
			if got != c.says || len(r.Phases) != c.steps {
				t.Errorf("it says %q after %v, want %q after %d steps", got, r.Phases, c.says, c.steps)
			}
			raw, err := json.Marshal(r)
			noerr.Must(t, err)
			servicetest.NoSecret(t, "the result", string(raw))
		})
	}
}

func TestFieldsOfADocumentThatWasNotReadAreNotMissing(t *testing.T) {
	p := browserProfile(t, &devtools{status: 200, say: func(m string, _ int) []string {
		if m == "Runtime.evaluate" {
			return []string{"close"}
		}
		return nil
	}})
	q := visit(p)
	q.Retries, q.Required = 0, []string{".price"}
	r, err := newFetcher(t, p).Fetch(t.Context(), q, nil)
	if err != nil || r.Diagnosis.Class != model.ClassOK || r.Fields != nil {
		t.Errorf("%+v, %v, %v", r.Diagnosis, r.Fields, err)
	}
	if !slices.ContainsFunc(r.Diagnosis.Evidence, func(e model.Evidence) bool { return strings.Contains(e.Note(), "was not read") }) {
		t.Errorf("nothing beside the verdict says why: %+v", r.Diagnosis.Evidence)
	}
}

func TestADialogOfThePageIsAnsweredAndAHangingPageIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &devtools{status: 200}
		d.say = func(method string, id int) []string {
			switch method {
			case "Page.navigate":
				return []string{fmt.Sprintf(`{"id":%d,"sessionId":"S","result":{"frameId":"F"}}`, id), `{"method":"Page.javascriptDialogOpening","sessionId":"S","params":{}}`}
			case "Page.handleJavaScriptDialog":
				return []string{fmt.Sprintf(`{"id":%d,"sessionId":"S","result":{}}`, id)}
			}
			return nil
		}
		dial, stop := servicetest.Serve(d)
		defer stop()
		p := servicetest.Profile("http://api.test")
		p.BrowserURL = "ws://browser.test"
		p.Zones = append(p.Zones, model.Zone{Name: "browser1", Product: model.ProductBrowser, Password: "env:ZONE"})
		ft := newFetcher(t, p, func(c *Config) {
			c.Wire = exchange.New(exchange.Config{Connect: func(ctx context.Context, network, addr string) (net.Conn, error) { return dial(ctx, network, addr) }})
		})
		q := visit(p)
		q.Retries = 0
		r := fetched(t, ft, q)
		wantVerdict(t, r, model.ClassTimeout, model.CauseClientTimeout)
		if got := strings.Join(d.seen, " "); !strings.HasSuffix(got, "Page.navigate Page.handleJavaScriptDialog") || len(r.Phases) != 3 {
			t.Errorf("it was sent %s; phases %v", got, r.Phases)
		}
	})
}

func TestWithoutItsAddressTheRemoteBrowserIsRefused(t *testing.T) {
	p := browserProfile(t, http.NotFoundHandler())
	p.BrowserURL = ""
	_, err := newFetcher(t, p).Fetch(t.Context(), visit(p), nil)
	if want := "profile: test has no browser_url, the remote browser's address"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestThePreviewOfAVisitHasTheCommandsThatAreSent(t *testing.T) {
	d := &devtools{html: "<p>a page</p>", status: 200}
	p := browserProfile(t, d)
	ft := newFetcher(t, p)
	noerr.Must(t, noerr.From(ft.Fetch(t.Context(), visit(p), nil)))
	w := ft.Preview(p, visit(p), "")
	var shown []string
	for _, line := range w.Lines {
		var c struct{ Method string }
		if json.Unmarshal([]byte(line), &c) == nil && c.Method != "" {
			shown = append(shown, c.Method)
		}
	}
	if w.Problem != "" || strings.Join(shown, " ") != strings.Join(d.seen, " ") {
		t.Errorf("problem %q; shown %v, sent %v", w.Problem, shown, d.seen)
	}
	if got, want := w.Lines[0], "GET / HTTP/1.1"; got != want {
		t.Errorf("it begins with %q", got)
	}
	if all := strings.Join(w.Lines, "\n"); !strings.Contains(all, "Authorization: Basic base64(brd-customer-hl_test01-zone-browser1:••••)") {
		t.Errorf("shown\n%s", all)
	}
}

// TestAPageThatGoesOnIsLookedAtAgain has the page go on to another document while its picture is asked for. That picture
// never comes.
func TestAPageThatGoesOnIsLookedAtAgain(t *testing.T) {
	d := &devtools{html: `<html><body><p>enough words to be a page</p></body></html>`, status: 200}
	d.say = func(m string, _ int) []string {
		if m != "Page.captureScreenshot" || slices.Index(d.seen, m) < len(d.seen)-1 {
			return nil
		}
		return []string{
			`{"method":"Page.frameNavigated","sessionId":"S","params":{"frame":{"id":"INNER","parentId":"F"}}}`,
			`{"method":"Page.frameNavigated","sessionId":"S","params":{"frame":{"id":"F"}}}`,
			`{"method":"Network.responseReceived","sessionId":"S","params":{"type":"Document","frameId":"F","response":{"status":203,"mimeType":"text/html"}}}`,
			`{"method":"Page.loadEventFired","sessionId":"S","params":{}}`,
		}
	}
	p := browserProfile(t, d)
	keep, _, _ := withJournal(t)
	q := visit(p)
	q.Retries, q.Timeout = 0, 20*time.Second
	r := fetched(t, newFetcher(t, p, keep), q)
	if string(r.Body.Bytes) != png || r.Status != 203 {
		t.Errorf("body %q, status %d: %s", r.Body.Bytes, r.Status, r.Diagnosis.Summary)
	}
}
