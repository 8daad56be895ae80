package model_test

import (
	"testing"
	"time"

	"zonedeck/model"
)

func TestAMeasurementSaysNoMoreThanItSaw(t *testing.T) {
	calls := func(exits ...string) (out []model.ExitCall) {
		for _, e := range exits {
			out = append(out, model.ExitCall{Exit: e, Class: model.ClassOK, Total: time.Millisecond})
		}
		return out
	}
	for want, r := range map[string]model.ExitRotation{
		"no call was made": {},
		"neither the proxy nor the page told an exit address: nothing is known of the rotation": {Calls: calls("", "")},
		"one exit address is known: nothing is known of the rotation":                           {Calls: calls("a", "")},
		"the exit does not rotate: one address in 3 calls":                                      {Calls: calls("a", "a", "a")},
		"every call had an address of its own: 3 in 3 calls":                                    {Calls: calls("a", "b", "c")},
		"2 addresses in 4 calls, repeat rate 50 %":                                              {Calls: calls("a", "b", "", "a", "b")},
		"session s kept one address over 2 calls":                                               {Session: "s", Calls: calls("a", "", "a")},
		"session s did not keep its address: it changed at call 2, 4":                           {Session: "s", Calls: calls("a", "b", "", "a")},
		"session s did not keep its address: it changed at call 2, 3, 4, 5, 6, 7, 8, 9 and 1 more": {
			Session: "s", Calls: calls("a", "b", "a", "b", "a", "b", "a", "b", "a", "b"),
		},
	} {
		if got := r.Verdict(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := model.ExitRotation{Calls: []model.ExitCall{
		{Class: model.ClassOK, Total: 40}, {Class: model.ClassTooFast, Total: 1}, {Class: model.ClassOK, Total: 10}, {Class: model.ClassOK, Total: -1},
	}}
	if r.Median() != 25 || r.OK() != 3 || (model.ExitRotation{}).Median() >= 0 {
		t.Errorf("median %d of %d", r.Median(), r.OK())
	}
}

func TestTwoMatricesAreComparedInWords(t *testing.T) {
	good := model.MatrixRow{
		Zone: "isp1", Connect: 1, Median: 200 * time.Millisecond, ConnectStatus: 200, Class: model.ClassOK,
		Trust: model.ChainTrusted, Root: "CN=Lab", Countries: []string{"DE"}, Made: 3, OK: 3, Known: 3, Unique: 3,
	}
	for name, tc := range map[string]struct {
		change func(*model.MatrixRow)
		kind   model.ChangeKind
		text   string
	}{
		"nothing":         {func(*model.MatrixRow) {}, "", ""},
		"a little slower": {func(r *model.MatrixRow) { r.Median = 400 * time.Millisecond }, "", ""},
		"slower":          {func(r *model.MatrixRow) { r.Median = 900 * time.Millisecond }, model.ChangeWorse, "slower: 900 ms, was 200 ms"},
		"rejected": {func(r *model.MatrixRow) {
			r.Class, r.Cause, r.Code = model.ClassOutside, model.CauseLoginRejected, "client_10000"
		}, model.ChangeWorse, "login rejected (client_10000), was ok"},
		"one of more":      {func(r *model.MatrixRow) { r.Made, r.OK = 5, 4 }, model.ChangeWorse, "4 of 5 calls ok, was 3 of 3"},
		"a code of an ok":  {func(r *model.MatrixRow) { r.Code, r.OK = "target_40020", 2 }, model.ChangeWorse, "2 of 3 calls ok, was 3"},
		"one call failed":  {func(r *model.MatrixRow) { r.OK = 2 }, model.ChangeWorse, "2 of 3 calls ok, was 3"},
		"not trusted":      {func(r *model.MatrixRow) { r.Trust = model.ChainUntrusted }, model.ChangeWorse, "the certificate is not trusted any more: signed by CN=Lab"},
		"not checked":      {func(r *model.MatrixRow) { r.Trust = model.ChainUnchecked }, model.ChangeWorse, "the certificate is not checked any more (verify = false)"},
		"another root":     {func(r *model.MatrixRow) { r.Root = "CN=New" }, model.ChangeOther, "the chain is signed by CN=New, was CN=Lab"},
		"another country":  {func(r *model.MatrixRow) { r.Countries = []string{"US", "FR"} }, model.ChangeOther, "exits in FR, US, was DE"},
		"no rotation":      {func(r *model.MatrixRow) { r.Unique = 1 }, model.ChangeWorse, "the exit does not rotate any more: one address in 3 calls, were 3 in 3"},
		"nothing was sent": {func(r *model.MatrixRow) { r.Made, r.Problem = 0, "no password" }, model.ChangeWorse, "not called, was ok"},
	} {
		now := good
		tc.change(&now)
		was, is := model.Matrix{Target: "p", Rows: []model.MatrixRow{good}}, model.Matrix{Target: "p", Rows: []model.MatrixRow{now}}
		got := model.CompareMatrix(was, is)
		if tc.kind == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if len(got) != 1 || got[0] != (model.MatrixChange{Zone: "isp1", Kind: tc.kind, Text: tc.text}) || model.Worse(got) != (tc.kind == model.ChangeWorse) {
			t.Errorf("%s: %+v", name, got)
		}
		if back := model.CompareMatrix(is, was); model.Worse(back) {
			t.Errorf("%s: the way back is for the worse: %+v", name, back)
		}
	}
	was := model.Matrix{Target: "p", Rows: []model.MatrixRow{good}}
	fresh := good
	fresh.Zone = "isp2"
	got := model.CompareMatrix(was, model.Matrix{Target: "p", Rows: []model.MatrixRow{fresh}})
	if len(got) != 2 || got[0].Kind != model.ChangeNew || got[0].Zone != "isp2" || got[1].Kind != model.ChangeGone || got[1].Zone != "isp1" || model.Worse(got) {
		t.Errorf("%+v", got)
	}
	anywhere := good
	anywhere.Countries = []string{"US", "FR"}
	once := good
	once.Made, once.OK, once.Known, once.Unique, once.Countries = 1, 1, 1, 1, []string{"BR"}
	for _, base := range []model.MatrixRow{anywhere, once} {
		if got := model.CompareMatrix(model.Matrix{Rows: []model.MatrixRow{base}}, was); len(got) != 0 {
			t.Errorf("exits anywhere are other ones in each matrix: %+v", got)
		}
	}
	slow := good
	slow.Median = time.Minute
	if got := model.CompareMatrix(was, model.Matrix{Target: "another page", Rows: []model.MatrixRow{slow}}); len(got) != 0 {
		t.Errorf("the times of two pages are compared: %+v", got)
	}
}
