package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

func form(t *testing.T, fields ...string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		part, err := w.CreateFormFile(fields[i], "inputs.csv")
		noerr.Must(t, err)
		noerr.Must(t, noerr.From(part.Write([]byte(fields[i+1]))))
	}
	noerr.Must(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

func TestEveryFormOfABodyStartsTheSameJob(t *testing.T) {
	g := start(t, options{})
	csv, csvType := form(t, "data", "\ufeff\"url\"\r\n\"http://lab.test/shop/search?q=a,b\"\r\nhttp://lab.test/ok\r\n\r\n")
	for _, c := range []struct {
		name, contentType string
		body              any
	}{
		{"an array", "application/json", urls("http://lab.test/shop/search?q=a,b", "http://lab.test/ok")},
		{"an array with its charset", "application/json; charset=utf-8", urls("http://lab.test/shop/search?q=a,b", "http://lab.test/ok")},
		{"an object", "application/json", map[string]any{"input": urls("http://lab.test/shop/search?q=a,b", "http://lab.test/ok"), "limit_per_input": 3, "custom_output_fields": "url", "include_errors": true}},
		{"an object with a list of fields", "application/json", map[string]any{"input": urls("http://lab.test/shop/search?q=a,b", "http://lab.test/ok"), "custom_output_fields": []string{"url"}}},
		{"a CSV with a byte order mark and quotes", csvType, csv},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := g.trigger("dataset_id=gd_pages", c.body, c.contentType)
			g.status(id, "ready")
			r := g.records(id)
			if len(r) != 2 || r[0]["url"] != "http://lab.test/shop/search?q=a,b" || r[1]["url"] != "http://lab.test/ok" {
				t.Errorf("%v", r)
			}
		})
	}
}

// The contract shows one form of a trigger: an array of objects with a url, and no query.
func TestATriggerAsTheContractShowsItIsAccepted(t *testing.T) {
	for _, loose := range []bool{false, true} {
		g := start(t, options{loose: loose})
		r := g.do("POST", "/datasets/v3/trigger", `[{"url":"http://lab.test/ok"},{"url":"http://lab.test/shop"}]`)
		var answered struct {
			ID string `json:"snapshot_id"`
		}
		if err := json.Unmarshal([]byte(r.body), &answered); err != nil || r.status != 200 || r.header.Get(answer.BasisHeader) != basisDefault {
			t.Fatalf("loose %v: %+v", loose, r)
		}
		g.status(answered.ID, "ready")
		if rows := g.records(answered.ID); len(rows) != 2 || rows[0]["url"] != "http://lab.test/ok" {
			t.Errorf("loose %v: %v", loose, rows)
		}
		if r := g.do("POST", "/datasets/v3/scrape", `[{"url":"http://lab.test/ok"}]`); r.status != 400 || !strings.Contains(r.body, "dataset missing") {
			t.Errorf("a scrape, which the contract does not show: %+v", r)
		}
		g.close()
	}
}

