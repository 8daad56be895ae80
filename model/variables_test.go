package model

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVariablesStandBetweenTwoBraces(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"{{a}}":                  "<a>",
		"x{{a}}{{b_1}}y":         "x<a><b_1>y",
		`{"n":{{n}}}`:            `{"n":<n>}`,
		`{"n":{"m":{{n}}}}`:      `{"n":{"m":<n>}}`,
		"{{{{a}}}}":              "{{a}}",
		"{{{{{{a}}}}}}":          "{{{{a}}}}",
		"{a} {{ a }} {{1}} {{}}": "{a} {{ a }} {{1}} {{}}",
		"{{a}":                   "{{a}",
		"{{{a}}":                 "{<a>",
	} {
		if got := ExpandVariables(text, func(name string) string { return "<" + name + ">" }); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := Variables("{{a}} {{b}} {{a}} {{{{c}}}}"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
	for name, want := range map[string]bool{"a": true, "A_1": true, "": false, "1": false, "a-b": false, "a}}{{b": false} {
		if VariableName(name) != want {
			t.Errorf("%q can be a name: %t", name, !want)
		}
	}
}

func TestATextThatHoldsNoVariablesIsWrittenAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"{", "}", "{{", "}}", "a", "_", " ", "1", "é", "{{b}}"})).Draw(t, "text"), "")
		got := ExpandVariables(WithoutVariables(text), func(string) string { t.Fatalf("%q has a variable", WithoutVariables(text)); return "" })
		if got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	})
}

func TestARequestsVariablesAreResolved(t *testing.T) {
	r := FetchRequest{
		Zone: Zone{Name: "{{zone}}"}, URL: "http://lab.test/{{q}}?{{{{raw}}}}", Country: "{{c}}", Session: "{{s}}", Body: "{{b}}",
		Header: http.Header{"X-A": {"{{q}}", "1"}},
	}
	values := map[string]Variable{"zone": {Value: "z"}, "q": {Value: "{{x}}"}, "c": {Value: "de"}, "s": {Value: "s1"}, "b": {Value: "body"}}
	find := func(name string) (Variable, bool) { v, ok := values[name]; return v, ok }
	got, ps := r.Resolve(find)
	want := FetchRequest{
		Zone: Zone{Name: "z"}, URL: "http://lab.test/{{x}}?{{raw}}", Country: "de", Session: "s1", Body: "body",
		Header: http.Header{"X-A": {"{{x}}", "1"}},
	}
	if len(ps) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", ps, got, want)
	}
	if r.Header["X-A"][0] != "{{q}}" {
		t.Error("the request that was given has changed")
	}

	// With a secret the texts stay such that hold variables: what they come to is the same.
	values["b"] = Variable{Ref: "env:B"}
	got, ps = r.Resolve(find)
	if len(ps) > 0 || !reflect.DeepEqual(got.Secrets, map[string]string{"b": "env:B"}) || got.Body != "{{b}}" {
		t.Errorf("%v %+v", ps, got)
	}
	want.Body = "hunter2"
	if sent := got.Reveal(func(string) string { return "hunter2" }); !reflect.DeepEqual(sent, want) {
		t.Errorf("sent %+v\nwant %+v", sent, want)
	}
	if again := got.Template(); !reflect.DeepEqual(again, got) {
		t.Errorf("a request with secrets is text with variables already: %+v", again)
	}

	delete(values, "q")
	values["c"] = Variable{Ref: "env:C"}
	_, ps = r.Resolve(find)
	var unknown *UnknownVariableError
	var secret *secretVariableError
	if !slices.Equal(fieldsOf(ps), []string{"url", "country", "headers"}) || !errors.As(ps[0].Err, &unknown) || unknown.Name != "q" || !errors.As(ps[1].Err, &secret) {
		t.Errorf("%v", ps)
	}
}

func TestARequestAsTextWithVariables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"{{a}}", "{", "}", "b", "{{{{c}}}}"})).Draw(t, "text"), "")
		r := FetchRequest{URL: text, Body: text, Header: http.Header{"A": {text}}}
		got, ps := r.Template().Resolve(func(string) (Variable, bool) { return Variable{}, false })
		if len(ps) > 0 || !reflect.DeepEqual(got, r) {
			t.Fatalf("%v %+v, want %+v", ps, got, r)
		}
	})
}
