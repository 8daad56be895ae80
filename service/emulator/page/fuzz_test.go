package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

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