func TestABodyThatDoesNotFitIsRefusedInTheServicesWords(t *testing.T) {
	g := start(t, options{})
	csv := func(fields ...string) (any, string) {
		b, ct := form(t, fields...)
		return b, ct
	}
	noData, noDataType := csv("file", "url\nhttp://lab.test/ok\n")
	torn, tornType := csv("data", "url\n\"http://lab.test/ok\n")
	ragged, raggedType := csv("data", "url\nhttp://lab.test/ok,x\n")
	twice, twiceType := csv("data", "url,url\na,b\n")
	empty, emptyType := csv("data", "")
	long, longType := csv("custom_output_fields", strings.Repeat("url|", maxSettingBytes), "data", "url\nhttp://lab.test/ok\n")
	column, columnType := csv("data", "url,colour\nhttp://lab.test/ok,red\n")
	for _, c := range []struct {
		name, query, contentType string
		body                     any
		status                   int
		text                     string
	}{
		{"no dataset", "format=json", "application/json", "[]", 400, "dataset missing"},
		{"nothing for the default data set", "", "application/json", "[]", 400, "No data to trigger"},
		{"a field that the default data set does not know", "", "application/json", `[{"url":"http://lab.test/ok","x":1}]`, 400, `[["x","Unknown field"]]`},
		{"an unknown dataset", "dataset_id=gd_x", "application/json", "[]", 404, "dataset does not exist"},
		{"nothing", "dataset_id=gd_pages", "application/json", "[]", 400, "No data to trigger"},
		{"one input that is no array", "dataset_id=gd_pages", "application/json", `{"url":"http://lab.test/ok"}`, 400, `[["url","Unknown field; inputs are an array of objects, by itself or as \"input\""]]`},
		{"nothing in an object", "dataset_id=gd_pages", "application/json", `{"input":[]}`, 400, "No data to trigger"},
		{"nothing in a CSV", "dataset_id=gd_pages", emptyType, empty, 400, "No data to trigger"},
		{"a probe", "dataset_id=gd_pages", "application/json", `[{}]`, 400, `{"error":"Invalid input provided","code":"validation_error","line":"{}","errors":[["url","Required field"]]}`},
		{"a probe of a discovery", "dataset_id=gd_products&type=discover_new&discover_by=keyword", "application/json", `[{}]`, 400, `[["keyword","Required field"]]`},
		{"half a document", "dataset_id=gd_pages", "application/json", `[{"url"`, 400, `"code":"parse_error"`},
		{"an input that is none", "dataset_id=gd_pages", "application/json", `[null]`, 400, `[["input","Must be an object"]]`},
		{"another type", "dataset_id=gd_pages", "text/plain", "[]", 400, `[["Content-Type",`},
		{"a form without data", "dataset_id=gd_pages", noDataType, noData, 400, `[["file","Unknown field"]]`},
		{"a form that is none", "dataset_id=gd_pages", "multipart/form-data; boundary=x", "hello", 400, "Invalid attachments"},
		{"a form without a boundary", "dataset_id=gd_pages", "multipart/form-data", "hello", 400, "Invalid attachments"},
		{"a CSV with a torn quote", "dataset_id=gd_pages", tornType, torn, 400, `"code":"parse_error"`},
		{"a CSV with a cell too many", "dataset_id=gd_pages", raggedType, ragged, 400, "Line 2 of the CSV"},
		{"a CSV with a name twice", "dataset_id=gd_pages", twiceType, twice, 400, "Column 2 of the CSV has no name"},
		{"a CSV with a column nobody knows", "dataset_id=gd_pages", columnType, column, 400, `[["colour","Unknown field"]]`},
		{"a setting in a form that is too long", "dataset_id=gd_pages", longType, long, 400, `[["custom_output_fields","Must be at most 65536 bytes"]]`},
		{"a limit of nothing", "dataset_id=gd_pages&limit_per_input=0", "application/json", "[]", 400, `[["limit_per_input",`},
		{"a field nobody has", "dataset_id=gd_pages&custom_output_fields=url|price", "application/json", "[{}]", 400, `Unknown field \"price\"`},
		{"a field below one that has none", "dataset_id=gd_pages&custom_output_fields=url.host", "application/json", "[{}]", 400, `Unknown field \"url.host\"`},
		{"a discovery without its way", "dataset_id=gd_products&type=discover_new", "application/json", "[{}]", 400, `[["discover_by",`},
		{"a way without a discovery", "dataset_id=gd_products&discover_by=keyword", "application/json", "[{}]", 400, `[["discover_by",`},
		{"a way that the dataset has not", "dataset_id=gd_pages&type=discover_new&discover_by=keyword", "application/json", "[{}]", 400, `[["discover_by","Unknown value`},
		{"a collection of what can only be discovered", "dataset_id=gd_search", "application/json", "[{}]", 400, "This dataset does not support collection"},
		{"a depth beyond", "dataset_id=gd_m6gjtfmeh43we6cqc", "application/json", `[{"url":"http://lab.test/","depth":11}]`, 400, `[["depth","Must be a number from 0 to 10"]]`},
		{"a filter that is none", "dataset_id=gd_m6gjtfmeh43we6cqc", "application/json", `[{"url":"http://lab.test/","filter":"("}]`, 400, `[["filter",`},
		{"a relative url", "dataset_id=gd_pages", "application/json", `[{"url":"/x"}]`, 400, `[["url","Must be an absolute`},
		{"an endpoint that is no address", "dataset_id=gd_pages&endpoint=x", "application/json", "[]", 400, `[["endpoint","Must be an absolute`},
		{"a webhook that is no address", "dataset_id=gd_pages&notify=ftp://x", "application/json", "[]", 400, `[["notify",`},
	} {
		r := g.do("POST", "/datasets/v3/trigger?"+c.query, c.body, c.contentType)
		if r.status != c.status || !strings.Contains(r.body, c.text) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if n := len(g.jobs.List()); n != 0 {
		t.Errorf("%d refused jobs were started", n)
	}
}

func TestALooseServiceAcceptsUnknownFields(t *testing.T) {
	g := start(t, options{loose: true})
	id := g.trigger("dataset_id=gd_pages&colour=x", `{"input":[{"url":"http://lab.test/ok","country":"us"}],"whatever":{}}`, "text/plain")
	g.status(id, "ready")
	if r := g.do("GET", "/datasets/v3/snapshot/"+id+"?x=1", nil); r.status != 200 {
		t.Errorf("%+v", r)
	}
}

func TestParametersOfPublicClientsAreAccepted(t *testing.T) {
	g := start(t, options{})
	for _, path := range []string{"trigger", "scrape"} {
		// As a public SDK starts a job.
		r := g.do("POST", "/datasets/v3/"+path+"?dataset_id=gd_pages&notify=false&include_errors=true&sdk_function=crawl", map[string]any{"input": urls("http://lab.test/ok")})
		if r.status != http.StatusOK || r.header.Get("x-emulator-note") != "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestAScrapeAnswersWithItsRecords(t *testing.T) {
	g := start(t, options{})
	r := g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages", map[string]any{"input": urls("http://lab.test/ok"), "custom_output_fields": "title"})
	if r.status != 200 || r.body != `[{"title":"It works"}]` {
		t.Errorf("%+v", r)
	}
	r = g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages&format=ndjson", urls("http://lab.test/ok", "http://lab.test/forbidden?hard=1"))
	if r.status != 200 || strings.Count(r.body, "\n") != 2 || r.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%+v", r)
	}
	many := make([]string, maxSyncInputs+1)
	for i := range many {
		many[i] = "http://lab.test/ok"
	}
	if r := g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages", urls(many...)); r.status != 400 || !strings.Contains(r.body, "At most 20") {
		t.Errorf("%+v", r)
	}
	if n := len(g.jobs.List()); n != 2 {
		t.Errorf("%d jobs", n)
	}
}

