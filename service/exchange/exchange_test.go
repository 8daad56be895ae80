package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"

	"go.uber.org/goleak"
)

func TestBytesThatComeWithTheTunnelAreNotLost(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	go func() {
		noerr.Want(t, noerr.From(http.ReadRequest(bufio.NewReader(far))))
		_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\n\r\nearly ")
		_, _ = io.WriteString(far, "and late")
		far.Close()
	}()
	var box tunnelBox
	conn, err := openTunnel(t.Context(), newTrace(time.Now), near, "lab.test:443", Login{}, &box)
	noerr.Must(t, err)
	if got, err := io.ReadAll(conn); err != nil || string(got) != "early and late" || box.get().Status != 200 {
		t.Errorf("read %q, %+v: %v", got, box.get(), err)
	}
}

func TestCancelEndsTheWaitForASilentProxy(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = http.ReadRequest(bufio.NewReader(far))
		cancel()
	}()
	done := make(chan error, 1)
	go func() {
		var box tunnelBox
		_, err := openTunnel(ctx, newTrace(time.Now), near, "lab.test:443", Login{}, &box)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a tunnel without an answer")
		}
	case <-time.After(time.Minute):
		near.Close()
		t.Error("it still waits for the proxy")
	}
}

func TestTraceKnowsWhetherAnythingWasSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	refused := closed.Addr().String()
	closed.Close()
	afterHead, _ := servicetest.Capture(t, "")
	garbage, _ := servicetest.Capture(t, "SSH-2.0-what\r\n")
	dial, ca := servicetest.TLSTarget(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	conn, err := dial()
	noerr.Must(t, err)
	encrypted := conn.RemoteAddr().String()
	conn.Close()
	for name, tc := range map[string]struct {
		base  string
		sent  bool
		broke model.Breakage
	}{
		"it hangs up after the request within TLS": {"https://" + encrypted, true, model.BreakReset},
		"nothing listens":                          {"http://" + refused, false, model.BreakConnect},
		"no such name":                             {"http://zonedeck.invalid", false, model.BreakDNS},
		"TLS to a server that speaks none":         {"https://" + garbage, false, model.BreakTLS},
		"it hangs up after the request":            {"http://" + afterHead, true, model.BreakReset},
		"it answers what is not HTTP":              {"http://" + garbage, true, model.BreakMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			p := servicetest.Profile(tc.base)
			p.CA = ca
			_, tr, err := New(Config{}).API(t.Context(), Call{Profile: p, KeyName: "k", Key: keystore.NewSecret(servicetest.KeyValue), Method: http.MethodPost, Path: "/x", Body: []byte("{}")})
			var ce *Error
			if !errors.As(err, &ce) {
				t.Fatalf("error %v is no Error", err)
			}
			if tr.Sent() != tc.sent || ce.Sent != tc.sent || ce.Broke != tc.broke {
				t.Errorf("sent %v, broke %q (%v); want %v, %q", tr.Sent(), ce.Broke, err, tc.sent, tc.broke)
			}
			servicetest.NoSecret(t, "the error", err.Error())
		})
	}
}

func TestMaskFindsASecretAcrossReads(t *testing.T) {
	m := MaskOf(keystore.NewSecret(servicetest.KeyValue), Login{})
	in := strings.Repeat("x", 40<<10) + servicetest.KeyValue + "tail" + servicetest.KeyValue + strings.Repeat("y", 33<<10) + servicetest.KeyValue[:10]
	want := strings.ReplaceAll(in, servicetest.KeyValue, strings.Repeat("*", len(servicetest.KeyValue)))
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(in),
		"one byte":      iotest.OneByteReader(strings.NewReader(in)),
		"half":          iotest.HalfReader(strings.NewReader(in)),
		"end with data": iotest.DataErrReader(strings.NewReader(in)),
	} {
		mr := m.Reader(r)
		got, err := io.ReadAll(mr)
		if err != nil || string(got) != want || !mr.Found {
			t.Errorf("%s: %d bytes, found %v: %v", name, len(got), mr.Found, err)
		}
	}
	if got, err := io.ReadAll(m.Reader(iotest.ErrReader(io.ErrUnexpectedEOF))); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
		t.Errorf("an error of the connection becomes %v", err)
	}
	stars := strings.Repeat("*", 12) // as if a masked value had been stored
	if got, err := io.ReadAll(MaskOf(keystore.NewSecret(stars), Login{}).Reader(strings.NewReader("a" + stars + "b"))); err != nil || string(got) != "a"+stars+"b" {
		t.Errorf("a secret of asterisks: %q, %v", got, err)
	}
	short := MaskOf(keystore.NewSecret("abc"), Login{})
	if got := short.Text("abc"); got != "abc" {
		t.Errorf("a secret of three characters was looked for: %q", got)
	}
}

// BenchmarkReceive sends 16 MiB through mask, bounds, checksum and file.
func BenchmarkReceive(b *testing.B) {
	bodies := Bodies{Dir: b.TempDir()}
	m := MaskOf(keystore.NewSecret(servicetest.KeyValue), Login{})
	page := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		got := Receive(bodies.Sink(bodies.Path("bench")), m.Reader(bytes.NewReader(page)), nil)
		if got.Err != nil || got.Ref.File == "" {
			b.Fatal(got.Err)
		}
		got.Discard()
	}
}

