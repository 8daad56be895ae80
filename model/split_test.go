package model_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func refusedBy(via model.Via) model.FetchResult {
	return model.FetchResult{
		KeyName: "k1", Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted},
		Request: model.FetchRequest{Zone: model.Zone{Name: "dc1", Product: model.ProductDatacenter, Password: "env:P"}, URL: "http://shop.example/", Via: via, Retries: 3, Required: []string{"h1"}, BodyFile: "/x"},
	}
}

var splitZones = []model.Zone{
	{Name: "dc1", Product: model.ProductDatacenter, Password: "env:P"},
	{Name: "serp", Product: model.ProductSERP},
	{Name: "dc2", Product: model.ProductDatacenter, Password: "env:P"},
	{Name: "res", Product: model.ProductResidential},
	{Name: "unl", Product: model.ProductUnlocker, Rate: model.Rate{Per1000: 1.5, PerGB: 2}},
}

func splitKeys() []model.Key {
	return []model.Key{
		{Name: "k1", Level: model.LevelUser, Secret: "env:A"},
		{Name: "root", Level: model.LevelAdmin, Secret: "env:B"},
		{Name: "bill", Level: model.LevelFinance, Secret: "env:C"},
		{Name: "seen", Secret: "env:D"},
		{Name: "tracked", Level: model.LevelOps},
		{Name: "old", Level: model.LevelOps, Secret: "env:E", Expires: model.ExpiresAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))},
		{Name: "ops", Level: model.LevelOps, Secret: "env:F"},
	}
}

func TestAPlanChangesOneThingAtATime(t *testing.T) {
	choice := model.SplitChoice{Profile: "acme", Zones: splitZones, Keys: splitKeys(), GoodPage: "http://good.example/", Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	subject := refusedBy(model.ViaAPI)
	subject.Request.Secrets = map[string]string{"t": "env:TOKEN"}
	plan := model.PlanSplit(subject, choice)
	if s := plan.Probes[0].Request.Secrets; len(s) != 0 {
		t.Errorf("the good page is asked for with the secrets %v", s)
	}
	want := subject.Request
	want.Key, want.Retries, want.Required, want.BodyFile = "k1", 0, nil, ""
	for i, different := range []string{"http://good.example/", "unl", "ops"} {
		p := plan.Probes[i]
		if p.Different() != different || p.Problem != "" || p.Request.Retries != 0 || p.Request.Required != nil || p.Request.BodyFile != "" {
			t.Errorf("probe %d: %+v", i, p)
		}
		same := 0
		for _, equal := range []bool{p.Request.URL == want.URL, p.Request.Zone == want.Zone, p.Request.Key == want.Key, p.Request.Via == want.Via} {
			if equal {
				same++
			}
		}
		if same != 3 {
			t.Errorf("probe %d has %d of 4 in common with the subject: %+v", i, same, p.Request)
		}
	}
	subject.Body.Size = 1e6
	if cost, priced := (model.Split{Subject: subject}).Cost(plan.Probes[1]); !priced || cost != 0.0015+0.002 {
		t.Errorf("$%v, %v", cost, priced)
	}
	if _, priced := plan.Cost(plan.Probes[0]); priced {
		t.Error("a zone without a rate has a price")
	}
}

func TestAPlanTakesWhatWasChosenAndSaysWhatCannotBeMade(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		via     model.Via
		change  func(*model.SplitChoice)
		want    [3]string // what is different
		problem [3]string
	}{
		"a chosen zone":      {model.ViaAPI, func(c *model.SplitChoice) { c.Zone = "dc2" }, [3]string{"g", "dc2", "ops"}, [3]string{}},
		"the same zone":      {model.ViaAPI, func(c *model.SplitChoice) { c.Zone = "dc1" }, [3]string{"g", "", "ops"}, [3]string{"", `zone "dc1" is the same zone`, ""}},
		"a search zone":      {model.ViaAPI, func(c *model.SplitChoice) { c.Zone = "serp" }, [3]string{"g", "", "ops"}, [3]string{"", "cannot fetch a page", ""}},
		"no other zone":      {model.ViaAPI, func(c *model.SplitChoice) { c.Zones = c.Zones[:2] }, [3]string{"g", "", "ops"}, [3]string{"", "no other zone", ""}},
		"ADMIN, chosen":      {model.ViaAPI, func(c *model.SplitChoice) { c.Key = "root" }, [3]string{"g", "unl", "root"}, [3]string{}},
		"an expired key":     {model.ViaAPI, func(c *model.SplitChoice) { c.Key = "old" }, [3]string{"g", "unl", ""}, [3]string{"", "", `key "old" is the same key`}},
		"only ADMIN is left": {model.ViaAPI, func(c *model.SplitChoice) { c.Keys = c.Keys[:3] }, [3]string{"g", "unl", ""}, [3]string{"", "", "no other key"}},
		"an unknown level":   {model.ViaAPI, func(c *model.SplitChoice) { c.Keys = c.Keys[:5] }, [3]string{"g", "unl", "seen"}, [3]string{}},
		"no good page":       {model.ViaAPI, func(c *model.SplitChoice) { c.GoodPage = "" }, [3]string{"", "unl", "ops"}, [3]string{"no page is known", "", ""}},
		"native":             {model.ViaNative, func(*model.SplitChoice) {}, [3]string{"g", "dc2", ""}, [3]string{"", "", "and no key"}},
	} {
		choice := model.SplitChoice{Zones: splitZones, Keys: splitKeys(), GoodPage: "g", Now: now}
		c.change(&choice)
		plan := model.PlanSplit(refusedBy(c.via), choice)
		for i, p := range plan.Probes {
			if p.Different() != c.want[i] || (p.Problem != "") != (c.problem[i] != "") || !strings.Contains(p.Problem, c.problem[i]) {
				t.Errorf("%s, probe %d: %q, %q", name, i, p.Different(), p.Problem)
			}
		}
	}
	post := refusedBy(model.ViaAPI)
	post.Request.Method, post.Request.Body = "post", "x"
	plan := model.PlanSplit(post, model.SplitChoice{Zones: splitZones, Keys: splitKeys(), GoodPage: "g", Now: now})
	if plan.Probes[0].Request.Method != "" || plan.Probes[0].Problem != "" || plan.Probes[1].Problem == "" || plan.Probes[2].Problem == "" {
		t.Errorf("a POST is sent again: %+v", plan.Probes)
	}
}