func TestAScrapeThatTakesTooLongBecomesASnapshot(t *testing.T) {
	gate := make(chan struct{})
	g := start(t, options{gate: gate, syncWait: 10 * time.Millisecond})
	r := g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages", urls("http://lab.test/ok"))
	v := decode[map[string]string](t, r)
	if r.status != http.StatusAccepted || r.header.Get("Retry-After") != "10" || !strings.HasPrefix(v["message"], "Your request is still in progress") {
		t.Errorf("%+v", r)
	}
	close(gate)
	g.status(v["snapshot_id"], "ready")
	if n := len(g.records(v["snapshot_id"])); n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestTooManyRunningJobsOfADatasetAreRefused(t *testing.T) {
	gate := make(chan struct{})
	g := start(t, options{gate: gate, jobs: jobs.Config{MaxRunning: 2}})
	a := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	r := g.do("POST", "/datasets/v3/trigger?dataset_id=gd_pages", urls("http://lab.test/ok"))
	if r.status != http.StatusTooManyRequests || !strings.HasPrefix(r.body, "You have too many running jobs for this dataset") || r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
	g.trigger("dataset_id=gd_reviews", urls("http://lab.test/product/1")) // another dataset has its own
	g.do("POST", "/datasets/v3/snapshot/"+a+"/cancel", nil)
	g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
	close(gate)
}

func TestFiftyJobsAtOnceLoseNoRecord(t *testing.T) {
	g := start(t, options{})
	const n, inputs = 50, 20
	ids := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var us []string
			for k := range inputs {
				us = append(us, fmt.Sprintf("http://lab.test/product/%d?job=%d", k%12+1, i))
			}
			r := g.do("POST", "/datasets/v3/trigger?dataset_id=gd_pages", urls(us...))
			ids[i] = decode[map[string]string](t, r)["snapshot_id"]
		})
	}
	wg.Wait()
	for i, id := range ids {
		g.status(id, "ready")
		recs := g.records(id)
		if len(recs) != inputs {
			t.Fatalf("job %d: %d records", i, len(recs))
		}
		for k, r := range recs {
			if want := fmt.Sprintf("http://lab.test/product/%d?job=%d", k%12+1, i); r["url"] != want {
				t.Fatalf("job %d, record %d is of %v", i, k, r["url"])
			}
		}
	}
}

