package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// driftOf takes what is learned of a fetch.
type driftOf func(profile string, r model.FetchResult, body []byte) error

func (d driftOf) Fetched(_ context.Context, profile string, r model.FetchResult, body []byte) error {
	return d(profile, r, body)
}

func TestAFetchWithRequiredFieldsIsHandedOn(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<h1 class="name">Kettle</h1>`)
	})
	c := newFetcher(t, p)
	var got []model.FetchResult
	c.cfg.Drift = driftOf(func(profile string, r model.FetchResult, body []byte) error {
		if profile != p.Name || string(body) != `<h1 class="name">Kettle</h1>` {
			t.Errorf("of profile %q: %s", profile, body)
		}
		got = append(got, r)
		return errors.New("the disk is full") // is the log's alone
	})
	r := askFor(p, "unlocker1")
	for _, required := range [][]string{nil, {".name", ".price"}} {
		r.Required = required
		noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, nil)))
	}
	if len(got) != 1 || len(got[0].Fields) != 2 || got[0].ID == "" {
		t.Errorf("%+v", got)
	}
}
