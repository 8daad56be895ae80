package dialect

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestASearchBecomesTheAddressOfItsEngine(t *testing.T) {
	d := named(t, "brightdata")
	for _, c := range []struct {
		o       model.Options
		country string
		want    string
	}{
		{model.Options{Query: "red shoes & co"}, "", "https://www.google.com/search?q=red+shoes+%26+co"},
		{model.Options{Query: "a", Engine: "google", Page: "1"}, "de", "https://www.google.com/search?q=a&gl=de"},
		{model.Options{Query: "a", Engine: "google", Page: "3"}, "", "https://www.google.com/search?q=a&start=20"},
		{model.Options{Query: "a", Engine: "bing", Page: "3"}, "us", "https://www.bing.com/search?q=a&first=21&cc=us"},
		{model.Options{Query: "a", Engine: "duckduckgo", Page: "2"}, "us", "https://duckduckgo.com/?q=a&s=10"},
		{model.Options{Query: "ä", Engine: "yandex", Page: "3"}, "", "https://yandex.com/search/?text=%C3%A4&p=2"},
		{model.Options{Query: "a", Engine: "altavista"}, "", "https://typed.test/"},
		{model.Options{Engine: "bing", Page: "2"}, "", "https://typed.test/"},
	} {
		r := model.FetchRequest{URL: "https://typed.test/", Options: c.o, Country: c.country}
		if got := d.Locate(r).URL; got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
		if got := Default().Locate(r).URL; got != r.URL {
			t.Errorf("by the contract alone: %s", got)
		}
	}
}

func named(t *testing.T, name string) Dialect {
	t.Helper()
	d, err := Find(name)
	noerr.Must(t, err)
	return d
}

func TestTheOptionsGoOutInTheDialectsWords(t *testing.T) {
	d := named(t, "brightdata")
	serp := model.Zone{Name: "s", Product: model.ProductSERP}
	unlocker := model.Zone{Name: "u", Product: model.ProductUnlocker}
	for _, c := range []struct {
		r    model.FetchRequest
		want string
	}{
		{model.FetchRequest{Zone: serp, Options: model.Options{Query: "a", Parsed: "true"}, Country: "de"}, `{"zone":"s","url":"https://www.google.com/search?q=a&gl=de&brd_json=1","format":"raw","country":"de"}`},
		{model.FetchRequest{Zone: serp, URL: "https://x.test/search", Options: model.Options{Parsed: "true"}}, `{"zone":"s","url":"https://x.test/search?brd_json=1","format":"raw"}`},
		{model.FetchRequest{Zone: serp, URL: "https://x.test/search?brd_json=html", Options: model.Options{Parsed: "true"}}, `{"zone":"s","url":"https://x.test/search?brd_json=html","format":"raw"}`},
		{model.FetchRequest{Zone: unlocker, URL: "https://x.test/", Options: model.Options{Render: "true", WaitFor: `a[href="x"]>b`}}, `{"zone":"u","url":"https://x.test/","format":"raw","headers":{"X-Unblock-Expect":"{\"element\":\"a[href=\\\"x\\\"]>b\"}"},"render":true}`},
		{model.FetchRequest{Zone: unlocker, URL: "https://x.test/", Options: model.Options{WaitFor: "text: Größe 😀"}}, `{"zone":"u","url":"https://x.test/","format":"raw","headers":{"X-Unblock-Expect":"{\"text\":\"Gr\\u00f6\\u00dfe \\ud83d\\ude00\"}"}}`},
	} {
		got, err := d.Request(c.r)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
		native := c.r
		native.Via = model.ViaNative
		if out := d.Outgoing(native); out.URL != d.Outgoing(c.r).URL || out.Header.Get(headExpect) != d.Outgoing(c.r).Header.Get(headExpect) {
			t.Errorf("by Native: %s %v", out.URL, out.Header)
		}
	}
	var kept struct{ Text string }
	if err := json.Unmarshal([]byte(expectation("text:Größe 😀")), &kept); err != nil || kept.Text != "Größe 😀" {
		t.Errorf("the escapes read as %q, %v", kept.Text, err)
	}
}

func TestTheRequestsOwnHeadersStayAsTheyAre(t *testing.T) {
	r := model.FetchRequest{Header: http.Header{"A": {"b"}}, Options: model.Options{WaitFor: ".x"}}
	if out := named(t, "brightdata").Outgoing(r); out.Header.Get(headExpect) == "" || len(r.Header) != 1 {
		t.Errorf("%v goes out, and the request has %v", out.Header, r.Header)
	}
}

func TestAnOptionThatTheServiceCannotDoIsRefused(t *testing.T) {
	d := named(t, "brightdata")
	for want, r := range map[string]model.FetchRequest{
		"page: a typed URL names its page itself: write what to search for, or clear it": {URL: "https://x.test/", Options: model.Options{Page: "2"}},
		"parsed: the results of yandex are not read as JSON":                             {Options: model.Options{Query: "a", Engine: "yandex", Parsed: "true"}},
		"wait_for: the header x-unblock-expect is among the headers, too: keep one":      {Header: http.Header{"X-Unblock-Expect": {"{}"}}, Options: model.Options{WaitFor: ".a"}},
	} {
		if ps := r.NotSent(d.Sends()); len(ps) != 1 || ps[0].String() != want {
			t.Errorf("%v, want %s", ps, want)
		}
	}
	r := model.FetchRequest{Options: model.Options{Query: "a"}}
	if _, err := Default().Request(r); err == nil || err.Error() != "query: the option query is not shown by the contract; choose dialect brightdata to send it" {
		t.Errorf("by the contract alone: %v", err)
	}
}

func TestAToolsErrorIsReadForWhatItNames(t *testing.T) {
	d := named(t, "brightdata")
	for text, want := range map[string]Reading{
		"scrape: resolve_failed_captcha: the target shows one (status 502)": {TargetStatus: 502, Code: "resolve_failed_captcha", Class: model.ClassCaptcha},
		"HTTP 429: slow down":                  {TargetStatus: 429},
		"Request failed with status code 403":  {TargetStatus: 403},
		"the query is empty, ask_again_please": {},
		"status: 42000":                        {},
	} {
		want.Text = text
		got := d.ReadText(text)
		if got.Text != want.Text || got.TargetStatus != want.TargetStatus || got.Code != want.Code || got.Class != want.Class {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := Default().ReadText("x: captcha_x resolve_failed_captcha"); got.Code != "" {
		t.Errorf("the contract alone knows the code %s", got.Code)
	}
}

func TestTheParametersOfAUsernameAreTheDialects(t *testing.T) {
	r := model.FetchRequest{Country: "de", Session: "a1", Options: model.Options{Render: "true"}}
	for name, want := range map[string][]model.Param{
		"brightdata": {{Name: "country", Value: "de"}, {Name: "session", Value: "a1"}, {Name: "render"}},
		"documented": nil, // NotSent of the request says why
	} {
		d := named(t, name)
		if got := d.Params(r); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got := d.Params(model.FetchRequest{}); got != nil {
			t.Errorf("%s of a request that asks for nothing: %v", name, got)
		}
	}
}
