package cli

import (
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/servicetest"
	"zonedeck/service/webhook"
)

// seeds are fetches with different next steps, each with a text that only its screen
// shows. A wrong proxy login, an address where nothing answers and a picture come after
// them.
var seeds = []struct {
	args  []string
	shows string
}{
	{[]string{"http://lab.test/forbidden"}, "403 Forbidden from the target"},
	{[]string{"http://lab.test/slow?s=20", "--timeout", "200ms", "--retries", "0"}, "deadline"},
	{[]string{"http://lab.test/too-fast", "--retries", "0"}, "429 Too Many Requests from the target"},
	{[]string{"http://lab.test/shop?v=2", "--require", ".price"}, "required field"},
	{[]string{"http://lab.test/json"}, "application/json"},
	{[]string{"http://lab.test/ok", "--key", "expired-user", "--profile", model.LocalName}, "401 Unauthorized from the service"},
}

// seed makes a history with a comparison, a finished job, and a key in the inventory.
func seed(t *testing.T, p Process) {
	t.Helper()
	keys := filepath.Join(p.Getenv("XDG_DATA_HOME"), "zonedeck", "keys.toml")
	noerr.Must(t, os.MkdirAll(filepath.Dir(keys), 0o700))
	noerr.Must(t, os.WriteFile(keys, []byte("[[keys]]\nname = \"aaa\"\nexpires = \"2020-01-01\"\nrotated = \"2019-01-01\"\n"), 0o600))
	run := func(p Process, args ...string) {
		p.Args = args
		Main(t.Context(), p)
	}
	run(p, "twin", "http://lab.test/ok", "--zones", "datacenter_demo")
	for _, s := range seeds {
		run(p, append([]string{"request", "--zone", "datacenter_demo"}, s.args...)...)
	}
	wrongLogin(t, p)
	nowhere := p
	nowhere.Getenv = func(name string) string {
		switch name {
		case service.EnvKey:
			return "a-key-that-nobody-has"
		case "ZONEDECK_DIALECT":
			return "brightdata"
		}
		return p.Getenv(name)
	}
	run(nowhere, "--base-url", closed(t), "request", "http://lab.test/ok", "--zone", "z", "--retries", "0")
	run(nowhere, "--base-url", pictures(t), "request", "http://lab.test/dot.png", "--zone", "z")
	trigger := func(p Process, args ...string) {
		p.Stdin = strings.NewReader("http://lab.test/product/1\n")
		run(p, append([]string{"jobs", "trigger", "gd_products", "--input", "-", "--again"}, args...)...)
	}
	trigger(nowhere, "--base-url", closed(t))
	trigger(p, "--key", "expired-user", "--profile", model.LocalName)
	trigger(p, "--wait")
	rows := p
	rows.Stdin = strings.NewReader("http://lab.test/ok\n")
	run(rows, "batch", "-", "--zone", "datacenter_demo")
	webhookComes(t, p)
}

// webhookComes puts a webhook into the inbox.
func webhookComes(t *testing.T, p Process) {
	t.Helper()
	paths := config.FindPaths(p.Getenv)
	in, _, err := webhook.Open(t.Context(), webhook.Options{File: paths.InboxFile(), Dir: paths.InboxDir(), Clock: servicetest.ClockFunc(time.Now)})
	noerr.Must(t, err)
	r, err := webhook.Listen(t.Context(), "127.0.0.1:0", false, webhook.Config{Inbox: in})
	noerr.Must(t, err)
	resp, err := http.Post(r.URL()+"/hook", "application/json", strings.NewReader("{}"))
	if err == nil {
		err = resp.Body.Close()
	}
	noerr.Must(t, errors.Join(err, r.Close(), in.Close()))
}

// closed is the URL of a server that was closed.
func closed(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	return s.URL
}

// pictures is the URL of a server that answers every call with a picture of one pixel.
func pictures(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		noerr.Want(t, png.Encode(w, image.NewGray(image.Rect(0, 0, 1, 1))))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// wrongLogin fetches through a proxy with a password that is not the zone's.
func wrongLogin(t *testing.T, p Process) {
	t.Helper()
	server, err := emulator.Start(t.Context(), emulator.Options{ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	ready, home := server.Ready(), p.Getenv
	p.Getenv = func(name string) string {
		switch name {
		case service.EnvPassword:
			return "not-the-password"
		case "ZONEDECK_ACCOUNT":
			return ready.Account
		case "ZONEDECK_USERNAME_PREFIX":
			return ready.UsernamePrefix
		}
		return home(name)
	}
	p.Stdout, p.Stderr = io.Discard, io.Discard
	p.Args = []string{"--proxy-host", ready.Proxy, "request", "http://lab.test/ok", "--zone", "isp_demo", "--via", "native"}
	if code := Main(t.Context(), p); code != exitRejected {
		t.Errorf("a wrong password: exit code %d", code)
	}
	noerr.Want(t, server.Shutdown(t.Context()))
}
