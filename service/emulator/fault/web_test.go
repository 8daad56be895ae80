package fault

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
)

// served is a server with one rule in front of a handler that counts.
type served struct {
	url     string
	handled atomic.Int64
}

func serve(t *testing.T, text string) *served {
	t.Helper()
	e, _ := engine(t, 1, text)
	s := &served{}
	h := Web{
		Engine: e, Point: API,
		Call: func(r *http.Request) Call { return Call{Path: r.URL.Path, Method: r.Method} },
	}.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.handled.Add(1)
		w.Header().Set("X-Real", "yes")
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "20")
		}
		_, _ = io.WriteString(w, strings.Repeat("ab", 10))
	}))
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

type got struct {
	status int
	header http.Header
	body   string
	err    error
}

func post(t *testing.T, url string) got {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"a":1}`))
	noerr.Must(t, err)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(b), err}
}

func TestWhatAClientSeesOfEachFault(t *testing.T) {
	const whole = "abababababababababab"
	for _, c := range []struct {
		rule    string
		path    string
		handled int64
		check   func(got) bool
	}{
		{"action='latency'\ndelay='1ms'", "/", 1, func(g got) bool { return g.body == whole && g.header.Get(header) == "fault-1" }},
		{"action='status'\nstatus=503\nbody='sorry'\nheaders={Retry-After='7'}", "/", 0, func(g got) bool {
			return g.status == 503 && g.body == "sorry" && g.header.Get("Retry-After") == "7" && g.header.Get("x-emulator-basis") != ""
		}},
		{"action='status'\nstatus=500\naccepted=true", "/", 1, func(g got) bool { return g.status == 500 && g.header.Get("X-Real") == "" }},
		{"action='too_fast'\nretry_after='1500ms'", "/", 0, func(g got) bool { return g.status == 429 && g.header.Get("Retry-After") == "2" && g.body != "" }},
		{"action='error'\ncode='reject_block'", "/", 0, func(g got) bool { return g.status == 502 && g.header.Get("x-brd-error-code") == "reject_block" }},
		{"action='drop'", "/", 0, func(g got) bool { return errors.Is(g.err, io.EOF) && g.status == 0 }},
		{"action='drop'\naccepted=true", "/", 1, func(g got) bool { return errors.Is(g.err, io.EOF) && g.status == 0 }},
		{"action='reset'", "/", 0, func(g got) bool { return errors.Is(g.err, syscall.ECONNRESET) }},
		{"action='reset'\naccepted=true", "/", 1, func(g got) bool { return errors.Is(g.err, syscall.ECONNRESET) }},
		{"action='cut'\nafter=5", "/", 1, func(g got) bool { return g.body == "ababa" && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='cut'\nafter=5", "/sized", 1, func(g got) bool { return g.body == "ababa" && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='cut'\nafter=0", "/", 1, func(g got) bool { return g.status == 200 && g.body == "" && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='cut'\nafter=20", "/", 1, func(g got) bool { return g.body == whole && g.err == nil }},
		{"action='dribble'\nchunk=7\npause='1ms'", "/", 1, func(g got) bool { return g.body == whole && g.err == nil }},
		{"action='bandwidth'\nrate=2000", "/sized", 1, func(g got) bool { return g.body == whole && g.err == nil }},
		{"action='malformed'", "/", 0, func(g got) bool { return g.status == 200 && g.err != nil }},
		{"action='malformed'\naccepted=true", "/", 1, func(g got) bool { return g.status == 200 && g.err != nil }},
		{"action='empty'", "/", 1, func(g got) bool {
			return g.status == 200 && g.body == "" && g.err == nil && g.header.Get("X-Real") == "yes"
		}},
		{"action='empty'", "/sized", 1, func(g got) bool { return g.status == 200 && g.body == "" && g.err == nil }},
		{"action='drop'\npath='/other'", "/", 1, func(g got) bool { return g.body == whole && g.header.Get(header) == "" }},
	} {
		s := serve(t, "point='api'\n"+c.rule)
		g := post(t, s.url+c.path)
		if !c.check(g) || s.handled.Load() != c.handled {
			t.Errorf("%q: handled %d times; %d %q %v %v", c.rule, s.handled.Load(), g.status, g.body, g.header, g.err)
		}
	}
}

func TestAResetWithinTheBodyIsOne(t *testing.T) {
	s := serve(t, "point='api'\naction='reset'\nafter=3")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	noerr.Must(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	b, err := io.ReadAll(conn)
	if !errors.Is(err, syscall.ECONNRESET) || s.handled.Load() != 1 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAHangEndsWithItsCaller(t *testing.T) {
	s := serve(t, "point='api'\naction='hang'\naccepted=true")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	noerr.Must(t, err)
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var ne net.Error
	if n, err := conn.Read(make([]byte, 1)); !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("it answered with %d bytes, %v", n, err)
	}
	conn.Close() // and the server's Close, in the cleanup, waits for the handler
}

func TestATakenOverConnectionIsCutToo(t *testing.T) {
	for text, want := range map[string]string{
		"action='cut'\nafter=4":                             "HELLO1234",
		"action='dribble'\nchunk=2\npause='1ms'":            "HELLO12345678",
		"action='bandwidth'\nrate=4000":                     "HELLO12345678",
		"action='reset'\nafter=4":                           "HELLO1234",
		"action='latency'\ndelay={lower='0s', upper='1ms'}": "HELLO12345678",
	} {
		e, _ := engine(t, 1, "point='proxy'\n"+text)
		ended := make(chan error, 1)
		srv := httptest.NewServer(Web{Engine: e, Point: Proxy, Call: func(*http.Request) Call { return Call{} }}.Handler(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					ended <- err
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "HELLO") // the head passes
				for _, part := range []string{"123", "456", "78"} {
					if _, err := io.WriteString(conn, part); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			})))
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		noerr.Must(t, err)
		fmt.Fprintf(conn, "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n")
		b, rerr := io.ReadAll(conn)
		werr := <-ended
		conn.Close()
		srv.Close()
		cut := len(want) < len("HELLO12345678")
		if reset := strings.Contains(text, "reset"); reset {
			if !errors.Is(rerr, syscall.ECONNRESET) || !strings.HasPrefix(want, string(b)) {
				t.Errorf("%q: %q, %v", text, b, rerr)
			}
		} else if string(b) != want || rerr != nil {
			t.Errorf("%q: %q, %v", text, b, rerr)
		}
		if cut != (werr != nil) {
			t.Errorf("%q: the writer got %v", text, werr)
		}
	}
}

func TestSlowBodiesTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"action='dribble'\nchunk=8\npause='1s'":                    3 * time.Second, // after 8, 16 and 20
			"action='bandwidth'\nrate=10":                              2 * time.Second,
			"action='latency'\ndelay='3s'":                             3 * time.Second,
			"action='drop'\ndelay={lower='5s', upper='5s'}":            5 * time.Second,
			"action='hang'":                                            MaxDelay,
			"action='status'\nstatus=503\ndelay='1m'\naccepted = true": time.Minute,
		} {
			e, _ := engine(t, 1, "point='target'\n"+text)
			begun := time.Now()
			resp, err := e.Transport(Call{}, constant("20 bytes of the body", "text/plain")).RoundTrip(request(t))
			if err == nil {
				_, _ = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if took := time.Since(begun); took < want || took > want+want/5 {
				t.Errorf("%q took %s, want %s", text, took, want)
			}
		}
	})
}

// deadlined remembers the last deadline that was set for its client.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.until = t
	return nil
}

func TestASlowAnswerLeavesNoDeadlineToTheNext(t *testing.T) {
	e, _ := engine(t, 1, "point='api'\naction='dribble'\nchunk=2\npause='1ms'")
	w, within := &deadlined{ResponseRecorder: httptest.NewRecorder()}, false
	Web{Engine: e, Point: API, Call: func(*http.Request) Call { return Call{} }}.Handler(
		http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, "four")
			within = !w.until.IsZero()
		})).ServeHTTP(w, request(t))
	if !within || !w.until.IsZero() || w.Body.String() != "four" {
		t.Errorf("a deadline within %t, after the end %v; %q", within, w.until, w.Body)
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func constant(body, kind string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			r.Body.Close()
		}
		return page(r, http.StatusOK, http.Header{"Content-Type": {kind}, "Content-Length": {strconv.Itoa(len(body))}}, body), nil
	})
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://lab.test/shop", nil)
	noerr.Must(t, err)
	return r
}

func TestWhatAProductSeesOfEachFault(t *testing.T) {
	const whole = `<p class="price big">5</p>`
	for _, c := range []struct {
		rule  string
		asked bool
		check func(got) bool
	}{
		{"action='status'\nstatus=404\nbody='gone'", false, func(g got) bool { return g.status == 404 && g.body == "gone" }},
		{"action='too_fast'\nretry_after='2s'", false, func(g got) bool { return g.status == 429 && g.header.Get("Retry-After") == "2" }},
		{"action='status'\nstatus=500\naccepted=true", true, func(g got) bool { return g.status == 500 && g.body == "" }},
		{"action='error'\ncode='reject_block'\nmessage='blocked'\nstatus=403", false, func(g got) bool {
			var r answer.Refusal
			return errors.As(g.err, &r) && r.Code == "reject_block" && r.Status == 403 && r.Msg == "blocked"
		}},
		{"action='drop'", false, func(g got) bool { return errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='drop'\naccepted=true", true, func(g got) bool { return errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='reset'", false, func(g got) bool { return errors.Is(g.err, syscall.ECONNRESET) }},
		{"action='reset'\nafter=3", true, func(g got) bool { return g.body == whole[:3] && errors.Is(g.err, syscall.ECONNRESET) }},
		{"action='malformed'", false, func(g got) bool { return g.err != nil && g.status == 0 }},
		{"action='cut'\nafter=4", true, func(g got) bool { return g.body == whole[:4] && errors.Is(g.err, io.ErrUnexpectedEOF) }},
		{"action='cut'\nafter=26", true, func(g got) bool { return g.body == whole && g.err == nil }},
		{"action='empty'", true, func(g got) bool { return g.status == 200 && g.body == "" && g.header.Get("Content-Length") == "0" }},
		{"action='captcha'", false, func(g got) bool { return g.status == 200 && strings.Contains(g.body, `class="g-recaptcha"`) }},
		{"action='drift'", true, func(g got) bool {
			return g.err == nil && !strings.Contains(g.body, "price") && strings.HasSuffix(g.body, ">5</p>") && g.header.Get("Content-Length") == ""
		}},
		{"action='drop'\nhost='other.test'", true, func(g got) bool { return g.body == whole }},
		{"action='drop'\nhost='lab.*'\npath='/sh*'\nmethod='GET'\nzone='z'", false, func(g got) bool { return g.err != nil }},
	} {
		e, _ := engine(t, 1, "point='target'\n"+c.rule)
		asked := false
		resp, err := e.Transport(Call{Zone: "z"}, roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = true
			return constant(whole, "text/html; charset=utf-8").RoundTrip(r)
		})).RoundTrip(request(t))
		g := got{err: err}
		if err == nil {
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			g = got{resp.StatusCode, resp.Header, string(b), err}
		}
		if !c.check(g) || asked != c.asked {
			t.Errorf("%q: asked %t; %d %q %v", c.rule, asked, g.status, g.body, g.err)
		}
	}
}

func TestDriftChangesNamesAndNothingElse(t *testing.T) {
	e, _ := engine(t, 1, "point='target'\naction='drift'")
	const in = `<!DOCTYPE html><!-- c --><div id=main CLASS='a b' data-x="1 &amp; 2">A &amp; B<script>if (a<b) { "<p class='x'>" }</script><br class="q"/><img src=x></div>`
	read := func(kind, enc string) string {
		resp, err := e.Transport(Call{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := constant(in, kind).RoundTrip(r)
			if enc != "" {
				resp.Header.Set("Content-Encoding", enc)
			}
			return resp, err
		})).RoundTrip(request(t))
		noerr.Must(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(bufio.NewReader(resp.Body))
		noerr.Must(t, err)
		return string(b)
	}
	want := fmt.Sprintf(`<!DOCTYPE html><!-- c --><div id="%s" class="%s %s" data-x="1 &amp; 2">A &amp; B<script>if (a<b) { "<p class='x'>" }</script><br class="%s"/><img src=x></div>`,
		newName("main"), newName("a"), newName("b"), newName("q"))
	if out := read("text/html", ""); out != want {
		t.Errorf("it became\n%s\nwant\n%s", out, want)
	}
	if out := read("text/html", "gzip"); out != in {
		t.Errorf("a compressed page became %q", out)
	}
	if out := read("application/json", ""); out != in {
		t.Errorf("what is no page became %q", out)
	}
}

func TestWithoutARuleNothingIsWrapped(t *testing.T) {
	e, _ := engine(t, 1, "point='api'\naction='drop'", "off=true\npoint='target'\naction='drop'")
	next := http.DefaultTransport
	if e.Transport(Call{}, next) != next {
		t.Error("a transport is wrapped with no rule about targets")
	}
}

func FuzzDrift(f *testing.F) {
	f.Add([]byte(`<div class="a" id=b>x<script>"<p class=q>"</script></div><br/>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _ := http.NewRequest(http.MethodGet, "http://lab.test/", nil)
		resp := page(r, 200, http.Header{"Content-Type": {"text/html"}}, string(b))
		drift(resp)
		out, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
		if err != nil || len(out) > 64*len(b)+1024 {
			t.Errorf("%d bytes became %d, %v", len(b), len(out), err)
		}
	})
}
