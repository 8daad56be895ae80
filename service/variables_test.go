package service

import (
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestAnAnswerGoesBeforeTheEnvironmentUntilItIsTakenBack(t *testing.T) {
	s, err := Open(t.Context(), options(t, map[string]string{"PAGE": "shop", "ZONEDECK_SCENARIO": "s.toml"}))
	noerr.Must(t, err)
	t.Cleanup(func() { s.Close(t.Context()) })
	v := s.Variables
	want := func(name string, w model.Variable) {
		t.Helper()
		if got, ok := v.Variable(name); got != w || !ok {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, w)
		}
	}
	want("PAGE", model.Variable{Value: "shop"})
	v.Answer("PAGE", "cart", false)
	want("PAGE", model.Variable{Value: "cart"})
	v.Answer("PAGE", "x", true)
	want("PAGE", model.Variable{Ref: "asked:PAGE"})
	if secret, err := v.Resolve(t.Context(), "asked:PAGE"); err != nil || secret.Reveal() != "x" {
		t.Errorf("%v, %v", secret.Reveal(), err)
	}
	v.Answer("PAGE", "", true)
	want("PAGE", model.Variable{Value: "shop"})

	refused, _ := v.Variable("ZONEDECK_SCENARIO")
	if refused.Refused == "" {
		t.Fatalf("%+v is not refused", refused)
	}
	v.Answer("ZONEDECK_SCENARIO", "mine", false)
	want("ZONEDECK_SCENARIO", refused)
}
