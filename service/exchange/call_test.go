package exchange

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestABaseURLIsJoinedOrRefused(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.test":                "https://api.test/x?q=1",
		"https://api.test/":               "https://api.test/x?q=1",
		"http://api.test:81/a/b/":         "http://api.test:81/a/b/x?q=1",
		"https://api.test/a%2Fb":          "https://api.test/a/b/x?q=1",
		"https://api.test/?old=1#part":    "https://api.test/x?q=1",
		"":                                "no base URL",
		"https://me:hunter2@api.test":     "must not carry a login",
		"me:hunter2@api.test":             "",
		"//me@api.test":                   "must not carry a login",
		"https://me:hunter2@api.test/%zz": "invalid URL escape",
		"ftp://api.test":                  "write it like https://",
		"api.test":                        "write it like https://",
		"https://":                        "write it like https://",
		"http:///x":                       "write it like https://",
	} {
		u, err := APIURL(base, "/x", url.Values{"q": {"1"}})
		switch {
		case err != nil && (u != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%q: %v, %v", base, u, err)
		case err == nil && u.String() != want:
			t.Errorf("%q: %s, want %s", base, u, want)
		}
	}
}

func TestARequestOfAnImpossibleMethodNamesTheProfile(t *testing.T) {
	_, err := Call{Profile: servicetest.Profile("https://api.test"), Method: "BAD METHOD", Path: "/x"}.Request(t.Context(), "b")
	var bad *model.RequestError
	if !errors.As(err, &bad) || bad.Field() != "profile" {
		t.Errorf("%v", err)
	}
}

func TestAKeysTurnThatComesTooLateIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{})
		w.gates.rate(model.Profile{}, "k").AllowN(time.Now(), KeyBurst)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, ErrTimeout)
		defer cancel()
		_, tr, err := w.API(ctx, Call{Profile: servicetest.Profile("https://api.test"), KeyName: "k", Method: http.MethodGet, Path: "/x"})
		var at *Error
		if !errors.As(err, &at) || at.Broke != model.BreakTimeout || at.Peer != PeerService || at.Sent || tr.Sent() {
			t.Errorf("%+v", err)
		}
	})
}

// broken makes one call by API and one through the proxy, each within its own limit.
func broken(t *testing.T, w *Wire, p model.Profile, limit time.Duration) map[string]error {
	t.Helper()
	within := func(call func(context.Context) error) error {
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, ErrTimeout)
		defer cancel()
		return call(ctx)
	}
	return map[string]error{
		"by API": within(func(ctx context.Context) error {
			_, _, err := w.API(ctx, Call{Profile: p, KeyName: "k", Method: http.MethodGet, Path: "/x"})
			return err
		}),
		"by proxy": within(func(ctx context.Context) error {
			_, _, _, err := w.Native(ctx, p, Login{}, model.FetchRequest{URL: "https://lab.test/", Via: model.ViaNative})
			return err
		}),
	}
}

func TestACAThatCannotBeReadBreaksBeforeAnythingIsSent(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		noerr.Must(t, os.WriteFile(path, make([]byte, size), 0o600))
		return path
	}
	w := New(Config{Connect: func(context.Context, string, string) (net.Conn, error) {
		t.Error("it connects")
		return nil, net.ErrClosed
	}})
	for file, want := range map[string]string{
		file("other.pem", maxCA): "no PEM certificate", file("large.pem", maxCA+1): "too large",
		filepath.Join(dir, "none.pem"): "no such file", dir: "it is a folder", // a pipe is reported in the same way
	} {
		p := servicetest.Profile("https://api.test")
		p.CA = file
		for how, err := range broken(t, w, p, time.Hour) {
			var at *Error
			if !errors.As(err, &at) || at.Broke != model.BreakTLS || at.Peer != PeerService || at.Sent || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, want %q", how, err, want)
			}
		}
	}
}

func TestAnAddressThatCannotBeConnectedToIsABreakOfTheService(t *testing.T) {
	dead := errors.New("no route")
	w := New(Config{Connect: func(context.Context, string, string) (net.Conn, error) { return nil, dead }})
	for how, err := range broken(t, w, servicetest.Profile("https://api.test"), time.Hour) {
		var at *Error
		if !errors.As(err, &at) || at.Broke != model.BreakConnect || at.Peer != PeerService || at.Sent || !errors.Is(err, dead) {
			t.Errorf("%s: %+v", how, err)
		}
	}
}

func TestAConnectionThatIsNotMadeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Connect: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
		}})
		began := time.Now()
		for how, err := range broken(t, w, servicetest.Profile("https://api.test"), time.Hour) {
			var at *Error
			if !errors.As(err, &at) || at.Broke != model.BreakConnectTimeout || at.Peer != PeerService || at.Sent || !strings.Contains(err.Error(), "no connection within 15s") {
				t.Errorf("%s: %+v", how, err)
			}
		}
		if took := time.Since(began); took != 2*connectTimeout {
			t.Errorf("both together took %v", took)
		}
	})
}

// opensAndIsSilent opens a tunnel if asked to, and then stays silent.
func opensAndIsSilent(conn net.Conn) {
	in := bufio.NewReader(conn)
	if first, _ := in.Peek(1); string(first) == "C" {
		if _, err := http.ReadRequest(in); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		}
	}
	_, _ = io.Copy(io.Discard, in)
	conn.Close()
}

func TestAPeerThatIsSilentInTheHandshakeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Connect: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go opensAndIsSilent(far)
			return near, nil
		}})
		began := time.Now()
		peers := map[string]string{"by API": PeerService, "by proxy": PeerTarget}
		for how, err := range broken(t, w, servicetest.Profile("https://api.test"), time.Hour) {
			var at *Error
			if !errors.As(err, &at) || at.Broke != model.BreakConnectTimeout || at.Peer != peers[how] || at.Sent || !strings.Contains(err.Error(), "no answer to the TLS handshake within 15s") {
				t.Errorf("%s: %+v", how, err)
			}
		}
		if took := time.Since(began); took != 2*handshakeTimeout {
			t.Errorf("both together took %v", took)
		}
	})
}

// The peer's socket accepts and stays silent. It is chance whether the deadline passes during the
// connection, the tunnel or TLS, and the result must be the same.
func TestASilentPeerIsATimeoutEveryTime(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"silent":              func(c net.Conn) { _, _ = io.Copy(io.Discard, c); c.Close() },
		"opens and is silent": opensAndIsSilent,
	} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		noerr.Must(t, err)
		var served sync.WaitGroup
		served.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				served.Go(func() { serve(c) })
			}
		})
		p := servicetest.Profile("https://" + l.Addr().String())
		p.ProxyHost, p.ProxyPort, p.Local = "127.0.0.1", l.Addr().(*net.TCPAddr).Port, true // without the rate of a key
		w := New(Config{})
		for n := range 50 {
			for how, err := range broken(t, w, p, time.Duration(n)*200*time.Microsecond) {
				var at *Error
				if !errors.As(err, &at) || at.Broke != model.BreakTimeout || at.Sent || !errors.Is(err, ErrTimeout) {
					t.Fatalf("%s, attempt %d %s: %v", name, n, how, err)
				}
			}
		}
		l.Close()
		served.Wait()
	}
}

func TestARefusalThatIsNeverEndedIsReadForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		go func() {
			if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
				_, _ = io.WriteString(far, "HTTP/1.1 403 Forbidden\r\nContent-Length: 500\r\n\r\nverify first")
			}
		}()
		w := New(Config{Connect: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
		began := time.Now()
		_, tun, _, err := w.Native(t.Context(), servicetest.Profile(""), Login{}, model.FetchRequest{URL: "https://lab.test/", Via: model.ViaNative})
		if !errors.Is(err, ErrRefused) || string(tun.Body) != "verify first" || time.Since(began) != refusalTime {
			t.Errorf("after %v: %q, %v", time.Since(began), tun.Body, err)
		}
	})
}

func TestAProxyThatHangsUpBeforeItIsAsked(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	var box tunnelBox
	_, err := openTunnel(t.Context(), newTrace(time.Now), near, "lab.test:443", Login{}, &box)
	var at *Error
	if !errors.As(err, &at) || at.Broke != model.BreakReset || at.Peer != PeerService || !strings.HasPrefix(err.Error(), "CONNECT: ") || box.get().Status != 0 {
		t.Errorf("%v", err)
	}
	if _, err := near.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is still open: %v", err)
	}
}

