package fetch

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/model/modeltest"
)

// notGood are the beginnings of the lab's addresses that are there to fail, to be slow or to answer something else than a page.
var notGood = []string{"/forbidden", "/too-fast", "/captcha", "/challenge", "/slow", "/empty", "/error", "/status", "/large", "/stream", "/redirect", "/encoding", "/js", "/login", "/robots.txt", "/img/", "/site/files", "/site/old"}

var linked = regexp.MustCompile(`(?:href|src)="(?:https?://lab\.test)?(/[^"#]*)"`)

// Four hundred good pages, and none is called anything else: those of the lab, as far as they are linked, in each markup of
// the shop, and the corpus's look-alikes. What the corpus is known to call wrong is in docs/diagnosis.md.
func TestNoGoodPageIsCalledAWall(t *testing.T) {
	good, known := map[string]bool{}, 0
	for _, c := range modeltest.Corpus(t, "../../testdata/diagnosis") {
		if c.Truth != model.ClassOK || c.Outcome.PageStatus() < 200 || c.Outcome.PageStatus() > 299 {
			continue
		}
		if d := model.Diagnose(c.Outcome); c.Want.Class != model.ClassOK {
			known++
		} else if !d.OK() {
			t.Errorf("%s is called %s", c.Name, d.Rule)
		}
		good[c.Name] = true
	}
	c, p := fetchOnEmulator(t)
	next := []string{"/", "/ok", "/json", "/whoami", "/gzip", "/mygeo.json", "/welcome.txt", "/docs/", "/site/", "/site/list", "/site/calendar"}
	for _, v := range []string{"", "?v=2", "?v=3"} {
		next = append(next, "/shop"+v)
	}
	for _, word := range []string{"chair", "captcha", "blocked", "access denied", "too many requests", "robot", "queue", "403"} {
		next = append(next, "/search?q="+url.QueryEscape(word), "/shop/search?q="+url.QueryEscape(word))
	}
	for len(next) > 0 && len(good) < 600 {
		path := strings.ReplaceAll(next[0], "&amp;", "&")
		next = next[1:]
		if good[path] || slices.ContainsFunc(notGood, func(b string) bool { return strings.HasPrefix(path, b) }) {
			continue
		}
		r := askFor(p, "unlocker_demo")
		r.URL = "http://lab.test" + path
		res := fetched(t, c, r)
		if res.Status < 200 || res.Status > 299 {
			continue
		}
		good[path] = true
		if !res.Diagnosis.OK() {
			t.Errorf("%s is called %s: %+v", path, res.Diagnosis.Rule, res.Diagnosis.Evidence)
		}
		for _, m := range linked.FindAllSubmatch(res.Body.Bytes, -1) {
			next = append(next, string(m[1]))
		}
	}
	if len(good)-known < 400 || known > 2 {
		t.Errorf("%d good pages, %d of which are known to be called wrong: %q", len(good), known, slices.Sorted(maps.Keys(good)))
	}
	t.Logf("%d pages", len(good))
}
