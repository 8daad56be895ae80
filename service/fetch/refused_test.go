package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestWithoutAProfileNothingIsSent(t *testing.T) {
	gone := errors.New("the profile cannot be read")
	c := newFetcher(t, model.Profile{}, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, ProfileBy: func(context.Context) (model.Profile, error) { return model.Profile{}, gone }}
	})
	if res, err := c.Fetch(t.Context(), askFor(servicetest.Profile(""), "unlocker1"), nil); !errors.Is(err, gone) {
		t.Errorf("a fetch: %+v, %v", res, err)
	}
	if res, err := c.Probe(t.Context(), ProbeRequest{Target: "http://lab.test/"}, nil); !errors.Is(err, gone) {
		t.Errorf("a probe: %+v, %v", res, err)
	}
}

func TestAProxyThatRepeatsTheLoginDoesNotGetItIntoTheResult(t *testing.T) {
	for name, status := range map[string]int{"a page": http.StatusOK, "a refusal": http.StatusProxyAuthRequired} {
		t.Run(name, func(t *testing.T) {
			px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Seen", servicetest.LoginOf(r.Header.Get("Proxy-Authorization")))
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "you are "+servicetest.LoginOf(r.Header.Get("Proxy-Authorization")))
			})}
			p := nativeProfile(t, px)
			c := newFetcher(t, p)
			probed, err := c.Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, nil)
			noerr.Must(t, err)
			page := fetched(t, c, native(p, "http://lab.test/"))
			for what, result := range map[string]any{"the probe": probed, "the fetch": page} {
				b, err := json.Marshal(result)
				noerr.Must(t, err)
				servicetest.NoSecret(t, what, string(b))
			}
			for what, d := range map[string]model.Diagnosis{"the probe": probed.Diagnosis, "the fetch": page.Diagnosis} {
				if last := d.Evidence[len(d.Evidence)-1]; !strings.Contains(last.Text, "repeated a secret") {
					t.Errorf("%s does not say so: %+v", what, d.Evidence)
				}
			}
		})
	}
}

func TestAPreviewSaysWhyNothingCanBeSent(t *testing.T) {
	for name, tc := range map[string]struct {
		via    model.Via
		change func(*model.Profile)
		want   string
	}{
		"no account":          {model.ViaNative, func(p *model.Profile) { p.Account = "" }, "account"},
		"no base URL":         {model.ViaAPI, func(p *model.Profile) { p.BaseURL = "" }, "base URL"},
		"no such dialect":     {model.ViaAPI, func(p *model.Profile) { p.Dialect = "latin" }, "latin"},
		"a country not shown": {model.ViaAPI, func(p *model.Profile) { p.Dialect = "documented" }, "country"},
	} {
		p := servicetest.Profile("http://api.test")
		tc.change(&p)
		r := askFor(p, "dc1")
		r.Via, r.Country = tc.via, "de"
		w := newFetcher(t, p).Preview(p, r, "")
		if len(w.Lines) != 0 || !strings.Contains(w.Problem, tc.want) {
			t.Errorf("%s: %q, problem %q", name, w.Lines, w.Problem)
		}
	}
}

// fullDisk keeps nothing.
type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) PutFetch(context.Context, string, model.FetchResult) error { return errFull }
func (fullDisk) Depart(string, model.HistoryEntry) (func(), error)         { return func() {}, errFull }

func (fullDisk) PutProbe(context.Context, string, model.ProbeResult) error { return errFull }
func (fullDisk) PutComparison(context.Context, model.Grid) error           { return errFull }
func (fullDisk) PutEntry(context.Context, model.HistoryEntry) error        { return errFull }

func TestWhatIsNotKeptIsLoggedAndTheResultStillGiven(t *testing.T) {
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })}
	p := nativeProfile(t, px)
	sound, _, _ := withJournal(t)
	for name, tc := range map[string]struct {
		journal func(*Config)
		logged  bool
	}{"a full disk": {func(c *Config) { c.Journal = fullDisk{} }, true}, "a sound one": {sound, false}} {
		var log bytes.Buffer
		c := newFetcher(t, p, tc.journal, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		check := func(what string) {
			if got := log.String(); strings.Contains(got, "not kept") != tc.logged || strings.Contains(got, errFull.Error()) != tc.logged {
				t.Errorf("%s, %s: log %q", name, what, got)
			}
			log.Reset()
		}
		if res, err := c.Fetch(t.Context(), native(p, "http://lab.test/"), nil); err != nil || !res.Diagnosis.OK() {
			t.Errorf("%s: %+v, %v", name, res.Diagnosis, err)
		}
		check("a fetch")
		if res, err := c.Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, nil); err != nil || !res.Diagnosis.OK() {
			t.Errorf("%s: %+v, %v", name, res.Diagnosis, err)
		}
		check("a probe")
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Fetch(ctx, native(p, "http://lab.test/"), func(Event) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		check("a cancelled fetch")
	}
}

