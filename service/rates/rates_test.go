package rates

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEmulatorsCostsGiveTheRateThatItCharges(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	p := demo.Profile
	source := demo.Source(p)
	cfg := Config{Source: source, Wire: exchange.New(exchange.Config{})}
	ft := fetch.New(fetch.Config{Source: source, Wire: cfg.Wire})
	r, err := ft.Fetch(t.Context(), model.FetchRequest{URL: "http://lab.test/ok", Zone: servicetest.Zone(p, "unlocker_demo"), Via: model.ViaAPI}, nil)
	if err != nil || !r.Diagnosis.OK() {
		t.Fatalf("%+v, %v", r.Diagnosis, err)
	}
	costs, err := Measure(t.Context(), cfg, "finance-review")
	if err != nil || len(costs) != len(p.Zones) {
		t.Fatalf("%+v, %v", costs, err)
	}
	for _, c := range costs {
		if c.Zone.Name == "unlocker_demo" {
			if c.Rate != (model.Rate{Per1000: 1.5}) || c.Requests != 1 || c.Dollars != 0.0015 {
				t.Errorf("%+v", c)
			}
		} else if c.Rate.Priced() || c.Problem == "" {
			t.Errorf("%+v", c)
		}
	}
	if _, err := Measure(t.Context(), cfg, "ops-zones"); !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), "FINANCE or ADMIN") {
		t.Errorf("by OPS: %v", err)
	}
}

func TestWhatCannotBeAskedForIsRefusedBeforeAnythingIsSent(t *testing.T) {
	sent, answer, status := 0, "", http.StatusOK
	base := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	p, level := base, model.LevelFinance
	source := servicetest.Source{
		ProfileBy: func(context.Context) (model.Profile, error) { return p, nil },
		KeyBy: func(name string) (model.Key, bool) {
			return model.Key{Name: name, Level: level, Secret: "env:KEY"}, true
		},
		SecretBy: servicetest.Secret,
	}
	cfg := Config{Source: source, Wire: exchange.New(exchange.Config{})}
	for want, change := range map[string]func(){
		"the contract shows no call": func() { p.Dialect = "" },
		"no base_url":                func() { p.BaseURL = "" },
		"names no zones":             func() { p.Zones = nil },
		"USER, which has no access":  func() { level = model.LevelUser },
		"LIMIT, which has no access": func() { level = model.LevelLimit },
	} {
		p, level = base, model.LevelFinance
		change()
		if _, err := Measure(t.Context(), cfg, ""); !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), want) || sent != 0 {
			t.Errorf("%v after %d calls, want %q", err, sent, want)
		}
	}
	p, level, status = base, model.LevelUnknown, http.StatusForbidden
	answer = "no for " + servicetest.KeyValue
	_, err := Measure(t.Context(), cfg, "")
	if !errors.Is(err, ErrRefused) || sent != 1 || strings.Contains(err.Error(), servicetest.KeyValue) {
		t.Errorf("refused: %v after %d calls", err, sent)
	}
	status = http.StatusUnprocessableEntity
	costs, err := Measure(t.Context(), cfg, "")
	if err != nil || len(costs) != 3 || !strings.Contains(costs[0].Problem, "422") || strings.Contains(costs[0].Problem, servicetest.KeyValue) {
		t.Errorf("unknown: %+v, %v", costs, err)
	}
	status = http.StatusOK
	if costs, err = Measure(t.Context(), cfg, ""); err != nil || costs[0].Problem == "" || costs[0].Rate.Priced() {
		t.Errorf("another shape: %+v, %v", costs, err)
	}
	p.BaseURL = "http://127.0.0.1:1"
	if _, err = Measure(t.Context(), cfg, ""); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("nobody there: %v", err)
	}
	source.SecretBy = func(context.Context, string) (keystore.Secret, error) {
		return keystore.Secret{}, keystore.ErrSecretMissing
	}
	if _, err = Measure(t.Context(), Config{source, cfg.Wire}, ""); !errors.Is(err, keystore.ErrSecretMissing) {
		t.Errorf("without its value: %v", err)
	}
}

func TestMoneyIsAskedForByAKeyThatMaySeeIt(t *testing.T) {
	user, boss, books := model.Key{Name: "daily", Level: model.LevelUser}, model.Key{Name: "boss", Level: model.LevelAdmin}, model.Key{Name: "books", Level: model.LevelFinance}
	for name, c := range map[string]struct {
		own  model.Key
		keys []model.Key
		want string
	}{
		"the profile's may":          {boss, []model.Key{books, boss}, "boss"},
		"its level is not known":     {model.Key{Name: "new"}, []model.Key{books}, "new"},
		"a FINANCE key in its place": {user, []model.Key{boss, user, books}, "books"},
		"the profile has none":       {model.Key{}, []model.Key{boss, books}, "books"},
		"nor is there a FINANCE key": {model.Key{}, []model.Key{boss}, ""},
		"never ADMIN by itself":      {user, []model.Key{boss, user}, "daily"},
	} {
		if got := KeyFor(c.own, c.keys); got.Name != c.want {
			t.Errorf("%s: %s, want %s", name, got.Name, c.want)
		}
	}
}