func TestTheTransportIgnoresProxySettings(t *testing.T) {
	if bareTransport().Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNothingIsAddedToTheRequestThroughTheProxy(t *testing.T) {
	for scheme, login := range map[string]string{"http": "Basic x", "https": ""} {
		req, err := NativeRequest(t.Context(), model.FetchRequest{
			URL: scheme + "://shop.test/a", Header: http.Header{"host": {"other.test"}, "x-a": {"1", "2"}, "accept": {"text/html"}},
		}, "Basic x")
		noerr.Must(t, err)
		want := http.Header{"User-Agent": {userAgent}, "Accept": {"text/html"}, "Accept-Encoding": {"gzip"}, "X-A": {"1", "2"}}
		if login != "" {
			want.Set("Proxy-Authorization", login)
		}
		if req.Method != http.MethodGet || req.Host != "other.test" || req.URL.Host != "shop.test" || !reflect.DeepEqual(req.Header, want) {
			t.Errorf("%s: %s %s, host %s, %v", scheme, req.Method, req.URL, req.Host, req.Header)
		}
	}
}

func TestTheAddressGoesAsItIsSpelt(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"http://shop.test/a%2Fb|c?q=a|b", "GET http://shop.test/a%2Fb%7Cc?q=a%7Cb HTTP/1.1"},
		{"http://shop.test:8080//a?", "GET http://shop.test:8080//a HTTP/1.1"},
		{"http://shop.test", "GET http://shop.test/ HTTP/1.1"},
		{"https://shop.test/a%2Fb|c#d", "GET /a%2Fb%7Cc HTTP/1.1"},
		{"https://shop.test//a", "GET //a HTTP/1.1"},
	} {
		req, err := NativeRequest(t.Context(), model.FetchRequest{URL: c.url, Header: http.Header{"Host": {"other.test"}}}, "Basic x")
		noerr.Must(t, err)
		write := req.Write
		if req.URL.Scheme == "http" {
			write = req.WriteProxy
		}
		var b bytes.Buffer
		noerr.Must(t, write(&b))
		if lines := strings.Split(b.String(), "\r\n"); lines[0] != c.want || lines[1] != "Host: other.test" {
			t.Errorf("%s: %q, want %q", c.url, lines[:2], c.want)
		}
	}
}

func TestAnUnusableAddressMakesNoRequest(t *testing.T) {
	for _, r := range []model.FetchRequest{
		{URL: ""},
		{URL: "ftp://shop.test/"},
		{URL: "http://shop.test/", Method: "GET /"},
	} {
		req, err := NativeRequest(t.Context(), r, "Basic x")
		var bad *model.RequestError
		if req != nil || !errors.As(err, &bad) || bad.Field() != "url" {
			t.Errorf("%+v: %v, %v", r, req, err)
		}
	}
}

func TestTheBodyAndTheMethodGoThroughTheProxyUnchanged(t *testing.T) {
	for _, c := range []struct{ method, body, want string }{{"", "", "GET"}, {"put", "a=1", "PUT"}} {
		req, err := NativeRequest(t.Context(), model.FetchRequest{URL: "http://shop.test/", Method: c.method, Body: c.body, Header: http.Header{"Host": {}}}, "")
		noerr.Must(t, err)
		var body []byte
		if req.Body != nil {
			if body, err = io.ReadAll(req.Body); err != nil {
				t.Fatal(err)
			}
		}
		if req.Method != c.want || string(body) != c.body || req.Host != "shop.test" {
			t.Errorf("%s %q for %s, want %s %q", req.Method, body, req.Host, c.want, c.body)
		}
	}
}

func TestAFinishedFetchFreesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Wire{gates: newGates()}
		enter := func() (func(), error) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, ErrTimeout)
			defer cancel()
			return w.Enter(ctx, model.ProductMobile)
		}
		for range LimitOf(model.ProductMobile).Concurrency - 1 {
			noerr.Must(t, noerr.From(enter()))
		}
		for range 2 {
			leave, err := enter()
			if err != nil {
				t.Fatalf("the last place: %v", err)
			}
			if _, err := enter(); !errors.Is(err, ErrTimeout) {
				t.Errorf("one more than there are places: %v", err)
			}
			leave()
		}
	})
}

func TestNoTimingHasNoPhases(t *testing.T) {
	want := model.Timing{DNS: -1, Connect: -1, ProxyConnect: -1, TLS: -1, FirstByte: -1, Transfer: -1, Total: -1}
	if got := NoTiming(); got != want {
		t.Errorf("%+v", got)
	}
}

