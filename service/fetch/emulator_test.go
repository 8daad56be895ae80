package fetch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/servicetest"
)

// fetchOnEmulator fetches from an emulator with its demo account.
func fetchOnEmulator(t *testing.T, change ...func(*Config)) (*Fetcher, model.Profile) {
	t.Helper()
	demo := servicetest.Emulator(t, emulator.Options{})
	keys := func(o *Config) { o.Source = servicetest.Source{Base: o.Source, SecretBy: demo.Secret, KeyBy: demo.Key} }
	return newFetcher(t, demo.Profile, append([]func(*Config){keys}, change...)...), demo.Profile
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
					if via == model.ViaNative && !z.Product.NativeAccess() {
						if _, err := c.Fetch(t.Context(), r, nil); !errors.Is(err, model.ErrRequest) {
							t.Errorf("it was sent: %v", err)
						}
						return
					}
					res := fetched(t, c, r)
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
				res := fetched(t, c, r)
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

func TestALabPageThatFailsIsNotOKByAnyDialect(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	for _, name := range []string{"", "documented", "brightdata"} {
		p := demo.Profile
		p.Dialect = name
		c := newFetcher(t, p, func(o *Config) { o.Source = servicetest.Source{Base: o.Source, SecretBy: demo.Secret, KeyBy: demo.Key} })
		for path, class := range map[string]model.Class{
			"/ok": model.ClassOK, "/forbidden": model.ClassAccessRestricted, "/too-fast": model.ClassTooFast, "/error": model.ClassOutside,
			"/nothing-here": model.ClassOutside,
		} {
			for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
				z, _ := p.Zone("datacenter_demo")
				res, err := c.Fetch(t.Context(), model.FetchRequest{Zone: z, URL: "http://lab.test" + path, Via: via}, nil)
				if err != nil || res.Diagnosis.Class != class {
					t.Errorf("dialect %q, %s %s: %s, %v, %v; want %s", name, via, path, res.Diagnosis.Class, res.Diagnosis.Evidence, err, class)
				}
			}
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
		res := fetched(t, c, model.FetchRequest{Zone: z, URL: "http://lab.test/ok", Via: model.ViaAPI, Key: key})
		t.Run(key, func(t *testing.T) { wantVerdict(t, res, want.class, want.cause) })
	}
	res := fetched(t, c, model.FetchRequest{Zone: model.Zone{Name: "nobody"}, URL: "http://lab.test/ok"})
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
		res := fetched(t, c, r)
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
		res := fetched(t, c, model.FetchRequest{Zone: z, URL: "http://lab.test/large?mb=5", Via: via})
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
		noerr.Must(t, err)
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
	noerr.Must(t, err)
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
