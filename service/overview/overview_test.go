package overview

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func configOf(p model.Profile, demo *servicetest.Demo) Config {
	source := servicetest.SourceFor(p)
	if demo != nil {
		source = demo.Source(p)
	}
	return Config{Source: source, Wire: exchange.New(exchange.Config{}), Now: time.Now}
}

func TestTheEmulatorsAccountIsShown(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	cfg := configOf(demo.Profile, &demo)
	acc, err := cfg.GetAccount(t.Context(), "finance-review")
	if err != nil || acc.ID != demo.Profile.Account || !acc.Active || acc.BalanceProblem+acc.ZonesProblem != "" || acc.Balance.Dollars != 100 || acc.Balance.Pending == nil || len(acc.Zones) != len(demo.Profile.Zones) {
		t.Errorf("%+v, %v", acc, err)
	}
	acc, err = cfg.GetAccount(t.Context(), "batch-user")
	if err != nil || acc.ID == "" || !strings.Contains(acc.BalanceProblem, "403") || !strings.Contains(acc.ZonesProblem, "billing") {
		t.Errorf("by USER: %+v, %v", acc, err)
	}
	sets, skipped, err := cfg.Datasets(t.Context(), "batch-user", "")
	if err != nil || skipped != 0 || len(sets) < 5 || sets[0].ID == "" || sets[0].Name == "" || sets[0].Records == nil {
		t.Errorf("%+v, %d, %v", sets, skipped, err)
	}
	if jobs, _, err := cfg.RemoteJobs(t.Context(), cfg.Source, "batch-user", "gd_products", 10); err != nil || len(jobs) != 0 {
		t.Errorf("%+v, %v", jobs, err)
	}
	if _, _, err := cfg.RemoteJobs(t.Context(), cfg.Source, "batch-user", "", 10); !errors.Is(err, model.ErrRequest) {
		t.Errorf("of no data set: %v", err)
	}
}

func TestTheMoneyOfThisMonthIsShownByDay(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	cfg := configOf(demo.Profile, &demo)
	m, err := cfg.GetMoney(t.Context(), []model.Key{{Name: "finance-review", Level: model.LevelFinance}})
	now := time.Now().UTC()
	if err != nil || m.BalanceProblem+m.SpentProblem != "" || m.Balance.Dollars != 100 || len(m.Days) < now.Day()-1 || m.Days[0].Day.Day() != 1 || m.Spent != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := cfg.GetMoney(t.Context(), nil); !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), "batch-user is USER") || m.Days != nil {
		t.Errorf("by USER: %+v, %v", m, err)
	}
}

func TestMoneyIsAsTheServiceSaysIt(t *testing.T) {
	spent := `{"2026-11-02":{"a":1.5,"b":0.25},"2026-11-04":{"a":1},"total":{"a":2.5,"b":0.25}}`
	var asked []string
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, spent)
	})
	p.Dialect = dialect.Embedded().Name()
	cfg := configOf(p, nil)
	cfg.Source = servicetest.Source{Base: cfg.Source, KeyBy: func(string) (model.Key, bool) {
		return model.Key{Name: "books", Level: model.LevelFinance, Secret: "env:KEY"}, true
	}}
	cfg.Now = func() time.Time { return time.Date(2026, 11, 4, 23, 0, 0, 0, time.UTC) }
	m, err := cfg.GetMoney(t.Context(), nil)
	if err != nil || !strings.Contains(m.BalanceProblem, "403") || len(m.Days) != 4 || m.Days[1].Dollars != 1.75 || m.Days[3].Dollars != 1 || m.Days[0].Dollars != 0 || m.Spent != 2.75 {
		t.Errorf("%+v, %v", m, err)
	}
	if want := `POST /costs/export/json {"dimension":"zones","from":"2026-11-01","to":"2026-11-05"}`; len(asked) != 2 || asked[1] != want {
		t.Errorf("%q, want %q", asked, want)
	}
	for _, spent = range []string{`[]`, `null`, `{"soon":{"a":1}}`, `{"2026-11-02":{"a":-1}}`, `{"2026-11-02":{"a":"1"}}`} {
		if m, err := cfg.GetMoney(t.Context(), nil); err != nil || m.SpentProblem == "" || m.Days != nil || m.Spent != 0 {
			t.Errorf("%s: %+v, %v", spent, m, err)
		}
	}
}

