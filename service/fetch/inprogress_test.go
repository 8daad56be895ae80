package fetch

import (
	"net/http"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// The service's own "not yet" is neither a page nor an error, and is never asked again by itself; the target's is a page.
func TestAnAnswerThatIsStillInTheMaking(t *testing.T) {
	const building = `{"status":"building","message":"Snapshot is building, try again in 30s"}`
	for name, c := range map[string]struct {
		dialect, target string
		format          model.Format
		status          int
		cause           model.Cause
	}{
		"202":                                {"documented", "", model.FormatRaw, 202, model.CauseInProgress},
		"202, format json":                   {"brightdata", "", model.FormatJSON, 202, model.CauseInProgress},
		"200":                                {"brightdata", "", model.FormatRaw, 200, model.CauseInProgress},
		"200, format json":                   {"brightdata", "", model.FormatJSON, 200, model.CauseInProgress},
		"200 of the target":                  {"brightdata", "200", model.FormatRaw, 200, ""},
		"200, and nobody knows who speaks":   {"documented", "", model.FormatRaw, 200, ""},
		"202 of the target, passed on as it": {"brightdata", "202", model.FormatRaw, 202, ""},
	} {
		var asked atomic.Int32
		p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "30")
			if c.target != "" {
				w.Header().Set("X-Brd-Status-Code", c.target)
			}
			w.WriteHeader(c.status)
			noerr.Want(t, noerr.From(w.Write([]byte(building))))
		})
		p.Dialect = c.dialect
		r := askFor(p, "dc1")
		r.Via, r.Format, r.Retries = model.ViaAPI, c.format, 2
		d := fetched(t, newFetcher(t, p), r).Diagnosis
		if d.Cause != c.cause || d.OK() != (c.cause == "") || asked.Load() != 1 {
			t.Errorf("%s: %+v after %d calls", name, d, asked.Load())
		}
		if step := "ask again after 30s: sent again, it is a new request and may be billed again"; c.cause != "" && (len(d.Steps) != 1 || d.Steps[0].Text != step) {
			t.Errorf("%s: %+v", name, d.Steps)
		}
	}
}
