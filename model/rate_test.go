package model_test

import (
	"fmt"
	"testing"

	"zonedeck/model"
)

func TestAFetchCostsWhatTheTargetAnswered(t *testing.T) {
	ok := model.Attempt{Class: model.ClassOK, Bytes: 3e8}
	blocked := model.Attempt{Class: model.ClassAccessRestricted, Status: 403, Bytes: 1e8}
	refused := model.Attempt{Class: model.ClassOutside, Bytes: 50} // by the service
	noName := model.Attempt{Class: model.ClassOutside, Status: 502, Unanswered: true, Bytes: 50}
	for name, c := range map[string]struct {
		rate     model.Rate
		attempts []model.Attempt
		size     int64
		want     string
	}{
		"without a rate":                       {model.Rate{}, []model.Attempt{ok}, 3e8, "unpriced"},
		"a name that is not resolved":          {model.Rate{Per1000: 1.5}, []model.Attempt{noName, noName}, 50, "$0"},
		"by the request":                       {model.Rate{Per1000: 1.5}, []model.Attempt{ok}, 3e8, "$0.0015"},
		"by the byte":                          {model.Rate{PerGB: 8}, []model.Attempt{ok}, 3e8, "$2.40"},
		"by both":                              {model.Rate{Per1000: 1.5, PerGB: 8}, []model.Attempt{ok}, 3e8, "$2.40"},
		"every attempt that was answered":      {model.Rate{Per1000: 1.5}, []model.Attempt{blocked, refused, blocked, ok}, 3e8, "$0.0045"},
		"the bytes of every attempt":           {model.Rate{PerGB: 1}, []model.Attempt{blocked, ok}, 3e8, "$0.4000"},
		"nothing was answered":                 {model.Rate{Per1000: 1.5}, []model.Attempt{refused}, 0, "$0"},
		"the bytes of no answer":               {model.Rate{PerGB: 8}, []model.Attempt{refused}, 3e8, "$0"},
		"the bytes of the answers alone":       {model.Rate{PerGB: 1}, []model.Attempt{{Class: model.ClassOutside, Bytes: 2e8}, ok}, 3e8, "$0.3000"},
		"the bytes of the last are the body's": {model.Rate{PerGB: 1}, []model.Attempt{{Class: model.ClassOK}}, 3e8, "$0.3000"},
	} {
		r := model.FetchResult{Attempts: c.attempts, Body: model.BodyRef{Size: c.size}}
		r.Request.Zone.Rate = c.rate
		if got := model.CostWords(r.Cost()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestASpendSaysWhatItDoesNotKnow(t *testing.T) {
	var s model.Spend
	say := func(want string) {
		t.Helper()
		if got := s.String(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	say("$0")
	s.Add(0, false)
	say("unpriced")
	s.Add(0.0031, true)
	say("$0.0031 + 1 unpriced")
	s = model.Spend{}
	s.Add(0.00001, true)
	say("<$0.0001")
}

// A cost is printed as JSON has it: three records at $1.50 a thousand are 0.0045, and not 0.0045000000000000005.
func TestACostHasNoNoiseOfItsRate(t *testing.T) {
	if got, _ := (model.Rate{Per1000: 1.5}).Cost(3, 0); fmt.Sprint(got) != "0.0045" {
		t.Errorf("%v", got)
	}
}