// A refusal says which keys may read the money, but for one of these, and nothing else does.
func TestOnlyARefusalByLevelSaysWhichKeysMayReadTheMoney(t *testing.T) {
	status := 0
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no")
	})
	p.Dialect = dialect.Embedded().Name()
	cfg, level := configOf(p, nil), model.LevelUnknown
	cfg.Source = servicetest.Source{Base: cfg.Source, KeyBy: func(string) (model.Key, bool) {
		return model.Key{Name: "new", Level: level, Secret: "env:KEY"}, true
	}}
	for _, c := range []struct {
		status int
		level  model.Level
		want   string
	}{
		{403, model.LevelUnknown, "HTTP 403: no; keys of level FINANCE and ADMIN may read it"},
		{403, model.LevelFinance, "HTTP 403: no"},
		{503, model.LevelUnknown, "HTTP 503: no"},
		{503, model.LevelFinance, "HTTP 503: no"},
	} {
		status, level = c.status, c.level
		m, err := cfg.GetMoney(t.Context(), nil)
		if err != nil || m.BalanceProblem != "the balance: "+c.want || m.SpentProblem != "what was spent: "+c.want {
			t.Errorf("%d by %s: %q, %q, %v; want %q", c.status, c.level, m.BalanceProblem, m.SpentProblem, err, c.want)
		}
	}
}

func TestAnswersOfEveryKindAreToldApart(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) {}
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	p.Dialect = dialect.Embedded().Name()
	cfg := configOf(p, nil)
	says := func(status int, text string) {
		answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, text) }
	}
	for _, c := range []struct {
		status int
		body   string
		class  model.Class
		want   string
	}{
		{200, `[{"id":"a/b","name":"x"},{"id":"gd_1","name":"One \u001b[31m","size":-4}]`, "", ""},
		{200, `{"datasets":[]}`, model.ClassOutside, "not a list"},
		{200, `[` + strings.Repeat(" ", answerBytes), model.ClassOutside, "longer than"},
		{401, "Invalid credentials", model.ClassOutside, "HTTP 401: Invalid credentials"},
		{403, "Access denied.", model.ClassAccessRestricted, "HTTP 403"},
		{429, "", model.ClassTooFast, "HTTP 429"},
		{500, "Internal server error", model.ClassOutside, "HTTP 500"},
		{302, "", model.ClassOutside, "HTTP 302"},
	} {
		says(c.status, c.body)
		sets, skipped, err := cfg.Datasets(t.Context(), "", "")
		if c.class == "" {
			if err != nil || skipped != 1 || len(sets) != 1 || sets[0].ID != "gd_1" || sets[0].Records != nil || strings.Contains(sets[0].Name, "\x1b") {
				t.Errorf("%+v, %d, %v", sets, skipped, err)
			}
			continue
		}
		var call *exchange.CallError
		if !errors.As(err, &call) || call.Diagnosis.Class != c.class || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %.40s: %v", c.status, c.body, err)
		}
		if _, err := cfg.GetAccount(t.Context(), ""); !errors.As(err, &call) {
			t.Errorf("%d %.40s: the account: %v", c.status, c.body, err)
		}
	}
	answer = func(w http.ResponseWriter, r *http.Request) { // it repeats the key
		_, _ = io.WriteString(w, `[{"id":"gd_1","name":"`+r.Header.Get("Authorization")+`"}]`)
	}
	sets, _, err := cfg.Datasets(t.Context(), "", "")
	if err != nil || len(sets) != 1 {
		t.Fatalf("%+v, %v", sets, err)
	}
	servicetest.NoSecret(t, "a data set", sets[0].Name)
	answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	var call *exchange.CallError
	if _, _, err := cfg.Datasets(t.Context(), "", ""); !errors.As(err, &call) || call.Status != 0 || call.Diagnosis.Cause != model.CauseNetwork {
		t.Errorf("a broken call: %+v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := cfg.Datasets(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	p.Dialect = ""
	if _, _, err := configOf(p, nil).Datasets(t.Context(), "", ""); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("by the contract alone: %v", err)
	}
}

