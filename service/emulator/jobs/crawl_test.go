package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestRobots(t *testing.T) {
	const file = "\ufeffjunk\nUser-agent: other\nDisallow: /\n\nUser-Agent: *\nUser-agent: x # both\nDisallow: /private\nAllow: /private/open$\nDisallow: /*.pdf$\nDisallow:\nCrawl-delay: 1\nDisallow: /q?*id=\nDisallow: /tie\nAllow: /tie\n\nuser-agent: last\nDisallow: /ok\n"
	r := parseRobots([]byte(file))
	for path, want := range map[string]bool{
		"/": true, "/ok": true, "/private": false, "/private/x": false, "/private/open": true, "/private/open/x": false,
		"/a/b.pdf": false, "/a/b.pdf?x": true, "/q?a=1&id=2": false, "/q?a=1": true, "/tie": true,
	} {
		if r.allows(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if !(robots{}).allows("/x") || (robots{none: true}).allows("/x") {
		t.Error("no rules, or no site")
	}
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b*c$\nAllow: *"), "/aXbXc")
	f.Add([]byte("user-agent:*\ndisallow:"+strings.Repeat("*a", 50)), strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		path = path[:min(len(path), maxRobotsPath)]
		r := parseRobots(b)
		longest, want := -1, true
		for _, rule := range r.rules {
			pattern, whole := strings.CutSuffix(rule.pattern, "$")
			expr := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
			if whole {
				expr += "$"
			}
			re, err := regexp.Compile(expr)
			if err != nil || !utf8.ValidString(path) || !utf8.ValidString(pattern) {
				return // the oracle reads UTF-8 alone
			}
			if got := robotsMatch(rule.pattern, path); got != re.MatchString(path) {
				t.Fatalf("%q and %q: %v", rule.pattern, path, got)
			}
			if n := len(rule.pattern); re.MatchString(path) && (n > longest || n == longest && rule.allow) {
				longest, want = n, rule.allow
			}
		}
		if r.allows(path) != want {
			t.Fatalf("%q: %v", path, !want)
		}
	})
}

// web is a site without an end: every page has two more below it.
func web(ctx context.Context, r Request) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, err
	}
	p := Page{URL: r.URL, Status: 200, ContentType: "text/html"}
	switch {
	case strings.HasSuffix(r.URL, "/robots.txt"):
		p.Status = 404
	case strings.Contains(r.URL, "/down/"):
		p.Status, p.Location = 302, r.URL+"x" // a redirect without an end, too
	default:
		p.Body = fmt.Appendf(nil, `<title>t</title><p>text</p><a href="%[1]s/a"></a><a href="%[1]s/b"></a><a href="/down/1"></a><a href="%[1]s">`, r.URL)
	}
	return p, nil
}

func TestACrawlOfASiteWithoutAnEndEnds(t *testing.T) {
	e, err := Open(context.Background(), Config{State: statetest.Open(t, ""), Fetch: web, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	noerr.Must(t, err)
	defer e.Close()
	snap, err := e.Trigger(Spec{Dataset: CrawlDataset, Inputs: []json.RawMessage{
		json.RawMessage(`{"url":"http://x.test/s","depth":10}`),
		json.RawMessage(`{"url":"http://x.test/down/1","depth":10}`),
	}, IncludeErrors: true})
	noerr.Must(t, err)
	if s := until(t, e, snap.ID, ended); s.Status != Ready || s.Records != defaultCrawlPages || s.Errors != 1 {
		t.Errorf("%+v", s)
	}
}

func TestTheAddressesOfASiteAreBounded(t *testing.T) {
	f := &frontier{host: "x.test", visited: map[string]bool{}}
	add := func(path string) { f.add(&url.URL{Scheme: "http", Host: "x.test", Path: path}, 1) }
	add("/" + strings.Repeat("a", maxURLBytes))
	if len(f.queue)+len(f.visited) != 0 {
		t.Error("an address that is too long is queued")
	}
	for i := range 10 * maxCrawlPages {
		add(fmt.Sprintf("/%d/%s", i, strings.Repeat("a", maxURLBytes-100)))
	}
	total := 0
	for _, h := range f.queue {
		total += len(h.url.Path)
	}
	if total < maxFrontierBytes/2 || total > maxFrontierBytes+maxURLBytes {
		t.Errorf("%d pages, %d bytes", len(f.queue), total)
	}
	v := &visit{limit: maxInputRecords, out: &line{}}
	for v.wantsMore() && len(v.out.Errors) <= maxInputRecords {
		v.failedPage(strings.Repeat("a", maxURLBytes), errors.New("gone"))
	}
	if n := len(v.out.Errors); n > maxInputBytes/maxURLBytes {
		t.Errorf("%d error rows of %d bytes", n, maxURLBytes)
	}
}

func TestASiteThatFailsToServeItsRobotsIsNotCrawled(t *testing.T) {
	e, err := Open(context.Background(), Config{State: statetest.Open(t, ""), Now: time.Now, Log: slog.New(slog.DiscardHandler), Fetch: func(_ context.Context, r Request) (Page, error) {
		if strings.HasSuffix(r.URL, "/robots.txt") {
			return Page{URL: r.URL, Status: 503}, nil
		}
		t.Errorf("%s was fetched", r.URL)
		return Page{}, &FetchError{"x", "x"}
	}})
	noerr.Must(t, err)
	defer e.Close()
	snap, err := e.Trigger(Spec{Dataset: CrawlDataset, Inputs: []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)}})
	noerr.Must(t, err)
	if s := until(t, e, snap.ID, ended); s.Records != 0 || s.Errors != 1 {
		t.Errorf("%+v", s)
	}
}

