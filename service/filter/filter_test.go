package filter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
)

func read(t testing.TB, kind Kind, body string) *Document {
	t.Helper()
	return New(t.Context(), kind, strings.NewReader(body), int64(len(body)))
}

func TestFilters(t *testing.T) {
	const shop = `{"items":[{"name":"a","price":1.50},{"name":"b","price":20000000000000000001}],"a":1,"a":2}`
	const page = `<html><body><p class=x>one</p><p>two</p><a href=/z>z</a></body></html>`
	for _, c := range []struct {
		kind             Kind
		body, expr, want string
	}{
		{JQ, shop, ".items[].name", "\"a\"\n\"b\"\n"},
		{JQ, shop, ".items[1].price", "20000000000000000001\n"},
		{JQ, shop, ".a", "2\n"},
		{JQ, "\ufeff{\"a\":[]}", ".", "{\n  \"a\": []\n}\n"},
		{JQ, "{\"n\":1}\n{\"n\":2}\n", "select(.n>1).n", "2\n"},
		{JQ, "{\"n\":1}\n{\"n\":2}\n", ".n, halt", "1\n"},
		{JQ, "[]", "env, $ENV", "{}\n{}\n"},
		{CSS, page, "p", "<p class=\"x\">one</p>\n<p>two</p>\n"},
		{CSS, page, "p.x, a[href]", "<p class=\"x\">one</p>\n<a href=\"/z\">z</a>\n"},
		{CSS, page, "h1", ""},
	} {
		got, err := read(t, c.kind, c.body).Run(t.Context(), c.expr)
		if err != nil || string(got.Text) != c.want || got.Matches != strings.Count(strings.ReplaceAll(c.want, "{\n  \"a\": []\n}", "x"), "\n") || got.Note != "" {
			t.Errorf("%s %s: %q, %d, %q: %v; want %q", c.kind, c.expr, got.Text, got.Matches, got.Note, err, c.want)
		}
	}
}

func TestAFilterSeesTheBodyAlone(t *testing.T) {
	t.Setenv("ZONEDECK_SECRET_OF_A_TEST", "hunter22")
	d := read(t, JQ, "null")
	for _, expr := range []string{"env", "$ENV", "$ENV.ZONEDECK_SECRET_OF_A_TEST", "input", "[inputs]", `import "a" as a; a::b`, `include "a"; .`, "debug", "stderr", `"a" | input_filename`, `get_search_list`, `"x" | modulemeta`} {
		got, err := d.Run(t.Context(), expr)
		if strings.Contains(string(got.Text), "hunter22") || err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s saw the environment: %q, %v", expr, got.Text, err)
		}
	}
	for _, expr := range []string{"input", `import "a" as a; a::b`} {
		if _, err := d.Run(t.Context(), expr); err == nil {
			t.Errorf("%s was run", expr)
		}
	}
}

func TestFiltersThatDoNotEndAreStopped(t *testing.T) {
	d := read(t, JQ, "null")
	for expr, want := range map[string]error{
		"def f: f; f":     ErrTime,
		"[range(1e18)]":   nil, // by time or by memory
		"last(repeat(1))": ErrTime,
		`reduce range(1e18) as $i ("";.+"xxxxxxxxxxxxxxxx")`: nil,
	} {
		_, err := d.Run(t.Context(), expr)
		if want != nil && !errors.Is(err, want) || !errors.Is(err, ErrTime) && !errors.Is(err, ErrMemory) {
			t.Errorf("%s ended with %v", expr, err)
		}
	}
	got, err := d.Run(t.Context(), "repeat(1)")
	if err != nil || got.Matches != maxMatches || got.Note != "the first 10000 results alone" {
		t.Errorf("%d results, %q: %v", got.Matches, got.Note, err)
	}
	crowd := read(t, CSS, strings.Repeat("<b>x</b>", 80_000))
	if _, err := crowd.Run(t.Context(), "i ~ b"); !errors.Is(err, ErrTime) {
		t.Errorf("a selector of siblings ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Run(ctx, "def f: f; f"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled filter ended with %v", err)
	}
}

