package fetch

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/document"
)

func parsed(t testing.TB, at endpoint, loose bool, body string) (call, error) {
	t.Helper()
	fields, err := document.JSON([]byte(body))
	if err != nil {
		return call{}, err
	}
	return (&parser{endpoint: at, loose: loose, Table: fields}).parse()
}

func TestFieldsOfTheAsynchronousEndpoints(t *testing.T) {
	const page = `"zone":"z","url":"http://lab.test/ok","format":"raw"`
	for name, c := range map[string]struct {
		at   endpoint
		body string
		want string // part of the refusal; "" is taken
	}{
		"webhook":                  {atAsync, `{` + page + `,"webhook_url":"http://h.test/","webhook_method":"GET","webhook_data":{"a":1}}`, ""},
		"webhook, synchronous":     {atRequest, `{` + page + `,"webhook_url":"http://h.test/"}`, "webhook_url is not allowed"},
		"a webhook that is none":   {atAsync, `{` + page + `,"webhook_url":"mailto:a@b"}`, "webhook_url must be"},
		"a method that is none":    {atAsync, `{` + page + `,"webhook_url":"http://h.test/","webhook_method":"PUT"}`, "webhook_method must be"},
		"more data than is kept":   {atAsync, `{` + page + `,"webhook_data":"` + strings.Repeat("a", maxWebhookBytes) + `"}`, "webhook_data must be"},
		"async in the body":        {atAsync, `{` + page + `,"async":true}`, "async is not allowed"},
		"unblocker without format": {atUnblock, `{"url":"http://lab.test/ok","debug":true}`, ""},
		"unblocker without url":    {atUnblock, `{}`, "url is required"},
		"unblocker with a query":   {atUnblock, `{"url":"http://lab.test/ok","query":{"q":"a"}}`, "query is not allowed"},
		"a SERP query":             {atSERP, `{"query":{"q":"a b","start":10,"safe":true},"brd_json":1}`, ""},
		"a SERP query without q":   {atSERP, `{"query":{"hl":"en"}}`, "q is required"},
		"a SERP query of objects":  {atSERP, `{"query":{"q":{}}}`, `query: "q" must be`},
		"neither url nor query":    {atSERP, `{}`, "url or query is required"},
		"both":                     {atSERP, `{"url":"http://lab.test/search?q=a","query":{"q":"a"}}`, "two ways"},
		"brd_json of no kind":      {atSERP, `{"query":{"q":"a"},"brd_json":2}`, "brd_json must be"},
		"multi":                    {atSERP, `{"query":{"q":"a"},"multi":true}`, "multi is not done"},
	} {
		got, err := parsed(t, c.at, false, c.body)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && got.url == nil {
			t.Errorf("%s: no address", name)
		}
	}
	c, err := parsed(t, atSERP, false, `{"query":{"q":"a b","start":10,"safe":true},"brd_json":"html"}`)
	if err != nil || c.url.String() != "http://lab.test/search?q=a+b&safe=true&start=10" || c.form != formParsedHTML {
		t.Errorf("%v %q, %v", c.url, c.form, err)
	}
}

