package inspect

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/filter"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/body/picture"
	"zonedeck/ui/uitest"
)

// rig is a view with a root that runs its commands.
type rig struct {
	t      *testing.T
	v      *View
	copied string
}

func open(t *testing.T, contentType, content string) *rig {
	t.Helper()
	g := &rig{t: t, v: New(t.Context(), "test", kit.NewTheme(true, false), picture.HalfBlocks)}
	g.v.Render(true, 78, 12)
	g.show(contentType, content)
	return g
}

func (g *rig) show(contentType, content string) {
	g.t.Helper()
	b := []byte(content)
	g.settle(g.v.Open(body.Source{Reader: bytes.NewReader(b), Size: int64(len(b)), Type: contentType, Head: b[:min(len(b), 512)]}, "http://lab.test/a/b"))
}

func (g *rig) settle(cmd tea.Cmd) {
	g.t.Helper()
	uitest.Settle(g.t, cmd, func(msg tea.Msg) tea.Cmd {
		if c, ok := msg.(kit.Copy); ok {
			g.copied = c.Text
			return nil
		}
		return g.v.Update(msg)
	})
}

func (g *rig) press(keys ...string) {
	g.t.Helper()
	for _, k := range keys {
		if b, ok := kit.Find(g.v.Bindings(), k, g.v.CapturingText()); ok && b.Intent != nil {
			if b.Disabled != "" {
				g.t.Fatalf("%s: %s", k, b.Disabled)
			}
			if c, ok := b.Intent.(kit.Copy); ok {
				g.copied = c.Text
				continue
			}
			g.settle(g.v.Update(b.Intent))
			continue
		}
		g.settle(g.v.Update(uitest.Key(k)))
	}
}

func (g *rig) write(text string) {
	g.t.Helper()
	for _, r := range text {
		g.settle(g.v.Update(tea.KeyPressMsg{Code: r, Text: string(r)}))
	}
}

func (g *rig) screen() string { return uitest.Plain(g.v.Render(true, 78, 12)) }

func (g *rig) expect(texts ...string) {
	g.t.Helper()
	got := g.screen()
	if n := strings.Count(got, "\n"); n != 11 {
		g.t.Errorf("%d lines:\n%s", n+1, got)
	}
	for _, want := range texts {
		if !strings.Contains(got, want) {
			g.t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func shot(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	noerr.Must(t, png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 30, 20))))
	return b.String()
}

func TestTheBodyDecidesItsPages(t *testing.T) {
	for name, c := range map[string]struct {
		kind, content string
		want          []Page
	}{
		"HTML":                       {"text/html; charset=utf-8", "<p>x", []Page{Body, Text}},
		"HTML without a type":        {"", "<!doctype html><p>x", []Page{Body, Text}},
		"JSON":                       {"application/json", "{}", []Page{Body, Tree}},
		"JSON that says it is text":  {"text/plain", `{"a":1}`, []Page{Body, Tree}},
		"NDJSON":                     {"application/x-ndjson", "{}\n{}\n", []Page{Body, Tree}},
		"text":                       {"text/plain", "hello", []Page{Body}},
		"a PDF":                      {"application/pdf", "%PDF", []Page{Hex, Body}},
		"zero bytes":                 {"text/html", "<p>\x00", []Page{Hex, Body}},
		"a picture":                  {"image/png", shot(t), []Page{Picture, Hex, Body}},
		"a picture without its type": {"application/octet-stream", shot(t), []Page{Picture, Hex, Body}},
		"SVG":                        {"image/svg+xml", "<svg>", []Page{Body}},
		"nothing":                    {"text/html", "", []Page{Body}},
	} {
		g := open(t, c.kind, c.content)
		if got := g.v.Pages(); !slices.Equal(got, c.want) || g.v.At() != c.want[0] {
			t.Errorf("%s: %v at %s", name, got, g.v.At())
		}
		for _, p := range c.want {
			g.settle(g.v.Show(p))
			if got := g.screen(); strings.Contains(got, "reading") || strings.Count(got, "\n") != 11 {
				t.Errorf("%s, page %s:\n%s", name, p, got)
			}
		}
	}
}

func TestAPageIsReadAsText(t *testing.T) {
	g := open(t, "text/html", "<h1>Shop</h1><p>One <a href=/x>link</a>, "+strings.Repeat("word ", 30))
	g.settle(g.v.Show(Text))
	g.expect("# Shop", "One [link](http://lab.test/x), word")
	g.press("/")
	g.write("SHOP")
	g.press("enter")
	g.expect("/SHOP  1 of 1")
	g.show("text/html", "<script>x</script>")
	g.settle(g.v.Show(Text))
	g.expect("! the page has no text")
	g.show("text/html", strings.Repeat("<div>", 1000))
	g.settle(g.v.Show(Text))
	g.expect("! read the page:")
	g.show("text/html", "<p>a</p>"+strings.Repeat("<p>bcdefgh</p>", 400_000))
	g.settle(g.v.Show(Text))
	g.expect("! the first 4.2 MB of the page")
}

