package emulator

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
)

type hook struct {
	header http.Header
	body   string
}

// hooks is a receiver on a loopback port, which answers the first requests as told.
type hooks struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []hook
}

func receiveHooks(t *testing.T, statuses ...int) *hooks {
	t.Helper()
	h := &hooks{statuses: statuses}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, hook{r.Header.Clone(), string(b)})
		if len(h.statuses) > 0 {
			w.WriteHeader(h.statuses[0])
			h.statuses = h.statuses[1:]
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) all() []hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hook(nil), h.got...)
}

type sent struct {
	Status   string
	Next     time.Time `json:"next_attempt"`
	Attempts []struct {
		Status       int
		Error, Fault string
	}
}

// sentBy asks for the deliveries of a snapshot until the only one is as wanted.
func (g *rig) sentBy(id string, ok func(sent) bool) sent {
	g.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		ds := decode[[]sent](g.t, g.do("GET", g.r.API+"/datasets/v3/deliveries?snapshot_id="+id, g.key("batch-user"), nil))
		if len(ds) == 1 && ok(ds[0]) {
			return ds[0]
		}
		select {
		case <-tick.C:
		case <-end:
			g.t.Fatalf("still %+v", ds)
		}
	}
}

func TestAWebhookIsSignedRetriedAndFollowsTheClock(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	h := receiveHooks(t, http.StatusBadGateway)
	s := scenario.Demo()
	s.WebhookSecret = secret
	g := start(t, Options{Scenario: s, AllowPrivate: []string{h.Listener.Addr().String()}})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL+"/in"), "http://lab.test/ok")
	g.sentBy(id, func(d sent) bool { return len(d.Attempts) == 1 && d.Attempts[0].Status == http.StatusBadGateway })
	if a := g.control("POST", "/time", map[string]string{"advance": "1h"}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	g.sentBy(id, func(d sent) bool { return d.Status == "done" })
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	got := h.all()
	if len(got) != 2 || got[1].body != `{"snapshot_id":"`+id+`","status":"ready"}` {
		t.Fatalf("%+v", got)
	}
	for _, one := range got {
		if err := wh.Verify([]byte(one.body), one.header); err != nil {
			t.Error(err)
		}
	}
}

func TestAWebhookReachesNoPrivateAddressUnasked(t *testing.T) {
	h := receiveHooks(t)
	var told bytes.Buffer
	g := start(t, Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL), "http://lab.test/ok")
	d := g.sentBy(id, func(d sent) bool { return len(d.Attempts) == 1 && d.Attempts[0].Error != "" })
	if len(h.all()) != 0 || d.Attempts[0].Status != 0 {
		t.Errorf("%+v", d)
	}
	got := g.control("GET", "/requests?point=webhook", nil)
	if !strings.Contains(got.body, `"code":"policy_20030"`) {
		t.Errorf("%+v", got)
	}
	if err := g.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(told.String(), "--allow-private "+h.Listener.Addr().String()) {
		t.Errorf("whoever runs the emulator is told %q", told.String())
	}
}

func TestAWebhookReachesThisMachineWhereItMay(t *testing.T) {
	h := receiveHooks(t)
	g := start(t, Options{LoopbackWebhooks: true})
	id := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL), "http://lab.test/ok")
	g.sentBy(id, func(d sent) bool { return d.Status == "done" })
	control := g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(g.Ready().Control), "http://lab.test/ok")
	g.sentBy(control, func(d sent) bool {
		return len(d.Attempts) == 1 && d.Attempts[0].Status == 0 && d.Attempts[0].Error != ""
	})
	lost := g.triggerWith("dataset_id=gd_pages&endpoint="+url.QueryEscape(h.URL), h.URL+"/page") // no target there
	g.sentBy(lost, func(d sent) bool { return d.Status == "done" })
	for _, one := range h.all() {
		if strings.Contains(one.header.Get("User-Agent"), "Mozilla") {
			t.Errorf("a target of this machine was fetched: %+v", one)
		}
	}
	if n := len(h.all()); n != 2 {
		t.Errorf("%d requests, want two webhooks", n)
	}
}

