package rehearsal_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Client of a running emulator.
type rig struct {
	*rehearsal.Client
	t     *testing.T
	ready emulator.Ready
}

func start(t *testing.T) *rig {
	t.Helper()
	server, err := emulator.Start(t.Context(), emulator.Options{ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, server.Shutdown(context.WithoutCancel(t.Context()))) })
	r := server.Ready()
	return &rig{t: t, ready: r, Client: client(rehearsal.Place{URL: r.Control, Token: keystore.NewSecret(r.ControlToken)})}
}

func client(p rehearsal.Place) *rehearsal.Client {
	return rehearsal.New(func(context.Context) (rehearsal.Place, error) { return p, nil })
}

// fetch asks for a page by the API and gives the status of the answer.
func (g *rig) fetch(page string) int {
	g.t.Helper()
	body := `{"zone":"datacenter_demo","url":"http://lab.test` + page + `","format":"raw"}`
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.ready.API+"/request", strings.NewReader(body))
	noerr.Must(g.t, err)
	for _, k := range g.ready.Keys {
		if k.Name == "batch-user" {
			req.Header.Set("Authorization", "Bearer "+k.Value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestTimeIsMovedForwardAndNeverBack(t *testing.T) {
	g := start(t)
	before, err := g.Time(t.Context())
	if err != nil || before.Ahead != 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	week := 7 * 24 * time.Hour
	after, err := g.Advance(t.Context(), week)
	if err != nil || after.Ahead != week || after.Now.Sub(before.Now) < week {
		t.Errorf("%+v, %v", after, err)
	}
	var refused *rehearsal.RefusedError
	if _, err := g.Advance(t.Context(), -time.Hour); !errors.As(err, &refused) || !strings.Contains(err.Error(), "never goes back") {
		t.Errorf("back: %v", err)
	}
	if _, err := g.Advance(t.Context(), 200*365*24*time.Hour); !errors.As(err, &refused) {
		t.Errorf("too far: %v", err)
	}
}

func TestAFaultIsAddedCountsAndIsRemoved(t *testing.T) {
	g := start(t)
	added, err := g.AddFault(t.Context(), rehearsal.Rule{Point: "api", Action: "status", Fields: map[string]string{
		"status": "503", "zone": "datacenter_demo", "times": "1", "path": "",
	}})
	if err != nil || added.ID == "" || added.Scope() != "zone=datacenter_demo times=1" || added.Effect() != "status=503" {
		t.Fatalf("%+v, %v", added, err)
	}
	if first, second := g.fetch("/ok"), g.fetch("/ok"); first != http.StatusServiceUnavailable || second != http.StatusOK {
		t.Errorf("answers %d, %d", first, second)
	}
	list, err := g.Faults(t.Context())
	if err != nil || len(list) != 1 || list[0].Calls != 2 || list[0].Hits != 1 || list[0].Off || list[0].Added.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if now, err := g.Time(t.Context()); err != nil || now.Faults != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	noerr.Want(t, g.TurnFault(t.Context(), added.ID, false))
	if list, err = g.Faults(t.Context()); err != nil || !list[0].Off {
		t.Errorf("%+v, %v", list, err)
	}
	if now, err := g.Time(t.Context()); err != nil || now.Faults != 0 {
		t.Errorf("it is off: %+v, %v", now, err)
	}
	noerr.Want(t, g.RemoveFault(t.Context(), added.ID))
	var refused *rehearsal.RefusedError
	if err := g.RemoveFault(t.Context(), added.ID); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("removed twice: %v", err)
	}
}

func TestARequestNamesTheFaultsThatHitIt(t *testing.T) {
	g := start(t)
	for _, r := range []rehearsal.Rule{
		{Point: "target", Action: "status", Fields: map[string]string{"id": "at-target", "status": "503"}},
		{Point: "api", Action: "latency", Fields: map[string]string{"id": "at-api", "delay": "1ms"}},
	} {
		noerr.Must(t, noerr.From(g.AddFault(t.Context(), r)))
	}
	g.fetch("/ok")
	page, err := g.Newest(t.Context(), 1)
	if err != nil || len(page.Requests) != 1 || page.Requests[0].Fault != "at-api, at-target" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestEveryPresetIsTakenByTheEmulator(t *testing.T) {
	g := start(t)
	for _, p := range rehearsal.Presets() {
		if _, err := g.AddFault(t.Context(), p.Rule); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// Points, actions and their values are written on both sides of the wire: the emulator
// has to know each of them.
func TestEveryActionAndItsValuesAreKnownToTheEmulator(t *testing.T) {
	g := start(t)
	value := map[string]string{
		"status": "503", "retry_after": "2s", "code": "reject_block", "message": "no", "after": "10", "pause": "10ms",
		"chunk": "2", "rate": "100", "copies": "2", "accepted": "true",
	}
	for _, point := range rehearsal.Points() {
		for _, action := range (rehearsal.Rule{Point: point}).Actions() {
			r := rehearsal.Rule{Point: point, Action: action, Fields: map[string]string{"delay": "1s"}}
			for _, name := range r.Values() {
				r.Fields[name] = value[name]
			}
			if _, err := g.AddFault(t.Context(), r); err != nil {
				t.Errorf("%s at %s: %v", action, point, err)
			}
		}
	}
}

func TestRefusedFaultsSayWhy(t *testing.T) {
	g := start(t)
	for name, tt := range map[string]struct {
		rule rehearsal.Rule
		want string
	}{
		"text for a number": {rehearsal.Rule{Point: "api", Action: "status", Fields: map[string]string{"status": "many"}}, `status: "many" is not a whole number`},
		"no probability":    {rehearsal.Rule{Point: "api", Action: "drop", Fields: map[string]string{"probability": "x"}}, `probability: "x" is not a number from 0 to 1`},
		"no such action":    {rehearsal.Rule{Point: "job", Action: "captcha"}, "is not an action of the job"},
		"a missing value":   {rehearsal.Rule{Point: "api", Action: "latency"}, "has no delay"},
	} {
		if _, err := g.AddFault(t.Context(), tt.rule); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestsAreReadAndFollowed(t *testing.T) {
	g := start(t)
	g.fetch("/ok")
	page, err := g.Newest(t.Context(), 10)
	if err != nil || len(page.Requests) != 1 || page.Last != page.Requests[0].Seq {
		t.Fatalf("%+v, %v", page, err)
	}
	r := page.Requests[0]
	if r.Point != "api" || r.Method != http.MethodPost || r.URL != "/request" || r.Zone != "datacenter_demo" || r.Key != "batch-user" ||
		r.Status != 200 || r.Target != "http://lab.test/ok" || !strings.Contains(r.Body, "lab.test/ok") || r.Duration() <= 0 {
		t.Errorf("%+v", r)
	}
	if r.Header["Authorization"] != "Bearer ****" {
		t.Errorf("the key is shown: %v", r.Header)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	enough := errors.New("enough")
	var seen []string
	g.fetch("/json")
	err = g.Follow(ctx, page.Last, func(r rehearsal.Request, _ uint64) error {
		seen = append(seen, r.Target)
		if len(seen) == 2 {
			return enough
		}
		g.fetch("/empty") // arrives while the journal is followed
		return nil
	})
	if !errors.Is(err, enough) || strings.Join(seen, " ") != "http://lab.test/json http://lab.test/empty" {
		t.Errorf("%v, %v", seen, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := g.Follow(ended, 0, func(rehearsal.Request, uint64) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAWrongTokenAndADeadEmulatorAreReported(t *testing.T) {
	g := start(t)
	var refused *rehearsal.RefusedError
	wrong := client(rehearsal.Place{URL: g.ready.Control, Token: keystore.NewSecret("not-the-token")})
	if _, err := wrong.Time(t.Context()); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), "control token") {
		t.Errorf("a wrong token: %v", err)
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	if _, err := client(rehearsal.Place{URL: dead.URL}).Time(t.Context()); !errors.Is(err, rehearsal.ErrNoAnswer) {
		t.Errorf("nobody there: %v", err)
	}
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 2<<20) + "\n")) // a line longer than the bound
	}))
	defer strange.Close()
	if _, err := client(rehearsal.Place{URL: strange.URL}).Time(t.Context()); err == nil {
		t.Error("what is not JSON was taken")
	}
	if err := client(rehearsal.Place{URL: strange.URL}).Follow(t.Context(), 0, func(rehearsal.Request, uint64) error { return nil }); !errors.Is(err, rehearsal.ErrNoAnswer) {
		t.Errorf("an endless line: %v", err)
	}
}

func TestABodyIsSentAsJSON(t *testing.T) {
	kinds := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kinds[r.Method] = r.Header.Get("Content-Type")
		_, _ = w.Write([]byte(`{"now":"2026-11-21T12:00:00Z","offset":"0s"}`))
	}))
	defer s.Close()
	c := client(rehearsal.Place{URL: s.URL})
	noerr.Must(t, noerr.From(c.Time(t.Context())))
	noerr.Must(t, noerr.From(c.Advance(t.Context(), time.Hour)))
	if kinds[http.MethodGet] != "" || kinds[http.MethodPost] != "application/json" {
		t.Errorf("content types %v", kinds)
	}
}
