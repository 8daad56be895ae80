package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"

	"zonedeck/keystore"
	"zonedeck/model"
)

func TestFetchByAPIGivesEveryOutcomeOneVerdict(t *testing.T) {
	header := func(kv ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(kv); i += 2 {
				w.Header().Set(kv[i], kv[i+1])
			}
		}
	}
	for name, tc := range map[string]struct {
		status int
		head   func(http.ResponseWriter)
		body   string
		class  model.Class
		cause  model.Cause
		target int
		tries  int
	}{
		"a page is ok":                               {200, header("Content-Type", "text/html", "x-brd-status-code", "200"), servicetest.Page, model.ClassOK, "", 200, 1},
		"an empty 200 is a failure":                  {200, nil, "", model.ClassOutside, model.CauseEmptyBody, 0, 1},
		"the target's 404 is the target's":           {200, header("x-brd-status-code", "404"), "gone", model.ClassOutside, model.CauseTargetError, 404, 1},
		"an unknown key":                             {401, nil, "Auth method is not supported", model.ClassOutside, model.CauseKeyRejected, 0, 1},
		"a key without permission":                   {403, nil, "Your API key lacks the required permissions for this action.", model.ClassAccessRestricted, model.CauseMissingPermission, 0, 1},
		"an unknown zone":                            {400, nil, `zone "x" not found`, model.ClassOutside, model.CauseRequestRefused, 0, 1},
		"an unlocker that gave up at a CAPTCHA":      {200, header("x-brd-status-code", "502", "x-brd-error", "captcha", "x-brd-error-code", "resolve_failed_new_geetest_captcha"), "", model.ClassCaptcha, "", 502, 1},
		"a policy of the network":                    {200, header("x-brd-err-code", "policy_20050", "x-brd-err-msg", "needs special permission"), "", model.ClassAccessRestricted, model.CausePolicy, 0, 1},
		"the same told by Proxy-Status alone":        {200, header("Proxy-Status", `x; error="http_request_denied"; details="policy_20050: needs permission"`), "", model.ClassAccessRestricted, model.CausePolicy, 0, 1},
		"a target that blocks":                       {200, header("x-brd-status-code", "403"), "no", model.ClassAccessRestricted, model.CauseSiteBlock, 403, 1},
		"a CAPTCHA page that comes with 200":         {200, header("Content-Type", "text/html"), `<html><body><form><div class="g-recaptcha" data-sitekey="x"></div></form></body></html>`, model.ClassCaptcha, "", 0, 1},
		"a defence that names itself in a header":    {200, header("Content-Type", "text/html", "cf-mitigated", "challenge"), servicetest.Page, model.ClassCaptcha, "", 0, 1},
		"the service's 503 is tried again":           {503, nil, "busy", model.ClassOutside, model.CauseServiceError, 0, 2},
		"the service's own 429 is tried again":       {429, header("Retry-After", "1"), "slow down", model.ClassTooFast, "", 0, 2},
		"a redirect is not followed and is told":     {200, header("x-brd-status-code", "301"), "moved", model.ClassOK, "", 301, 1},
		"a status of the service out of the picture": {418, nil, "teapot", model.ClassOutside, model.CauseRequestRefused, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				if tc.head != nil {
					tc.head(w)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			c := newFetcher(t, p)
			r := askFor(p, "unlocker1")
			r.Retries = 1
			res := fetched(t, c, r)
			wantVerdict(t, res, tc.class, tc.cause)
			if res.Status != tc.target || res.ServiceStatus != tc.status {
				t.Errorf("status %d, service status %d; want %d, %d", res.Status, res.ServiceStatus, tc.target, tc.status)
			}
			if int(calls.Load()) != tc.tries || len(res.Attempts) != tc.tries {
				t.Errorf("%d calls, %d attempts recorded; want %d", calls.Load(), len(res.Attempts), tc.tries)
			}
			if got := string(res.Body.Bytes); got != tc.body {
				t.Errorf("body %q, want %q", got, tc.body)
			}
			b, _ := json.Marshal(res)
			servicetest.NoSecret(t, "the result", string(b))
		})
	}
}

