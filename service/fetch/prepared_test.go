package fetch

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// column is a row with one column.
func column(name, value string) func(string) (string, bool) {
	return func(asked string) (string, bool) { return value, asked == name }
}

// prepare prepares the fetches of a template until the test ends.
func prepare(t *testing.T, ft *Fetcher, template model.FetchRequest) *Prepared {
	t.Helper()
	p := noerr.Try(ft.Prepare(t.Context(), template)).Must(t)
	t.Cleanup(p.Close)
	return p
}

// sent is the result of a send that comes to one.
func sent(t *testing.T, p *Prepared, row func(string) (string, bool)) model.FetchResult {
	t.Helper()
	return noerr.Try(p.Send(t.Context(), row, nil)).Must(t)
}

// plainProxy is the profile of a proxy for http targets that keeps its connections.
func plainProxy(t *testing.T, h http.HandlerFunc) model.Profile {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	p := servicetest.Profile("http://127.0.0.1:1")
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	noerr.Must(t, err)
	p.ProxyHost = host
	p.ProxyPort, err = strconv.Atoi(port)
	noerr.Must(t, err)
	return p
}

func TestAValueOfARowIsPutInPlainlyAndCheckedLikeTheRest(t *testing.T) {
	const secret = "hunter2-hunter2"
	var got string
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		got = string(noerr.Try(io.ReadAll(r.Body)).Must(t))
		_, _ = io.WriteString(w, servicetest.Page+secret)
	})
	ft := newFetcher(t, p, func(c *Config) {
		inner := c.Source.Secret
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
			if ref == "env:TOKEN" {
				return keystore.NewSecret(secret), nil
			}
			return inner(ctx, ref)
		}}
	})
	template := askFor(p, "dc1")
	template.URL, template.Method, template.Body = "http://lab.test/{{path}}?{{{{raw}}}}", "POST", "t={{token}}&p={{path}}"
	template.Secrets = map[string]string{"token": "env:TOKEN"}
	prepared := prepare(t, ft, template)
	res := sent(t, prepared, column("path", "{{token}}"))
	if want := `"body":"t=` + secret + `&p={{token}}"`; !strings.Contains(got, want) || !strings.Contains(got, `"url":"http://lab.test/{{token}}?{{raw}}"`) {
		t.Errorf("the service got %s", got)
	}
	if strings.Contains(string(res.Body.Bytes), secret) || strings.Contains(res.Request.Body, secret) {
		t.Errorf("the result holds the secret: %+v", res)
	}
	for _, c := range []struct{ name, value, field, says string }{
		{"other", "", "url", "{{path}} has no value"},
		{"path", "\xff", "url", "UTF-8"},
	} {
		_, err := prepared.Send(t.Context(), column(c.name, c.value), nil)
		var refused *model.RequestError
		if !errors.As(err, &refused) || refused.Field() != c.field || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.name, err)
		}
		if unknown := (*model.UnknownVariableError)(nil); errors.As(err, &unknown) != (c.name == "other") {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

func TestWhatNoRowCanMakeGoodIsRefusedAtOnce(t *testing.T) {
	p := servicetest.Profile("http://127.0.0.1:1")
	ft := newFetcher(t, p)
	for field, change := range map[string]func(*model.FetchRequest){
		"zone":   func(r *model.FetchRequest) { r.Zone.Name = "{{zone}}" },
		"body":   func(r *model.FetchRequest) { r.BodyFile = "/tmp/body" },
		"method": func(r *model.FetchRequest) { r.Method = "a b" },
		"url":    func(r *model.FetchRequest) { r.URL = "example.com" },
		"key":    func(r *model.FetchRequest) { r.Key = "nobody" },
	} {
		template := askFor(p, "dc1")
		if field != "url" {
			template.URL = "http://lab.test/{{path}}"
		}
		change(&template)
		_, err := ft.Prepare(t.Context(), template)
		var refused *model.RequestError
		if !errors.As(err, &refused) || refused.Field() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestSendsLeaveNoHistoryButCost(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	p.Zones[1].Rate = model.Rate{Per1000: 1}
	change, j, _ := withJournal(t)
	learned := false
	ft := newFetcher(t, p, change, func(c *Config) { c.Drift = learner(func() { learned = true }) })
	r := askFor(p, "dc1")
	r.Required = []string{"title"}
	res := sent(t, prepare(t, ft, r), column("", ""))
	if !res.Diagnosis.OK() || len(res.Fields) != 1 || !res.Fields[0].Found {
		t.Errorf("%+v", res)
	}
	noerr.Must(t, j.Flush(t.Context()))
	lines := noerr.Try(j.Entries(t.Context(), model.HistoryFilter{})).Must(t)
	if len(lines) > 0 || learned || ft.cfg.Wire.Spent().Priced != 1 || ft.cfg.Wire.Spent().Dollars <= 0 {
		t.Errorf("history %v, drift learned: %v, spent %+v", lines, learned, ft.cfg.Wire.Spent())
	}
}

// learner is a Drift that is told of a fetch.
type learner func()

func (l learner) Fetched(context.Context, string, model.FetchResult, []byte) error { l(); return nil }

func TestSendsShareTheirConnections(t *testing.T) {
	for via, start := range map[model.Via]func(*testing.T, http.HandlerFunc) model.Profile{
		model.ViaAPI: func(t *testing.T, h http.HandlerFunc) model.Profile { return servicetest.API(t, h) }, model.ViaNative: plainProxy,
	} {
		t.Run(string(via), func(t *testing.T) {
			var mu sync.Mutex
			peers := map[string]int{}
			p := start(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				peers[r.RemoteAddr]++
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, servicetest.Page)
				noerr.Want(t, z.Close())
			})
			ft := newFetcher(t, p)
			r := askFor(p, "dc1")
			r.Via, r.Format, r.URL = via, "", "http://lab.test/{{n}}"
			prepared := prepare(t, ft, r)
			for n := range 5 {
				res := sent(t, prepared, column("n", strconv.Itoa(n)))
				if made := res.Timing.Connect >= 0; !res.Diagnosis.OK() || made != (n == 0) || res.Timing.FirstByte < 0 || res.Timing.Total < 0 || len(res.Attempts) != 1 {
					t.Errorf("%d: %+v", n, res)
				}
			}
			if len(peers) != 1 {
				t.Errorf("the service saw %v", peers)
			}
			r.URL = "http://lab.test/"
			if fetched(t, ft, r); len(peers) != 2 {
				t.Errorf("a fetch has no connection of its own: %v", peers)
			}
		})
	}
}

func TestAColumnOfTheLoginMakesALoginForEachRow(t *testing.T) {
	p := plainProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("Proxy-Authorization"))
		login := servicetest.LoginOf(r.Header.Get("Proxy-Authorization"))
		name, _, _ := strings.Cut(login, ":")
		_, _ = io.WriteString(w, "<p>"+name+" "+base64.StdEncoding.EncodeToString([]byte(login))+" "+r.Header.Get("Cookie")+"</p>")
	})
	r := askFor(p, "dc1")
	r.Via, r.Format, r.Country = model.ViaNative, "", "{{cc}}"
	r.Header = http.Header{"Cookie": {"session=0123456789-{{cc}}-0123456789"}}
	prepared := prepare(t, newFetcher(t, p), r)
	for _, country := range []string{"de", "fr", "de"} {
		res := sent(t, prepared, column("cc", country))
		page := string(res.Body.Bytes)
		if !strings.Contains(page, "-country-"+country+" ****") || strings.Contains(page, "0123456789") || !strings.HasPrefix(res.Header.Get("X-Seen"), "Basic ****") {
			t.Errorf("%s: %v %s", country, res.Header, page)
		}
	}
}