func TestWhatIsNotJSONIsShownAsText(t *testing.T) {
	g := open(t, "application/json", "{\"a\": 1,\n\"b\": tru}\n")
	g.settle(g.v.Show(Tree))
	g.expect("! Shown as text: not JSON at line 2, column 9: invalid", `1 {"a": 1,`, `2 "b": tru}`)
	g.press("/")
	g.write("tru")
	g.press("enter")
	g.expect("1 of 1")
	g.show("application/json", `{"a":[1,2`)
	g.settle(g.v.Show(Tree))
	g.expect("a: [] at least 2 values", "! the body ends in the middle of a value")
}

func TestAFilterRunsAsItIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, "application/json", `{"items":[{"n":1,"x":"a"},{"n":2,"x":"b"}]}`)
		g.press("|")
		g.expect(`1 {"items":[{"n":1`, "jq › █ such as .items[0]")
		g.write(".items[].x")
		g.expect(`1 {"items":[{"n":1`, `→ "a" "b"`, "jq › .items[].x", "2 results") // the body stays while one needs its names
		g.write("[")
		g.expect(`→ "a" "b"`, "jq › .items[].x[", "✗ the expression is not finished") // the result before it stays
		if by := g.v.Filtered(); by != "" {
			t.Errorf("the page is called %q while the body is on the screen", by)
		}
		g.press("backspace", "enter", "Y")
		g.expect(`1 "a"`, `2 "b"`)
		if by := g.v.Filtered(); by != "jq .items[].x" {
			t.Errorf("the result is called %q", by)
		}
		if g.copied != "\"a\"\n\"b\"\n" {
			t.Errorf("copied %q", g.copied)
		}
		g.press("G", "|", "ctrl+u")
		g.expect("jq › █ up recalls .items[].x")
		g.write("length")
		g.expect("→ 1", "1 result")
		g.press("up")
		g.expect("jq › .items[].x", "2 results")
		g.press("up")
		g.expect("jq › .items[].x")
		g.press("down")
		g.expect("jq › length", "1 result")
		g.press("esc")
		g.expect(`1 {"items":[{"n":1`)
		if g.v.CapturingText() {
			t.Error("it is still typed")
		}
		g.settle(g.v.Show(Tree))
		g.press("|")
		g.expect("▾ {} 1 key", "jq › █ up recalls length")
		g.press("up", "enter")
		g.expect("jq › length", "1 1")
		g.show("application/json", `[5]`)
		g.expect("1 [5]")
		g.press("|", "up", "up")
		g.expect("jq › .items[].x", "✗ expected an object but got: array") // the history is the session's
	})
}

func TestAFilterOfAPageIsASelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, "text/html", "<ul><li class=a>one<li>two</ul>")
		g.press("|")
		g.write("li.a")
		g.expect(`→ <li class="a">one</li>`, "CSS › li.a", "1 result")
		g.write("x")
		g.expect("nothing matches", "0 results")
		g.write("[")
		g.expect("✗ ")
		g.press("enter")
		g.press("esc")
		g.expect("<ul><li class=a>one")
	})
	g := open(t, "text/plain", "hello")
	if b, _ := kit.Find(g.v.Bindings(), "|", false); b.Disabled == "" {
		t.Error("text has a filter")
	}
}

func TestTypingRunsOneFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, "application/json", "[1,2,3]")
		g.press("|")
		var last tea.Cmd
		for _, r := range ".[]" {
			last = g.v.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			if !g.v.filter.run.Running() {
				t.Fatal("no filter runs")
			}
		}
		before := time.Now()
		g.settle(last)
		if took := time.Since(before); took < typingPause {
			t.Errorf("it ran after %s, while one may still be typing", took)
		}
		g.expect("3 results")
	})
}

func TestAFilterThatIsKeptBeforeItRanIsInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, "application/json", "[1,2,3]")
		g.press("|")
		run := g.v.Update(tea.PasteMsg{Content: ".[]"})
		g.press("enter")
		g.settle(run)
		g.expect("3 results")
		g.press("|", "ctrl+u", "up")
		g.expect("jq › .[]")
	})
}