func TestACompressedBodyThroughTheProxyIsInflated(t *testing.T) {
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, servicetest.Page)
		_ = z.Close()
	})}
	p := nativeProfile(t, px)
	res, err := newFetcher(t, p).Fetch(t.Context(), native(p, "http://lab.test/"), nil)
	if err != nil || string(res.Body.Bytes) != servicetest.Page {
		t.Errorf("%q, %v", res.Body.Bytes, err)
	}
}

func TestAPreviewWithoutABodyIsItsHead(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	for url, first := range map[string]string{"http://lab.test/": "GET http://lab.test/ HTTP/1.1", "https://lab.test/": "CONNECT lab.test:443 HTTP/1.1"} {
		w := newFetcher(t, p).Preview(p, native(p, url), "")
		if w.Problem != "" || w.Lines[0] != first || w.Lines[len(w.Lines)-1] != "" || w.Lines[len(w.Lines)-2] == "" {
			t.Errorf("%q, problem %q", w.Lines, w.Problem)
		}
	}
}

func TestAProbeThatIsCancelledInACallIsNotADiagnosis(t *testing.T) {
	gone := errors.New("the caller left")
	for name, begin := range map[string]string{"before the answer": "", "in the middle of the body": "half a page"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			if begin != "" {
				_, _ = io.WriteString(w, begin)
				_ = http.NewResponseController(w).Flush()
			}
			cancel(gone)
			<-r.Context().Done()
		}, func(t *testing.T, c *Fetcher) {
			res, err := c.Probe(ctx, ProbeRequest{Zone: servicetest.Zone(servicetest.Profile(""), "dc1"), Target: "http://lab.test/"}, nil)
			if !errors.Is(err, gone) || res.Diagnosis.Class != "" {
				t.Errorf("%s: %+v, %v", name, res.Diagnosis, err)
			}
		})
	}
}

func TestThePageOfTheJSONFormMayComeWithoutHeaders(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status_code":201,"body":"a page"}`)
	})
	r := askFor(p, "unlocker1")
	r.Format = model.FormatJSON
	res, err := newFetcher(t, p).Fetch(t.Context(), r, nil)
	if err != nil || res.Status != 201 || string(res.Body.Bytes) != "a page" || res.ContentType != "application/json" {
		t.Errorf("%d %s %q, %v", res.Status, res.ContentType, res.Body.Bytes, err)
	}
}

func TestWithoutALogAFullDiskChangesNothing(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	c := newFetcher(t, p, func(c *Config) { c.Journal = fullDisk{} })
	if res, err := c.Fetch(t.Context(), askFor(p, "unlocker1"), nil); err != nil || !res.Diagnosis.OK() {
		t.Errorf("%+v, %v", res.Diagnosis, err)
	}
}

func TestARefusalOfTheProxySaysItsWords(t *testing.T) {
	for status, says := range map[int]bool{http.StatusProxyAuthRequired: true, http.StatusNotFound: false} {
		px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "the zone sleeps on Sundays")
		})}
		p := nativeProfile(t, px)
		res := fetched(t, newFetcher(t, p), native(p, "http://lab.test/"))
		said := false
		for _, e := range res.Diagnosis.Evidence {
			said = said || strings.Contains(e.Text, "the zone sleeps on Sundays")
		}
		if said != says || (res.ServiceStatus == status) != says {
			t.Errorf("%d: service %d, target %d, evidence %+v", status, res.ServiceStatus, res.Status, res.Diagnosis.Evidence)
		}
	}
}

func TestASessionThatCannotBeInALoginIsRefusedBeforeTheFirstCall(t *testing.T) {
	p, px := told(t, `{"ip":"203.0.113.1"}`)
	res, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/", Rounds: 2, Session: "a:b"}, nil)
	var re *model.RequestError
	if !errors.As(err, &re) || re.Field() != "session" || len(res.Exits) != 0 || len(px.lines()) != 0 {
		t.Errorf("%+v, %v, %d calls", res, err, len(px.lines()))
	}
}

// departures remembers in which order a fetch is written down, sent and kept.
type departures struct {
	Journal

	order *[]string
}

func (d departures) Depart(_ string, a model.HistoryEntry) (func(), error) {
	*d.order = append(*d.order, "departs for "+a.URL)
	return func() { *d.order = append(*d.order, "landed") }, nil
}

func (d departures) PutFetch(context.Context, string, model.FetchResult) error {
	*d.order = append(*d.order, "kept")
	return nil
}

func TestAFetchIsWrittenDownBeforeItIsSentUntilItIsKept(t *testing.T) {
	var order []string
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		order = append(order, "sent")
		_, _ = io.WriteString(w, servicetest.Page)
	})}
	p := nativeProfile(t, px)
	c := newFetcher(t, p, func(c *Config) {
		c.Journal = departures{order: &order}
		c.Drift = driftOf(func(string, model.FetchResult, []byte) error {
			order = append(order, "handed on")
			return nil
		})
	})
	r := native(p, "http://lab.test/")
	r.Required = []string{".name"}
	noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, nil)))
	if want := []string{"departs for http://lab.test/", "sent", "kept", "landed", "handed on"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
}
