package rehearsal

import (
	"reflect"
	"testing"

	"zonedeck/internal/noerr"
)

func TestRuleFieldsAreSentWithTheirTypes(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  any
	}{
		"status": {"503", int64(503)}, "times": {"1", int64(1)}, "probability": {"0.5", 0.5},
		"off": {"true", true}, "accepted": {"false", false}, "zone": {"1", "1"}, "delay": {"2s", "2s"},
	} {
		got, err := Rule{Point: "api", Action: "x", Fields: map[string]string{name: c.value, "path": ""}}.wire()
		want := map[string]any{"point": "api", "action": "x", name: c.want}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"status": `status: "x" is not a whole number`, "probability": `probability: "x" is not a number from 0 to 1`,
	} {
		if got, err := (Rule{Fields: map[string]string{name: "x"}}).wire(); err == nil || err.Error() != want || got != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

func TestARuleSaysWhereItIsAndWhatItDoes(t *testing.T) {
	for _, c := range []struct {
		rule        Rule
		where, what string
	}{
		{Rule{Action: "drop"}, "every call", "drop"},
		{Rule{Action: "latency", Fields: map[string]string{"delay": "1s", "zone": ""}}, "every call", "latency delay=1s"},
		{
			Rule{Action: "error", Fields: map[string]string{"message": "no", "code": "c", "for": "1m", "zone": "z", "from": "3"}},
			"zone=z from=3 for=1m", "error code=c message=no",
		},
	} {
		if where, what := c.rule.Scope(), c.rule.Effect(); where != c.where || what != c.what {
			t.Errorf("%+v: %q, %q", c.rule, where, what)
		}
	}
}

func TestAFaultIsReadWithItsFields(t *testing.T) {
	var f Fault
	noerr.Must(t, f.UnmarshalJSON([]byte(`{"id":"a","point":"api","action":"status","off":true,"calls":3,"hits":2,"status":503,"zone":"z","accepted":true}`)))
	want := Fault{
		Rule: Rule{Point: "api", Action: "status", Fields: map[string]string{"status": "503", "zone": "z", "accepted": "true"}},
		ID:   "a", Off: true, Calls: 3, Hits: 2,
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v", f)
	}
	if err := f.UnmarshalJSON([]byte(`[]`)); err == nil {
		t.Error("a list is taken for a fault")
	}
}

func TestActionsAndTheirValuesByPoint(t *testing.T) {
	if a, v := (Rule{Point: "nowhere"}).Actions(), (Rule{Point: "api", Action: "captcha"}).Values(); a != nil || v != nil {
		t.Errorf("%v, %v", a, v)
	}
	for _, c := range []struct {
		point, action string
		want          []string
	}{{"webhook", "status", []string{"status"}}, {"job", "error", []string{"code", "message"}}, {"api", "status", []string{"status", "accepted"}}, {"api", "error", []string{"code", "message", "status"}}} {
		if got := (Rule{Point: c.point, Action: c.action}).Values(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s at %s: %v", c.action, c.point, got)
		}
	}
	r := Presets()[0].Rule
	if r.Point != "target" || r.Action != "too_fast" || !reflect.DeepEqual(r.Fields, map[string]string{"retry_after": "2s", "times": "5"}) {
		t.Errorf("%+v", r)
	}
}
