package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestUnwrap(t *testing.T) {
	for name, tc := range map[string]struct {
		in     string
		status int
		head   http.Header
		body   string
		fails  bool
	}{
		"as shown":                  {`{"status_code":200,"headers":{"content-type":"text/html","a":["1","2"]},"body":"<p>\u00e4\n\"x\"\\\/</p>"}`, 200, http.Header{"Content-Type": {"text/html"}, "A": {"1", "2"}}, "<p>ä\n\"x\"\\/</p>", false},
		"fields in any order":       {` { "body" : "b" , "more" : [1,{"x":"}"},[]] , "status_code" : 404 } `, 404, nil, "b", false},
		"pairs of escapes":          {`{"status_code":200,"body":"\ud83d\ude00 \ud83d \ude00 \ud83dx \ud83d\ud83d\ude00"}`, 200, nil, "😀 \ufffd \ufffd \ufffdx \ufffd😀", false},
		"an empty body":             {`{"status_code":200,"body":""}`, 200, nil, "", false},
		"bytes of another encoding": {"{\"status_code\":200,\"body\":\"\xe4\"}", 200, nil, "\xe4", false},
		"a page instead":            {"<html></html>", 0, nil, "", true},
		"another object":            {`{"a":1}`, 0, nil, "", true},
		"an empty object":           {`{}`, 0, nil, "", true},
		"a body other than text":    {`{"status_code":200,"body":{"a":1}}`, 0, nil, "", true},
		"it ends early":             {`{"status_code":200,"body":"half`, 0, nil, "half", true},
		"more after the end":        {`{"status_code":200,"body":"b"}{}`, 0, nil, "b", true},
		"two bodies":                {`{"body":"b","body":"c"}`, 0, nil, "b", true},
		"an invalid status":         {`{"status_code":"200x","body":"b"}`, 0, nil, "", true},
		"a control character":       {"{\"body\":\"a\nb\"}", 0, nil, "", true},
		"nested without end":        {`{"x":` + strings.Repeat("[", 100_000), 0, nil, "", true},
		"a name without end":        {`{"` + strings.Repeat("n", 100_000), 0, nil, "", true},
		"a trailing comma":          {`{"body":"b",}`, 0, nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"at once": strings.NewReader(tc.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.in))} {
				var b bytes.Buffer
				w, err := Unwrap(r, &b)
				if tc.fails {
					if !errors.Is(err, errNotWrapped) {
						t.Errorf("%s: error %v", how, err)
					}
					continue
				}
				if err != nil || w.StatusCode != tc.status || !reflect.DeepEqual(w.Header, tc.head) || b.String() != tc.body || !w.Body {
					t.Errorf("%s: %+v, body %q: %v", how, w, b.String(), err)
				}
			}
		})
	}
	if _, err := Unwrap(iotest.ErrReader(io.ErrClosedPipe), io.Discard); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an error of the source becomes %v", err)
	}
}

// FuzzUnwrap compares the streaming reader with encoding/json.
func FuzzUnwrap(f *testing.F) {
	f.Add([]byte(`{"status_code":200,"headers":{"a":"b"},"body":"\ud83d\ude00x"}`))
	f.Add([]byte(`{"body":"b","x":[1,2,{"y":null}],"status_code":3e2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		w, err := Unwrap(bytes.NewReader(in), &out)
		if out.Len() > 3*len(in) {
			t.Fatalf("%d bytes became %d", len(in), out.Len())
		}
		if err != nil || !utf8.Valid(in) {
			return
		}
		var want map[string]json.RawMessage
		if jerr := json.Unmarshal(in, &want); jerr != nil {
			t.Fatalf("taken, but it is no JSON: %v: %q", jerr, in)
		}
		var body string
		if w.Body && (json.Unmarshal(want["body"], &body) != nil || body != out.String()) {
			t.Fatalf("body %q, encoding/json says %q", out.String(), body)
		}
	})
}

func TestUnwrapSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`<html>`:                            "'<' where '{' belongs",
		`{"body":{}}`:                       "the body is not a string",
		`{"body":"half`:                     "it ends early",
		`{"body":"b"}{}`:                    "'{' after its end",
		`{"body":"b","status_code":200} x`:  "'x' after its end",
		`{"body":"b","body":"c"}`:           "two bodies",
		`{"status_code":"200x","body":"b"}`: "status_code is not a status",
		`{"status_code":99,"body":"b"}`:     "status_code is not a status",
		`{"status_code":1000,"body":"b"}`:   "status_code is not a status",
		"{\"body\":\"a\x1fb\"}":             "a control character in a string",
		`{"body":"b",}`:                     "a field name is missing after a comma",
		`{"body":"\q"}`:                     `escape \q`,
		`{"body":"\u12g4"}`:                 "escape without four digits",
		`{"body":"\ud83d\u12g4"}`:           "escape without four digits",
		`{"body":"\u12`:                     "it ends early",
		`{"body":"\ud83d\u1`:                "it ends early",
		`{"body":"\`:                        "it ends early",
		`{"body" "b"}`:                      `'"' where ':' belongs`,
		`{"body":"b" "c"}`:                  `'"' after a value`,
		`{"headers":"x","body":"b"}`:        "headers is not an object",
		`{"x":"a\`:                          "it ends early",
		`{"x":tr`:                           "it ends early",
		`{"x":[1 2],"body":"b"}`:            "a value is not JSON",
		` `:                                 "it ends early",
		`{"x":` + strings.Repeat("1", wrapperHeaders+1) + `}`:      "a name or a header is too long",
		`{"x":"` + strings.Repeat("1", wrapperHeaders) + `"}`:      "a name or a header is too long",
		`{"x":"` + strings.Repeat(`\n`, wrapperHeaders/2+1) + `"}`: "a name or a header is too long",
		`{"` + strings.Repeat("n", 257) + `":1}`:                   "a name or a header is too long",
		`{"body":"b"`:                                              "it ends early",
	} {
		want = errNotWrapped.Error() + ": " + want
		if _, err := Unwrap(strings.NewReader(in), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", in, err, want)
		}
	}
	for _, status := range []string{"100", "999"} {
		if _, err := Unwrap(strings.NewReader(`{"status_code":`+status+`,"body":"b"}`), io.Discard); err != nil {
			t.Errorf("status %s: %v", status, err)
		}
	}
}