func TestARequestThatCannotGoThroughTheProxyIsHeld(t *testing.T) {
	_, tun, tr, err := New(Config{}).Native(t.Context(), servicetest.Profile(""), Login{}, model.FetchRequest{URL: "ftp://lab.test/"})
	var bad *model.RequestError
	if !errors.As(err, &bad) || tun.Status != 0 || tr.Sent() || tr.Timing().Total != 0 {
		t.Errorf("%v, %+v", err, tr.Timing())
	}
}

func TestWithoutASecretNothingIsMasked(t *testing.T) {
	r := MaskOf(keystore.Secret{}, Login{Username: "u"}).Reader(strings.NewReader("as it is"))
	if b, err := io.ReadAll(r); err != nil || string(b) != "as it is" || r.Found {
		t.Errorf("%q, found %v, %v", b, r.Found, err)
	}
}

func TestAHostThatHasNoNameOnTheWireIsNoAddress(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "ä.xn--0"}
	if addr, err := ConnectAddr(u); err == nil || addr != "" {
		t.Errorf("%q, %v", addr, err)
	}
}

func TestWhatAProfileCannotGiveNamesItsField(t *testing.T) {
	gone := errors.New("the caller left")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	p := servicetest.Profile("https://api.test")
	nameless := p
	nameless.Key = ""
	z := servicetest.Zone(p, "dc1")
	secret := func(s string, err error) Source {
		return servicetest.Source{KeyBy: servicetest.Key, SecretBy: func(context.Context, string) (keystore.Secret, error) { return keystore.NewSecret(s), err }}
	}
	login := func(s Source, ctx context.Context, p model.Profile, z model.Zone) error {
		_, err := LoginFor(ctx, s, p, z, nil)
		return err
	}
	key := func(s Source, p model.Profile, name string) error {
		_, _, err := KeyFor(t.Context(), s, p, name)
		return err
	}
	noAccount, odd := p, z
	noAccount.Account, odd.Name = "", "a:b"
	for name, c := range map[string]struct {
		err   error
		field string
		is    error
	}{
		"no key":               {key(secret("s", nil), nameless, ""), "key", nil},
		"a key that is lost":   {key(secret("", keystore.ErrSecretMissing), p, ""), "key", keystore.ErrSecretMissing},
		"a key that is empty":  {key(secret("", nil), p, ""), "key", nil},
		"a password, empty":    {login(secret("", nil), t.Context(), p, z), "password", nil},
		"a zone's name":        {login(secret("s", nil), t.Context(), p, odd), "zone", nil},
		"an account":           {login(secret("s", nil), t.Context(), noAccount, z), "profile", nil},
		"the caller left":      {login(secret("", io.EOF), ended, p, z), "", gone},
		"the person cancelled": {login(secret("", context.Canceled), t.Context(), p, z), "", context.Canceled},
	} {
		var bad *model.RequestError
		field := ""
		if errors.As(c.err, &bad) {
			field = bad.Field()
		}
		if c.err == nil || field != c.field || c.is != nil && !errors.Is(c.err, c.is) {
			t.Errorf("%s: field %q, %v", name, field, c.err)
		}
	}
	var bad *model.RequestError
	if _, _, err := Current(t.Context(), servicetest.SourceFor(model.Profile{Dialect: "latin"})); !errors.As(err, &bad) || bad.Field() != "profile" {
		t.Errorf("an unknown dialect: %v", err)
	}
}

func TestABodyWhoseFileFailsIsCutWhereItEnds(t *testing.T) {
	s := Bodies{Memory: 2}.Sink(filepath.Join(t.TempDir(), "a"))
	noerr.Must(t, noerr.From(s.Write([]byte("abcd"))))
	s.file.Close() // the disk is gone
	got := Receive(s, strings.NewReader("efgh"), nil)
	if got.Ref.Size != 4 || !got.Ref.Cut || got.Err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0].Text, "could not be kept on disk and was cut at 4 bytes") {
		t.Errorf("%+v", got)
	}
}

func TestTheFolderOfBodiesIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bodies")
	got := Receive(Bodies{Memory: 1}.Sink(filepath.Join(dir, "a")), strings.NewReader("abcd"), nil)
	noerr.Must(t, got.Keep(true))
	at, err := os.Stat(dir)
	if err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o700 || got.Ref.File == "" {
		t.Errorf("%v, %v", at, err)
	}
	if file, err := os.Stat(got.Ref.File); err != nil || runtime.GOOS != "windows" && file.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", file, err)
	}
}
