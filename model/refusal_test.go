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

var otherZones = []model.Zone{
	{Name: "dc1", Product: model.ProductDatacenter, Password: "env:P"},
	{Name: "serp", Product: model.ProductSERP},
	{Name: "dc2", Product: model.ProductDatacenter, Password: "env:P"},
	{Name: "res", Product: model.ProductResidential},
	{Name: "unl", Product: model.ProductUnlocker, Rate: model.Rate{Per1000: 1.5, PerGB: 2}},
}

func otherKeys() []model.Key {
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

// refusal is a comparison of which the cells showed so much; nil is a cell that was not sent.
func refusal(via model.Via, good, zone, key *model.Run) model.Grid {
	g := model.NewRefusal(model.Preset{Subject: refusedBy(via)})
	for i, r := range []*model.Run{good, zone, key} {
		if g.Cells[i+1].Problem = ""; r != nil {
			g.Cells[i+1].Runs = []model.Run{*r}
		}
	}
	return g
}

func TestAPlanChangesOneThingAtATime(t *testing.T) {
	choice := model.Preset{Zones: otherZones, Keys: otherKeys(), GoodPage: "http://good.example/", Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	subject := refusedBy(model.ViaAPI)
	subject.Request.Secrets = map[string]string{"t": "env:TOKEN"}
	choice.Subject = subject
	plan := model.NewRefusal(choice)
	if s := plan.Request(plan.Cells[1]).Secrets; len(s) != 0 {
		t.Errorf("the good page is asked for with the secrets %v", s)
	}
	want := subject.Request
	want.Key, want.Retries, want.Required, want.BodyFile = "k1", 0, nil, ""
	for i, different := range []string{"http://good.example/", "unl", "ops"} {
		c := plan.Cells[i+1]
		got := plan.Request(c)
		if c.Different() != different || c.Problem != "" || got.Retries != 0 || got.Required != nil || got.BodyFile != "" {
			t.Errorf("cell %d: %+v", i, c)
		}
		same := 0
		for _, equal := range []bool{got.URL == want.URL, got.Zone == want.Zone, got.Key == want.Key, got.Via == want.Via} {
			if equal {
				same++
			}
		}
		if same != 3 {
			t.Errorf("cell %d has %d of 4 in common with the subject: %+v", i, same, got)
		}
	}
	choice.Subject.Body.Size = 1e6
	if cost, priced := model.NewRefusal(choice).Price(plan.Cells[2]); !priced || cost != 0.0015+0.002 {
		t.Errorf("$%v, %v", cost, priced)
	}
	if _, priced := plan.Price(plan.Cells[1]); priced {
		t.Error("a zone without a rate has a price")
	}
}

func TestAPlanTakesWhatWasChosenAndSaysWhatCannotBeMade(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		via     model.Via
		change  func(*model.Preset)
		want    [3]string // what is different
		problem [3]string
	}{
		"a chosen zone":      {model.ViaAPI, func(c *model.Preset) { c.OtherZone = "dc2" }, [3]string{"g", "dc2", "ops"}, [3]string{}},
		"the same zone":      {model.ViaAPI, func(c *model.Preset) { c.OtherZone = "dc1" }, [3]string{"g", "", "ops"}, [3]string{"", `zone "dc1" is the same zone`, ""}},
		"a search zone":      {model.ViaAPI, func(c *model.Preset) { c.OtherZone = "serp" }, [3]string{"g", "", "ops"}, [3]string{"", "cannot fetch a page", ""}},
		"no other zone":      {model.ViaAPI, func(c *model.Preset) { c.Zones = c.Zones[:2] }, [3]string{"g", "", "ops"}, [3]string{"", "no other zone", ""}},
		"ADMIN, chosen":      {model.ViaAPI, func(c *model.Preset) { c.OtherKey = "root" }, [3]string{"g", "unl", "root"}, [3]string{}},
		"an expired key":     {model.ViaAPI, func(c *model.Preset) { c.OtherKey = "old" }, [3]string{"g", "unl", ""}, [3]string{"", "", `key "old" is the same key`}},
		"only ADMIN is left": {model.ViaAPI, func(c *model.Preset) { c.Keys = c.Keys[:3] }, [3]string{"g", "unl", ""}, [3]string{"", "", "no other key"}},
		"an unknown level":   {model.ViaAPI, func(c *model.Preset) { c.Keys = c.Keys[:5] }, [3]string{"g", "unl", "seen"}, [3]string{}},
		"no good page":       {model.ViaAPI, func(c *model.Preset) { c.GoodPage = "" }, [3]string{"", "unl", "ops"}, [3]string{"no page is known", "", ""}},
		"native":             {model.ViaNative, func(*model.Preset) {}, [3]string{"g", "dc2", ""}, [3]string{"", "", "and no key"}},
	} {
		choice := model.Preset{Subject: refusedBy(c.via), Zones: otherZones, Keys: otherKeys(), GoodPage: "g", Now: now}
		c.change(&choice)
		for i, p := range model.NewRefusal(choice).Cells[1:] {
			if p.Different() != c.want[i] || (p.Problem != "") != (c.problem[i] != "") || !strings.Contains(p.Problem, c.problem[i]) {
				t.Errorf("%s, cell %d: %q, %q", name, i, p.Different(), p.Problem)
			}
		}
	}
	post := refusedBy(model.ViaAPI)
	post.Request.Method, post.Request.Body = "post", "x"
	plan := model.NewRefusal(model.Preset{Subject: post, Zones: otherZones, Keys: otherKeys(), GoodPage: "g", Now: now})
	if plan.Request(plan.Cells[1]).Method != "" || plan.Cells[1].Problem != "" || plan.Cells[2].Problem == "" || plan.Cells[3].Problem == "" {
		t.Errorf("a POST is sent again: %+v", plan.Cells)
	}
}

// Every combination of what probes can show has one sentence; each verdict is what the
// combination shows, and no probe is sent after it.
func TestOneSentenceSaysWhatRefused(t *testing.T) {
	through := &model.Run{Class: model.ClassOK}
	drift := &model.Run{Class: model.ClassParsingDrift}
	missing := &model.Run{Class: model.ClassOutside, Cause: model.CauseTargetError}
	refused := &model.Run{Class: model.ClassAccessRestricted}
	late := &model.Run{Class: model.ClassTimeout}
	wall := &model.Run{Class: model.ClassCaptcha}
	for _, c := range []struct {
		good, zone, key *model.Run
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
		g := refusal(model.ViaAPI, c.good, c.zone, c.key)
		g.Cells[2].Zone.Name, g.Cells[3].Key = "z2", "k2"
		v := g.Verdict()
		got, sentence := v.Culprit, v.Text
		if got != c.want || !strings.HasPrefix(sentence, c.begins) || !strings.HasSuffix(sentence, ".") || strings.Contains(sentence, ". ") {
			t.Errorf("%q: %s, want %q: %s…", got, sentence, c.want, c.begins)
		}
		for i := range g.Cells[1:3] {
			if c := &g.Cells[1+i]; len(c.Runs) == 0 {
				c.Problem = "none"
			}
		}
		g.Cells[3].Runs = nil
		before := g.Verdict().Culprit
		if next, needed := g.Next(); needed != (before == "" && (c.good == nil || c.good != through && c.good != drift && c.good != missing)) {
			t.Errorf("after %s the other key is needed: %v, %d", sentence, needed, next)
		}
	}
}

func TestAServiceThatNamesThePermissionEachTimeIsBelieved(t *testing.T) {
	lacks := &model.Run{Class: model.ClassAccessRestricted, Cause: model.CauseMissingPermission}
	g := refusal(model.ViaAPI, lacks, lacks, nil)
	if culprit := g.Verdict().Culprit; culprit != "" {
		t.Errorf("the subject's answer does not name it: %s", culprit)
	}
	g.Cells[0].Runs[0] = *lacks
	if v := g.Verdict(); v.Culprit != model.CulpritKey || !strings.Contains(v.Text, "speaks of a missing permission") {
		t.Errorf("%q: %s", v.Culprit, v.Text)
	}
}

func TestByNativeAccessALoginIsNamedAndNoKey(t *testing.T) {
	refused := &model.Run{Class: model.ClassAccessRestricted}
	if text := refusal(model.ViaNative, refused, refused, nil).Verdict().Text; !strings.HasPrefix(text, "Not decided between the proxy login and the account") || strings.Contains(text, "k1") {
		t.Error(text)
	}
	if names := (model.Preset{Keys: otherKeys()}).OtherKeys("ops"); slices.Contains(names, "root") || slices.Contains(names, "ops") {
		t.Errorf("%v", names)
	}
}