// Every combination of what probes can show has one sentence; each verdict is what the
// combination shows, and no probe is sent after it.
func TestOneSentenceSaysWhatRefused(t *testing.T) {
	through := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassOK}}
	drift := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassParsingDrift}}
	missing := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError}}
	refused := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted}}
	late := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassTimeout}}
	wall := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassCaptcha}}
	for _, c := range []struct {
		good, zone, key *model.FetchResult
		want            model.Culprit
		begins          string
	}{
		{through, through, nil, model.CulpritZone, "The zone, at this site: "},
		{drift, missing, nil, model.CulpritZone, "The zone, at this site: with key k1 zone dc1 fetches a good page, and zone z2 is not refused at this one (target error); only"},
		{missing, refused, nil, model.CulpritSite, "The site: with key k1 zone dc1 is not refused at a good page (target error), and this one is refused to zone z2 too"},
		{missing, late, nil, "", "Not decided between the zone and the site: with key k1 zone dc1 is not refused at a good page (target error), so"},
		{refused, missing, nil, model.CulpritZone, "The zone: with key k1 zone z2 is not refused at this page (target error)"},
		{refused, refused, missing, model.CulpritKey, "The key's level: key k2 is not refused at this page (target error) by zone dc1, and key k1 is refused"},
		{through, refused, nil, model.CulpritSite, "The site: "},
		{through, wall, nil, model.CulpritSite, "The site: "},
		{through, late, nil, "", "Not decided between the zone and the site: "},
		{through, nil, nil, "", "Not decided between the zone and the site: "},
		{refused, through, nil, model.CulpritZone, "The zone: "},
		{late, through, nil, model.CulpritZone, "The zone: "},
		{nil, through, nil, model.CulpritZone, "The zone: "},
		{refused, refused, through, model.CulpritKey, "The key's level: key k2 fetches this page by zone dc1, and key k1 is refused, by zone z2 too, and at a page known to be good."},
		{refused, late, through, model.CulpritKey, "The key's level: "},
		{nil, nil, through, model.CulpritKey, "The key's level: key k2 fetches this page by zone dc1, and key k1 is refused."},
		{late, refused, through, model.CulpritKey, "The key's level: "},
		{refused, refused, refused, "", "Not decided: two zones, two keys"},
		{refused, refused, late, "", "Not decided between key k1 and the account: "},
		{refused, refused, nil, "", "Not decided between key k1 and the account: "},
		{refused, late, refused, "", "Not decided between key k1 and the zone: "},
		{late, refused, refused, "", "Not decided between key k1 and the site: "},
		{late, late, late, "", "Not decided: no probe"},
		{wall, nil, wall, "", "Not decided: no probe"},
		{nil, nil, nil, "", "Not decided: no probe"},
	} {
		s := model.Split{Subject: refusedBy(model.ViaAPI), Probes: []model.SplitProbe{
			{Kind: model.SplitGoodPage, Result: c.good},
			{Kind: model.SplitOtherZone, Result: c.zone, Request: model.FetchRequest{Zone: model.Zone{Name: "z2"}}},
			{Kind: model.SplitOtherKey, Result: c.key, Request: model.FetchRequest{Key: "k2"}},
		}}
		got, sentence := s.Verdict()
		if got != c.want || !strings.HasPrefix(sentence, c.begins) || !strings.HasSuffix(sentence, ".") || strings.Contains(sentence, ". ") {
			t.Errorf("%q: %s, want %q: %s…", got, sentence, c.want, c.begins)
		}
		s.Probes[2].Result = nil
		before, _ := s.Verdict()
		if needed := s.Needs(model.SplitOtherKey); needed != (before == "" && (c.good == nil || c.good != through && c.good != drift && c.good != missing)) {
			t.Errorf("after %s the other key is needed: %v", sentence, needed)
		}
	}
}

