package drift

import (
	"fmt"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// batchOf is a batch of 100 pages, of which so many have no price.
func batchOf(n int, without int) *Pages {
	p := &Pages{Profile: "test", Batch: fmt.Sprintf("batch-%d", n), Source: "urls.csv", At: time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)}
	for i := range 100 {
		var missing []string
		if i < without {
			missing = []string{".price"}
		}
		p.Take(fmt.Sprintf("https://shop.test/p/lamp-%c?page=2", 'a'+i%26), true, missing, model.ClassOK, "")
	}
	p.Take("https://shop.test/p/lamp-a", false, nil, model.ClassTimeout, "")
	return p
}

func TestABatchIsARunWithTheCoverageOfItsFields(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	for n := 1; n <= 5; n++ {
		if said := noerr.Try(m.Pages(t.Context(), batchOf(n, 1), []string{".price", "h1"})).Must(t); said != "" {
			t.Errorf("run %d: %s", n, said)
		}
	}
	if said := noerr.Try(m.Pages(t.Context(), batchOf(6, 60), []string{"h1", ".price"})).Must(t); said == "" {
		t.Error("three fifths without a price, and nothing is said")
	}
	noerr.Must(t, noerr.From(m.Pages(t.Context(), batchOf(6, 60), []string{"h1", ".price"}))) // replaces the run
	d := noerr.Try(m.Show(t.Context(), Subject{"test", Target, "shop.test/p/*"})).Must(t)
	if len(d.Runs) != 6 || d.Run.Useful != 100 || d.Run.Returned != 101 || d.Run.Class != model.ClassTimeout || d.Verdict.State != Drift {
		t.Errorf("%d runs, the newest %+v: %+v", len(d.Runs), d.Run, d.Verdict)
	}
	if f, _ := d.Run.Field(".price"); f.Filled != 40 {
		t.Errorf("%+v", f)
	}
}

func TestTheTargetOfABatchIsWhatItsPagesHaveInCommon(t *testing.T) {
	for want, addresses := range map[string][]string{
		"a.test/p/7x":   {"http://a.test/p/7x", "http://A.test:80/p/7x?q=1"},
		"a.test/p/*":    {"http://a.test/p/one", "http://a.test/p/two", "http://a.test/p/3"},
		"a.test/*/list": {"http://a.test/one/list", "http://a.test/two/list"},
		"a.test/*":      {"http://a.test/one/list", "http://a.test/one"},
		"urls.csv":      {"http://a.test/one", "http://b.test/one", "http://a.test/one"},
	} {
		m, p := monitor(t, openStore(t, DefaultKeep())), &Pages{Profile: "test", Batch: "b", Source: "urls.csv", At: time.Unix(1, 0)}
		for _, a := range addresses {
			p.Take(a, true, nil, model.ClassOK, "")
			noerr.Must(t, noerr.From(m.Pages(t.Context(), p, []string{"h1"}))) // a batch that runs is stored with the pages until now
		}
		all := noerr.Try(m.Standings(t.Context(), "test", nil)).Must(t)
		if len(all) != 1 || all[0].Run.Name != want {
			t.Errorf("%q: %+v", want, all)
		}
	}
	if said, err := NewMonitor(Config{}).Pages(t.Context(), &Pages{}, nil); said != "" || err != nil {
		t.Error(said, err)
	}
}
