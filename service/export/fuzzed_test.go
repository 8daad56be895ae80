package export_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/export"
)

// pieces are what languages, shells and clients read in their own way.
var pieces = []string{
	`"`, `\`, "'", "$", "$HOME", "${x}", "`id`", "$(id)", "@", "@/etc/passwd", "%s", "%41", "%2F", "%c3%a9", "!", "&", ";", "=", "|", "*", "[1-3]", "{a,b}",
	":", "-", "+", "é", "日本", "\U0001F600", "a", "Z9", `\n`, "~", "<b>", "^", ",", "(", "#{x}", "//", "\u202e",
}

// nasty is a text of up to n pieces.
func nasty(r *rand.Rand, n int, more ...string) string {
	all := append(slices.Clone(pieces), more...)
	var b strings.Builder
	for range 1 + r.IntN(n) {
		b.WriteString(all[r.IntN(len(all))])
	}
	return b.String()
}

// fuzzed is a fetch that the form would send: any method, address, headers and body that
// the rules of the model let pass.
func fuzzed(t *testing.T, r *rand.Rand, base string, zone model.Zone, via model.Via) model.FetchRequest {
	t.Helper()
	d := dialect.Embedded()
	for range 1000 {
		req := model.FetchRequest{Zone: zone, Via: via, URL: base}
		if r.IntN(2) == 0 {
			req.URL += "/" + nasty(r, 5, "/", "..", "/./")
		}
		if r.IntN(4) > 0 {
			req.URL += "?" + nasty(r, 8, "?", "%", "%zz", "/../", " ")
		}
		if r.IntN(5) == 0 {
			req.URL += "#" + nasty(r, 2)
		}
		methods := []string{"", "GET", "post", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "PROPFIND"}
		req.Method = methods[r.IntN(len(methods))]
		req.Header = http.Header{}
		names := []string{"X-A", "x-b", "Accept", "User-Agent", "Content-Type", "Cookie", "Authorization", "Referer", "X-!#$%&'*+.^_`|~1", "Accept-Language", "If-None-Match"}
		for range r.IntN(5) {
			value := nasty(r, 5, " ", "\t", "  ", "\n")
			if r.IntN(8) == 0 {
				value = ""
			}
			// Of several lines of User-Agent, net/http sends the first.
			if name := names[r.IntN(len(names))]; name != "User-Agent" || len(req.Header.Values(name)) == 0 {
				req.Header.Add(name, value)
			}
		}
		if r.IntN(3) > 0 {
			req.Body = nasty(r, 12, "\n", "\r\n", "\t", "\x00", " ", `{"a":"b"}`, "\x7f", "\u2028")
		}
		if r.IntN(3) == 0 {
			req.Country = "de"
		}
		req.Session = fmt.Sprintf("s%d", r.Uint32())
		if len(req.Problems(d.Sends())) == 0 {
			return req
		}
	}
	t.Fatal("no request passes the rules")
	return model.FetchRequest{}
}

// A header whose value holds a line break is not exported, whatever the target.
func TestWhatTheFormRefusesIsNotExported(t *testing.T) {
	for name, change := range map[string]func(*model.FetchRequest){
		"a line break in a header": func(r *model.FetchRequest) { r.Header = http.Header{"X-A": {"a\r\nX-B: b"}} },
		"a header of the framing":  func(r *model.FetchRequest) { r.Header = http.Header{"Content-Length": {"1"}} },
		"a login in the address":   func(r *model.FetchRequest) { r.URL = "http://a:b@lab.test/" },
		"a space in the address":   func(r *model.FetchRequest) { r.URL = "http://lab.test/a b" },
		"another method":           func(r *model.FetchRequest) { r.Method = "GET /" },
		"another country":          func(r *model.FetchRequest) { r.Country = "DE" },
	} {
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			s := source(via)
			change(&s.Request)
			for _, target := range export.Targets() {
				if code, err := target.Code(s); err == nil || code != "" {
					t.Errorf("%s, %s by %s: %q", name, target.Name, via, code)
				}
			}
		}
	}
}

// parts are what a server reads of a request's target: the parts of its path, and the
// fields of its query, each without its escapes.
func parts(target string) []string {
	target, _, _ = strings.Cut(target, "#")
	path, query, _ := strings.Cut(target, "?")
	var out []string
	for p := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		out = append(out, "/"+unescaped(p))
	}
	if query == "" {
		return out
	}
	for field := range strings.SplitSeq(query, "&") {
		name, value, has := strings.Cut(field, "=")
		out = append(out, fmt.Sprintf("%s=%v=%s", unescaped(name), has, unescaped(value)))
	}
	return out
}

// unescaped decodes what is an escape, and keeps the rest.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if i+2 < len(s) && s[i] == '%' {
			if p, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(p)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// arrived is a request as a server saw it.
type arrived struct {
	method, target string
	header         http.Header
	body           string
}

// differences compares a request that arrived at the target with the form's.
func differences(want model.FetchRequest, got arrived) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	method := strings.ToUpper(want.Method)
	if method == "" {
		method = http.MethodGet
	}
	if got.method != method {
		say("method %s, want %s", got.method, method)
	}
	_, address, _ := strings.Cut(want.URL, "://")
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		address = address[i:]
	} else {
		address = ""
	}
	if g, w := parts(got.target), parts(address); !slices.Equal(g, w) {
		say("address %q\nwant    %q (%s)", g, w, want.URL)
	}
	for name, values := range want.Header {
		sep := ", "
		if http.CanonicalHeaderKey(name) == "Cookie" {
			sep = "; "
		}
		var all []string
		for _, v := range values {
			all = append(all, textproto.TrimString(v))
		}
		// An empty line at the end leaves a joined one without the white space before it.
		if g, w := strings.Join(got.header.Values(name), sep), strings.Join(all, sep); strings.TrimSpace(g) != strings.TrimSpace(w) {
			say("header %s: %q, want %q", name, g, w)
		}
	}
	if _, ours := want.Header["Content-Type"]; !ours && got.header.Get("Content-Type") != "" {
		say("a Content-Type of its own: %q", got.header.Get("Content-Type"))
	}
	if got.body != want.Body {
		say("body %q, want %q", got.body, want.Body)
	}
	return out
}
