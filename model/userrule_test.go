package model_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/model/modeltest"
)

// page is an answer of a target, for rules.
func page(change ...func(*model.Outcome)) model.Outcome {
	o := model.Outcome{
		Via: model.ViaNative, TargetStatus: 200, URL: "https://www.Shop.example./product/1", ContentType: "Text/HTML; charset=utf-8",
		Header: http.Header{"Server": {"nginx", "shop/2"}, "Set-Cookie": {"id=secret"}}, BodyHead: []byte("<p>This lamp is sold  out.</p>"),
	}
	o.BodySize = int64(len(o.BodyHead))
	for _, c := range change {
		c(&o)
	}
	return o
}

func soldOut(m model.Match) model.UserRule {
	return model.UserRule{Name: "sold-out", Place: "rules.toml:7", Class: model.ClassParsingDrift, Cause: model.CauseMissingFields, Reason: "It is sold out.", Match: m}
}

func TestEachConditionOfARuleHasToHold(t *testing.T) {
	re := regexp.MustCompile
	for name, c := range map[string]struct {
		match model.Match
		holds bool
	}{
		"nothing":              {model.Match{}, true},
		"status":               {model.Match{Statuses: []int{404, 200}}, true},
		"another status":       {model.Match{Statuses: []int{404}}, false},
		"domain":               {model.Match{Domains: []string{"other.example", "shop.example"}}, true},
		"the host itself":      {model.Match{Domains: []string{"www.shop.example"}}, true},
		"a domain's end":       {model.Match{Domains: []string{"hop.example"}}, false},
		"URL":                  {model.Match{URL: re(`/product/\d$`)}, true},
		"another URL":          {model.Match{URL: re(`/search`)}, false},
		"type":                 {model.Match{ContentTypes: []string{"text/html"}}, true},
		"kind of type":         {model.Match{ContentTypes: []string{"text/*"}}, true},
		"another type":         {model.Match{ContentTypes: []string{"text/htm", "image/*"}}, false},
		"header":               {model.Match{Headers: []model.HeaderMatch{{Name: "Server", Value: re(`^shop/`)}}}, true},
		"another header":       {model.Match{Headers: []model.HeaderMatch{{Name: "Via", Value: re(``)}}}, false},
		"another value":        {model.Match{Headers: []model.HeaderMatch{{Name: "Server", Value: re(`apache`)}}}, false},
		"size":                 {model.Match{MinSize: 30, MaxSize: 30, Bounded: true}, true},
		"larger":               {model.Match{MinSize: 31}, false},
		"smaller":              {model.Match{MaxSize: 29, Bounded: true}, false},
		"body":                 {model.Match{Body: re(`(?i)SOLD\s+out`)}, true},
		"another body":         {model.Match{Body: re(`in stock`)}, false},
		"all but one of three": {model.Match{Statuses: []int{200}, Body: re(`lamp`), URL: re(`table`)}, false},
	} {
		d := model.Diagnose(page(), soldOut(c.match))
		if (d.Rule == "sold-out") != c.holds {
			t.Errorf("%s: decided by %s", name, d.Rule)
		}
	}
}

func TestAVerdictOfARuleSaysWhoseItIsAndWhatItSaw(t *testing.T) {
	r := soldOut(model.Match{
		Headers: []model.HeaderMatch{{Name: "Server", Value: regexp.MustCompile("shop")}, {Name: "Set-Cookie", Value: regexp.MustCompile("secret")}},
		Body:    regexp.MustCompile(`sold\s+out`),
	})
	o := page()
	d := model.Diagnose(o, r)
	if d.Class != model.ClassParsingDrift || d.Summary != r.Reason || len(d.Steps) == 0 || d.Retry {
		t.Errorf("%+v", d)
	}
	want := []string{
		`note: decided by your rule "sold-out" in rules.toml:7; without it: ok, by ok`,
		"header: Server: shop/2", "header: Set-Cookie: (its value matches, and is not repeated)",
		`body: "sold out" matches the rule's pattern at "sold  out"`, "status: 200 OK from the target",
	}
	if got := modeltest.WantOf(d, o.BodyHead).Evidence; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if note := d.Evidence[0].Note(); note != d.Evidence[0].Text {
		t.Errorf("beside a good verdict it says %q", note)
	}
}

func TestTheFirstRuleThatHoldsDecidesBeforeTheConsolesOwn(t *testing.T) {
	blocked := page(func(o *model.Outcome) { o.TargetStatus = 403 })
	never, fine, late := soldOut(model.Match{Statuses: []int{1}}), soldOut(model.Match{}), soldOut(model.Match{})
	fine.Name, fine.Class, fine.Cause, late.Name = "fine", model.ClassOK, "", "late"
	if d := model.Diagnose(blocked, never, fine, late); d.Rule != "fine" || d.Class != model.ClassOK || d.Steps != nil {
		t.Errorf("%+v", d)
	}
	if d := model.Diagnose(blocked); d.Rule != "target_403" {
		t.Errorf("without rules: %+v", d)
	}
}