func TestFieldsThatContradict(t *testing.T) {
	const page = `"zone":"z","url":"http://lab.test/ok","format":"raw"`
	for body, want := range map[string]string{
		`{` + page + `,"data_format":"markdown","headers":{"x-unblock-data-format":"screenshot"}}`: "given twice",
		`{` + page + `,"headers":{"X-A":"1","x-a":"2"}}`:                                           "given twice",
		`{` + page + `,"headers":{"x-unblock-colour":"red"}}`:                                      "x-unblock-colour is not known",
		`{` + page + `,"headers":{"x-unblock-city":"a/b"}}`:                                        "x-unblock-city takes",
		`{` + page + `,"headers":null}`:                                                            "headers must be",
		`{` + page + `,"render":"yes"}`:                                                            "render must be true or false",
		`{` + page + `,"direct":null}`:                                                             "direct must be true or false",
		`{` + page + `,"data_format":"pdf"}`:                                                       "data_format must be one of",
	} {
		if _, err := parsed(t, atRequest, false, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	// JSON as a body says so, unless the caller does.
	for body, want := range map[string]string{
		`{` + page + `,"body":{"a":1}}`:                                     "application/json",
		`{` + page + `,"body":{"a":1},"headers":{"Content-Type":"text/x"}}`: "text/x",
		`{` + page + `,"body":"a"}`:                                         "",
	} {
		if c, err := parsed(t, atRequest, false, body); err != nil || c.header.Get("Content-Type") != want {
			t.Errorf("%s: %q, %v", body, c.header.Get("Content-Type"), err)
		}
	}
}

func TestASearchIsAskedForAsItsDevice(t *testing.T) {
	for mobile, want := range map[string]string{"": "", "0": "", "1": "Android", "ios": "iPhone", "ipad": "iPad", "android": "Android"} {
		u, err := url.Parse("http://lab.test/search?q=a&brd_mobile=" + mobile)
		noerr.Must(t, err)
		c := call{url: u, header: http.Header{}}
		noerr.Must(t, noerr.From(c.readSearch()))
		if got := c.header.Get("User-Agent"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", mobile, got)
		}
		c = call{url: u, header: http.Header{"User-Agent": {"mine"}}}
		if _, err := c.readSearch(); err != nil || c.header.Get("User-Agent") != "mine" {
			t.Errorf("%q: %v %q", mobile, err, c.header)
		}
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("zone=z&url=http://lab.test/ok&format=raw")
	f.Add(`zone=z&url=http%3A%2F%2Flab.test%2Fok&format=json&headers=%7B%22A%22%3A%22b%22%7D&direct=true&a=%ff`)
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		fields := queryFields(q)
		for _, name := range fields.Names() {
			if !json.Valid(fields.Raw(name)) {
				t.Fatalf("%q became %q", name, fields.Raw(name))
			}
		}
		c, err := (&parser{Table: fields}).parse()
		if err == nil && (c.url == nil || c.format == "") {
			t.Fatalf("accepted %+v", c)
		}
	})
}

func FuzzRequestBody(f *testing.F) {
	for _, s := range []string{
		`{"zone":"isp_demo","url":"http://lab.test/ok","format":"raw"}`,
		`{"zone":"z","url":"https://u:p@h:1/?q#f","format":"json","headers":{"A":"b"},"body":{"a":[1]},"country":"us","direct":true}`,
		`{"zone":1}`, `[]`, `null`, `{"url":"http://[::1"}`, `{"headers":{"\n":"x"}}`, "\x00",
	} {
		f.Add([]byte(s), false, byte(0))
		f.Add([]byte(s), true, byte(3))
	}
	f.Add([]byte(`{"query":{"q":"a","start":10},"brd_json":"html","webhook_url":"http://h/","webhook_data":[1]}`), false, byte(3))
	f.Add([]byte(`{"url":"http://h/","format":"raw","headers":{"x-unblock-expect":"{\"element\":\"a>b\"}","x-unblock-city":"c"}}`), false, byte(2))
	f.Fuzz(func(t *testing.T, b []byte, loose bool, at byte) {
		fields, err := document.JSON(b)
		var c call
		if err == nil {
			c, err = (&parser{endpoint: endpoint(at % 4), loose: loose, Table: fields}).parse()
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatalf("an error that names nothing: %v", err)
			}
			return
		}
		if c.url == nil || c.url.Hostname() == "" || (c.format != "raw" && c.format != "json") || c.method == "" {
			t.Fatalf("accepted %+v", c)
		}
		// What is accepted can be put on the wire.
		noerr.Must(t, noerr.From(http.NewRequest(c.method, c.url.String(), bytes.NewReader(c.body))))
	})
}

func FuzzJSONString(f *testing.F) {
	f.Add([]byte("plain \"quoted\" \\ \n\r\t\x00\x7f\u2028é"), 3)
	f.Add([]byte{0xff, 0xc3, 0x28, 0xe2, 0x82}, 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var out bytes.Buffer
		out.WriteByte('"')
		e := &stringEncoder{w: &out}
		cut = min(max(cut, 0), len(b))
		for _, part := range [][]byte{b[:cut], b[cut:]} {
			if n, err := e.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		noerr.Must(t, e.end())
		out.WriteByte('"')
		var got string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %q", err, out.Bytes())
		}
		if want := string([]rune(string(b))); got != want || !utf8.ValidString(got) {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