func TestAListWithoutCountsIsStillAList(t *testing.T) {
	counts := `[{"id":"gd_1","size":7},{"id":"gd_2","size":-4}]`
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/datasets/list" {
			_, _ = io.WriteString(w, counts)
			return
		}
		_, _ = io.WriteString(w, `[{"id":"gd_1"},{"id":"gd_2"}]`)
	})
	p.Dialect = dialect.Embedded().Name()
	sets, _, err := configOf(p, nil).Datasets(t.Context(), "", "")
	if err != nil || len(sets) != 2 || sets[0].Records == nil || *sets[0].Records != 7 || sets[1].Records != nil {
		t.Errorf("%+v, %v", sets, err)
	}
	counts = "{}"
	sets, _, err = configOf(p, nil).Datasets(t.Context(), "", "")
	if call := (*exchange.CallError)(nil); !errors.As(err, &call) || len(sets) != 2 {
		t.Errorf("without counts: %+v, %v", sets, err)
	}
}

func TestWhatIsPendingHasTwoNames(t *testing.T) {
	d := dialect.Embedded()
	for body, want := range map[string]float64{`{"balance":1,"pending_costs":2}`: 2, `{"balance":1,"pending_balance":3}`: 3, `{"balance":1,"pending_costs":0,"pending_balance":3}`: 0} {
		if b, err := d.ReadBalance([]byte(body)); err != nil || b.Pending == nil || *b.Pending != want {
			t.Errorf("%s: %+v, %v", body, b, err)
		}
	}
	for _, body := range []string{`{}`, `{"balance":"1"}`, `[]`, ``} {
		if b, err := d.ReadBalance([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, b)
		}
	}
}

func TestACallThatFailsHasItsEvidence(t *testing.T) {
	const path = "/datasets/v3/scrapers"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		class  model.Class
		cause  model.Cause
		after  time.Duration
		want   []string
	}{
		"too fast": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "slow down")
		}, model.ClassTooFast, "", 90 * time.Second, []string{
			"429 Too Many Requests from the service", "the service says: slow down", "retry-after: 90", "the answer asks to wait 1m30s",
			"answer 1 of HTTP 429 from it to this run of zonedeck within 5 minutes; at 20 nothing more is sent for a while",
			"25 answers of HTTP 429 within 5 minutes block the caller's address on every API until a person lifts it: public documentation of a service of this kind says so; the contract asks to back off and shows no limit (contract 7, 8)",
		}},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "[{}")
		}, model.ClassOutside, model.CauseIncomplete, 0, []string{
			"200 OK from the service", "reset (at the service) the answer broke off after 3 bytes: unexpected EOF", "the body ended after 3 bytes, before it was complete",
		}},
		"dropped": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, model.ClassOutside, model.CauseNetwork, 0, []string{
			"reset (at the service) GET " + path + ": EOF",
		}},
		"another shape": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, model.ClassOutside, model.CauseNetwork, 0, []string{
			"malformed (at the service) the answer is not a list of scrapers",
		}},
	} {
		p := servicetest.API(t, c.answer)
		p.Dialect = dialect.Embedded().Name()
		_, _, err := configOf(p, nil).Datasets(t.Context(), "", "")
		var call *exchange.CallError
		if !errors.As(err, &call) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, e := range call.Diagnosis.Evidence {
			got = append(got, e.Text)
		}
		if d := call.Diagnosis; d.Class != c.class || d.Cause != c.cause || call.After != c.after || len(d.Steps) == 0 || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v\n%q", name, call, got)
		}
	}
}