func TestAMaskedSecretKeepsItsLength(t *testing.T) {
	m := MaskOf(keystore.NewSecret("0123456789"), Login{Username: "user", Password: keystore.NewSecret("12345678")})
	for in, want := range map[string]string{
		"a 0123456789 b": "a ********** b",
		"p=12345678.":    "p=********.",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("user:12345678")): "Basic " + strings.Repeat("*", 20),
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		h := m.Header(http.Header{"X-A": {"x", in}})
		if !reflect.DeepEqual(h, http.Header{"X-A": {"x", want}}) {
			t.Errorf("headers %v", h)
		}
	}
	if got := MaskOf(keystore.NewSecret("1234567"), Login{}).Text("1234567"); got != "1234567" {
		t.Errorf("a secret too short to be told from chance: %q", got)
	}
}

func TestWaitEndsWithTheLastCallUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Wire{}
		if err := w.Wait(t.Context()); err != nil {
			t.Errorf("nothing is under way: %v", err)
		}
		first, second := w.Begin(), w.Begin()
		waited := make(chan error, 2)
		for range cap(waited) {
			go func() { waited <- w.Wait(t.Context()) }()
		}
		synctest.Wait()
		first()
		synctest.Wait()
		if len(waited) != 0 {
			t.Fatal("the wait ended before the second call")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that is cancelled: %v", err)
		}
		second()
		for range cap(waited) {
			noerr.Want(t, <-waited)
		}
		w.Begin()()
		if err := w.Wait(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestATunnelIsRefusedByAnyStatusButSuccess(t *testing.T) {
	for status, want := range map[int]bool{0: false, 199: true, 200: false, 299: false, 300: true, 407: true} {
		if got := (Tunnel{Status: status}).Refused(); got != want {
			t.Errorf("%d: refused %t", status, got)
		}
	}
}

func TestACallThatIsHeldBackSaysWhy(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var tooFast *pace.TooFastError
	var bad *model.RequestError
	full := New(Config{})
	for range pace.MaxRefused {
		end, err := full.refusals.Enter(t.Context(), "http://api.test")
		noerr.Must(t, err)
		end(http.StatusTooManyRequests)
	}
	for name, tc := range map[string]struct {
		w    *Wire
		ctx  context.Context
		base string
		is   func(error) bool
	}{
		"the breaker is open":         {full, t.Context(), "http://api.test", func(err error) bool { return errors.As(err, &tooFast) }},
		"the caller left":             {New(Config{}), ended, "http://api.test", func(err error) bool { return errors.Is(err, context.Canceled) }},
		"there is nowhere to send it": {New(Config{}), t.Context(), "", func(err error) bool { return errors.As(err, &bad) }},
	} {
		resp, tr, err := tc.w.API(tc.ctx, Call{Profile: servicetest.Profile(tc.base), KeyName: "k", Method: http.MethodGet, Path: "/x"})
		if resp != nil || !tc.is(err) || tr.Sent() || tr.Timing().Connect != -1 || tr.Timing().Total != 0 {
			t.Errorf("%s: %v, sent %v, %+v", name, err, tr.Sent(), tr.Timing())
		}
	}
}

func TestTheAnswerToConnectIsKeptAsItCame(t *testing.T) {
	for _, tc := range []struct{ answer, head string }{
		{"HTTP/1.1 200 Connection Established\r\nx-brd-ip: 192.0.2.1\r\n\r\nearly", "HTTP/1.1 200 Connection Established\r\nx-brd-ip: 192.0.2.1\r\n\r\n"},
		{"HTTP/1.1 407 Not you\r\nB: 1\r\na: 2\r\ncontent-length: 4\r\n\r\nbody", "HTTP/1.1 407 Not you\r\nB: 1\r\na: 2\r\ncontent-length: 4\r\n\r\n"},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(far))
			_, _ = io.WriteString(far, tc.answer)
			far.Close()
		}()
		var box tunnelBox
		conn, err := openTunnel(t.Context(), newTrace(time.Now), near, "lab.test:443", Login{}, &box)
		if err == nil {
			conn.Close()
		}
		if got := string(box.get().Head); got != tc.head {
			t.Errorf("%q is kept as %q", tc.answer, got)
		}
	}
}

func TestTheChainIsKnownWhetherItIsTrustedOrNot(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	leaf := server.Certificate()
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	for name, roots := range map[string]*x509.CertPool{"trusted": pool, "not trusted": x509.NewCertPool()} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		noerr.Must(t, err)
		tr := newTrace(time.Now)
		secure, err := handshake(t.Context(), tr, conn, &tls.Config{ServerName: "example.com", RootCAs: roots}, PeerTarget)
		if (err == nil) != (roots == pool) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			secure.Close()
		}
		chain := tr.Handshake().Certificates
		if len(chain) != 1 || !bytes.Equal(chain[0].DER, leaf.Raw) || len(chain[0].SHA256) != 64 || !chain[0].SelfSigned ||
			!slices.Contains(chain[0].Names, "example.com") || !slices.Contains(chain[0].Names, "127.0.0.1") || chain[0].NotAfter != leaf.NotAfter {
			t.Errorf("%s: the chain is %+v", name, chain)
		}
	}
	if chain := newTrace(time.Now).Handshake(); chain.HasCertificates() {
		t.Errorf("without a handshake there is a chain: %+v", chain)
	}
}