func TestRequestsThatCannotBeSentNameTheirField(t *testing.T) {
	p := servicetest.Profile("http://127.0.0.1:1")
	p.Dialect = "documented"
	c := newFetcher(t, p)
	base := askFor(p, "unlocker1")
	for name, tc := range map[string]struct {
		field  string
		change func(*model.FetchRequest)
		want   error
	}{
		"a URL without a scheme":     {"url", func(r *model.FetchRequest) { r.URL = "example.com" }, nil},
		"a zone without a name":      {"zone", func(r *model.FetchRequest) { r.Zone.Name = "" }, nil},
		"a header with a line break": {"headers", func(r *model.FetchRequest) { r.Via = model.ViaNative; r.Header = http.Header{"X": {"a\r\nb"}} }, nil},
		"a header that the console sets": {"headers", func(r *model.FetchRequest) {
			r.Via = model.ViaNative
			r.Header = http.Header{"proxy-authorization": {"a"}}
		}, nil},
		"json, which the contract not shows": {"format", func(r *model.FetchRequest) { r.Format = model.FormatJSON }, dialect.ErrNotShown},
		"a country by the contract alone":    {"country", func(r *model.FetchRequest) { r.Country = "de" }, dialect.ErrNotShown},
		"a method by the contract alone":     {"method", func(r *model.FetchRequest) { r.Method = "post" }, dialect.ErrNotShown},
		"SERP through the proxy":             {"via", func(r *model.FetchRequest) { r.Zone = servicetest.Zone(p, "serp1"); r.Via = model.ViaNative }, nil},
		"an unknown key":                     {"key", func(r *model.FetchRequest) { r.Key = "nobody" }, nil},
		"a key that is only tracked":         {"key", func(r *model.FetchRequest) { r.Key = "tracked" }, nil},
		"a key whose value is gone":          {"key", func(r *model.FetchRequest) { r.Key = "lost" }, keystore.ErrSecretMissing},
		"a zone without a password":          {"password", func(r *model.FetchRequest) { r.Zone = model.Zone{Name: "other"}; r.Via = model.ViaNative }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := base
			tc.change(&r)
			_, err := c.Fetch(t.Context(), r, nil)
			var re *model.RequestError
			if !errors.As(err, &re) || re.Field() != tc.field || !errors.Is(err, model.ErrRequest) {
				t.Fatalf("error %v, want a RequestError of field %q", err, tc.field)
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error %v does not wrap %v", err, tc.want)
			}
			if tc.field == "key" || name == "a zone without a password" {
				return // needs the secrets, which a preview does not look at
			}
			if w := c.Preview(p, r, ""); w.Problem == "" {
				t.Error("the preview shows no problem")
			}
		})
	}
}

func TestALargeBodyGoesToAFile(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; name=../../etc/passwd")
		_, _ = w.Write(want)
	})
	c := newFetcher(t, p)
	var told int64
	res, err := c.Fetch(t.Context(), askFor(p, "unlocker1"), func(e Event) { told = max(told, e.Bytes) })
	noerr.Must(t, err)
	sum := sha256.Sum256(want)
	if res.Body.Size != int64(len(want)) || res.Body.SHA256 != hex.EncodeToString(sum[:]) || res.Body.Bytes != nil {
		t.Errorf("body %d bytes, %d in memory, sum %s", res.Body.Size, len(res.Body.Bytes), res.Body.SHA256)
	}
	got, err := os.ReadFile(res.Body.File)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file holds %d bytes (%v)", len(got), err)
	}
	if filepath.Dir(res.Body.File) != c.cfg.Bodies.Dir {
		t.Errorf("the file is %s", res.Body.File)
	}
	if fi, _ := os.Stat(res.Body.File); fi.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", fi.Mode())
	}
	if told < 1<<20 {
		t.Errorf("the progress told of %d bytes", told)
	}
}

func TestABodyAboveTheCapIsCutAndHasANote(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 300<<10)) })
	c := newFetcher(t, p, func(o *Config) { o.Bodies.Memory, o.Bodies.Cap = 64<<10, 100<<10 })
	res := fetched(t, c, askFor(p, "unlocker1"))
	if !res.Body.Cut || res.Body.Incomplete || res.Body.Size != 100<<10 {
		t.Errorf("body %+v, want it cut at the cap", res.Body.Size)
	}
	kept, err := os.ReadFile(res.Body.File)
	if sum := sha256.Sum256(kept); err != nil || len(kept) != 100<<10 || hex.EncodeToString(sum[:]) != res.Body.SHA256 {
		t.Errorf("the file holds %d bytes, whose sum is not %s: %v", len(kept), res.Body.SHA256, err)
	}
	if !strings.Contains(fmt.Sprint(res.Diagnosis.Evidence), "cap of 102400 bytes") {
		t.Errorf("evidence %v does not speak of the cap", res.Diagnosis.Evidence)
	}
}

func TestABodyThatDoesNotFitOnDiskIsCutAndKept(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 4<<20)) })
	file := filepath.Join(t.TempDir(), "a file where the folder should be")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	c := newFetcher(t, p, func(o *Config) { o.Bodies.Dir = file })
	res := fetched(t, c, askFor(p, "unlocker1"))
	if !res.Body.Cut || len(res.Body.Bytes) == 0 || int64(len(res.Body.Bytes)) != res.Body.Size {
		t.Errorf("cut %v with %d of %d bytes in memory", res.Body.Cut, len(res.Body.Bytes), res.Body.Size)
	}
}

