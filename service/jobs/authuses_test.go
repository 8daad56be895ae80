package jobs

import (
	"net/http"
	"reflect"
	"testing"

	"zonedeck/model"
)

func TestAReferenceThatStandsInTheLedgerAloneIsListedAndSwitched(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) { text(200, `{"snapshot_id":"sd_1"}`)(w, r) })
	cl.cfg.Access.Secret = secretOf(map[string]string{"env:HOOK": "Bearer of-a-hook-1234", "env:OTHER": "Bearer of-another-5678"})
	launch := func(ref string) string {
		r := trigger("http://lab.test/1")
		if ref != "" {
			r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: ref, Format: "ndjson"}
		}
		job, err := cl.Trigger(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return job.ID
	}
	first, other := launch("env:HOOK"), launch("env:OTHER")
	launch("")
	last := launch("env:HOOK")
	want := []AuthUse{{"env:HOOK", last, model.JobAccepted}, {"env:OTHER", other, model.JobAccepted}, {"env:HOOK", first, model.JobAccepted}}
	l := cl.cfg.Ledger
	if got, err := AuthUses(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	before, err := cl.Request(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is nothing new
		if err := SwitchAuth(t.Context(), l, "env:HOOK", "file:hook"); err != nil {
			t.Fatal(err)
		}
	}
	before.Settings.Auth = "file:hook"
	if after, err := cl.Request(t.Context(), first); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, %v", after, err)
	}
	want[0].Ref, want[2].Ref = "file:hook", "file:hook"
	if got, err := AuthUses(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