// tellingSource is a Source whose parts a test changes.
type tellingSource struct {
	servicetest.Source
	mu       sync.Mutex
	profile  model.Profile
	key      model.Key
	refusal  error
	resolved int
}

func (s *tellingSource) Profile(context.Context) (model.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profile, nil
}

func (s *tellingSource) Key(string) (model.Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key, true
}

func (s *tellingSource) Permit(_ context.Context, _ model.Profile, _ model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		return keystore.Secret{}, s.refusal
	}
	return take()
}

func (s *tellingSource) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	s.resolved++
	return servicetest.Secret(ctx, ref)
}

func TestWhatIsPreparedIsMadeAgainWhenItChanges(t *testing.T) {
	var calls atomic.Int32
	var rejects atomic.Bool
	start := func(name string) model.Profile {
		return servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("X-Service", name)
			if rejects.Load() {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, servicetest.Page)
		})
	}
	first, second := start("first"), start("second")
	key, _ := servicetest.Key("batch-user")
	source := &tellingSource{profile: first, key: key}
	now := time.Unix(1_000_000, 0)
	var rules []model.UserRule
	ft := newFetcher(t, first, func(c *Config) {
		c.Source, c.Timer = source, func() time.Time { return now }
		c.Rules = func(string) ([]model.UserRule, error) { return rules, nil }
	})
	prepared := prepare(t, ft, askFor(first, "dc1"))
	none := column("", "")
	want := func(service, rule string, resolved int) {
		t.Helper()
		res := sent(t, prepared, none)
		if res.Header.Get("X-Service") != service || res.Diagnosis.Rule != rule || source.resolved != resolved {
			t.Errorf("by %s, rule %s, resolved %d times; want %s, %s, %d", res.Header.Get("X-Service"), res.Diagnosis.Rule, source.resolved, service, rule, resolved)
		}
	}
	plain := sent(t, prepared, none).Diagnosis.Rule
	now = now.Add(currentFor)
	want("first", plain, 1)
	source.profile = second
	rules = []model.UserRule{{Name: "wanted", Class: model.ClassCaptcha, Reason: "It is one."}}
	want("first", plain, 1)
	now = now.Add(currentFor)
	want("second", "wanted", 2)
	rules = nil
	now = now.Add(currentFor)
	want("second", plain, 2)
	rejects.Store(true)
	if got := sent(t, prepared, none).Diagnosis.Cause; got != model.CauseKeyRejected {
		t.Errorf("the key is not rejected but %s", got)
	}
	rejects.Store(false)
	want("second", plain, 2)
	now = now.Add(currentFor)
	want("second", plain, 3)
	now = now.Add(currentFor)
	want("second", plain, 3)
	rejects.Store(true)
	sent(t, prepared, none)
	rejects.Store(false)
	source.key.Note = "changed"
	now = now.Add(currentFor)
	want("second", plain, 4)
	now = now.Add(currentFor)
	want("second", plain, 4)
	source.refusal = errors.New("the key is disabled")
	now = now.Add(currentFor)
	before := calls.Load()
	for range 2 {
		if _, err := prepared.Send(t.Context(), none, nil); !errors.Is(err, source.refusal) || calls.Load() != before {
			t.Errorf("a key that is refused: %v, %d calls", err, calls.Load()-before)
		}
	}
	source.refusal = nil
	want("second", plain, 4)
}