// Every endpoint refuses unknown parameters by name, or notes them if the service is loose.
func TestUnknownParametersAreNamed(t *testing.T) {
	const hook = `{"type":"webhook","endpoint":"http://hook.invalid/"`
	// No id of a job has the underscore of zz_ behind its prefix.
	const priced = `"filter":{"name":"price","operator":"is_not_null"`
	cases := []struct{ method, path, body, name string }{
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages&zz_=1", `[{"url":"http://lab.test/ok"}]`, "zz_"},
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages", `[{"url":"http://lab.test/ok","zz_":1}]`, "zz_"},
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages", `{"input":[{"url":"http://lab.test/ok"}],"zz_":{}}`, "zz_"},
		{"GET", "/datasets/v3/progress/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID/parts?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID/input?batch_size=1000", "", "batch_size"},
		{"POST", "/datasets/v3/snapshot/ID/cancel?zz_=1", "", "zz_"},
		{"POST", "/datasets/v3/snapshot/ID/rerun?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/log/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshots?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/scrapers?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/delivery/x?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/deliveries?zz_=1", "", "zz_"},
		{"GET", "/datasets/list?zz_=1", "", "zz_"},
		{"GET", "/datasets/gd_pages/metadata?zz_=1", "", "zz_"},
		{"GET", "/datasets/snapshots?zz_=1", "", "zz_"},
		{"POST", "/datasets/v3/deliver/ID?zz_=1", `{"deliver":` + hook + `}}`, "zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `},"zz_":1}`, "zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `,"zz_":1}}`, "deliver.zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `,"filename":{"zz_":1}}}`, "deliver.filename.zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `},"deliver.endpoint":"x"}`, "deliver.endpoint"},
		{"POST", "/datasets/filter?zz_=1", `{"dataset_id":"gd_products",` + priced + `}}`, "zz_"},
		{"POST", "/datasets/filter", `{"dataset_id":"gd_products","zz_":1,` + priced + `}}`, "zz_"},
		{"POST", "/datasets/search/gd_products", `{"zz_":1,` + priced + `}}`, "zz_"},
	}
	for _, loose := range []bool{false, true} {
		g := start(t, options{loose: loose})
		for _, c := range cases {
			id := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
			g.status(id, "ready")
			before := len(g.jobs.List())
			r := g.do(c.method, strings.Replace(c.path, "ID", id, 1), c.body)
			note := strings.Join(r.header.Values(answer.NoteHeader), "\n")
			if loose {
				if !strings.Contains(note, c.name) || strings.Contains(r.body, c.name) {
					t.Errorf("loose: %s %s %s: %+v", c.method, c.path, c.body, r)
				}
			} else if r.status != 400 || !strings.Contains(r.body, c.name) || note != "" || len(g.jobs.List()) != before {
				t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, r)
			}
		}
	}
	g := start(t, options{})
	for path, body := range map[string]string{
		"/datasets/filter":             `{"dataset_id":"gd_products",` + priced + `,"zz_":1}}`,
		"/datasets/search/gd_products": `{"filter":{"operator":"and","filters":[{"name":"price","operator":"is_null","zz_":1}]}}`,
	} {
		if r := g.do("POST", path, body); r.status != 400 || !strings.Contains(r.body, "nothing else") {
			t.Errorf("%s %s: %+v", path, body, r)
		}
		if r := g.do("POST", path, body, "text/plain"); r.status != 400 || !strings.Contains(r.body, "Content-Type") {
			t.Errorf("%s as text: %+v", path, r)
		}
	}
}

