package jobs

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

func TestAReferenceThatStandsInTheLedgerAloneIsListedAndSwitched(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) { text(200, `{"snapshot_id":"sd_1"}`)(w, r) })
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": "Bearer of-a-hook-1234", "env:OTHER": "Bearer of-another-5678"})}
	launch := func(ref string) string {
		r := trigger("http://lab.test/1")
		if ref != "" {
			r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: ref, Format: "ndjson"}
		}
		job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
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
	before := noerr.Try(cl.Request(t.Context(), first)).Must(t)
	for range 2 { // a second time is nothing new
		noerr.Must(t, SwitchAuth(t.Context(), l, "env:HOOK", "file:hook"))
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

// oneByOne is a ledger that says in which order its requests are read and replaced.
type oneByOne struct {
	*ledger.Ledger
	order []string
	gone  string // is pruned once the requests have been listed
}

func (l *oneByOne) Request(ctx context.Context, id string) ([]byte, error) {
	l.order = append(l.order, "read "+id)
	if id == l.gone {
		return nil, database.ErrNotFound
	}
	return l.Ledger.Request(ctx, id)
}

func (l *oneByOne) ReplaceRequest(ctx context.Context, id string, was, now []byte) error {
	l.order = append(l.order, "replace "+id)
	return l.Ledger.ReplaceRequest(ctx, id, was, now)
}

func TestRequestsAreSwitchedOneByOne(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": "Bearer of-a-hook-1234", "env:OTHER": "Bearer of-another-5678"})}
	for _, ref := range []string{"env:HOOK", "env:OTHER", "env:HOOK", "env:HOOK"} {
		r := trigger("http://lab.test/1")
		r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: ref}
		noerr.Must(t, noerr.From(cl.Trigger(t.Context(), r)))
	}
	l := &oneByOne{Ledger: cl.cfg.Ledger, gone: "job-3"}
	noerr.Must(t, SwitchAuth(t.Context(), l, "env:HOOK", "file:hook"))
	if want := []string{"read job-4", "replace job-4", "read job-3", "read job-1", "replace job-1"}; !slices.Equal(l.order, want) {
		t.Errorf("%q, want %q", l.order, want)
	}
}
