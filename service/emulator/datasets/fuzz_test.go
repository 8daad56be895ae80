package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// FuzzTriggerBody: whatever the body is, it is inputs that a job can keep, or a refusal
// that can be answered.
func FuzzTriggerBody(f *testing.F) {
	for _, s := range []string{
		`[{"url":"http://lab.test/"}]`, `{"input":[{"url":"http://lab.test/"}],"limit_per_input":2}`, `[{}]`, `{`, `[1]`, `{"input":{}}`,
		`{"input":[],"custom_output_fields":["url"],"notify":"http://x.test/"}`, `[null]`, `null`, "",
	} {
		f.Add([]byte(s))
	}
	a := New(Config{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := settings{spec: jobs.Spec{Dataset: "gd_pages"}}
		inputs, err := readJSON(bytes.NewReader(b), &s)
		if err == nil {
			err = a.check(&s, inputs)
		}
		answerable(t, err)
		if err != nil {
			return
		}
		for _, in := range inputs {
			if !json.Valid(in) {
				t.Fatalf("accepted %q", in)
			}
		}
	})
}

// FuzzCSV: a form of any bytes gives inputs that are objects of texts, or a refusal.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"url\nhttp://lab.test/\n", "\ufeff\"url\",depth\r\n\"http://lab.test/?a=1,2\",2\r\n", "url,url\nx,y\n", "a\n\"", "", "\n\n", "url\n\"two\nlines\"\n",
	} {
		f.Add([]byte(s), "data")
	}
	f.Fuzz(func(t *testing.T, csv []byte, name string) {
		var b bytes.Buffer
		name = strings.Map(func(r rune) rune {
			if r < ' ' || r == '"' || r == '\\' || r > '~' {
				return '_'
			}
			return r
		}, name)
		b.WriteString("--fuzz\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"in.csv\"\r\n\r\n")
		b.Write(csv)
		b.WriteString("\r\n--fuzz--\r\n")
		s := settings{}
		inputs, err := readForm(&b, "fuzz", &s)
		answerable(t, err)
		for _, in := range inputs {
			var fields map[string]string
			noerr.Must(t, json.Unmarshal(in, &fields))
		}
	})
}

func answerable(t *testing.T, err error) {
	t.Helper()
	var bad *inputError
	var text *answer.TextError
	switch {
	case err == nil || errors.As(err, &text):
	case errors.As(err, &bad):
		noerr.Must(t, noerr.From(json.Marshal(bad)))
	default:
		t.Fatalf("an error that is no refusal: %v", err)
	}
}
