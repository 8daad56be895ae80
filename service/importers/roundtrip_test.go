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

// What is exported as curl is the same request when it is read back, whatever it is made of, but for what printf gives
// curl: the key, or the login.
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
		want.Zone = model.Zone{}
		if r.Via == model.ViaAPI {
			want.Zone.Name, want.Format = r.Zone.Name, model.FormatRaw
		} else { // whose address has another spelling by RFC 3986
			want.URL, want.Via, want.Country, want.Session = back.URL, "", "", ""
		}
		if !reflect.DeepEqual(back, want) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", code, back, want)
		}
		if !slices.Contains(got.Dropped, "what the pipe gives curl was not read") {
			t.Fatalf("%s\nnotes %q", code, got.Dropped)
		}
	})
	if read == 0 {
		t.Error("nothing was exported")
	}
}
