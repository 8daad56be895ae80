package importers

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zonedeck/model"
	"zonedeck/service/export"
)

// What is exported as curl is the same request when it is read back, whatever it is made of:
// API and proxy form, with the secrets as references and with nothing left out.
func TestAnExportedCurlCommandIsReadBack(t *testing.T) {
	p := testProfile()
	p.Local, p.Dialect = true, "brightdata"
	curl, ok := export.Find("curl")
	if !ok {
		t.Fatal("there is no exporter for curl")
	}
	pieces := rapid.SampledFrom([]string{"a", "Z9", "'", `"`, `\`, "$", "$HOME", "`id`", "$(id)", "{{x}}", "{{{{y}}}}", "[1-3]", "{a,b}", "!", "&", ";", "|", "*", "~", "é", "日本", "=", "@", "@-", "<", ">", "#", "%41", ":", "-", "+", ","})
	words := func(n int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 1, n).Draw(t, "pieces"), "") })
	}
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		r := model.FetchRequest{
			Zone: p.Zones[0], URL: "http://lab.test/?q=" + strings.NewReplacer("#", "", "\\", "").Replace(words(6).Draw(t, "url")), Via: rapid.SampledFrom([]model.Via{model.ViaAPI, model.ViaNative}).Draw(t, "via"),
			Method: rapid.SampledFrom([]string{"", "POST", "PUT", "DELETE", "HEAD"}).Draw(t, "method"), Retries: -1,
		}
		if r.Method != http.MethodHead && r.Method != "" {
			r.Body = rapid.OneOf(rapid.Just(""), words(8)).Draw(t, "body")
		}
		if rapid.Bool().Draw(t, "headers") {
			r.Header = http.Header{"X-A": {words(3).Draw(t, "value")}, "Content-Type": {"text/plain"}}
		}
		if rapid.Bool().Draw(t, "exit") {
			r.Country, r.Session = "de", "s1"
		}
		code, err := curl.Code(export.Source{Profile: p, Request: r, Key: "env:BATCH_KEY"})
		if err != nil {
			t.Skip(err) // what the exporter refuses
		}
		read++
		if !IsCurl(code) {
			t.Fatalf("it is not known as a curl command:\n%s", code)
		}
		got, err := Curl(code, Known{Profile: p, Keys: testKeys})
		if err != nil {
			t.Fatalf("%v\n%s", err, code)
		}
		back, problems := got.Request.Resolve(func(string) (model.Variable, bool) { return model.Variable{}, false })
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, code)
		}
		want := r
		want.Zone = model.Zone{Name: r.Zone.Name}
		if r.Via == model.ViaAPI {
			want.Format, want.Key = model.FormatRaw, "batch-user"
		}
		again := back
		again.Zone = r.Zone
		if code2, err := curl.Code(export.Source{Profile: p, Request: again, Key: "env:BATCH_KEY"}); err != nil || code2 != code {
			t.Fatalf("%v\n%s\nexported again\n%s", err, code, code2)
		}
		if r.Via == model.ViaNative { // which has another spelling by RFC 3986
			want.URL = back.URL
		}
		if !reflect.DeepEqual(back, want) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", code, back, want)
		}
		if left := slices.Concat(got.Replaced, got.Left); len(left) > 0 {
			t.Fatalf("%s\nnotes %q", code, left)
		}
	})
	if read == 0 {
		t.Error("nothing was exported")
	}
}
