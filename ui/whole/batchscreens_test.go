package whole

import (
	"encoding/json"
	"log/slog"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/config"
	"zonedeck/ui/uitest"
)

// batched has a batch that stopped at its cap, as a run of it leaves it in the store.
func batched(h *home) {
	h.t.Helper()
	paths := config.FindPaths(func(name string) string { return h.env[name] })
	noerr.Must(h.t, paths.Ensure())
	s, _, err := store.Open(h.t.Context(), paths.BatchesFile(), func() time.Time { return h.now }, slog.New(slog.DiscardHandler))
	noerr.Must(h.t, err)
	plan := batch.Plan{Profile: "local", Source: "prices.csv", Price: 1_500_000, Request: model.FetchRequest{
		URL: "http://lab.test/product/{{sku}}", Via: model.ViaAPI, Zone: model.Zone{Name: "datacenter_demo", Product: model.ProductDatacenter},
	}}
	b := store.Batch{
		ID: "batch-prices", Name: "prices-1128", Profile: "local", Plan: noerr.Try(json.Marshal(plan)).Must(h.t), Created: h.now.Add(-90 * time.Minute), Changed: h.now,
		Items: 101_204, Duplicates: 1204, State: store.Capped, Reason: "$61.7999 of $61.80 is spent, and one more fetch may cost $0.0015", AtOnce: 16, Rate: 20, Cap: 61_800_000_000, Spent: 61_799_900_000,
	}
	verdict := func(class model.Class, cause model.Cause) store.Verdict {
		return store.Verdict{Class: class, Cause: cause}
	}
	captcha, timeout := verdict(model.ClassCaptcha, ""), verdict(model.ClassTimeout, "")
	b.Tally = store.Tally{
		Answered: 41_200, Tries: 43_077, Again: 3,
		Verdicts: map[store.Verdict]int64{
			verdict(model.ClassOK, ""): 39_102, captcha: 811, timeout: 610, verdict(model.ClassAccessRestricted, model.CauseSiteBlock): 402, verdict(model.ClassParsingDrift, ""): 275,
		},
		Times: map[int]int64{212: 500, 224: 100},
		Hosts: map[string]store.Host{
			"shop.example":    {OK: 1204, Failed: map[store.Verdict]int64{captcha: 811, timeout: 20}},
			"slow.example":    {OK: 33_000, Failed: map[store.Verdict]int64{timeout: 590}},
			"fenced.example":  {OK: 98, Failed: map[store.Verdict]int64{verdict(model.ClassAccessRestricted, model.CauseSiteBlock): 402}},
			"changed.example": {OK: 800, Failed: map[store.Verdict]int64{verdict(model.ClassParsingDrift, ""): 275}},
		},
	}
	noerr.Must(h.t, noerr.From(s.Add(h.t.Context(), b)))
	noerr.Must(h.t, s.Close())
}

func batchScreens() []screen {
	board := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("2", "[2 Jobs]", "no jobs yet")
		p.PressFor("b", "Batches")
		p.WaitGone("reading the batches")
	}
	return []screen{
		{name: "jobs/batches", before: batched, steps: script(board, shows("prices-1128", "! capped"))},
		{name: "jobs/batch", before: batched, steps: script(board, shows("prices-1128"), see("enter", "Batch · prices-1128", "WORST HOSTS", "shop.example"))},
	}
}
