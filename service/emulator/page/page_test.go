package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/charmap"

	"zonedeck/internal/noerr"
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
	noerr.Must(t, err)
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
	for i := range maxLinks + 5 {
		fmt.Fprintf(&many, `<a href="/%d"></a>`, i)
	}
	if got := LinksOf(parsed(t, []byte(many.String())), "http://lab.test/"); len(got) != maxLinks {
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
	noerr.Must(t, err)
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
	noerr.Must(t, err)
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
	if _, err := Markdown(make([]byte, MaxBytes+1), ""); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestDecode(t *testing.T) {
	latin, err := charmap.ISO8859_1.NewEncoder().String("café")
	noerr.Must(t, err)
	cyrillic, err := charmap.Windows1251.NewEncoder().String("лампа")
	noerr.Must(t, err)
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

func TestDetect(t *testing.T) {
	widget := `<title>Are you a robot?</title><form><div class="x g-recaptcha"></div><button>Go</button></form>`
	for name, c := range map[string]struct {
		status int
		header [2]string
		body   string
		want   BlockKind
	}{
		"a CAPTCHA with 200":               {200, [2]string{"Content-Type", "text/html"}, widget, Captcha},
		"a CAPTCHA with 403":               {403, [2]string{"Content-Type", "text/html"}, widget, Captcha},
		"a CAPTCHA without a type":         {200, [2]string{}, "<!doctype html>" + widget, Captcha},
		"a script challenge":               {503, [2]string{"Content-Type", "text/html"}, "<title>Just a moment...</title>", Challenge},
		"a header names the challenge":     {403, [2]string{"Cf-Mitigated", "challenge"}, "", Challenge},
		"a plain 403":                      {403, [2]string{"Content-Type", "text/html"}, "<h1>No</h1>", Forbidden},
		"a plain 429":                      {429, [2]string{"Content-Type", "text/html"}, "<h1>Slow</h1>", TooFast},
		"a login form with a widget":       {200, [2]string{"Content-Type", "text/html"}, `<input name="user"><div class="g-recaptcha">`, NotBlocked},
		"a long article with a widget":     {200, [2]string{"Content-Type", "text/html"}, widget + strings.Repeat("<p>many words", 200), NotBlocked},
		"an article about CAPTCHAs":        {200, [2]string{"Content-Type", "text/html"}, "<title>How captchas work</title><p>A g-recaptcha class", NotBlocked},
		"a JSON text that quotes a widget": {200, [2]string{"Content-Type", "application/json"}, widget, NotBlocked},
		"a page that is not found":         {404, [2]string{"Content-Type", "text/html"}, "<h1>404</h1>", NotBlocked},
	} {
		h := http.Header{}
		if c.header[0] != "" {
			h.Set(c.header[0], c.header[1])
		}
		if got := Detect(c.status, h, []byte(c.body)); got.Kind != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func markdown(t *testing.T, html string) string {
	t.Helper()
	md, err := Markdown([]byte(html), "http://lab.test/")
	noerr.Must(t, err)
	return md
}

func TestLongListsKeepEveryItemAndItsNumber(t *testing.T) {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "<li>item %d</li>", i+1)
	}
	got := markdown(t, "<ol>"+b.String()+"</ol>")
	for _, n := range []int{1, 500, 501, 1000, 1001, 1200} {
		if !strings.Contains(got+"\n", fmt.Sprintf("%d. item %d\n", n, n)) {
			t.Errorf("no item %d", n)
		}
	}
	if n := strings.Count(markdown(t, "<ul>"+b.String()+"</ul>"), "- item"); n != 1200 {
		t.Errorf("%d items", n)
	}
}

func TestGroupedElementsKeepTheirOrder(t *testing.T) {
	var b, want strings.Builder
	for i := range 300_000 / 100 {
		fmt.Fprintf(&b, "<b>w%d</b> ", i)
		fmt.Fprintf(&want, "w%d ", i)
	}
	got := strings.Join(strings.Fields(strings.ReplaceAll(markdown(t, "<p>"+b.String()), "*", "")), " ")
	if got != strings.TrimSpace(want.String()) {
		t.Errorf("%.200s", got)
	}
}

func TestTablesAreBoundedInCells(t *testing.T) {
	if got := markdown(t, `<table><tr><th>A</th><th>B</th></tr><tr><td colspan="2">both</td></tr></table>`); !strings.Contains(got, "| A ") || !strings.Contains(got, "| both ") {
		t.Errorf("an ordinary table: %s", got)
	}
	for name, html := range map[string]string{
		"a span without end": `<table><tr><td colspan="2000000000" rowspan="2000000000">one</td><td>two</td></tr><tr><td>three</td></tr></table>`,
		"a wide and a long one": "<table><tr>" + strings.Repeat("<td>w", 2000) + "</tr>" + strings.Repeat("<tr><td>one<td>two", 2000) +
			"<tr><td>three</table>",
		"spans that add up": "<table>" + strings.Repeat(`<tr><td colspan="100" rowspan="100">x`, 1000) + "<tr><td>one<td>two<td>three</table>",
	} {
		got := markdown(t, html)
		if len(got) > 1<<20 || !strings.Contains(got, "one") || !strings.Contains(got, "two") || !strings.Contains(got, "three") {
			t.Errorf("%s: %d bytes, %.200s", name, len(got), got)
		}
	}
	many := strings.Repeat("<table>"+strings.Repeat("<tr><td>a<td>b", 100)+"</table>", 300) + "<p>end"
	if got := markdown(t, many); strings.Count(got, "|---") > 2*maxCells/200+2 || strings.Count(got, "a") < 30_000 || !strings.HasSuffix(got, "end") {
		t.Errorf("%d tables of %d cells", strings.Count(got, "|---"), strings.Count(got, "a"))
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range []string{
		sample, "", "<", "<table><td><table>", strings.Repeat("<div>", 600), "<a href='//x'><base href='::'>",
		"<ul><li><ol><li>a", "<pre>```</pre>", "\x00\xff<p>", "<svg><title>x</title><math><mi>",
	} {
		f.Add([]byte(s), "text/html; charset=utf-8")
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		decoded := Decode(body, contentType)
		if !utf8.Valid(decoded) {
			t.Errorf("Decode gave bytes that are not UTF-8")
		}
		_, _ = Markdown(decoded, "http://lab.test/")
		Detect(200, http.Header{"Content-Type": {contentType}}, body)
		doc, err := Parse(decoded)
		if err != nil {
			return // nested too deeply
		}
		for _, l := range LinksOf(doc, "http://lab.test/a/") {
			u, err := url.Parse(l)
			if err != nil || u.Host == "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") {
				t.Errorf("link %q: %v", l, err)
			}
		}
		if text := TextOf(doc); strings.Contains(text, "\n\n") || strings.HasSuffix(text, " ") {
			t.Errorf("text %q", text)
		}
		if title := TitleOf(doc); strings.Contains(title, "\n") {
			t.Errorf("title %q", title)
		}
	})
}
