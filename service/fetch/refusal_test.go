package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/servicetest"
)

// refusingAccount has a zone that may not reach one site, and a site that refuses everybody.
const refusingAccount = `
[[keys]]
name = "reader"
level = "USER"
[[keys]]
name = "billing"
level = "FINANCE"
[[keys]]
name = "root"
level = "ADMIN"
[[zones]]
name = "fenced"
product = "datacenter"
deny_domains = ["shop.example"]
[[zones]]
name = "plain"
product = "isp"
[[targets]]
host = "shop.example"
body = "<html><body><p>A lamp of brass, for the desk.</p></body></html>"
[[targets]]
host = "club.example"
status = 403
body = "<html><body><p>Members alone.</p></body></html>"
`

// recorder keeps the URLs of the fetches.
type recorder struct {
	Journal
	urls *[]string
}

func (recorder) Depart(string, model.HistoryEntry) (func(), error) { return func() {}, nil }

func (r recorder) PutFetch(_ context.Context, _ string, res model.FetchResult) error {
	*r.urls = append(*r.urls, res.Request.URL)
	return nil
}

func onRefusingAccount(t *testing.T, change ...func(*Config)) (*Fetcher, model.Profile, []model.Key) {
	t.Helper()
	account, err := scenario.Parse("account.toml", []byte(refusingAccount))
	noerr.Must(t, err)
	demo := servicetest.Emulator(t, emulator.Options{Scenario: account})
	var keys []model.Key
	for _, name := range []string{"reader", "billing", "root"} {
		k, ok := demo.Key(name)
		if !ok {
			t.Fatalf("no key %s", name)
		}
		keys = append(keys, k)
	}
	all := append([]func(*Config){func(c *Config) { c.Source = servicetest.Source{Base: c.Source, SecretBy: demo.Secret, KeyBy: demo.Key} }}, change...)
	return newFetcher(t, demo.Profile, all...), demo.Profile, keys
}

func TestARefusalTellsTheLevelTheZoneAndTheSiteApart(t *testing.T) {
	var kept []string
	ft, p, keys := onRefusingAccount(t, func(c *Config) { c.Journal = recorder{urls: &kept} })
	for name, c := range map[string]struct {
		zone, url, key string
		via            model.Via
		want           model.Culprit
		says           string
		sent           int
	}{
		"a level that may not fetch": {"plain", "http://shop.example/", "billing", model.ViaAPI, model.CulpritKey, "The key's level: key billing is refused by zones plain and fenced and at a page known to be good, and the service speaks of a missing permission.", 2},
		"a zone that may not":        {"fenced", "http://shop.example/", "reader", model.ViaAPI, model.CulpritZone, "The zone, at this site: with key reader zone fenced fetches a good page, and zone plain fetches this one; only fenced at this page is refused.", 2},
		"the same by Native":         {"fenced", "http://shop.example/", "", model.ViaNative, model.CulpritZone, "The zone, at this site: with the proxy login zone fenced", 2},
		"a site that refuses":        {"plain", "http://club.example/", "reader", model.ViaAPI, model.CulpritSite, "The site: with key reader zone plain fetches a good page, and this one is refused to zone fenced too (access restricted).", 2},
		"the site by Native":         {"plain", "http://club.example/", "", model.ViaNative, model.CulpritSite, "The site: with the proxy login", 2},
	} {
		t.Run(name, func(t *testing.T) {
			kept = nil
			z, _ := p.Zone(c.zone)
			subject, err := ft.Fetch(t.Context(), model.FetchRequest{Zone: z, URL: c.url, Via: c.via, Key: c.key}, nil)
			if err != nil || subject.Diagnosis.Class != model.ClassAccessRestricted {
				t.Fatalf("%+v, %v", subject.Diagnosis, err)
			}
			plan, err := ft.Plan(t.Context(), model.Preset{Kind: model.CompareRefusal, Subject: subject, Keys: keys}, model.FetchRequest{})
			noerr.Must(t, err)
			var told []string
			got, err := ft.Compare(t.Context(), plan, func(i int, c model.Cell) {
				if c.Label != plan.Cells[i].Label {
					t.Errorf("cell %d is told as %s", i, c.Label)
				}
				if c.Active {
					told = append(told, string(c.Label))
				}
			})
			v := got.Verdict()
			if err != nil || v.Culprit != c.want || !strings.HasPrefix(v.Text, c.says) {
				t.Errorf("%q, %v: %s", v.Culprit, err, v.Text)
			}
			if len(told) != c.sent || len(kept) != c.sent+1 {
				t.Errorf("%v were sent, and the history has %v; want %d", told, kept, c.sent)
			}
			for _, q := range got.Cells {
				if (len(q.Runs) == 0) == (q.Problem == "") || len(q.Runs) > 0 && q.Runs[0].Attempts != 1 {
					t.Errorf("%+v", q)
				}
			}
			if len(plan.Cells[1].Runs) != 0 {
				t.Error("the plan was changed")
			}
		})
	}
}

func TestARefusalUsesAKeyWhoseValueCanBeGotAndADMINOnlyIfChosen(t *testing.T) {
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { t.Error("a plan sends something") })
	missing := errors.New("no such variable")
	ft := newFetcher(t, p, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, KeyBy: func(name string) (model.Key, bool) { return model.Key{Name: name, Secret: "env:" + name}, true }}
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(_ context.Context, ref string) (keystore.Secret, error) {
			if ref == "env:gone" {
				return keystore.Secret{}, missing
			}
			return keystore.NewSecret("value"), nil
		}}
	})
	subject := model.FetchResult{KeyName: "first", Request: askFor(p, "unlocker1")}
	keys := []model.Key{{Name: "gone", Level: model.LevelUser, Secret: "env:gone"}, {Name: "root", Level: model.LevelAdmin, Secret: "env:root"}, {Name: "there", Level: model.LevelUser, Secret: "env:there"}}
	other := func(p model.Preset) model.Cell {
		t.Helper()
		p.Kind, p.Subject = model.CompareRefusal, subject
		plan, err := ft.Plan(t.Context(), p, model.FetchRequest{})
		noerr.Must(t, err)
		return plan.Cells[3]
	}
	if got := other(model.Preset{Keys: keys}); got.Key != "there" || got.Problem != "" {
		t.Errorf("%+v", got)
	}
	if got := other(model.Preset{Keys: keys, OtherKey: "root"}); got.Key != "root" || got.Problem != "" {
		t.Errorf("%+v", got)
	}
	if got := other(model.Preset{Keys: keys, OtherKey: "gone"}); !strings.Contains(got.Problem, "no such variable") {
		t.Errorf("%+v", got)
	}
	if got := other(model.Preset{Keys: keys[:2]}); !strings.Contains(got.Problem, "the value of key gone cannot be used") {
		t.Errorf("%+v", got)
	}
}

func TestARefusalEndsWithItsCallersContext(t *testing.T) {
	why := errors.New("the operator left")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := servicetest.API(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel(why)
		<-r.Context().Done()
	})
	ft := newFetcher(t, p)
	plan, err := ft.Plan(t.Context(), model.Preset{
		Kind: model.CompareRefusal, Subject: model.FetchResult{KeyName: p.Key, Request: askFor(p, "unlocker1")}, GoodPage: "http://good.example/",
	}, model.FetchRequest{})
	noerr.Must(t, err)
	if _, err := ft.Compare(ctx, plan, nil); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