func TestAScrapeIsAnsweredWithinTheGrace(t *testing.T) {
	g := start(t, options{jobs: jobs.Config{Grace: time.Hour}})
	r := g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages&custom_output_fields=title", urls("http://lab.test/ok"))
	if r.status != 200 || r.body != `[{"title":"It works"}]` {
		t.Errorf("%+v", r)
	}
	r = g.do("POST", "/datasets/v3/scrape?dataset_id=gd_products", urls("http://lab.test/product/99"))
	if r.status != 400 || r.body != "Snapshot is empty" {
		t.Errorf("nothing but errors: %+v", r)
	}
}

// A reader of CSV passes over an empty line, so that a row of one empty cell is none.
func TestARowOfOneEmptyCellIsARow(t *testing.T) {
	g := start(t, options{})
	id := g.trigger("dataset_id=gd_pages&custom_output_fields=title", urls("http://lab.test/ok", "http://lab.test/json", "http://lab.test/ok"))
	g.status(id, "ready")
	if r := g.do("GET", "/datasets/v3/snapshot/"+id+"?format=csv", nil); r.body != "title\nIt works\n\"\"\nIt works\n" {
		t.Errorf("%+v", r)
	}
}

func TestALogMasksUnknownParameters(t *testing.T) {
	g := start(t, options{loose: true})
	id := g.trigger("dataset_id=gd_pages&api_key=s3cret", urls("http://lab.test/ok"))
	if r := g.do("GET", "/datasets/v3/log/"+id, nil); strings.Contains(r.body, "s3cret") || !strings.Contains(r.body, "dataset_id=gd_pages") {
		t.Errorf("%+v", r)
	}
}

// allocated is the number of bytes that fn allocates, freed ones included.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestABodyThatIsMadeToGrowInMemoryDoesNot(t *testing.T) {
	const size = 8 << 20
	form := func(csv string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"in.csv\"\r\n\r\n" + csv + "\r\n--x--\r\n"
	}
	for name, body := range map[string]string{
		"many small inputs":     "[" + strings.Repeat("1,", size/2) + "1]",
		"a field input of them": `{"input":[` + strings.Repeat("1,", size/2) + `1]}`,
		"one large input":       `[{"url":"` + strings.Repeat("a", size) + `"}]`,
		"many fields":           `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"a setting of parts":    `{"custom_output_fields":"` + strings.Repeat("|", size) + `"}`,
		"a first row of commas": form(strings.Repeat(",", size)),
		"a row of commas":       form("url\n" + strings.Repeat(",", size)),
		"a quote without end":   form(`"` + strings.Repeat("a,", size/2)),
		"many short rows":       form("url\n" + strings.Repeat("x\n", size/2)),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() {
				s := settings{spec: jobs.Spec{Dataset: "gd_pages"}}
				if strings.HasPrefix(body, "--x") {
					_, err = readForm(strings.NewReader(body), "x", &s)
				} else {
					_, err = readJSON(strings.NewReader(body), &s)
				}
			})
			if err == nil {
				t.Error("it was taken")
			}
			// The decoder doubles its buffer for the one large input.
			if got > 8*size {
				t.Errorf("%d MB for a body of %d MB", got>>20, size>>20)
			}
		})
	}
}

func TestARefusalOfManyFieldsIsShort(t *testing.T) {
	var fields []string
	for i := range 10_000 {
		fields = append(fields, fmt.Sprintf(`"field%d":1`, i))
	}
	err := New(Config{}).check(&settings{spec: jobs.Spec{Dataset: jobs.CrawlDataset}}, []json.RawMessage{json.RawMessage("{" + strings.Join(fields, ",") + "}")})
	var bad *inputError
	if !errors.As(err, &bad) || len(bad.Errors) == 0 || len(bad.Errors) > 30 {
		t.Fatalf("%d reasons: %.200v", len(bad.Errors), err)
	}
}

// A client that is still sending when its body is refused has to see the answer.
func TestARefusalAtTheFirstByteReachesAClientThatSendsOn(t *testing.T) {
	g := start(t, options{})
	body := "x" + strings.Repeat(" ", 8<<20)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.base+"/datasets/v3/trigger?dataset_id="+jobs.CrawlDataset, struct{ io.Reader }{bytes.NewReader([]byte(body))})
	noerr.Must(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", resp.StatusCode)
	}
}