func TestAServiceThatNamesThePermissionEachTimeIsBelieved(t *testing.T) {
	lacks := model.Diagnosis{Class: model.ClassAccessRestricted, Cause: model.CauseMissingPermission}
	s := model.Split{Subject: refusedBy(model.ViaAPI), Probes: []model.SplitProbe{
		{Kind: model.SplitGoodPage, Result: &model.FetchResult{Diagnosis: lacks}},
		{Kind: model.SplitOtherZone, Result: &model.FetchResult{Diagnosis: lacks}},
		{Kind: model.SplitOtherKey, Problem: "none"},
	}}
	if culprit, _ := s.Verdict(); culprit != "" {
		t.Errorf("the subject's answer does not name it: %s", culprit)
	}
	s.Subject.Diagnosis = lacks
	if culprit, sentence := s.Verdict(); culprit != model.CulpritKey || !strings.Contains(sentence, "speaks of a missing permission") {
		t.Errorf("%q: %s", culprit, sentence)
	}
}

func TestByNativeAccessALoginIsNamedAndNoKey(t *testing.T) {
	refused := &model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted}}
	s := model.Split{Subject: refusedBy(model.ViaNative), Probes: []model.SplitProbe{{Kind: model.SplitGoodPage, Result: refused}, {Kind: model.SplitOtherZone, Result: refused}}}
	if _, sentence := s.Verdict(); !strings.HasPrefix(sentence, "Not decided between the proxy login and the account") || strings.Contains(sentence, "k1") {
		t.Error(sentence)
	}
	if names := (model.SplitChoice{Keys: splitKeys()}).OtherKeys("ops"); slices.Contains(names, "root") || slices.Contains(names, "ops") {
		t.Errorf("%v", names)
	}
}