// A rule is about an answer: what the client knows of the way stays as it is.
func TestARuleDoesNotDecideWithoutAWholeAnswer(t *testing.T) {
	all := soldOut(model.Match{})
	for name, o := range map[string]model.Outcome{
		"no connection":   {Via: model.ViaAPI, Broke: model.BreakConnect},
		"timeout":         page(func(o *model.Outcome) { o.Broke = model.BreakTimeout }),
		"reset":           page(func(o *model.Outcome) { o.Broke = model.BreakReset }),
		"ended early":     page(func(o *model.Outcome) { o.Incomplete = true }),
		"nothing came":    {Via: model.ViaAPI},
		"a job's trigger": page(func(o *model.Outcome) { o.Job = model.CallTrigger }),
	} {
		if d := model.Diagnose(o, all); d.Rule == "sold-out" || d.Rule != model.Diagnose(o).Rule {
			t.Errorf("%s: decided by %s", name, d.Rule)
		}
	}
}

func TestARuleMakesNoRefusalOfTheServiceOK(t *testing.T) {
	fine, busy := soldOut(model.Match{}), soldOut(model.Match{Statuses: []int{401, 403, 407, 503}})
	fine.Class, fine.Cause = model.ClassOK, ""
	busy.Class, busy.Cause = model.ClassTooFast, ""
	for _, o := range []model.Outcome{
		{Via: model.ViaAPI, ServiceStatus: 401},
		{Via: model.ViaNative, ServiceStatus: 407},
		{Via: model.ViaAPI, ServiceStatus: 200, TargetStatus: 403, ServiceCode: "x"},
		{Via: model.ViaAPI, ServiceStatus: 503},
	} {
		if d := model.Diagnose(o, fine); d.OK() {
			t.Errorf("%+v is %s", o, d.Class)
		}
		d := model.Diagnose(o, busy)
		if d.Class != model.ClassTooFast || d.Retry != (o.ServiceStatus == 503) {
			t.Errorf("%+v is %s, retried: %v", o, d.Class, d.Retry)
		}
	}
}

func TestEveryCauseThatARuleCanGiveIsOneOfItsClass(t *testing.T) {
	for _, class := range model.Classes() {
		for _, cause := range model.UserCauses(class) {
			o := page()
			r := soldOut(model.Match{})
			r.Class, r.Cause = class, cause
			if problem := wellFormed(model.Diagnose(o, r), o); problem != "" {
				t.Errorf("%s/%s: %s", class, cause, problem)
			}
		}
	}
}

func TestTheOfferedPauseGrowsWithEveryAnswerThatSaysTooFast(t *testing.T) {
	slow := func(d model.Diagnosis) string {
		for _, s := range d.Steps {
			if s.Action == model.ActionSlowDown {
				return s.Text
			}
		}
		return ""
	}
	for before, want := range map[int]struct {
		pause time.Duration
		says  string
	}{
		0:    {5 * time.Second, "back off"},
		1:    {10 * time.Second, "back off: the second answer in a row that says too fast, so the pause grows to 10s"},
		2:    {20 * time.Second, "the third answer in a row that says too fast, so the pause grows to 20s"},
		6:    {5 * time.Minute, "the seventh answer"},
		10:   {5 * time.Minute, "the 11th answer"},
		20:   {5 * time.Minute, "the 21st answer"},
		1000: {5 * time.Minute, "the 1001st answer"},
	} {
		o := model.Outcome{Via: model.ViaAPI, ServiceStatus: 429, TooFastBefore: before}
		d := model.Diagnose(o)
		if d.Pause() != want.pause || !strings.Contains(slow(d), want.says) {
			t.Errorf("after %d: %v, %q", before, d.Pause(), slow(d))
		}
		if problem := wellFormed(d, o); problem != "" {
			t.Errorf("after %d: %s", before, problem)
		}
	}
}

func TestWhatTheAnswerAsksForIsTheLeastOfTheOfferedPause(t *testing.T) {
	for _, c := range []struct {
		before       int
		asked, pause time.Duration
		says         string
	}{
		{0, 7 * time.Second, 7 * time.Second, ""},
		{0, time.Hour, time.Hour, ""},
		{1, 7 * time.Second, 14 * time.Second, "the second answer in a row that says too fast, so the pause grows to 14s; the answer asks for 7s"},
		{3, time.Minute, 5 * time.Minute, "so the pause grows to 5m0s; the answer asks for 1m0s"},
		{3, time.Hour, time.Hour, "so the pause is 1h0m0s, as the answer asks"},
	} {
		d := model.Diagnose(model.Outcome{Via: model.ViaAPI, ServiceStatus: 429, TooFastBefore: c.before, RetryAfter: c.asked})
		if d.Pause() != c.pause || !strings.Contains(d.Steps[0].Text, c.says) || (d.Repeated() == "") != (c.before == 0) {
			t.Errorf("%v after %d: %v, %q, %q", c.asked, c.before, d.Pause(), d.Steps[0].Text, d.Repeated())
		}
	}
}
