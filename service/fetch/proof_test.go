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
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/servicetest"
)

func TestAKeyIsProvedByOneCall(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	ft := New(Config{Source: demo.Source(demo.Profile), Wire: exchange.New(exchange.Config{})})
	before := ft.cfg.Wire.Spent()
	right, err := demo.Secret(t.Context(), "demo:key/ci-fetch")
	noerr.Must(t, err)
	k := model.Key{Name: "not-recorded", Secret: "env:NOT_SET"}
	res, err := ft.ProveKey(t.Context(), demo.Profile, "", k, right, "the rotation of etl, create")
	if err != nil || !res.Diagnosis.OK() || res.ServiceStatus != http.StatusOK || len(res.Attempts) != 1 || res.KeyName != "not-recorded" || res.Proves != "the rotation of etl, create" {
		t.Errorf("the right value: %+v, %v", res.Diagnosis, err)
	}
	if now := ft.cfg.Wire.Spent(); now.Priced+now.Unpriced != before.Priced+before.Unpriced+1 {
		t.Errorf("the call that proved it is not counted: %+v, then %+v", before, now)
	}
	res, err = ft.ProveKey(t.Context(), demo.Profile, "", k, keystore.NewSecret("another-value"), "")
	if err != nil || res.Diagnosis.Cause != model.CauseKeyRejected || res.ServiceStatus != http.StatusUnauthorized {
		t.Errorf("another value: %+v, %v", res.Diagnosis, err)
	}
}

