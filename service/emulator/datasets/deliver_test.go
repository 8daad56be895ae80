package datasets

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

type webhookCall struct {
	header http.Header
	body   string
}

type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	fails int // so many are answered with 500 first
	calls map[string][]webhookCall
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{calls: map[string][]webhookCall{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var in io.Reader = q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			zr, err := gzip.NewReader(q.Body)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			in = zr
		}
		b, err := io.ReadAll(in)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls[q.URL.Path] = append(r.calls[q.URL.Path], webhookCall{q.Header.Clone(), string(b)})
		if r.fails > 0 {
			r.fails--
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) at(path string) []webhookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]webhookCall(nil), r.calls[path]...)
}

func (g *rig) deliveries(snapshot string) []delivery {
	g.t.Helper()
	return decode[[]delivery](g.t, g.do("GET", "/datasets/v3/deliveries?snapshot_id="+snapshot, nil))
}

func allAre(s deliver.Status, n int) func([]delivery) bool {
	return func(ds []delivery) bool {
		for _, d := range ds {
			if d.Status != s {
				return false
			}
		}
		return len(ds) == n
	}
}

func TestAJobTellsItsWebhooks(t *testing.T) {
	for _, c := range []struct {
		name, query string
		gzip        bool
		contentType string
		records     string
	}{
		{
			"the documented spelling", "notify=%s/notice&endpoint=%s/records&auth_header=Bearer+s3cret&format=ndjson", true,
			"application/x-ndjson", `{"title":"It works"}` + "\n",
		},
		{
			"the other spelling", "notify=%s/notice&webhook=%s/records&webhook_header_Authorization=Bearer+s3cret&uncompressed_webhook=true", false,
			"application/json", `[{"title":"It works"}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t)
			g := start(t, options{})
			at := url.QueryEscape(r.URL)
			q := "dataset_id=gd_pages&custom_output_fields=title&" + strings.ReplaceAll(c.query, "%s", at)
			id := g.trigger(q, urls("http://lab.test/ok"))
			ds := until(t, func() []delivery { return g.deliveries(id) }, allAre(deliver.Done, 2))
			notice, records := r.at("/notice"), r.at("/records")
			if len(notice) != 1 || len(records) != 1 {
				t.Fatalf("%v %v", notice, records)
			}
			var v map[string]string
			if err := json.Unmarshal([]byte(notice[0].body), &v); err != nil || len(v) != 2 || v["snapshot_id"] != id || v["status"] != "ready" {
				t.Errorf("%v %s", err, notice[0].body)
			}
			h := records[0].header
			if records[0].body != c.records || h.Get("Authorization") != "Bearer s3cret" || (h.Get("Content-Encoding") == "gzip") != c.gzip || h.Get("Content-Type") != c.contentType {
				t.Errorf("%+v", records[0])
			}
			one := g.do("GET", "/datasets/v3/delivery/"+ds[0].ID, nil)
			if d := decode[delivery](t, one); d.Snapshot != id || len(d.Files) != 1 || d.Files[0].Name == "" || len(d.Attempts) != 1 || strings.Contains(one.body, "s3cret") {
				t.Errorf("%s", one.body)
			}
			// The job forgets its own copy once it has handed over, which may be after the delivery.
			until(t, func() bool { return statetest.Holds(t, g.state, "s3cret") }, func(held bool) bool { return !held })
		})
	}
}

func TestAnEndThatIsNotReadyIsTold(t *testing.T) {
	r := receive(t)
	gate := make(chan struct{})
	g := start(t, options{gate: gate})
	at := url.QueryEscape(r.URL)
	id := g.trigger("dataset_id=gd_pages&notify="+at+"&endpoint="+at, urls("http://lab.test/ok"))
	g.do("POST", "/datasets/v3/snapshot/"+id+"/cancel", nil)
	until(t, func() []delivery { return g.deliveries(id) }, allAre(deliver.Done, 1))
	if c := r.at("/"); len(c) != 1 || !strings.Contains(c[0].body, `"canceled"`) {
		t.Errorf("%+v", c)
	}
}

// TestAWebhookSurvivesARestart stops the service after the receiver has refused a
// webhook, and again before a job has ended.
func TestAWebhookSurvivesARestart(t *testing.T) {
	r := receive(t)
	r.fails = 1
	c := statetest.NewClock()
	d := statetest.Open(t, t.TempDir())
	gate := make(chan struct{}, 1)
	gate <- struct{}{}
	g := start(t, options{state: d, clock: c, gate: gate, deliver: deliver.Config{Schedule: []time.Duration{time.Hour}}})
	at := url.QueryEscape(r.URL)
	first := g.trigger("dataset_id=gd_pages&notify="+at, urls("http://lab.test/ok"))
	until(t, func() []delivery { return g.deliveries(first) }, func(ds []delivery) bool {
		return len(ds) == 1 && len(ds[0].Attempts) == 1 && ds[0].Attempts[0].Status == 500
	})
	second := g.trigger("dataset_id=gd_pages&notify="+at+"%2Fsecond", urls("http://lab.test/json"))
	g.close()

	c.Forward(time.Hour)
	g = start(t, options{state: d, clock: c})
	g.status(second, "ready")
	until(t, func() []delivery { return g.deliveries(first) }, allAre(deliver.Done, 1))
	until(t, func() []delivery { return g.deliveries(second) }, allAre(deliver.Done, 1))
	if n := len(r.at("/")); n != 2 {
		t.Errorf("%d posts of the first", n)
	}
	if n := len(r.at("/second")); n != 1 {
		t.Errorf("%d posts of the second", n)
	}
}

// TestAnInterruptedHandOverIsRepeatedOnce copies the state between the end of a job and the
// hand-over of its webhooks.
func TestAnInterruptedHandOverIsRepeatedOnce(t *testing.T) {
	r := receive(t)
	gate := make(chan struct{})
	g := start(t, options{gate: gate})
	id := g.trigger("dataset_id=gd_pages&notify="+url.QueryEscape(r.URL), urls("http://lab.test/ok"))
	g.close()
	const kept = state.Table[map[string]any]("jobs")
	ended, ok, err := kept.Get(g.state, id)
	if err != nil || !ok || ended["status"] != "starting" {
		t.Fatalf("%v, %v", ended, err)
	}
	ended["status"] = "failed"
	for range 2 {
		noerr.Must(t, g.state.Update(func(tx *state.Tx) error { return kept.Put(tx, id, ended) }))
		g = start(t, options{state: g.state})
		until(t, func() []delivery { return g.deliveries(id) }, allAre(deliver.Done, 1))
		g.close()
	}
	if c := r.at("/"); len(c) != 1 || !strings.Contains(c[0].body, `"failed"`) {
		t.Errorf("%+v", c)
	}
}

func TestADeliveryIsAskedForByItself(t *testing.T) {
	r := receive(t)
	g := start(t, options{})
	us := make([]string, 1500)
	for i := range us {
		us[i] = "http://lab.test/ok"
	}
	id := g.trigger("dataset_id=gd_pages&custom_output_fields=status", urls(us...))
	g.status(id, "ready")
	at := "/datasets/v3/deliver/" + id
	order := map[string]any{
		"deliver":  map[string]any{"type": "webhook", "endpoint": r.URL + "/in", "filename": map[string]string{"template": "pages", "extension": "ndjson"}},
		"compress": true, "batch_size": 1000,
	}
	got := g.do("POST", at, order)
	did := decode[map[string]string](t, got)["delivery_id"]
	if got.status != 200 || !strings.HasPrefix(did, "d_") {
		t.Fatalf("%+v", got)
	}
	d := until(t, func() delivery { return decode[delivery](t, g.do("GET", "/datasets/v3/delivery/"+did, nil)) }, func(d delivery) bool { return d.Status == "done" })
	if len(d.Files) != 2 || d.Files[0].Name != "pages.1.ndjson.gz" {
		t.Errorf("%+v", d)
	}
	calls := r.at("/in")
	if len(calls) != 2 || strings.Count(calls[0].body, "\n") != 1000 || strings.Count(calls[1].body, "\n") != 500 {
		t.Errorf("%d calls", len(calls))
	}
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{at, `{}`, 400, "Deliver options are missing"},
		{at + "?notify=http://x", `{"deliver":{"type":"webhook","endpoint":"http://x"}}`, 400, `[["notify","Not supported`},
		{at, `{`, 400, "parse_error"},
		{at, `{"deliver":{"type":"s3","bucket":"b"}}`, 400, `[["deliver.type","Not supported`},
		{at, `{"deliver":{"type":"webhook","endpoint":"x"}}`, 400, `[["deliver.endpoint",`},
		{at, `{"deliver":{"type":"webhook","endpoint":"http://x","auth_header":"a\r\nb: c"}}`, 400, `[["deliver.auth_header","Must be a header value"]]`},
		{at, `{"deliver":{"type":"webhook","endpoint":"http://x","filename":{"extension":"xml"}}}`, 400, `extension`},
		{at, `{"deliver":{"type":"webhook","endpoint":"http://x"},"batch_size":10}`, 400, "Batch size should be at least 1000"},
		{"/datasets/v3/deliver/sd_x", `{}`, 404, "Snapshot does not exist"},
	} {
		if got := g.do("POST", c.path, c.body); got.status != c.status || !strings.Contains(got.body, c.text) {
			t.Errorf("%s: %+v", c.body, got)
		}
	}
	if got := g.do("GET", "/datasets/v3/delivery/d_x", nil); got.status != 404 || got.body != "Delivery does not exist" {
		t.Errorf("%+v", got)
	}
}
