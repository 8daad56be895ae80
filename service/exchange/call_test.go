package exchange

import (
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
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
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
		w.gates.rate("k").AllowN(time.Now(), KeyBurst)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, ErrTimeout)
		defer cancel()
		_, tr, err := w.API(ctx, Call{Profile: servicetest.Profile("https://api.test"), KeyName: "k", Method: http.MethodGet, Path: "/x"})
		var at *Error
		if !errors.As(err, &at) || at.Broke != model.BreakTimeout || at.Peer != PeerService || at.Sent || tr.Sent() {
			t.Errorf("%+v", err)
		}
	})
}

// broken makes one call by API and one through the proxy, both with TLS.
func broken(t *testing.T, w *Wire, p profile.Profile) map[string]error {
	t.Helper()
	_, _, api := w.API(t.Context(), Call{Profile: p, KeyName: "k", Method: http.MethodGet, Path: "/x"})
	_, _, _, native := w.Native(t.Context(), p, Login{}, model.FetchRequest{URL: "https://lab.test/", Via: model.ViaNative})
	return map[string]error{"by API": api, "by proxy": native}
}

func TestACAThatCannotBeReadBreaksBeforeAnythingIsSent(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := New(Config{Connect: func(context.Context, string, string) (net.Conn, error) {
		t.Error("it connects")
		return nil, net.ErrClosed
	}})
	for file, want := range map[string]string{empty: "no PEM certificate", filepath.Join(t.TempDir(), "none.pem"): "no such file"} {
		p := servicetest.Profile("https://api.test")
		p.CA = file
		for how, err := range broken(t, w, p) {
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
	for how, err := range broken(t, w, servicetest.Profile("https://api.test")) {
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
		_, tr, err := w.API(t.Context(), Call{Profile: servicetest.Profile("https://api.test"), KeyName: "k", Method: http.MethodGet, Path: "/x"})
		var at *Error
		if !errors.As(err, &at) || at.Broke != model.BreakTimeout || at.Peer != PeerService || tr.Sent() || !strings.Contains(err.Error(), "no connection within 15s") || time.Since(began) != connectTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestAServiceThatIsSilentInTheHandshakeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far net.Conn
		w := New(Config{Connect: func(context.Context, string, string) (near net.Conn, err error) {
			near, far = net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}})
		began := time.Now()
		_, tr, err := w.API(t.Context(), Call{Profile: servicetest.Profile("https://api.test"), KeyName: "k", Method: http.MethodGet, Path: "/x"})
		var at *Error
		if !errors.As(err, &at) || at.Broke != model.BreakTLS || tr.Sent() || !strings.Contains(err.Error(), "no answer within 15s") || time.Since(began) != handshakeTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		far.Close()
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
	secret := func(s string, err error) Access {
		return Access{Key: servicetest.Key, Secret: func(context.Context, string) (keystore.Secret, error) { return keystore.NewSecret(s), err }}
	}
	login := func(a Access, ctx context.Context, p profile.Profile, z model.Zone) error {
		_, err := a.Login(ctx, p, z, nil)
		return err
	}
	key := func(a Access, p profile.Profile, name string) error {
		_, _, err := a.KeyFor(t.Context(), p, name)
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
	latin := func(context.Context) (profile.Profile, error) { return profile.Profile{Dialect: "latin"}, nil }
	var bad *model.RequestError
	if _, _, err := (Access{Profile: latin}).Current(t.Context()); !errors.As(err, &bad) || bad.Field() != "profile" {
		t.Errorf("an unknown dialect: %v", err)
	}
}

func TestABodyWhoseFileFailsIsCutWhereItEnds(t *testing.T) {
	s := Bodies{Dir: t.TempDir(), Memory: 2}.Sink("a")
	if _, err := s.Write([]byte("abcd")); err != nil {
		t.Fatal(err)
	}
	s.file.Close() // the disk is gone
	got := Receive(s, strings.NewReader("efgh"), nil)
	if got.Ref.Size != 4 || !got.Ref.Cut || got.Err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0].Text, "could not be kept on disk and was cut at 4 bytes") {
		t.Errorf("%+v", got)
	}
}

func TestTheFolderOfBodiesIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bodies")
	got := Receive(Bodies{Dir: dir, Memory: 1}.Sink("a"), strings.NewReader("abcd"), nil)
	at, err := os.Stat(dir)
	if err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o700 || got.Ref.File == "" {
		t.Errorf("%v, %v", at, err)
	}
	if file, err := os.Stat(got.Ref.File); err != nil || runtime.GOOS != "windows" && file.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", file, err)
	}
}
