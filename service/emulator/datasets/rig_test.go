package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are what a test changes of the rig.
type options struct {
	state    *state.Dir
	clock    *statetest.Clock
	jobs     jobs.Config
	deliver  deliver.Config
	syncWait time.Duration
	loose    bool
	// gate makes every page wait for one value.
	gate chan struct{}
}

// rig is the endpoints on a socket, over the lab on another.
type rig struct {
	t       *testing.T
	base    string
	state   *state.Dir
	jobs    *jobs.Engine
	deliver *deliver.Engine
	client  *http.Client
	close   func()
}

func start(t *testing.T, o options) *rig {
	t.Helper()
	if o.state == nil {
		o.state = statetest.Open(t, "")
	}
	now := time.Now
	if o.clock != nil {
		now = o.clock.Now
	}
	log := slog.New(slog.DiscardHandler)
	site := httptest.NewServer(lab.New(lab.Options{}))
	toLab := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, site.Listener.Addr().String())
	}}
	toReceiver := &http.Transport{}
	g := &rig{t: t, state: o.state, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	o.deliver.State, o.deliver.Now, o.deliver.Send, o.deliver.Log = o.state, now, toReceiver.RoundTrip, log
	o.deliver.Source = func(id, format string, batch, part int) (func(io.Writer) error, error) {
		return g.jobs.Records(id, format, jobs.Slice{Batch: batch, Part: part})
	}
	var err error
	if g.deliver, err = deliver.Open(context.Background(), o.deliver); err != nil {
		t.Fatal(err)
	}
	o.jobs.State, o.jobs.Now, o.jobs.Log = o.state, now, log
	o.jobs.Fetch = fetchBy(toLab, o.gate)
	o.jobs.HandOver = func(s jobs.Snapshot, hooks []jobs.Webhook) error { return g.deliver.Add(Messages(s, hooks)...) }
	if g.jobs, err = jobs.Open(context.Background(), o.jobs); err != nil {
		t.Fatal(err)
	}
	g.deliver.Start()
	mux := http.NewServeMux()
	New(Config{Jobs: g.jobs, Deliver: g.deliver, SyncWait: o.syncWait, Loose: o.loose, Log: log}).Mount(func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) })
	api := httptest.NewServer(mux)
	g.base = api.URL
	g.close = sync.OnceFunc(func() {
		g.client.CloseIdleConnections()
		api.Close()
		noerr.Want(t, g.jobs.Close())
		noerr.Want(t, g.deliver.Close())
		toLab.CloseIdleConnections()
		toReceiver.CloseIdleConnections()
		site.Close()
	})
	t.Cleanup(g.close)
	return g
}

func fetchBy(tr *http.Transport, gate chan struct{}) func(context.Context, jobs.Request) (jobs.Page, error) {
	return func(ctx context.Context, r jobs.Request) (jobs.Page, error) {
		if gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return jobs.Page{}, ctx.Err()
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
		if err != nil {
			return jobs.Page{}, err
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return jobs.Page{}, &jobs.FetchError{Code: "target_40020", Reason: "could not connect"}
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(io.LimitReader(resp.Body, r.Limit))
		if err != nil {
			return jobs.Page{}, err
		}
		return jobs.Page{
			URL: r.URL, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"),
			Location: resp.Header.Get("Location"), Body: b,
		}, nil
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a body: a string or bytes as they are, anything else as JSON.
func (g *rig) do(method, path string, body any, contentType ...string) reply {
	g.t.Helper()
	var b []byte
	switch v := body.(type) {
	case nil:
	case string:
		b = []byte(v)
	case []byte:
		b = v
	default:
		var err error
		if b, err = json.Marshal(v); err != nil {
			g.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), method, g.base+path, bytes.NewReader(b))
	noerr.Must(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	if len(contentType) > 0 {
		req.Header.Set("Content-Type", contentType[0])
	}
	resp, err := g.client.Do(req)
	noerr.Must(g.t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	noerr.Must(g.t, err)
	if resp.Header.Get("X-Emulator-Basis") == "" {
		g.t.Errorf("%s %s says not what it rests on", method, path)
	}
	return reply{resp.StatusCode, resp.Header, string(out)}
}

func decode[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return v
}

func (g *rig) trigger(query string, body any, contentType ...string) string {
	g.t.Helper()
	r := g.do("POST", "/datasets/v3/trigger?"+query, body, contentType...)
	id := decode[map[string]string](g.t, r)["snapshot_id"]
	if r.status != 200 || !strings.HasPrefix(id, "sd_") {
		g.t.Fatalf("%+v", r)
	}
	return id
}

func urls(us ...string) []map[string]string {
	out := []map[string]string{}
	for _, u := range us {
		out = append(out, map[string]string{"url": u})
	}
	return out
}

type progress struct {
	ID      string `json:"snapshot_id"`
	Dataset string `json:"dataset_id"`
	Status  string `json:"status"`
	Error   string `json:"error_message"`
	Records int    `json:"records"`
	Errors  int    `json:"errors"`
	Done    int    `json:"inputs_done"`
}

func (g *rig) progress(id string) progress {
	g.t.Helper()
	return decode[progress](g.t, g.do("GET", "/datasets/v3/progress/"+id, nil))
}

// until asks until ok, at most a minute.
func until[T any](t *testing.T, get func() T, ok func(T) bool) T {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		v := get()
		if ok(v) {
			return v
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("still %+v", v)
		}
	}
}

func (g *rig) status(id, status string) progress {
	g.t.Helper()
	return until(g.t, func() progress { return g.progress(id) }, func(p progress) bool { return p.Status == status })
}

func (g *rig) records(id string) []map[string]any {
	g.t.Helper()
	r := g.do("GET", "/datasets/v3/snapshot/"+id+"?format=json", nil)
	if r.status != 200 {
		g.t.Fatalf("%+v", r)
	}
	return decode[[]map[string]any](g.t, r)
}
