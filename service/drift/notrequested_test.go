package drift

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// asker fetches a page again and again, each time with other required fields.
type asker struct {
	t *testing.T
	m *Monitor
	n int
}

// fetch requests fields n times; a field with "!" before its name is not found.
func (a *asker) fetch(n int, paths ...string) {
	a.t.Helper()
	for range n {
		r := model.FetchResult{
			ID: fmt.Sprintf("f_%03d", a.n), Started: today.Add(time.Duration(a.n-1000) * time.Hour), ContentType: "text/html",
			Request: model.FetchRequest{URL: "http://shop.test/x"},
		}
		page := ""
		for _, path := range paths {
			name, missing := strings.CutPrefix(path, "!")
			r.Fields = append(r.Fields, model.Field{Path: name, Found: !missing, Value: "text"})
			if !missing {
				page += "<b class=" + strings.TrimPrefix(name, ".") + ">text of " + r.ID + "</b>"
			}
		}
		noerr.Must(a.t, a.m.Fetched(a.t.Context(), "p", r, []byte("<div>"+page+"</div>")))
		a.n++
	}
}

func (a *asker) show() Detail {
	a.t.Helper()
	d, err := a.m.Show(a.t.Context(), Subject{"p", Target, "shop.test/x"})
	noerr.Must(a.t, err)
	return d
}

func (d Detail) line(field string) Line {
	return d.Lines[slices.IndexFunc(d.Lines, func(l Line) bool { return l.Field == field })]
}

// A field's history is the fetches that requested it, however many requested others since.
func TestTheHistoryOfAFieldIsOfTheFetchesThatAskedForIt(t *testing.T) {
	for name, others := range map[string]int{"as many as are compared": 40, "more than are kept": 100} {
		t.Run(name, func(t *testing.T) {
			a := &asker{t: t, m: monitor(t, openStore(t, Keep{Runs: 8, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))}
			a.fetch(5, ".price", ".title")
			a.fetch(2, "!.price")
			a.fetch(others, ".title")
			a.fetch(1, "!.price")
			d := a.show()
			want := "drift\nmissing: .price matched nothing, and the fetch requires it; it matched in the last 5 runs that were good for it; first seen at f_005"
			if got := said(d.Verdict); got != want || d.Verdict.Against != 5 {
				t.Errorf("%s, against %d", got, d.Verdict.Against)
			}
			price, title := d.line(".price"), d.line(".title")
			if price.Before != 1 || price.Against != 5 || !slices.Equal(price.History[:5], []float64{1, 1, 1, 1, 1}) || price.History[len(price.History)-1] != 0 || !price.Requested {
				t.Errorf("%+v", price)
			}
			if title.Requested || title.Now != -1 || title.Before != 1 || len(title.Findings) != 0 {
				t.Errorf("not asked for now: %+v", title)
			}
			if got := price.Failure(); got != ".price matches nothing any more" {
				t.Error(got)
			}
		})
	}
}

// A field that was never requested has nothing to be compared with, even if other fields were good.
func TestAFieldThatWasNeverAskedForIsHeldAgainstNothing(t *testing.T) {
	a := &asker{t: t, m: monitor(t, openStore(t, DefaultKeep()))}
	a.fetch(12, ".title")
	a.fetch(1, ".new")
	if d := a.show(); d.Verdict.State != First || d.Verdict.Against != 0 || d.line(".new").Before != -1 {
		t.Errorf("%+v, %+v", d.Verdict, d.Lines)
	}
}

// Fields that were requested once cannot fill the store or displace those still requested.
func TestRunsKeptForTheirFieldsAreBoundedInTotal(t *testing.T) {
	a := &asker{t: t, m: monitor(t, openStore(t, Keep{Runs: 8, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))}
	a.fetch(40, ".price")
	for i := range 2 * heldFields {
		a.fetch(1, fmt.Sprintf(".once-%d", i))
		if i%(heldFields-1) == 0 {
			a.fetch(1, ".price")
		}
	}
	// All runs for the price, and one for each other field that is kept.
	if n := len(mustRuns(t, a.m, a.show().Run.Subject)); n != 43+heldFields-1 {
		t.Errorf("%d runs", n)
	}
	a.fetch(1, "!.price")
	if got := a.show().Verdict.Findings[0].Text; !strings.HasSuffix(got, "it matched in the last 30 runs that were good for it") {
		t.Error(got)
	}
}

// A fetch by another script, for other fields of the same pages, does not clear what one script found.
func TestDriftOfAFieldStaysUntilAFetchAsksForIt(t *testing.T) {
	a := &asker{t: t, m: monitor(t, openStore(t, DefaultKeep()))}
	a.fetch(3, ".price", ".title")
	a.fetch(1, "!.price", "!.typo")
	a.fetch(2, ".title")
	d := a.show()
	want := "drift\nmissing: .price matched nothing, and the fetch requires it; it matched in the last 3 good runs; no fetch since f_003 has asked for it"
	if got := said(d.Verdict); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if l := d.line(".price"); l.Requested || len(l.Findings) != 1 || l.Findings[0].Since != "f_003" || len(d.Remaining) != 0 {
		t.Errorf("%+v, left %+v", l, d.Remaining)
	}
	list, err := a.m.Standings(t.Context(), "p", nil)
	if err != nil || len(list) != 1 || list[0].Verdict.State != Drift {
		t.Errorf("%+v, %v", list, err)
	}
	noerr.Must(t, noerr.From(a.m.Accept(t.Context(), d.Run.Subject, d.Run.Seq, "")))
	if d := a.show(); d.Verdict.State != Good || len(d.Verdict.Findings) != 0 {
		t.Errorf("accepted: %s", said(d.Verdict))
	}
	noerr.Must(t, a.m.TakeBack(t.Context(), d.Run.Subject))
	a.fetch(1, ".price")
	if d := a.show(); d.Verdict.State != Good || len(d.Verdict.Findings) != 0 {
		t.Errorf("found again: %s", said(d.Verdict))
	}
}
