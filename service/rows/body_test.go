package rows

import (
	"encoding/json"
	"testing"

	"zonedeck/model"
)

func TestBodyIsTheDocumentedArray(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []model.JobInput
		want string
	}{
		{"one", []model.JobInput{{URL: "http://lab.test/a?b=1&c=<d>"}}, `[{"url":"http://lab.test/a?b=1&c=<d>"}]`},
		{"two", []model.JobInput{{URL: "http://lab.test/1"}, {URL: "http://lab.test/2"}}, `[{"url":"http://lab.test/1"},{"url":"http://lab.test/2"}]`},
		{"extra fields by name", []model.JobInput{{URL: "u", Extra: map[string]string{"n": "20", "a": `"x"`, "url": `"other"`}}}, `[{"url":"u","a":"x","n":20}]`},
		{"no url", []model.JobInput{{Extra: map[string]string{"keyword": `"a"`, "n": "2"}}}, `[{"keyword":"a","n":2}]`},
		{"an extra that is not JSON is a text", []model.JobInput{{URL: "u", Extra: map[string]string{"a": `x"y`}}}, `[{"url":"u","a":"x\"y"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Body(c.in)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func FuzzBody(f *testing.F) {
	f.Add("http://lab.test/", "a", `"x"`)
	f.Add("\xff\x00", "\"", "{")
	f.Add("", "a", "1")
	f.Fuzz(func(t *testing.T, address, name, value string) {
		body := Body([]model.JobInput{{URL: address, Extra: map[string]string{name: value}}, {URL: address}})
		var back []map[string]json.RawMessage
		if err := json.Unmarshal(body, &back); err != nil || len(back) != 2 {
			t.Fatalf("%q: %v", body, err)
		}
		if address == "" {
			if sent, ok := back[1]["url"]; ok {
				t.Fatalf("no url became %s", sent)
			}
			return
		}
		var u string
		want := string([]rune(address)) // JSON has U+FFFD for each byte that is not UTF-8
		if err := json.Unmarshal(back[1]["url"], &u); err != nil || u != want {
			t.Fatalf("%q became %q, want %q, %v", address, u, want, err)
		}
	})
}