// TestACrawlThatWasKilledBeginsAgain copies the folder in the middle of a crawl: nothing
// of the half is kept, and nothing comes twice.
func TestACrawlThatWasKilledBeginsAgain(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	gate := make(chan struct{})
	held := func(ctx context.Context, r Request) (Page, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return Page{}, ctx.Err()
		}
		return web(ctx, r)
	}
	log := slog.New(slog.DiscardHandler)
	e, err := Open(context.Background(), Config{State: d, Fetch: held, Now: time.Now, Log: log})
	noerr.Must(t, err)
	snap, err := e.Trigger(Spec{Dataset: CrawlDataset, Inputs: []json.RawMessage{json.RawMessage(`{"url":"http://x.test/s"}`)}, LimitPerInput: 20})
	noerr.Must(t, err)
	for range 10 {
		gate <- struct{}{}
	}
	copied := statetest.Killed(t, d)
	noerr.Must(t, e.Close())
	e, err = Open(context.Background(), Config{State: statetest.Open(t, copied), Fetch: web, Now: time.Now, Log: log})
	noerr.Must(t, err)
	defer e.Close()
	if s := until(t, e, snap.ID, ended); s.Status != Ready || s.Records != 20-5 { // depth 3: 1+2+4+8
		t.Errorf("%+v", s)
	}
}

// TestAnExpiredJobGoesByItself sees the hourly look at the clock.
func TestAnExpiredJobGoesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		e, err := Open(context.Background(), Config{State: d, Now: time.Now, Log: slog.New(slog.DiscardHandler), Fetch: web})
		noerr.Must(t, err)
		defer e.Close()
		snap, err := e.Trigger(Spec{Dataset: "gd_pages", Inputs: inputs(1)})
		noerr.Must(t, err)
		synctest.Wait()
		time.Sleep(Retention + 2*sweepEvery) //nolint:forbidigo // the bubble's clock: no time passes
		synctest.Wait()
		if _, err := e.Inputs(snap.ID); err == nil {
			t.Error("the inputs are still there")
		}
		time.Sleep(expiredFor + 2*sweepEvery) //nolint:forbidigo // the bubble's clock: no time passes
		synctest.Wait()
		if _, err := e.Get(snap.ID); err == nil {
			t.Error("the job is still known")
		}
	})
}

func TestChosenPathsKeepTheirNesting(t *testing.T) {
	fields := []Field{{Name: "a"}, {Name: "b", Fields: []Field{{Name: "c"}, {Name: "d", Fields: []Field{{Name: "e"}}}}}}
	r := record{"a": "<1>", "b": object{{"c", 2}, {"d", object{{"e", nil}}}}}
	for paths, want := range map[string]string{
		"":          `{"a":"<1>","b":{"c":2,"d":{"e":null}}}`,
		"b.c":       `{"b":{"c":2}}`,
		"b.d.e|a":   `{"a":"<1>","b":{"d":{"e":null}}}`,
		"b.c|b":     `{"b":{"c":2,"d":{"e":null}}}`,
		"b.c|b.d.e": `{"b":{"c":2,"d":{"e":null}}}`,
	} {
		var chosen []string
		if paths != "" {
			chosen = strings.Split(paths, "|")
		}
		for _, p := range chosen {
			if !hasPath(fields, p) {
				t.Errorf("%s is no path", p)
			}
		}
		got, err := r.encode(fields, chosen)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", paths, got, err)
		}
	}
	for _, p := range []string{"", "c", "a.x", "b.", "b.d.e.f"} {
		if hasPath(fields, p) {
			t.Errorf("%q is a path", p)
		}
	}
}

func TestBoundsOfAPart(t *testing.T) {
	const huge = math.MaxInt
	for _, c := range []struct {
		s        Slice
		rows     int
		from, to int
		ok       bool
	}{
		{Slice{}, 5, 0, 5, true},
		{Slice{Part: 1}, 5, 0, 5, true},
		{Slice{Part: 2}, 5, 0, 0, false},
		{Slice{Batch: 2}, 5, 0, 2, true},
		{Slice{Batch: 2, Part: 3}, 5, 4, 5, true},
		{Slice{Batch: 2, Part: 4}, 5, 0, 0, false},
		{Slice{Batch: 5, Part: 2}, 5, 0, 0, false},
		{Slice{Batch: huge, Part: huge}, 5, 0, 0, false},
		{Slice{Batch: 1 << 33, Part: 1<<31 + 1}, 5, 0, 0, false}, // the product wraps to 0
		{Slice{Batch: huge, Part: 1}, 5, 0, 5, true},
	} {
		from, to, err := c.s.bounds(c.rows)
		if from != c.from || to != c.to || (err == nil) != c.ok {
			t.Errorf("%+v: %d to %d, %v", c.s, from, to, err)
		}
	}
}

// TestAJobWithALineMissingIsNotReady takes a line away between the last input and the
// building.
func TestAJobWithALineMissingIsNotReady(t *testing.T) {
	for lines, ok := range map[[2]int]bool{{0, 0}: false, {1, 0}: true} {
		d := statetest.Open(t, "")
		err := d.Update(func(tx *state.Tx) error {
			return errors.Join(recordsTable.Put(tx, "sd_1", lines[0], []byte("{}")), recordsTable.Put(tx, "sd_1", lines[1], []byte("{}")))
		})
		noerr.Must(t, err)
		j := (&Engine{conf: Config{State: d}}).newJob("sd_1", meta{Snapshot: Snapshot{Inputs: 2}})
		if err := j.build(t.Context()); (err == nil) != ok {
			t.Errorf("%v: %v", lines, err)
		}
	}
}