func TestBodyThatEndsEarlyIsIncomplete(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	res := fetched(t, newFetcher(t, p), askFor(p, "unlocker1"))
	wantVerdict(t, res, model.ClassOutside, model.CauseIncomplete)
	if !res.Body.Incomplete || res.Body.Size != int64(len(servicetest.Page)) {
		t.Errorf("body %+v", res.Body)
	}
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
	noerr.Must(t, noerr.From(w.Write(b)))
	noerr.Must(t, w.Close())
	return z.Bytes()
}

func TestCompressedBodyIsInflatedWithinBounds(t *testing.T) {
	bomb := zipped(t, make([]byte, 64<<20))
	small := zipped(t, []byte(servicetest.Page))
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		if strings.Contains(string(body), "/bomb") {
			_, _ = w.Write(bomb)
			return
		}
		_, _ = w.Write(small)
	})
	c := newFetcher(t, p)
	r := askFor(p, "unlocker1")
	res, err := c.Fetch(t.Context(), r, nil)
	if err != nil || string(res.Body.Bytes) != servicetest.Page {
		t.Fatalf("body %q: %v", res.Body.Bytes, err)
	}
	r.URL = "http://lab.test/bomb"
	res = fetched(t, c, r)
	if !res.Body.Cut || res.Body.Size > 17<<20 {
		t.Errorf("the bomb became %d bytes, cut %v", res.Body.Size, res.Body.Cut)
	}
}

func TestJSONFormatIsUnwrapped(t *testing.T) {
	large := strings.Repeat("<p>ä \"quoted\" \n</p>", 100_000)
	for name, body := range map[string]string{"small": servicetest.Page, "large": large} {
		t.Run(name, func(t *testing.T) {
			p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-brd-ip", "203.0.113.9")
				_ = json.NewEncoder(w).Encode(map[string]any{
					"status_code": 404, "headers": map[string]any{"content-type": "text/html", "set-cookie": []string{"a=1", "b=2"}}, "body": body,
				})
			})
			c := newFetcher(t, p)
			r := askFor(p, "unlocker1")
			r.Format = model.FormatJSON
			res := fetched(t, c, r)
			got := res.Body.Bytes
			if res.Body.File != "" {
				got, _ = os.ReadFile(res.Body.File)
			}
			if string(got) != body || res.Body.Size != int64(len(body)) {
				t.Errorf("the page has %d bytes, want %d", len(got), len(body))
			}
			if res.Status != 404 || res.ContentType != "text/html" || len(res.Header.Values("Set-Cookie")) != 2 || res.Exit != "203.0.113.9" {
				t.Errorf("status %d, type %q, headers %v, exit %q", res.Status, res.ContentType, res.Header, res.Exit)
			}
			files, _ := os.ReadDir(c.cfg.Bodies.Dir)
			if want := map[string]int{"small": 0, "large": 1}[name]; len(files) != want {
				t.Errorf("%d files of bodies are left, want %d", len(files), want)
			}
		})
	}
}

func TestAHeaderInsideTheJSONFormNamesTheDefence(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status_code":405,"headers":{"x-amzn-waf-action":"captcha"},"body":"no"}`)
	})
	r := askFor(p, "unlocker1")
	r.Format = model.FormatJSON
	res := fetched(t, newFetcher(t, p), r)
	wantVerdict(t, res, model.ClassCaptcha, "")
	if ev := fmt.Sprint(res.Diagnosis.Evidence); !strings.Contains(ev, "x-amzn-waf-action: captcha") {
		t.Errorf("evidence %s", ev)
	}
}

func TestClientTimeoutIsATimeoutAndCancelIsNot(t *testing.T) {
	inBubble(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Timeout = time.Minute
		began := time.Now()
		res, err := c.Fetch(t.Context(), r, nil)
		if err != nil || time.Since(began) != r.Timeout {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		wantVerdict(t, res, model.ClassTimeout, model.CauseClientTimeout)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		if _, err = c.Fetch(ctx, r, nil); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("a cancelled fetch gives %v after %s", err, time.Since(began))
		}
	})
}

