package dialect

import (
	"net/http"
	"testing"

	"zonedeck/internal/noerr"
)

func TestOnlyTheServicesOwnWordsSayThatAJobIsGone(t *testing.T) {
	const page = "text/html; charset=utf-8"
	for _, c := range []struct {
		name, dialect, dataset string
		status                 int
		kind, body             string
		want                   Absence
	}{
		{"text", "brightdata", "gd_x", 404, "text/plain", "Snapshot does not exist\n", GoneUnknown},
		{"JSON", "brightdata", "gd_x", 404, "application/json", `{"error":"Snapshot not found"}`, GoneUnknown},
		{"the words with another status", "brightdata", "gd_x", 400, "text/plain", "Snapshot does not exist", NotGone},
		{"another thing that is not there", "brightdata", "gd_x", 404, "text/plain", "dataset does not exist", NotGone},
		{"a router's 404", "brightdata", "gd_x", 404, "text/plain", "404 page not found", NotGone},
		{"a gateway's 404", "brightdata", "gd_x", 404, "application/json", `{"message":"no Route matched with those values"}`, NotGone},
		{"a page with the words", "brightdata", "gd_x", 404, page, "Snapshot does not exist", NotGone},
		{"a page without its type", "brightdata", "gd_x", 404, "", "<html>Snapshot does not exist", NotGone},
		{"nothing", "brightdata", "gd_x", 404, "", "", NotGone},
		{"expired", "brightdata", "gd_x", 400, "text/plain", "Snapshot is expired", GoneExpired},
		{"expired, as JSON", "brightdata", "gd_x", 400, "application/json", `{"error":"Snapshot is expired"}`, GoneExpired},
		{"words of a failure", "brightdata", "gd_x", 500, "text/plain", "Snapshot is expired", NotGone},
		{"410", "brightdata", "gd_x", 410, "", "", GoneExpired},
		{"410 as a page", "brightdata", "gd_x", 410, page, "<html>", NotGone},
		{"a task", "brightdata", "discover", 404, "application/json", `{"error":"Task not found"}`, GoneUnknown},
		{"a request", "brightdata", "deep_lookup", 404, "application/json", `{"error":"Request not found"}`, GoneUnknown},
		{"a framework's 404", "brightdata", "discover", 404, "application/json", `{"status":404,"error":"Not Found"}`, NotGone},
		{"a router's 404 to a product", "brightdata", "discover", 404, "text/plain", "404 page not found", NotGone},
		{"a dialect without jobs", "documented", "gd_x", 404, "text/plain", "Snapshot does not exist", NotGone},
	} {
		d, err := Find(c.dialect)
		noerr.Must(t, err)
		if got := d.JobGone(c.dataset, c.status, http.Header{"Content-Type": {c.kind}}, []byte(c.body)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