func TestSelectorsThatCannotBeStoppedAreRefused(t *testing.T) {
	crowd := read(t, CSS, strings.Repeat("<b>x</b>", 80_000))
	nest := read(t, CSS, strings.Repeat("<b>", 400))
	plain := read(t, CSS, strings.Repeat("<ul><li>a<li><b title='~ ~ ~'>b</b></ul>", 1000))
	for _, c := range []struct {
		d    *Document
		expr string
		want error
	}{
		{crowd, "i ~ b ~ b", errSteps},
		{crowd, "i:has(u) ~ b", errSteps},
		{crowd, "body:has(b:has(i))", errSteps},
		{crowd, "b[title='a ~ b ~ c']", nil},
		{nest, "i b b b b", errSteps},
		{nest, "i > b > b > b > b", nil},
		{plain, "html body ul li b, html body ul > li + li b, ul li", nil},
		{plain, "li ~ li:has(b), ul:not(:has(i)) > li", nil},
	} {
		if _, err := c.d.Run(t.Context(), c.expr); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.expr, err, c.want)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		expr string
	}{{JQ, ".a["}, {JQ, "nosuch"}, {CSS, "p["}, {CSS, ""}, {JQ, strings.Repeat(".", maxExpr+1)}} {
		if Check(c.kind, c.expr) == nil {
			t.Errorf("%s %q is taken", c.kind, c.expr)
		}
	}
	if _, err := read(t, JQ, `{"a":"b"}`).Run(t.Context(), ".a.b"); err == nil {
		t.Error("an error of the filter is lost")
	}
	const bad = `{"a": tru}`
	if _, err := read(t, JQ, bad).Run(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "at byte") {
		t.Errorf("a broken body: %v", err)
	}
	deep := strings.Repeat("[", 1<<20)
	if _, err := read(t, JQ, deep).Run(t.Context(), "."); err == nil {
		t.Error("a million brackets were read")
	}
}

func TestOfALargeBodyWhatFits(t *testing.T) {
	lines := strings.Repeat(`{"n":"`+strings.Repeat("x", 4000)+`"}`+"\n", maxInput/4000)
	d := read(t, JQ, lines)
	got, err := d.Run(t.Context(), "select(false)")
	if err != nil || got.Note != "the first 16 MiB of the body alone" {
		t.Errorf("%+v: %v", got, err)
	}
	one := "[" + strings.Repeat(`"`+strings.Repeat("x", 4000)+`",`, maxInput/4000) + "1]"
	if _, err := read(t, JQ, one).Run(t.Context(), "."); !errors.Is(err, errTooLarge) {
		t.Errorf("one large value: %v", err)
	}
	page := strings.Repeat("<p>x</p>", maxInput/8+10)
	got, err = read(t, CSS, page).Run(t.Context(), "p")
	if err != nil || got.Matches != maxMatches || got.Note != "the first 10000 results alone, of the first 16 MiB of the body alone" {
		t.Errorf("%d, %q: %v", got.Matches, got.Note, err)
	}
}

func TestABodyThatTakesTooMuchMemoryIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"numbers": "[" + strings.Repeat("1,", maxInput/2-2) + "1]",
		"objects": "[" + strings.Repeat("{},", maxInput/3-2) + "1]",
		"deep":    strings.Repeat(`[{"":`, 2000) + "1" + strings.Repeat("}]", 2000) + " [" + strings.Repeat("[],", maxInput/3-6000) + "1]",
	} {
		got, err := read(t, JQ, body).Run(t.Context(), "length")
		if name == "deep" { // its first value fits
			if err != nil || got.Note != "the first 1 values of the body alone" || string(got.Text) != "1\n" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if !errors.Is(err, errValues) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lines := read(t, JQ, strings.Repeat("1\n", maxInput/2))
	got, err := lines.Run(t.Context(), ".")
	if err != nil || got.Note != fmt.Sprintf("the first %d results alone, of the first %d values of the body alone", maxMatches, len(lines.values)) || len(lines.values) > maxHeld/valueBytes*11/10 {
		t.Errorf("lines: %q of %d, %v", got.Note, len(lines.values), err)
	}
	text := strings.Repeat("[{,", maxInput/4) // what stands in a text is no value
	if got, err := read(t, JQ, `["`+text+`\"[{,"]`).Run(t.Context(), ".[0]|length"); err != nil || string(got.Text) != fmt.Sprintf("%d\n", len(text)+4) {
		t.Errorf("a text: %q, %v", got.Text, err)
	}
}

func TestNoStepMakesAValueOfEachOfAMillionCharacters(t *testing.T) {
	d := read(t, JQ, `"abcabc"`)
	for _, g := range guarded {
		expr := "[" + g.name + strings.NewReplacer("$s", `"a"`, "$re", `"b|[^a-z]"`, "to", `"x"`, "$flags", `"g"`, "; ", ";").Replace("("+g.params+")") + "]"
		expr = strings.Replace(expr, "()", "", 1)
		if got, err := d.Run(t.Context(), expr); err != nil || got.Matches != 1 {
			t.Errorf("%s: %+v, %v", expr, got, err)
		}
		if _, err := d.Run(t.Context(), `("x" * 3e6) | `+expr); err == nil || !strings.Contains(err.Error(), g.name+" takes a text of at most 1 MiB") {
			t.Errorf("%s of a long text: %v", expr, err)
		}
	}
	if got, err := d.Run(t.Context(), `explode, (.|sub("b";"-")), [match("c";"g").offset], split("b"), (null|try explode catch .)`); err != nil ||
		strings.Join(strings.Fields(string(got.Text)), "") != `[97,98,99,97,98,99]"a-cabc"[2,5]["a","ca","c"]"explodecannotbeappliedto:null"` {
		t.Errorf("%s, %v", got.Text, err)
	}
}

// once counts how often a body is read, and reads no further before it is told to.
type once struct {
	io.ReaderAt
	begun atomic.Int32
	free  chan struct{}
}

func (o *once) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		o.begun.Add(1)
		<-o.free
	}
	return o.ReaderAt.ReadAt(p, off)
}

func TestABodyIsReadOnceWhoeverWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &once{ReaderAt: strings.NewReader("[1,2,3]"), free: make(chan struct{})}
		d := New(t.Context(), JQ, body, 7)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		run := func(ctx context.Context, expr string) {
			_, err := d.Run(ctx, expr)
			ended <- err
		}
		go run(ctx, ".")
		synctest.Wait()
		go run(t.Context(), ".[]")
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a run that was cancelled: %v", err)
		}
		close(body.free)
		noerr.Want(t, <-ended)
		if n := body.begun.Load(); n != 1 {
			t.Errorf("the body was read %d times", n)
		}
	})
}

func TestReadingEndsWithItsDocument(t *testing.T) {
	for kind, body := range map[Kind]string{JQ: "[1]", CSS: "<p>"} {
		life, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := New(life, kind, strings.NewReader(body), int64(len(body))).Run(t.Context(), map[Kind]string{JQ: ".", CSS: "p"}[kind]); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		kind, head string
		want       Kind
	}{
		{"application/json; charset=utf-8", "", JQ},
		{"application/x-ndjson", "", JQ},
		{"text/html", "", CSS},
		{"application/xhtml+xml", "", ""},
		{"", " [1]", JQ},
		{"text/plain", "<!DOCTYPE html><p>", CSS},
		{"", "<html>", CSS},
		{"", "hello", ""},
		{"image/png", "{", ""},
	} {
		if got := KindOf(c.kind, []byte(c.head)); got != c.want {
			t.Errorf("%q %q: %q", c.kind, c.head, got)
		}
	}
}

func FuzzJQ(f *testing.F) {
	for _, s := range []string{".a", ".[]|select(.a>1)", "..", "input", "$ENV", "[limit(3;repeat(.))]", `"\(.)"`, "@json", "tojson|fromjson", ".a as [$x,{b:$y}]|$x"} {
		f.Add(s, `{"a":[1,{"b":2}]}`)
	}
	f.Fuzz(func(t *testing.T, expr, body string) {
		if len(body) > 1<<12 || len(expr) > 200 {
			t.Skip()
		}
		for _, word := range []string{"*", "=", "path", "range"} { // these can ask for gigabytes in one step
			if strings.Contains(expr, word) {
				t.Skip()
			}
		}
		if got, err := read(t, JQ, body).Run(t.Context(), expr); err == nil && (got.Matches > maxMatches || len(got.Text) > 16*maxOutput) {
			t.Errorf("%d matches, %d bytes", got.Matches, len(got.Text))
		}
	})
}

func FuzzCSS(f *testing.F) {
	for _, s := range []string{"p", "a[href^='x']", ":has(p)", ":nth-child(2n+1)", "p:matches(", "*"} {
		f.Add(s, "<p>a<a href=x>b</a></p>")
	}
	f.Fuzz(func(t *testing.T, expr, body string) {
		if len(body) > 1<<12 || len(expr) > 200 {
			t.Skip()
		}
		if got, err := read(t, CSS, body).Run(t.Context(), expr); err == nil && len(got.Text) > maxOutput {
			t.Errorf("%d bytes", len(got.Text))
		}
	})
}