// The profile's timeout of a product holds for whatever goes through its zones, unless the request has its own.
func TestTheTimeoutOfAProductIsTheProfiles(t *testing.T) {
	inBubble(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(t *testing.T, c *Fetcher) {
		p := noerr.Try(c.cfg.Source.Profile(t.Context())).Must(t)
		p.Timeouts = model.Timeouts{model.ProductUnlocker: 7 * time.Second}
		c.cfg.Source = exchange.As(c.cfg.Source, p)
		r := askFor(p, "unlocker1")
		for own, want := range map[time.Duration]struct {
			took time.Duration
			step string
		}{
			0:           {7 * time.Second, "give this product a longer timeout: 'zonedeck profiles edit test --product-timeout unlocker=14s'"},
			time.Second: {time.Second, "give the request a longer timeout, or none: this product has 7s"},
		} {
			r.Timeout = own
			began := time.Now()
			res := fetched(t, c, r)
			if step := res.Diagnosis.Steps[0]; time.Since(began) != want.took || step.Text != want.step {
				t.Errorf("timeout %v: after %v: %+v", own, time.Since(began), step)
			}
		}
		began := time.Now()
		cell, err := c.fetchRuns(t.Context(), model.Grid{Kind: model.CompareRefusal, Base: r, Repeat: 1}, model.Cell{Vary: model.Vary{Zone: r.Zone, Via: model.ViaAPI}}, func(model.Cell) {})
		if err != nil || len(cell.Runs) != 1 || time.Since(began) != 7*time.Second {
			t.Errorf("what refuses: %+v, %v, after %v", cell, err, time.Since(began))
		}
		p.ProxyHost, p.ProxyPort, p.TestURL = "proxy.test", 33335, "https://lab.test/"
		c.cfg.Source = exchange.As(c.cfg.Source, p)
		began = time.Now()
		if res, err := c.Probe(t.Context(), ProbeRequest{Zone: r.Zone}, nil); err != nil || res.Diagnosis.Class != model.ClassTimeout || time.Since(began) != 7*time.Second {
			t.Errorf("a test of a login: %+v, %v, after %v", res.Diagnosis, err, time.Since(began))
		}
	})
}

func TestSlowBodyRunsIntoTheTimeout(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<html>")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Timeout = time.Minute
		res := fetched(t, c, r)
		wantVerdict(t, res, model.ClassTimeout, model.CauseClientTimeout)
		if !res.Body.Incomplete || res.Body.Size != 6 {
			t.Errorf("body %+v", res.Body)
		}
	})
}

func TestAnUnreachableServiceIsANetworkFault(t *testing.T) {
	p := servicetest.Profile("http://127.0.0.1:1")
	res := fetched(t, newFetcher(t, p), askFor(p, "unlocker1"))
	wantVerdict(t, res, model.ClassOutside, model.CauseNetwork)
	if res.Timing.TLS != -1 || res.Timing.ProxyConnect != -1 || res.Timing.FirstByte != -1 || res.Timing.Total < 0 {
		t.Errorf("timing %+v", res.Timing)
	}
}

func TestMissingFieldsAreParsingDrift(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/html")
		if strings.Contains(string(body), "/wrapped") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status_code":200,"headers":{"content-type":"text/html"},"body":"<p class=price>9</p>"}`)
			return
		}
		_, _ = io.WriteString(w, `<h1 class="name">Kettle</h1>`)
	})
	c := newFetcher(t, p)
	r := askFor(p, "unlocker1")
	r.Required = []string{".name", ".price"}
	res := fetched(t, c, r)
	wantVerdict(t, res, model.ClassParsingDrift, model.CauseMissingFields)
	if len(res.Fields) != 2 || !res.Fields[0].Found || res.Fields[1].Found {
		t.Errorf("fields %+v", res.Fields)
	}
	r.URL, r.Format, r.Required = "http://lab.test/wrapped", model.FormatJSON, []string{".price"}
	wantVerdict(t, fetched(t, c, r), model.ClassOK, "")
	r.Required = []string{"<"}
	var re *model.RequestError
	if _, err := c.Fetch(t.Context(), r, nil); !errors.As(err, &re) || re.Field() != "required" {
		t.Errorf("error %v", err)
	}
}

func TestBodiesOfEarlierAttemptsAreRemoved(t *testing.T) {
	var calls atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), 2<<20))
	})
	c := newFetcher(t, p)
	r := askFor(p, "unlocker1")
	r.Retries = 1
	res := fetched(t, c, r)
	files, err := os.ReadDir(c.cfg.Bodies.Dir)
	if err != nil || len(files) != 1 || len(res.Attempts) != 2 {
		t.Errorf("%d files after %d attempts: %v", len(files), len(res.Attempts), err)
	}
}

func TestCancelledFetchLeavesALineAndNoFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 3<<20))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	change, j, _ := withJournal(t)
	c := newFetcher(t, p, change)
	_, err := c.Fetch(ctx, askFor(p, "unlocker1"), func(e Event) {
		if e.Bytes > 2<<20 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if files, err := os.ReadDir(c.cfg.Bodies.Dir); err != nil || len(files) != 0 {
		t.Errorf("%d files are left: %v", len(files), err)
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(list) != 1 || list[0].Class != "" || list[0].Text != "ended without a result after 1 attempt: context canceled" {
		t.Errorf("timeline %+v: %v", list, err)
	}
}