func TestFaultsOfWebhooksAndJobs(t *testing.T) {
	h := receiveHooks(t)
	s := scenario.Demo()
	s.Faults = []fault.Rule{
		{ID: "lost", Match: fault.Match{Point: fault.Webhook, Path: "/lost"}, Do: fault.Action{Kind: fault.Never}},
		{ID: "again", Match: fault.Match{Point: fault.Webhook, Path: "/again"}, Do: fault.Action{Kind: fault.Twice, Copies: 3}},
		{ID: "late", Match: fault.Match{Point: fault.Webhook, Path: "/late"}, Do: fault.Action{Kind: fault.Late, Delay: fault.Delay{Fixed: 5 * time.Minute}}},
		{ID: "fails", Match: fault.Match{Point: fault.Job, Dataset: "gd_reviews"}, Do: fault.Action{Kind: fault.Fail}},
	}
	g := start(t, Options{Scenario: s, AllowPrivate: []string{h.Listener.Addr().String()}})
	notify := func(path string) string {
		return g.triggerWith("dataset_id=gd_pages&notify="+url.QueryEscape(h.URL+path), "http://lab.test/ok")
	}
	g.sentBy(notify("/lost"), func(d sent) bool { return d.Status == "failed" && d.Attempts[0].Fault == "never" })
	if n := len(h.all()); n != 0 {
		t.Errorf("%d posts of a lost webhook", n)
	}
	g.sentBy(notify("/again"), func(d sent) bool { return d.Status == "done" })
	if n := len(h.all()); n != 3 {
		t.Errorf("%d posts, want 3", n)
	}
	late := notify("/late")
	g.until(late, ready)
	g.sentBy(late, func(d sent) bool {
		return d.Status == "running" && len(d.Attempts) == 0 && time.Until(d.Next) > 4*time.Minute
	})
	if a := g.control("POST", "/time", map[string]string{"advance": "5m"}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	g.sentBy(late, func(d sent) bool { return d.Status == "done" })
	if e := g.recorded("webhook", 4)[3]; e.URL != h.URL+"/late" || e.Status != 200 {
		t.Errorf("recorded %+v", e)
	}
	for id, want := range map[string]int64{"lost": 1, "again": 1, "late": 1} {
		if c, err := g.rehearsal.faults.Get(id); err != nil || c.Hits != want {
			t.Errorf("%s: %d hits, %v", id, c.Hits, err)
		}
	}

	id := g.trigger("gd_reviews", "http://lab.test/product/1")
	g.until(id, func(p progress) bool { return p.Status == "failed" })
	if a := g.do("GET", g.r.API+"/datasets/v3/progress/"+id, g.key("batch-user"), nil); !strings.Contains(a.body, `"error_message":"Something went wrong. Our team is looking into it."`) {
		t.Errorf("%+v", a)
	}
}

func TestACrawlLeavesThroughTheEmulator(t *testing.T) {
	g := start(t, Options{})
	id := g.triggerWith("dataset_id=gd_m6gjtfmeh43we6cqc&limit_per_input=5&custom_output_fields=url|markdown|html2text|page_html", "http://lab.test/site/")
	g.until(id, ready)
	type page struct {
		URL      string `json:"url"`
		Markdown string `json:"markdown"`
		Text     string `json:"html2text"`
		HTML     string `json:"page_html"`
	}
	pages := decode[[]page](t, g.download(id, ""))
	if len(pages) != 5 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, p := range pages {
		if !strings.HasPrefix(p.URL, "http://lab.test/site/") || !strings.Contains(p.Markdown, "# ") || p.Text == "" || !strings.Contains(p.HTML, "<h1>") {
			t.Errorf("%.200v", p)
		}
	}
}