// flaky serves the requests of each connection but the last, which it reads and does not answer.
func flaky(t *testing.T, answers int) (addr string, requests func() []string) {
	t.Helper()
	ln := noerr.Try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	t.Cleanup(func() { ln.Close() })
	var mu sync.Mutex
	var seen []string
	s := &http.Server{ReadHeaderTimeout: time.Minute}
	counts := map[string]int{}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method)
		if counts[r.RemoteAddr]++; counts[r.RemoteAddr] <= answers {
			_, _ = io.WriteString(w, servicetest.Page)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		noerr.Want(t, err)
		conn.Close()
	})
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close(); <-done })
	return ln.Addr().String(), func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(seen) }
}

// net/http sends a GET again by itself if a kept connection dies after it was written, and no POST.
func TestAResendOfNetHTTPIsAnAttempt(t *testing.T) {
	addr, requests := flaky(t, 1)
	p := servicetest.Profile("http://127.0.0.1:1")
	host, port, _ := net.SplitHostPort(addr)
	p.ProxyHost = host
	p.ProxyPort, _ = strconv.Atoi(port)
	r := askFor(p, "dc1")
	r.Via, r.Format, r.Method = model.ViaNative, "", "{{method}}"
	prepared := prepare(t, newFetcher(t, p), r)
	get := column("method", "GET")
	sent(t, prepared, get)
	res := sent(t, prepared, get)
	if a := res.Attempts; len(a) != 2 || a[0].N != 1 || a[0].Class == model.ClassOK || a[0].Status != 0 || a[1].N != 2 || a[1].Class != model.ClassOK || len(requests()) != 3 {
		t.Errorf("%+v; the proxy saw %v", a, requests())
	}
	if !res.Diagnosis.OK() || res.Timing.Connect < 0 {
		t.Errorf("%+v", res)
	}
	res = sent(t, prepared, column("method", "POST"))
	if got := requests(); len(res.Attempts) != 1 || res.Diagnosis.OK() || len(got) != 4 || got[3] != "POST" {
		t.Errorf("%+v; the proxy saw %v", res.Attempts, got)
	}
}

func TestSendsKeepToTheLimitOfTheProduct(t *testing.T) {
	var mu sync.Mutex
	inFlight, most := 0, 0
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		mu.Unlock()
		defer func() { mu.Lock(); defer mu.Unlock(); inFlight-- }()
		_, _ = io.WriteString(w, servicetest.Page)
	})
	p.Local = true // no rate limit applies
	r := askFor(p, "dc1")
	r.URL = "http://lab.test/{{n}}"
	prepared := prepare(t, newFetcher(t, p), r)
	limit := int(exchange.LimitOf(r.Zone.Product).Concurrency)
	var wg sync.WaitGroup
	for i := range 8 * limit {
		wg.Go(func() {
			res, err := prepared.Send(t.Context(), column("n", strconv.Itoa(i)), nil)
			if err != nil || !res.Diagnosis.OK() || string(res.Body.Bytes) != servicetest.Page || !strings.HasSuffix(res.Request.URL, "/"+strconv.Itoa(i)) {
				t.Errorf("%d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	if most > limit {
		t.Errorf("%d at once; the limit is %d", most, limit)
	}
}

// What vouches for a kept connection is said of each send, though there is one handshake.
func TestTheChainOfAKeptConnectionIsThatOfEachSend(t *testing.T) {
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	p := servicetest.Profile("https://example.com")
	p.CA = ca
	prepared := prepare(t, newFetcher(t, p, func(c *Config) {
		c.Wire = exchange.New(exchange.Config{Connect: func(context.Context, string, string) (net.Conn, error) { return dial() }})
	}), askFor(p, "dc1"))
	first, second := sent(t, prepared, column("", "")), sent(t, prepared, column("", ""))
	if first.Timing.TLS < 0 || second.Timing.TLS >= 0 || first.Chain.Trust != model.TrustFile || !reflect.DeepEqual(first.Chain, second.Chain) {
		t.Errorf("%+v, %+v, then %+v, %+v", first.Timing, first.Chain, second.Timing, second.Chain)
	}
}