// A proof without a result is marked, too: one that was given up, and, before it is sent, one whose process may be killed.
func TestAProofWithoutAResultIsMarked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := servicetest.API(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the other side has left
		cancel()
		<-r.Context().Done()
	})
	p.Dialect = "brightdata"
	change, j, _ := withJournal(t)
	ft := newFetcher(t, p, change)
	departed := &departedLine{Journal: j}
	ft.cfg.Journal = departed
	if _, err := ft.ProveKey(ctx, p, "", model.Key{Name: "etl", Secret: "env:NOT_SET"}, keystore.NewSecret("a-value"), "the rotation of etl, step create"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("timeline %+v: %v", list, err)
	}
	for what, a := range map[string]model.HistoryEntry{"departed": departed.line, "given up": list[0]} {
		if a.Source != model.SourceRotation || !strings.HasPrefix(a.Text, "Proof for the rotation of etl, step create. ") {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

// departedLine keeps the line of the last call that was about to be sent.
type departedLine struct {
	*journal.Journal
	line model.HistoryEntry
}

func (d *departedLine) Depart(id string, a model.HistoryEntry) (func(), error) {
	d.line = a
	return d.Journal.Depart(id, a)
}

// A profile that no page can be fetched with proves its key by the account's status.
func TestAKeyOfJobsAloneIsProvedByTheAccountsStatus(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	p := demo.Profile
	p.Zones = nil
	noerr.Must(t, (&Fetcher{}).Provable(p))
	for name, change := range map[string]func(p *model.Profile){
		"no such call":  func(p *model.Profile) { p.Dialect = "documented" },
		"no address":    func(p *model.Profile) { p.BaseURL = "" },
		"no such words": func(p *model.Profile) { p.Dialect = "none" },
	} {
		other := p
		change(&other)
		if err := (&Fetcher{}).Provable(other); err == nil {
			t.Errorf("%s: it can be proved", name)
		}
	}
	j, _ := servicetest.Journal(t)
	ft := New(Config{Source: demo.Source(demo.Profile), Wire: exchange.New(exchange.Config{}), Journal: j})
	right, err := demo.Secret(t.Context(), "demo:key/ci-fetch")
	noerr.Must(t, err)
	k := model.Key{Name: "jobs", Secret: "env:NOT_SET"}
	const of = "the rotation of jobs, step create"
	res, err := ft.ProveKey(t.Context(), p, "", k, right, of)
	if err != nil || !res.Diagnosis.OK() || res.ServiceStatus != http.StatusOK || res.CostWords() != model.NoZone {
		t.Errorf("the right value: %+v, %v", res, err)
	}
	k.Name = model.OldValueOf("jobs")
	res, err = ft.ProveKey(t.Context(), p, "", k, keystore.NewSecret("another-value"), "the rotation of jobs, step refused")
	if err != nil || res.Diagnosis.Cause != model.CauseKeyRejected || res.ServiceStatus != http.StatusUnauthorized {
		t.Errorf("another value: %+v, %v", res.Diagnosis, err)
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []model.HistoryEntry{{Status: http.StatusUnauthorized, Cause: model.CauseWanted}, {Status: http.StatusOK}} {
		if words := list[i].CostWords(); words != model.NoZone {
			t.Errorf("its cost reads %q", words)
		}
		if a := list[i]; a.Source != model.SourceRotation || a.Status != want.Status || a.Cause != want.Cause || !strings.HasSuffix(a.URL, "/status") || model.PlainName(a.Key) != "jobs" {
			t.Errorf("%+v, want %+v", a, want)
		}
	}
	page := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>sign in</html>")) })
	page.Dialect, page.Zones = p.Dialect, nil
	if res, err := ft.ProveKey(t.Context(), page, "", k, right, of); err == nil {
		t.Errorf("a page of another is a proof: %+v", res)
	}
}

func TestWhatAKeyIsProvedBy(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	if r, err := proofCall(p); err != nil || r.Zone.Name != "unlocker1" || r.Via != model.ViaAPI || r.Retries != 0 || r.URL == "" {
		t.Errorf("%+v, %v", r, err)
	}
	for want, change := range map[string]func(p *model.Profile){
		"the contract shows no test page: give profile test a test_url, and the test_text that it shows": func(p *model.Profile) { p.Dialect = "documented" },
		"profile test names no zone of a proxy network or the unlocker":                                  func(p *model.Profile) { p.Zones = p.Zones[2:] },
		`dialect "none" is not known`: func(p *model.Profile) { p.Dialect = "none" },
	} {
		p := servicetest.Profile("http://api.test")
		change(&p)
		if r, err := proofCall(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, r, err)
		}
	}
}

// The logins by which a rotation proves the passwords of a zone are lines of the history; others of the kind are not.
func TestAPasswordsProofsAreLinesOfTheHistory(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	change, j, _ := withJournal(t)
	conf := Config{Source: demo.Source(demo.Profile), Wire: exchange.New(exchange.Config{})}
	change(&conf)
	ft := New(conf)
	z, _ := demo.Profile.Zone("isp_demo")
	right, err := demo.Secret(t.Context(), z.Password)
	noerr.Must(t, err)
	wrong := keystore.NewSecret("another-password-01")
	for _, l := range []exchange.LoginProof{
		{Password: right, Proves: "a step, create"}, {Password: wrong, Proves: "a step, refused", Refusal: true}, {Password: wrong, Proves: "a step, test"}, {Password: right},
	} {
		res, err := ft.ProvePasswordAs(t.Context(), demo.Profile, z, l)
		if err != nil || res.Diagnosis.OK() != l.Password.Equal(right) || !res.Diagnosis.OK() && res.Diagnosis.Cause != model.CauseLoginRejected {
			t.Errorf("%+v: %+v, %v", l, res.Diagnosis, err)
		}
	}
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	noerr.Must(t, err)
	want := []struct {
		begins string
		class  model.Class
		cause  model.Cause
		status int
	}{
		{"Proof for a step, test. ", model.ClassOutside, model.CauseLoginRejected, http.StatusProxyAuthRequired},
		{"Proof for a step, refused. The login is refused, as this proof expects.", "", model.CauseWanted, http.StatusProxyAuthRequired},
		{"Proof for a step, create. ", model.ClassOK, "", http.StatusOK},
	}
	if len(lines) != len(want) {
		t.Fatalf("%+v", lines)
	}
	for i, a := range lines {
		w := want[i]
		if a.Kind != model.HistoryProbe || a.Source != model.SourceRotation || !strings.HasPrefix(a.Text, w.begins) || a.Class != w.class || a.Cause != w.cause || a.Status != w.status || a.Zone != "isp_demo" {
			t.Errorf("%+v, want %+v", a, w)
		}
	}
}

// A network that wants to be signed in to answers everything with 200: that accepts no key and no login.
func TestAProofIsTheTestPageAndNoOtherAnswer(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	body := ""
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	p.Dialect = "brightdata"
	ft := New(Config{Source: demo.Source(p), Wire: exchange.New(exchange.Config{})})
	for answer, ok := range map[string]bool{
		"<html><title>Welcome</title>sign in to the network, and read this long page</html>": false,
		`{"status":"active","customer":"hl_demo01"}`:                                         false,
		`{"country":"DE"}`: false,
		`{"country":"DE","asn":{"asnum":1},"geo":{"city":"Ulm"}}`: true,
	} {
		body = answer
		res, err := ft.ProveKey(t.Context(), p, "", model.Key{Name: "etl", Secret: "env:NOT_SET"}, keystore.NewSecret("a-value"), "")
		if err != nil || res.Diagnosis.OK() != ok || !ok && res.Diagnosis.Rule != "not_the_test_page" {
			t.Errorf("%s: %+v, %v", answer, res.Diagnosis, err)
		}
	}
	// A profile's own page proves by its text alone, in whatever form it is written, and not by a status.
	p.Dialect, p.TestURL, p.TestText = "documented", "https://own.example/", "Café & bar, open"
	p.Zones = []model.Zone{{Name: "z1"}}
	for answer, ok := range map[string]bool{
		`{"country":"DE","asn":{"asnum":1},"geo":{"city":"Ulm"}}`: false,
		"<title>Sign in</title> Café":                             false,
		"<p>Caf&eacute; &amp;\n   bar, open</p>":                  true,
	} {
		body = answer
		res, err := ft.ProveKey(t.Context(), p, "z1", model.Key{Name: "etl", Secret: "env:NOT_SET"}, keystore.NewSecret("a-value"), "")
		if err != nil || res.Diagnosis.OK() != ok || res.Request.URL != p.TestURL || !ok && res.Diagnosis.Rule != "not_the_test_page" {
			t.Errorf("%s: %+v, %v", answer, res.Diagnosis, err)
		}
	}
	z, _ := demo.Profile.Zone("isp_demo")
	password := noerr.Try(demo.Secret(t.Context(), z.Password)).Must(t)
	own := demo.Profile
	own.TestText = "a text that is nowhere"
	for _, path := range []string{"/ok", "/status/503"} { // a target's own error shows no text, either
		own.TestURL = "https://lab.test" + path
		ft := New(Config{Source: exchange.AsLogin(demo.Source(own), own, password), Wire: exchange.New(exchange.Config{}), proof: true})
		if res, err := ft.Probe(t.Context(), ProbeRequest{Zone: z, Rounds: 1}, nil); err != nil || res.Target != own.TestURL || res.Diagnosis.Rule != "not_the_test_page" {
			t.Errorf("%s: %+v, %v", path, res.Diagnosis, err)
		}
	}
	login := New(Config{Source: exchange.AsLogin(demo.Source(demo.Profile), demo.Profile, password), Wire: exchange.New(exchange.Config{}), proof: true})
	for target, ok := range map[string]bool{"": true, "https://lab.test/whoami": true, "https://lab.test/ok": false, "https://lab.test/json": false} {
		res, err := login.Probe(t.Context(), ProbeRequest{Zone: z, Target: target, Rounds: 1}, nil)
		if err != nil || res.Diagnosis.OK() != ok || !ok && res.Diagnosis.Rule != "not_the_test_page" {
			t.Errorf("%s: %+v, %v", target, res.Diagnosis, err)
		}
	}
}
