package filter

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func read(t testing.TB, kind Kind, body string) *Document {
	t.Helper()
	d, err := Read(kind, strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	return d
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
	if err != nil || got.Matches != MaxMatches || got.Note != "the first 10000 results alone" {
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
		{crowd, "i ~ b ~ b", ErrSteps},
		{crowd, "i:has(u) ~ b", ErrSteps},
		{crowd, "body:has(b:has(i))", ErrSteps},
		{crowd, "b[title='a ~ b ~ c']", nil},
		{nest, "i b b b b", ErrSteps},
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
	}{{JQ, ".a["}, {JQ, "nosuch"}, {CSS, "p["}, {CSS, ""}, {JQ, strings.Repeat(".", MaxExpr+1)}} {
		if Check(c.kind, c.expr) == nil {
			t.Errorf("%s %q is taken", c.kind, c.expr)
		}
	}
	if _, err := read(t, JQ, `{"a":"b"}`).Run(t.Context(), ".a.b"); err == nil {
		t.Error("an error of the filter is lost")
	}
	const bad = `{"a": tru}`
	if _, err := Read(JQ, strings.NewReader(bad), int64(len(bad))); err == nil || !strings.Contains(err.Error(), "at byte") {
		t.Errorf("a broken body: %v", err)
	}
	deep := strings.Repeat("[", 1<<20)
	if _, err := Read(JQ, strings.NewReader(deep), int64(len(deep))); err == nil {
		t.Error("a million brackets were read")
	}
}

func TestOfALargeBodyWhatFits(t *testing.T) {
	lines := strings.Repeat(`{"n":"`+strings.Repeat("x", 4000)+`"}`+"\n", MaxInput/4000)
	d := read(t, JQ, lines)
	got, err := d.Run(t.Context(), "select(false)")
	if err != nil || got.Note != "the first 16 MiB of the body alone" {
		t.Errorf("%+v: %v", got, err)
	}
	one := "[" + strings.Repeat("1,", MaxInput/2) + "1]"
	if _, err := Read(JQ, strings.NewReader(one), int64(len(one))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one large value: %v", err)
	}
	page := strings.Repeat("<p>x</p>", MaxInput/8+10)
	got, err = read(t, CSS, page).Run(t.Context(), "p")
	if err != nil || got.Matches != MaxMatches || got.Note != "the first 10000 results alone, of the first 16 MiB of the body alone" {
		t.Errorf("%d, %q: %v", got.Matches, got.Note, err)
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
		d, err := Read(JQ, strings.NewReader(body), int64(len(body)))
		if err != nil {
			return
		}
		if got, err := d.Run(t.Context(), expr); err == nil && (got.Matches > MaxMatches || len(got.Text) > 16*MaxOutput) {
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
		d, err := Read(CSS, strings.NewReader(body), int64(len(body)))
		if err != nil {
			return
		}
		if got, err := d.Run(t.Context(), expr); err == nil && len(got.Text) > MaxOutput {
			t.Errorf("%d bytes", len(got.Text))
		}
	})
}
