package model_test

import (
	"testing"
	"time"

	"zonedeck/model"
)

func TestAMeasurementSaysNoMoreThanItSaw(t *testing.T) {
	calls := func(exits ...string) (out []model.Run) {
		for _, e := range exits {
			out = append(out, model.Run{Class: model.ClassOK, Total: time.Millisecond, Login: &model.LoginCall{Exit: e}})
		}
		return out
	}
	for want, r := range map[string]model.Cell{
		"no call was made": {},
		"neither the proxy nor the page told an exit address: nothing is known of the rotation": {Runs: calls("", "")},
		"one exit address is known: nothing is known of the rotation":                           {Runs: calls("a", "")},
		"the exit does not rotate: one address in 3 calls":                                      {Runs: calls("a", "a", "a")},
		"every call had an address of its own: 3 in 3 calls":                                    {Runs: calls("a", "b", "c")},
		"2 addresses in 4 calls, repeat rate 50 %":                                              {Runs: calls("a", "b", "", "a", "b")},
		"session s kept one address over 2 calls":                                               {Vary: model.Vary{Session: "s"}, Runs: calls("a", "", "a")},
		"session s did not keep its address: it changed at call 2, 4":                           {Vary: model.Vary{Session: "s"}, Runs: calls("a", "b", "", "a")},
		"session s did not keep its address: it changed at call 2, 3, 4, 5, 6, 7, 8, 9 and 1 more": {
			Vary: model.Vary{Session: "s"}, Runs: calls("a", "b", "a", "b", "a", "b", "a", "b", "a", "b"),
		},
	} {
		if got := (model.Grid{Kind: model.CompareExits, Cells: []model.Cell{r}}).Verdict().Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := model.Cell{Runs: []model.Run{
		{Class: model.ClassOK, Total: 40}, {Class: model.ClassTooFast, Total: 1}, {Class: model.ClassOK, Total: 10}, {Class: model.ClassOK, Total: -1},
	}}
	if r.MedianOK() != 25 || r.OK() != 3 || (model.Cell{}).MedianOK() >= 0 {
		t.Errorf("median %d of %d", r.MedianOK(), r.OK())
	}
}

func TestTwoMatricesAreComparedInWords(t *testing.T) {
	good := model.LoginRow{
		Zone: "isp1", Connect: 1, Median: 200 * time.Millisecond, ConnectStatus: 200, Class: model.ClassOK,
		Trust: model.ChainTrusted, Root: "CN=Lab", Countries: []string{"DE"}, Made: 3, OK: 3, Known: 3, Unique: 3,
	}
	for name, tc := range map[string]struct {
		change func(*model.LoginRow)
		kind   model.ChangeKind
		text   string
	}{
		"nothing":         {func(*model.LoginRow) {}, "", ""},
		"a little slower": {func(r *model.LoginRow) { r.Median = 400 * time.Millisecond }, "", ""},
		"slower":          {func(r *model.LoginRow) { r.Median = 900 * time.Millisecond }, model.ChangeWorse, "slower: 900 ms, was 200 ms"},
		"rejected": {func(r *model.LoginRow) {
			r.Class, r.Cause, r.Code = model.ClassOutside, model.CauseLoginRejected, "client_10000"
		}, model.ChangeWorse, "login rejected (client_10000), was ok"},
		"one of more":      {func(r *model.LoginRow) { r.Made, r.OK = 5, 4 }, model.ChangeWorse, "4 of 5 calls ok, was 3 of 3"},
		"a code of an ok":  {func(r *model.LoginRow) { r.Code, r.OK = "target_40020", 2 }, model.ChangeWorse, "2 of 3 calls ok, was 3"},
		"one call failed":  {func(r *model.LoginRow) { r.OK = 2 }, model.ChangeWorse, "2 of 3 calls ok, was 3"},
		"not trusted":      {func(r *model.LoginRow) { r.Trust = model.ChainUntrusted }, model.ChangeWorse, "the certificate is not trusted any more: signed by CN=Lab"},
		"not checked":      {func(r *model.LoginRow) { r.Trust = model.ChainUnchecked }, model.ChangeWorse, "the certificate is not checked any more (verify = false)"},
		"another root":     {func(r *model.LoginRow) { r.Root = "CN=New" }, model.ChangeOther, "the chain is signed by CN=New, was CN=Lab"},
		"another country":  {func(r *model.LoginRow) { r.Countries = []string{"US", "FR"} }, model.ChangeOther, "exits in FR, US, was DE"},
		"no rotation":      {func(r *model.LoginRow) { r.Unique = 1 }, model.ChangeWorse, "the exit does not rotate any more: one address in 3 calls, were 3 in 3"},
		"nothing was sent": {func(r *model.LoginRow) { r.Made, r.Problem = 0, "no password" }, model.ChangeWorse, "not called, was ok"},
	} {
		now := good
		tc.change(&now)
		was, is := model.Baseline{Target: "p", Rows: []model.LoginRow{good}}, model.Baseline{Target: "p", Rows: []model.LoginRow{now}}
		got := model.CompareBaseline(was, is)
		if tc.kind == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if len(got) != 1 || got[0] != (model.BaselineChange{Zone: "isp1", Kind: tc.kind, Text: tc.text}) || model.Worse(got) != (tc.kind == model.ChangeWorse) {
			t.Errorf("%s: %+v", name, got)
		}
		if back := model.CompareBaseline(is, was); model.Worse(back) {
			t.Errorf("%s: the way back is for the worse: %+v", name, back)
		}
	}
	was := model.Baseline{Target: "p", Rows: []model.LoginRow{good}}
	fresh := good
	fresh.Zone = "isp2"
	got := model.CompareBaseline(was, model.Baseline{Target: "p", Rows: []model.LoginRow{fresh}})
	if len(got) != 2 || got[0].Kind != model.ChangeNew || got[0].Zone != "isp2" || got[1].Kind != model.ChangeGone || got[1].Zone != "isp1" || model.Worse(got) {
		t.Errorf("%+v", got)
	}
	anywhere := good
	anywhere.Countries = []string{"US", "FR"}
	once := good
	once.Made, once.OK, once.Known, once.Unique, once.Countries = 1, 1, 1, 1, []string{"BR"}
	for _, base := range []model.LoginRow{anywhere, once} {
		if got := model.CompareBaseline(model.Baseline{Rows: []model.LoginRow{base}}, was); len(got) != 0 {
			t.Errorf("exits anywhere are other ones in each matrix: %+v", got)
		}
	}
	slow := good
	slow.Median = time.Minute
	if got := model.CompareBaseline(was, model.Baseline{Target: "another page", Rows: []model.LoginRow{slow}}); len(got) != 0 {
		t.Errorf("the times of two pages are compared: %+v", got)
	}
}