func TestFiltersAreThereInTheNextSession(t *testing.T) {
	kept := filter.History{File: filepath.Join(t.TempDir(), "filters.json")}
	session := func(t *testing.T, keys func(g *rig)) {
		synctest.Test(t, func(t *testing.T) {
			g := open(t, "application/json", "[1,2,3]")
			g.v.Remember(kept)
			g.press("|")
			keys(g)
		})
	}
	session(t, func(g *rig) {
		g.write(".[]")
		g.press("enter")
		g.expect("3 results")
		g.press("|", "ctrl+u")
		g.write("length")
		g.press("esc")
	})
	session(t, func(g *rig) {
		g.press("up")
		g.expect("jq › length")
		g.press("up")
		g.expect("jq › .[]", "3 results")
	})
}

// late is a body that takes a minute to read, and counts how often it is read from the beginning.
type late struct {
	io.ReaderAt
	begun atomic.Int32
}

func (r *late) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		r.begun.Add(1)
		<-time.After(time.Minute)
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestABodyIsReadOnceForAllFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &late{ReaderAt: strings.NewReader("[1,2,3]")}
		f := newFilterLine(t.Context(), "test", kit.NewTheme(true, false))
		f.kind = filter.JQ
		f.open(body.Source{Reader: r, Size: 7})
		defer f.close()
		done := make(chan tea.Msg, 3)
		for _, expr := range []string{".", ".[", ".[]"} {
			f.prompt.SetValue(expr)
			run := f.start()
			go func() { done <- run() }()
			<-time.After(time.Second)
		}
		for range 3 {
			msgs, _ := (<-done).(kit.Addressed).Deliver()
			for _, msg := range msgs {
				if l, ok := msg.(kit.Loaded); ok {
					l.Deliver()
				}
			}
		}
		if n := r.begun.Load(); n != 1 || f.res.Matches != 3 {
			t.Errorf("the body was read %d times; the last filter has %d results, %v", n, f.res.Matches, f.err)
		}
	})
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the disk is gone") }

func TestABodyThatCannotBeReadIsToldOnEveryPage(t *testing.T) {
	for kind, pages := range map[string][]Page{"application/json": {Body, Tree}, "text/html": {Text}, "image/png": {Picture, Hex}} {
		g := open(t, "text/plain", "x")
		g.settle(g.v.Open(body.Source{Reader: failing{}, Size: 1000, Type: kind}, ""))
		for _, p := range pages {
			g.settle(g.v.Show(p))
			g.expect("the disk is gone")
		}
	}
}

func TestTheChainPage(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	leaf := model.Certificate{
		Subject: "CN=shop.example\x1b[31m", Issuer: "CN=Proxy CA", Names: []string{"shop.example", "203.0.113.7"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(49 * time.Hour), SHA256: strings.Repeat("ab", 32),
	}
	ca := model.Certificate{Subject: "CN=Proxy CA", Issuer: "CN=Proxy CA", SelfSigned: true, Authority: true, NotBefore: now.Add(-9 * time.Hour), NotAfter: now.Add(-time.Hour), SHA256: strings.Repeat("cd", 32)}
	for name, c := range map[string]struct {
		chain model.Chain
		want  []string
	}{
		"by the file": {model.Chain{Peer: "target", ServerName: "shop.example", Version: "TLS 1.3", Cipher: "X", Trust: model.TrustFile, Certificates: []model.Certificate{leaf, ca}}, []string{
			"✓ The profile's CA file vouches for shop.example; the system does not.", "agreed   TLS 1.3, X", "what the client saw through the tunnel",
			"1 certificate", "subject  CN=shop.example", "issuer   CN=Proxy CA", "names    shop.example, 203.0.113.7", "2026-11-22 11:00 to 2026-11-24 13:00 UTC (2 days left)",
			"2 authority", "issuer   itself", "(over)", strings.Repeat("ab", 32),
		}},
		"by the system, API": {model.Chain{Peer: "service", ServerName: "api.example", Version: "TLS 1.3", Trust: model.TrustSystem, Certificates: []model.Certificate{leaf}}, []string{
			"✓ An authority of the system vouches for api.example.", "the service's API; those of the target are not seen by API",
		}},
		"by nothing":           {model.Chain{Peer: "target", ServerName: "a", UntrustedReason: "unknown authority", Certificates: []model.Certificate{leaf}}, []string{"✗ Nothing vouches for a: unknown authority."}},
		"by nothing, and used": {model.Chain{Peer: "target", ServerName: "a", UntrustedReason: "unknown authority", Unchecked: true, Certificates: []model.Certificate{leaf}}, []string{"! Nothing vouches for a: unknown authority. It was used anyway (verify = false)."}},
	} {
		lines := ChainLines(kit.NewTheme(true, true), c.chain, now, 160)
		raw := strings.Join(lines, "\n")
		got := uitest.Plain(raw)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		if strings.Contains(raw, "\x1b[31m") {
			t.Errorf("%s: a name acts on the terminal: %q", name, raw)
		}
	}
}
