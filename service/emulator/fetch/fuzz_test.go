package fetch

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"unicode/utf8"

	"zonedeck/service/emulator/document"
)

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
			c, err = (&parser{at: endpoint(at % 4), loose: loose, Table: fields}).parse()
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
		if _, err := http.NewRequest(c.method, c.url.String(), bytes.NewReader(c.body)); err != nil {
			t.Fatal(err)
		}
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
		if err := e.end(); err != nil {
			t.Fatal(err)
		}
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
