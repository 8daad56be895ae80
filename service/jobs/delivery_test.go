package jobs

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// The addresses of a delivery hold credentials of others: a service that repeats them does not
// bring them into a file or an error, and the ledger does not keep a request with them.
func TestTheTokensOfADeliveryAreKeptOutOfTheLedger(t *testing.T) {
	const query, path = "SECRETTOKEN-of-the-hook", "T0K3NxT0K3NxT0K3NxT0K3N"
	for name, status := range map[string]int{"accepted": 200, "refused": 400} {
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			if status == 200 {
				text(200, `{"snapshot_id":"sd_1"}`)(w, r)
				return
			}
			text(status, "cannot call "+r.URL.RawQuery+" or "+r.URL.Query().Get("notify")+" or "+r.URL.Query().Get("endpoint"))(w, r)
		})
		r := trigger("http://lab.test/1")
		r.Settings = model.JobSettings{Notify: "https://hooks.test/run?token=" + query, Endpoint: "https://hooks.test/services/" + path}
		job, err := cl.Trigger(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := servicetest.Leaks("the job", []byte(job.Detail+job.Fault.Diagnosis.Summary), query, path); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		found, err := servicetest.LeaksUnder(filepath.Dir(cl.cfg.Ledger.Path()), nil, query, path)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if _, err := cl.Request(t.Context(), job.ID); !errors.Is(err, ErrNoRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An address without anything that may be a credential is kept.
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	r.Settings.Notify = "https://hooks.test/run?job=1"
	job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
	if again, err := cl.Request(t.Context(), job.ID); err != nil || again.Settings.Notify != r.Settings.Notify {
		t.Errorf("%+v, %v", again.Settings, err)
	}
}

// An address of the inbox is made for one job, and is no secret of others: what is kept asks for
// another one.
func TestAJobWithAnAddressOfTheInboxCanBeLaunchedAgain(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	own := model.HookAddress("http://127.0.0.1:8787", "abcdefghijklmnopqrstuvwxyz")
	r.Settings = model.JobSettings{Notify: own, Endpoint: own}
	job, err := cl.Trigger(t.Context(), r)
	if err != nil || job.Hook != "abcdefghijklmnopqrstuvwxyz" {
		t.Fatalf("%+v, %v", job, err)
	}
	again, err := cl.Request(t.Context(), job.ID)
	if err != nil || again.Settings != (model.JobSettings{Notify: model.HookInbox, Endpoint: model.HookInbox}) {
		t.Errorf("%+v, %v", again.Settings, err)
	}
	// Beside an address of others nothing is kept.
	r.Settings.Endpoint = "https://hooks.test/services/T0K3NxT0K3NxT0K3NxT0K3N"
	if job, err = cl.Trigger(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Request(t.Context(), job.ID); !errors.Is(err, ErrNoRequest) {
		t.Errorf("%v", err)
	}
}
