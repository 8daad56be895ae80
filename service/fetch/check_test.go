package fetch_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/fetch"
)

// inventory are the keys of a check, the first of them the profile's.
type inventory []model.Key

func (ks inventory) Pick(name string) (model.Key, error) {
	for _, k := range ks {
		if k.Name == name || name == "" {
			return k, nil
		}
	}
	return model.Key{}, model.BadField("key", "%q is not in the inventory", name)
}

func (ks inventory) OtherAccount(key string) string {
	if key == "foreign" {
		return "profile other"
	}
	return ""
}

// values are variables by their names; "env:" begins the reference of a secret.
type values map[string]string

func (v values) Variable(name string) (model.Variable, bool) {
	value, ok := v[name]
	switch {
	case strings.HasPrefix(value, "env:"):
		return model.Variable{Ref: value}, ok
	case value == "refused":
		return model.Variable{Refused: "it is a key"}, ok
	}
	return model.Variable{Value: value}, ok
}

// checked is a profile with keys and variables, and a draft that can be sent.
func checked() (fetch.Known, fetch.Draft) {
	noon := time.Date(2026, 11, 21, 12, 4, 31, 0, time.UTC)
	key := func(name string, l model.Level, secret string) model.Key {
		return model.Key{Name: name, Level: l, Duty: model.DutyBatch, Secret: secret, Expires: model.ExpiresAt(noon.AddDate(0, 0, 60)), Rotation: model.Rotation{Last: noon}}
	}
	known := fetch.Known{
		Profile: model.Profile{
			Name: "local", Dialect: "brightdata", BaseURL: "http://127.0.0.1:8080", ProxyHost: "127.0.0.1", ProxyPort: 33335,
			Zones: []model.Zone{
				{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:unlocker_demo"},
				{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:serp_demo"},
				{Name: "bare", Product: model.ProductISP},
			},
		},
		Keys: inventory{
			key("batch-user", model.LevelUser, "demo:batch-user"), key("finance", model.LevelFinance, "demo:finance"),
			key("tracked", model.LevelUser, ""), key("foreign", model.LevelUser, "demo:foreign"),
		},
		Variables: values{"host": "lab.test", "token": "env:TOKEN", "key": "refused", "lines": "a\nb", "spaced": " de\n"},
		Now:       noon,
	}
	return known, fetch.Draft{Request: model.FetchRequest{
		Zone: model.Zone{Name: "unlocker_demo"}, URL: "http://{{host}}/ok", Via: model.ViaAPI, Format: model.FormatRaw,
	}}
}

func TestADraftThatCanBeSentHasNothingToSay(t *testing.T) {
	k, d := checked()
	want := d.Request
	want.Zone, want.URL = k.Profile.Zones[0], "http://lab.test/ok"
	if got := fetch.Check(k, d); !reflect.DeepEqual(got.Request, want) || len(got.Problems)+len(got.Notes)+len(got.Questions) > 0 {
		t.Errorf("report %+v", got)
	}
}

func TestHeadersOfOneNameGoOutInOrder(t *testing.T) {
	k, d := checked()
	d.Headers = []string{"Cookie: a=1", "cookie: b=2", "COOKIE: c=3"}
	if got, want := fetch.Check(k, d).Request.Header, (http.Header{"Cookie": {"a=1", "b=2", "c=3"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestProblemsNameTheirField(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*fetch.Draft)
		field, want string
	}{
		"no address":            {func(d *fetch.Draft) { d.Request.URL = "" }, "url", "type the target's address"},
		"no zone":               {func(d *fetch.Draft) { d.Request.Zone.Name = "" }, "zone", "choose a zone"},
		"unknown zone":          {func(d *fetch.Draft) { d.Request.Zone.Name = "nope" }, "zone", `not in profile "local": it has unlocker_demo, serp_demo, bare`},
		"zone with colon":       {func(d *fetch.Draft) { d.Request.Zone.Name = "a:b" }, "zone", "separates the username"},
		"no password":           {func(d *fetch.Draft) { d.Request.Zone.Name, d.Request.Via = "bare", "native" }, "password", "no password is configured"},
		"unknown key":           {func(d *fetch.Draft) { d.Request.Key = "nope" }, "key", `"nope" is not in the inventory`},
		"key without a value":   {func(d *fetch.Draft) { d.Request.Key = "tracked" }, "key", "tracked is only tracked"},
		"header without colon":  {func(d *fetch.Draft) { d.Headers = []string{"Accept: a", "nonsense"} }, "headers", "line 2"},
		"header name":           {func(d *fetch.Draft) { d.Headers = []string{"X Y: a"} }, "headers", "line 1"},
		"control in header":     {func(d *fetch.Draft) { d.Headers = []string{"X: a\x01"} }, "headers", "control characters"},
		"masked header":         {func(d *fetch.Draft) { d.Headers = []string{"X: " + model.Masked} }, "headers", "does not keep the value of X"},
		"line break in a value": {func(d *fetch.Draft) { d.Headers = []string{"X: {{lines}}"} }, "headers", "line break"},
		"a header beside its option": {func(d *fetch.Draft) {
			d.Headers, d.Request.Options.WaitFor = []string{"x-unblock-expect: {}"}, ".a"
		}, "wait_for", "keep one"},
		"country in words":      {func(d *fetch.Draft) { d.Request.Country = "Germany" }, "country", "two small letters"},
		"a field that is none":  {func(d *fetch.Draft) { d.Request.Required = []string{"title", "http://lab.test/"} }, "required", "write a CSS selector"},
		"a key as a variable":   {func(d *fetch.Draft) { d.Request.URL = "{{key}}" }, "url", "{{key}}: it is a key"},
		"a secret out of place": {func(d *fetch.Draft) { d.Request.Session = "{{token}}" }, "session", "holds a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			k, d := checked()
			c.change(&d)
			got := fetch.Check(k, d)
			if len(got.Problems) != 1 || len(got.Questions) > 0 {
				t.Fatalf("report %+v, want one problem", got)
			}
			if p := got.Problems[0]; p.Field != c.field || !strings.Contains(p.Err.Error(), c.want) {
				t.Errorf("%s: %v, want %s: %q", p.Field, p.Err, c.field, c.want)
			}
		})
	}
}

func TestQuestionsBeforeAFetch(t *testing.T) {
	fact := func(fields ...string) (out []ask.Fact) {
		for _, f := range fields {
			out = append(out, ask.Fact{Text: f})
		}
		return out
	}
	for name, c := range map[string]struct {
		change func(*fetch.Draft)
		want   ask.Question
	}{
		"a key of another account": {
			func(d *fetch.Draft) { d.Request.Key = "foreign" },
			ask.Question{Kind: ask.OtherAccount, About: "foreign", Text: "key foreign is that of profile other. Its value would be sent to http://127.0.0.1:8080, the service of profile local"},
		},
		"a key without the permission": {
			func(d *fetch.Draft) { d.Request.Key = "finance" },
			ask.Question{Kind: ask.UnfitKey, About: "finance", Text: "FINANCE has no proxy and API use: pick a key of level USER or OPS"},
		},
		"a variable in two fields": {
			func(d *fetch.Draft) { d.Request.URL, d.Request.Body, d.Request.Method = "{{q}}", "{{q}} {{q}}", "POST" },
			ask.Question{Kind: ask.Value, About: "q", Text: "{{q}} has no value", Want: ask.Reason, Facts: fact("url", "body")},
		},
		"a variable named like a secret": {
			func(d *fetch.Draft) { d.Request.Country = "{{password}}" },
			ask.Question{Kind: ask.Value, About: "password", Text: "{{password}} has no value", Want: ask.Secret, Facts: fact("country")},
		},
		"a variable in a secret header": {
			func(d *fetch.Draft) { d.Headers = []string{"Authorization: Bearer {{q}}"} },
			ask.Question{Kind: ask.Value, About: "q", Text: "{{q}} has no value", Want: ask.Secret, Facts: fact("headers")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, d := checked()
			c.change(&d)
			got := fetch.Check(k, d)
			if len(got.Problems) > 0 || !reflect.DeepEqual(got.Questions, []ask.Question{c.want}) {
				t.Errorf("problems %v, questions %+v", got.Problems, got.Questions)
			}
		})
	}
}

func TestWhatACheckLeavesForLater(t *testing.T) {
	k, d := checked()
	k.Keys, k.Variables, k.Profile.Zones = nil, nil, nil
	d.Request.Zone.Name, d.Request.URL, d.Request.Body = "mine", "http://lab.test/", "{{x}}"
	got := fetch.Check(k, d)
	want := []ask.Note{{About: "body", Text: "a body needs a method like POST"}}
	if len(got.Problems) > 0 || got.Request.Zone.Name != "mine" || got.Request.Body != "{{x}}" || !reflect.DeepEqual(got.Notes, want) {
		t.Errorf("of a profile without zones, keys and variables: %+v", got)
	}
	k, d = checked()
	k.Profile.Dialect, d.Request.Zone.Name, d.Request.Via = "", "serp_demo", model.ViaNative
	if got := fetch.Check(k, d); len(got.Problems) != 1 || got.Problems[0].Field != "via" {
		t.Errorf("a product without native access by the contract: %v", got.Problems)
	}
	k, d = checked()
	d.AnyZone, d.Request.Zone.Name = true, ""
	if got := fetch.Check(k, d); len(got.Problems) > 0 {
		t.Errorf("the base of a comparison: %v", got.Problems)
	}
	k, d = checked()
	d.Fitting, d.Request.Options.Query = true, "tea"
	if got := fetch.Check(k, d); len(got.Problems) > 0 || got.Request.Options.Query != "" {
		t.Errorf("an option that the product does not have: %v", got.Problems)
	}
	d.Request.Country, d.Request.Session, d.Request.Body = "{{spaced}}", " s1 ", "{{spaced}}"
	if r := fetch.Check(k, d).Request; r.Country != "de" || r.Session != "s1" || r.Body != " de\n" {
		t.Errorf("values with space around them: %q, %q, %q", r.Country, r.Session, r.Body)
	}
}

// FuzzHeaders: what is read of typed headers and written again is read the same.
func FuzzHeaders(f *testing.F) {
	f.Add("Accept: */*\nX-A: 1")
	f.Add("X:\n\n : \nY:é")
	f.Fuzz(func(t *testing.T, s string) {
		read := func(lines []string) model.FetchRequest {
			return fetch.Check(fetch.Known{}, fetch.Draft{Headers: lines}).Request
		}
		h := read(strings.Split(s, "\n")).Header
		var lines []string
		for name, values := range h {
			for _, v := range values {
				lines = append(lines, name+": "+v)
			}
		}
		if again := read(lines).Header; !reflect.DeepEqual(h, again) {
			t.Errorf("%q reads as %q, which reads as %q", s, h, again)
		}
	})
}
