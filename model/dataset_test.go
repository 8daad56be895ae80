package model

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestMethodsOfADataset(t *testing.T) {
	keyword := CollectMethod{Discover: "keyword", Fields: []InputField{{Name: "keyword", Required: true}}}
	upc := CollectMethod{Discover: "upc", Fields: []InputField{{Name: "upc"}}}
	both := Dataset{ID: "gd_a", Name: "A", Names: []string{"Other"}, Methods: []CollectMethod{{Fields: []InputField{{Name: "url", Required: true}}}, keyword, upc}}
	for _, c := range []struct {
		c        Dataset
		discover string
		want     CollectMethod
		err      string
	}{
		{both, "keyword", keyword, ""},
		{both, "", both.Methods[0], ""},
		{both, "nope", CollectMethod{}, `it does not discover by "nope", but by keyword, upc`},
		{Dataset{}, "any", CollectMethod{Discover: "any"}, ""},
		{Dataset{Methods: []CollectMethod{keyword}}, "", CollectMethod{}, "it only discovers records: choose keyword"},
		{Dataset{Methods: both.Methods[:1]}, "keyword", CollectMethod{}, "it has no discovery: its inputs name what is collected"},
	} {
		got, err := c.c.Method(c.discover)
		if !reflect.DeepEqual(got, c.want) || errText(err) != c.err {
			t.Errorf("%q: %+v, %v", c.discover, got, err)
		}
	}
	if both.Methods[0].Cost() != "" || !strings.Contains(upc.Cost(), "even an empty input") || keyword.Cost() == "" || strings.Contains(keyword.Cost(), "empty") {
		t.Error(upc.Cost(), keyword.Cost())
	}
	if !both.Known("other") || !both.Known("gd_a") || both.Known("GD_A") || !both.Matches([]string{"oth", "gd"}) || both.Matches([]string{"oth", "x"}) {
		t.Error("names")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSettingsOfAJobAreChecked(t *testing.T) {
	all := JobSettings{Discover: "keyword", LimitPerInput: 2, LimitTotal: 3, Notify: "https://example.com/n", Endpoint: "https://example.com/e", Format: "csv", Plain: true}
	fields := func(s JobSettings, c Sends) (out []string) {
		for _, p := range (TriggerRequest{Dataset: "gd_x", Inputs: []JobInput{{Extra: map[string]string{"keyword": `"a"`}}}, Settings: s}).Problems(c) {
			out = append(out, p.Field)
		}
		return out
	}
	sends := Sends{Dataset: true, InputFields: true, JobSettings: true}
	if got := fields(all, sends); got != nil {
		t.Error(got)
	}
	bad := JobSettings{Discover: "a b", LimitPerInput: -1, LimitTotal: -1, Notify: "x", Format: "xml"}
	if got, want := fields(bad, sends), []string{"limit_per_input", "limit_total", "discover", "notify", "format", "endpoint"}; !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
	// What the contract does not show is not sent: neither a setting nor an input without a url.
	contract := Sends{NotShown: func(what string) error { return errors.New(what) }}
	if got, want := fields(all, contract), []string{"settings", "inputs", "inputs"}; !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

func TestAddressesOfAnInput(t *testing.T) {
	in := JobInput{URL: "http://lab.test/1", Extra: map[string]string{
		"b": `["http://b.test/", {"x": "https://c.test/"}, 5]`, "a": `"http://a.test/"`, "k": `"no address"`, "z": `http://z.test/`,
	}}
	if got, want := in.Addresses(), []string{"http://lab.test/1", "http://a.test/", "http://b.test/", "https://c.test/", "http://z.test/"}; !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}
