package dialect

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

const (
	byResponse = "GET /unblocker/get_result?response_id=r1 collects it, as public documentation has it"
	bySnapshot = "it has become a job, which 'zonedeck jobs adopt s_1' adds to the ledger"
)

// Who speaks decides: the service's own answer says that the page is not there yet, a target's that says the same is a page.
func TestInProgress(t *testing.T) {
	none, pattern := model.InProgress{}, regexp.MustCompile(AtWork())
	says := func(says, collect string) model.InProgress { return model.InProgress{Says: says, Collect: collect} }
	for name, c := range map[string]struct {
		status   int
		header   http.Header
		body     string
		contract model.InProgress // by the contract alone
		known    model.InProgress // where the dialect knows that a page comes with the target's status
	}{
		"202":                                 {202, nil, "", says("accepted", ""), says("accepted", "")},
		"202, a sentence":                     {202, nil, "Request is queued\n", says("Request is queued", ""), says("Request is queued", "")},
		"202, a state":                        {202, nil, `{"status":"a word of tomorrow"}`, says("a word of tomorrow", ""), says("a word of tomorrow", "")},
		"202, pending":                        {202, nil, `{"pending":true}`, says("pending", ""), says("pending", "")},
		"202, an identifier":                  {202, nil, `{"response_id":"r1"}`, says("accepted", byResponse), says("accepted", byResponse)},
		"202, one in a header":                {202, http.Header{"X-Response-Id": {"r1"}}, "", says("accepted", byResponse), says("accepted", byResponse)},
		"202, one that is not plain":          {202, http.Header{"X-Response-Id": {"r1; rm"}}, "", says("accepted", ""), says("accepted", "")},
		"202, a timeout with an identifier":   {202, nil, `{"error":"crawl_results_timeout","response_id":"r1"}`, says("crawl_results_timeout", byResponse), says("crawl_results_timeout", byResponse)},
		"202, a page":                         {202, http.Header{"Content-Type": {"text/html"}}, "<p>Thank you", none, none},
		"202, an object of the target":        {202, nil, `{"order":7,"status":"queued"}`, none, none},
		"202, a list":                         {202, nil, `[{"status":"queued"}]`, none, none},
		"202, a state that is an end":         {202, nil, `{"status":"failed"}`, none, none},
		"202 of the target":                   {202, http.Header{"X-Brd-Status-Code": {"202"}}, `{"status":"queued"}`, says("queued", ""), none},
		"202 with an error":                   {202, http.Header{"X-Brd-Error": {"no peers"}}, "", says("accepted", ""), none},
		"200, a state":                        {200, nil, `{"status":"running"}`, none, says("running", "")},
		"200, a state and a sentence":         {200, nil, ` {"status":"building","message":"Snapshot is building, try again in 30s"}`, none, says("building: Snapshot is building, try again in 30s", "")},
		"200, a job in place of the page":     {200, nil, `{"snapshot_id":"s_1","message":"Your request is still in progress"}`, says("Your request is still in progress", bySnapshot), says("Your request is still in progress", bySnapshot)},
		"200, an identifier alone":            {200, nil, `{"response_id":"r1"}`, says("an identifier, and no page", byResponse), says("an identifier, and no page", byResponse)},
		"200, one in a header and no body":    {200, http.Header{"X-Response-Id": {"r1"}}, "", says("an identifier, and no page", byResponse), says("an identifier, and no page", byResponse)},
		"200, pending":                        {200, nil, `{"pending":true}`, none, says("pending", "")},
		"200, a sentence":                     {200, nil, "Snapshot is not ready yet, try again in 10s", none, says("Snapshot is not ready yet, try again in 10s", "")},
		"200, nothing":                        {200, nil, "", none, none},
		"200, a text":                         {200, nil, "hello", none, none},
		"200, a job that is over":             {200, nil, `{"snapshot_id":"s_1","status":"ready"}`, none, none},
		"200, an error with an identifier":    {200, nil, `{"snapshot_id":"s_1","error":"no"}`, none, none},
		"200, a word that is not known":       {200, nil, `{"status":"up"}`, none, none},
		"200, more than a state":              {200, nil, `{"status":"running","version":"1.2"}`, none, none},
		"200 of the target, which is at work": {200, http.Header{"X-Brd-Status-Code": {"200"}}, `{"status":"running"}`, none, none},
		"201":                                 {201, nil, `{"status":"running"}`, none, none},
		"503":                                 {503, nil, `{"status":"starting"}`, none, none},
	} {
		if c.status == http.StatusOK && c.body != "" && pattern.MatchString(c.body) != (c.contract != none) {
			t.Errorf("%s: the pattern of programs says otherwise", name)
		}
		for dialect, want := range map[string]model.InProgress{"documented": c.contract, "brightdata": c.known} {
			d := noerr.Try(Find(dialect)).Must(t)
			r := d.ReadHeader(c.header, time.Now())
			if r.Unread != "" { // who speaks is told all the same
				want = c.known
			}
			if got := d.InProgress(c.status, c.header, r, []byte(c.body)); got != want {
				t.Errorf("%s by %s: %+v, want %+v", name, dialect, got, want)
			}
		}
	}
}
