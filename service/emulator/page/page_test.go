package page

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/charmap"
)

const sample = `<!doctype html><html><head><title> The
 lab's  <b>page</b></title><base href="/deep/"><style>p{color:red}</style></head>
<body><h1>Heading</h1><p>One <b>bold</b>   word,<br>a line.</p><script>var x = "no";</script>
<ul><li><a href="next?b=1#part">Next</a></li><li><a href="https://other.test/x">Other</a></li>
<li><a href="javascript:alert(1)">Run</a><a href="next?b=1">again</a><a href="mailto:a@b.test">Mail</a></li></ul>
<table><tr><th>Name</th><th>Price</th></tr><tr><td>Lamp</td><td>$12.50</td></tr></table>
<p hidden>hidden</p><p style="display: none">gone</p><img src="pic.svg" alt="A picture"></body></html>`

// parsed is a page that the parser takes.
func parsed(t *testing.T, body []byte) *html.Node {
	t.Helper()
	doc, err := Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestVisibleText(t *testing.T) {
	want := "Heading\nOne bold word,\na line.\nNext\nOther\nRunagainMail\nName Price\nLamp $12.50"
	if got := TextOf(parsed(t, []byte(sample))); got != want {
		t.Errorf("%q", got)
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{sample, "The lab's <b>page</b>"},
		{"<svg><title>not this</title></svg><p>x", ""},
		{"", ""},
	} {
		if got := TitleOf(parsed(t, []byte(c.html))); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestLinksAreAbsoluteOnceAndWeb(t *testing.T) {
	want := []string{"http://lab.test/deep/next?b=1", "https://other.test/x"}
	if got := LinksOf(parsed(t, []byte(sample)), "http://lab.test/a/b"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := LinksOf(parsed(t, []byte(`<a href="b">`)), ""); got != nil {
		t.Errorf("without a base: %q", got)
	}
	var many strings.Builder
	for i := range MaxLinks + 5 {
		fmt.Fprintf(&many, `<a href="/%d"></a>`, i)
	}
	if got := LinksOf(parsed(t, []byte(many.String())), "http://lab.test/"); len(got) != MaxLinks {
		t.Errorf("%d links", len(got))
	}
}

// A page of a few kilobytes must not become gigabytes by its own base.
func TestALongBaseDoesNotMultiply(t *testing.T) {
	page := func(base int) []byte {
		var b strings.Builder
		b.WriteString(`<base href="http://lab.test/` + strings.Repeat("a", base) + `/">`)
		for i := range 4300 {
			fmt.Fprintf(&b, `<a href=%d>x</a>`, i)
		}
		return []byte(b.String())
	}
	if got := LinksOf(parsed(t, page(maxAddress)), "http://lab.test/b/"); len(got) != 4300 || got[0] != "http://lab.test/b/0" {
		t.Errorf("a base that is too long counted: %d links, %.100q", len(got), got)
	}
	total := 0
	for _, l := range LinksOf(parsed(t, page(maxAddress-100)), "") {
		total += len(l)
	}
	if total < maxAddresses/2 || total > maxAddresses {
		t.Errorf("links of %d bytes", total)
	}
	doc, err := Parse(page(maxAddress - 100))
	if err != nil {
		t.Fatal(err)
	}
	absolute(doc, "")
	total = 0
	for n := range doc.Descendants() {
		total += len(attribute(n, "href"))
	}
	if total < maxAddresses/2 || total > maxAddresses+2*maxAddress {
		t.Errorf("rewritten addresses of %d bytes", total)
	}
}

func TestMarkdown(t *testing.T) {
	got, err := Markdown([]byte(sample), "http://lab.test/a/b")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Heading", "**bold**", "[Next](http://lab.test/deep/next?b=1#part)", "[Other](https://other.test/x)",
		"| Name | Price", "![A picture](http://lab.test/deep/pic.svg)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, not := range []string{"javascript:", "var x", "color:red"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in:\n%s", not, got)
		}
	}
}

func TestALargePageIsRefused(t *testing.T) {
	if _, err := Markdown(make([]byte, MaxBytes+1), ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestDecode(t *testing.T) {
	latin, err := charmap.ISO8859_1.NewEncoder().String("café")
	if err != nil {
		t.Fatal(err)
	}
	cyrillic, err := charmap.Windows1251.NewEncoder().String("лампа")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ body, contentType, want string }{
		{"café", "text/html; charset=utf-8", "café"},
		{"\xef\xbb\xbfcafé", "text/html; charset=iso-8859-1", "café"}, // the mark rules
		{latin, "text/html; charset=iso-8859-1", "café"},
		{`<meta charset="windows-1251">` + cyrillic, "text/html", `<meta charset="windows-1251">лампа`},
		{"caf\xe9 \xff", "text/html; charset=utf-8", "caf\uFFFD \uFFFD"},
	} {
		if got := string(Decode([]byte(c.body), c.contentType)); got != c.want {
			t.Errorf("%q as %s: %q, want %q", c.body, c.contentType, got, c.want)
		}
	}
}
