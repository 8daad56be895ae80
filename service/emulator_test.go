package service

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/profile"
)

// fetchOnEmulator is a client of an emulator with its demo account, as the console
// is: only the wire and the printed logins are shared.
func fetchOnEmulator(t *testing.T, change ...func(*Options)) (*Client, profile.Profile) {
	t.Helper()
	s, err := emulator.Start(t.Context(), emulator.Options{ProxyAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	ready := s.Ready()
	host, port, err := net.SplitHostPort(ready.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	p := testProfile(ready.API)
	p.Account, p.UsernamePrefix, p.ProxyHost = model.AccountID(ready.Account), ready.UsernamePrefix, host
	p.ProxyPort, _ = strconv.Atoi(port)
	p.Local, p.Zones = true, nil
	p.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(p.CA, []byte(ready.CAPEM), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, keys := map[string]string{}, map[string]model.Key{}
	for _, z := range ready.Zones {
		ref := "demo:zone/" + z.Name
		secrets[ref] = z.Password
		p.Zones = append(p.Zones, model.Zone{Name: model.ZoneName(z.Name), Product: model.Product(z.Product), IdentityVerified: z.IdentityVerified, Password: ref})
	}
	for _, k := range ready.Keys {
		ref := "demo:key/" + k.Name
		secrets[ref] = k.Value
		keys[k.Name] = model.Key{Name: k.Name, Level: model.Level(k.Level), Secret: ref}
	}
	demo := func(o *Options) {
		o.Secret = func(_ context.Context, ref string) (keystore.Secret, error) {
			return keystore.NewSecret(secrets[ref]), nil
		}
		o.Key = func(name string) (model.Key, bool) { k, ok := keys[name]; return k, ok }
	}
	return newTestClient(t, p, append([]func(*Options){demo}, change...)...), p
}

func TestEveryProductsZoneFetchesFromTheEmulator(t *testing.T) {
	c, p := fetchOnEmulator(t)
	if len(p.Zones) != len(model.Products()) {
		t.Fatalf("%d zones, want one of every product", len(p.Zones))
	}
	for _, z := range p.Zones {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			for _, scheme := range []string{"http", "https"} {
				t.Run(string(z.Name)+" "+string(via)+" "+scheme, func(t *testing.T) {
					r := model.FetchRequest{Zone: z, URL: scheme + "://lab.test/ok", Via: via, Format: model.FormatRaw}
					res, err := c.Fetch(t.Context(), r, nil)
					if err != nil {
						t.Fatal(err)
					}
					if via == model.ViaNative && !z.Product.NativeAccess() {
						if res.Diagnosis.Class != model.ClassAccessRestricted || res.ServiceStatus != 403 {
							t.Errorf("%s, service status %d: %v", res.Diagnosis.Class, res.ServiceStatus, res.Diagnosis.Evidence)
						}
						return
					}
					wantVerdict(t, res, model.ClassOK, "")
					if res.Status != 200 || res.Body.Size == 0 || len(res.Attempts) != 1 {
						t.Errorf("status %d, %d bytes, %d attempts", res.Status, res.Body.Size, len(res.Attempts))
					}
					if via == model.ViaNative && res.Exit == "" {
						t.Error("no exit is reported")
					}
				})
			}
		}
	}
}

func TestEveryPageOfTheLabHasItsClass(t *testing.T) {
	c, p := fetchOnEmulator(t)
	for path, want := range map[string]struct {
		class  model.Class
		cause  model.Cause
		status int
	}{
		"/ok":              {model.ClassOK, "", 200},
		"/json":            {model.ClassOK, "", 200},
		"/shop":            {model.ClassOK, "", 200},
		"/shop?v=2":        {model.ClassOK, "", 200},
		"/search?q=kettle": {model.ClassOK, "", 200},
		"/forbidden":       {model.ClassAccessRestricted, model.CauseSiteBlock, 403},
		"/too-fast":        {model.ClassTooFast, "", 429},
		"/captcha":         {model.ClassCaptcha, "", 200},
		"/empty":           {model.ClassOutside, model.CauseEmptyBody, 200},
		"/error":           {model.ClassOutside, model.CauseTargetError, 500},
		"/slow?s=5":        {model.ClassTimeout, model.CauseClientTimeout, 0},
		"/nothing-here":    {model.ClassOutside, model.CauseTargetError, 404},
	} {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			t.Run(string(via)+" "+path, func(t *testing.T) {
				t.Parallel()
				z, _ := p.Zone("datacenter_demo")
				r := model.FetchRequest{Zone: z, URL: "http://lab.test" + path, Via: via}
				if strings.HasPrefix(path, "/slow") {
					r.Timeout = 200 * time.Millisecond
				}
				res, err := c.Fetch(t.Context(), r, nil)
				if err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, res, want.class, want.cause)
				if res.Status != want.status {
					t.Errorf("status %d, want %d", res.Status, want.status)
				}
				if path == "/too-fast" && res.Header.Get("Retry-After") == "" {
					t.Error("Retry-After is lost")
				}
			})
		}
	}
}

func TestEveryKeyOfTheEmulator(t *testing.T) {
	c, p := fetchOnEmulator(t)
	z, _ := p.Zone("unlocker_demo")
	for key, want := range map[string]struct {
		class model.Class
		cause model.Cause
	}{
		"etl-main":       {model.ClassOK, ""},
		"ci-fetch":       {model.ClassOK, ""},
		"old-admin":      {model.ClassOK, ""},
		"limit-lists":    {model.ClassOK, ""},
		"ops-zones":      {model.ClassOK, ""},
		"finance-review": {model.ClassAccessRestricted, model.CauseMissingPermission},
		"expired-user":   {model.ClassOutside, model.CauseKeyRejected},
	} {
		res, err := c.Fetch(t.Context(), model.FetchRequest{Zone: z, URL: "http://lab.test/ok", Via: model.ViaAPI, Key: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(key, func(t *testing.T) { wantVerdict(t, res, want.class, want.cause) })
	}
	res, err := c.Fetch(t.Context(), model.FetchRequest{Zone: model.Zone{Name: "nobody"}, URL: "http://lab.test/ok"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, res, model.ClassOutside, model.CauseRequestRefused)
}

func TestEverythingTheDialectSendsReachesTheLab(t *testing.T) {
	c, p := fetchOnEmulator(t)
	z, _ := p.Zone("unlocker_demo")
	for _, r := range []model.FetchRequest{
		{Via: model.ViaAPI, Format: model.FormatRaw},
		{Via: model.ViaAPI, Format: model.FormatJSON},
		{Via: model.ViaNative},
	} {
		r.Zone, r.URL, r.Method, r.Body, r.Country = z, "http://lab.test/whoami", "POST", "hello=1", "de"
		r.Header = map[string][]string{"X-Lab": {"seen"}}
		res, err := c.Fetch(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, res, model.ClassOK, "")
		for _, want := range []string{"POST", "hello=1", "seen"} {
			if !strings.Contains(string(res.Body.Bytes), want) {
				t.Errorf("%s %s: the lab did not see %q: %s", r.Via, r.Format, want, res.Body.Bytes)
			}
		}
	}
}

func TestLargePageOfTheLabIsStreamed(t *testing.T) {
	c, p := fetchOnEmulator(t)
	z, _ := p.Zone("datacenter_demo")
	for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
		res, err := c.Fetch(t.Context(), model.FetchRequest{Zone: z, URL: "http://lab.test/large?mb=5", Via: via}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, res, model.ClassOK, "")
		if res.Body.Size < 5<<20 || res.Body.File == "" || res.Body.Cut {
			t.Errorf("%s: body %d bytes in %q", via, res.Body.Size, res.Body.File)
		}
	}
}

func TestProbeOfEveryNativeZoneOfTheEmulator(t *testing.T) {
	c, p := fetchOnEmulator(t)
	for _, z := range p.Zones {
		if !z.Product.NativeAccess() {
			continue
		}
		res, err := c.Probe(t.Context(), ProbeRequest{Zone: z, Rounds: 3, Session: "a1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !res.Diagnosis.OK() || res.ConnectStatus != 200 || res.TargetStatus != 200 || len(res.Exits) != 3 {
			t.Errorf("%s: %+v", z.Name, res)
		}
		if !res.StickyRun || !res.Sticky {
			t.Errorf("%s: the session does not keep its exit (tried %v)", z.Name, res.StickyRun)
		}
	}
	z, _ := p.Zone("datacenter_demo")
	z.Password = "demo:zone/isp_demo" // another zone's
	res, err := c.Probe(t.Context(), ProbeRequest{Zone: z}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Diagnosis.Cause != model.CauseLoginRejected || res.ConnectStatus != 407 {
		t.Errorf("a wrong password: %+v", res)
	}
	z, _ = p.Zone("datacenter_demo")
	for target, want := range map[string]model.Cause{"https://nowhere.invalid/": model.CauseTargetError, "http://lab.test/error": model.CauseTargetError} {
		if res, err = c.Probe(t.Context(), ProbeRequest{Zone: z, Target: target}, nil); err != nil || res.Diagnosis.Cause != want {
			t.Errorf("%s: %+v: %v", target, res.Diagnosis, err)
		}
	}
}
