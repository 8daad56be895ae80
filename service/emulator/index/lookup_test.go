package index

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

const base = "/datasets/deep_lookup/v1"

// lampSpec asks for lamps under $100. Two of the fixtures match (one of them twice), one costs
// more, and one has no price.
const lampSpec = `{"query":"Find all lamps","spec":{"name":"lamps","query":"Find every lamp there is","title":"Lamps",
	"columns":[{"name":"product_name","description":"Name","type":"enrichment"},{"name":"price","description":"Price","type":"enrichment"},
	{"name":"designer","description":"Who made it","type":"enrichment"},
	{"name":"is_cheap","description":"Price must be under $100","type":"constraint"}]},"result_limit":50}`

func (b *bench) lookup(body string) map[string]any {
	b.t.Helper()
	started := b.ask("POST", base+"/trigger", body)
	id, _ := started["request_id"].(string)
	if !strings.HasPrefix(id, "ai_") || started["status"] != "queued" {
		b.t.Fatalf("%v", started)
	}
	b.settle()
	return b.ask("GET", base+"/request/"+id, "")
}

func TestADeepLookupHasTheFactsOfTheDocuments(t *testing.T) {
	b := newBench(t, nil)
	v := b.lookup(lampSpec)
	if v["status"] != "completed" || v["step"] != "done" || v["title"] != "Lamps" || v["query"] != "Find every lamp there is" {
		t.Errorf("%v", v)
	}
	data := v["data"].([]any)
	if len(data) != 2 || v["matched_records"] != 2.0 || v["skipped_records"] != 2.0 || v["total_cost"] != "$2.00" {
		t.Fatalf("%v", v)
	}
	row := data[0].(map[string]any)
	if designer, there := row["designer"]; row["product_name"] != "Steel clip lamp" || row["price"] != "$19" || row["is_cheap"] != true || !there || designer != nil {
		t.Errorf("%v", row)
	}
	if v["pages_considered"] != 4.0 || v["pages_read"] != 4.0 || len(v["columns"].([]any)) != 4 {
		t.Errorf("%v", v)
	}
}

func TestADeepLookupStopsAtItsLimit(t *testing.T) {
	b := newBench(t, nil)
	v := b.lookup(strings.Replace(lampSpec, `"result_limit":50`, `"result_limit":1`, 1))
	if v["matched_records"] != 1.0 || v["pages_read"] != 1.0 || v["total_cost"] != "$1.00" {
		t.Errorf("%v", v)
	}
}

func TestMaxCostIsTheLimitTimesTheRate(t *testing.T) {
	b := newBench(t, nil)
	if v := b.ask("POST", base+"/trigger", lampSpec); v["max_cost"] != "$50.00" {
		t.Errorf("%v", v)
	}
}

func TestADeepLookupGoesThroughItsStates(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	id := b.ask("POST", base+"/trigger", lampSpec)["request_id"].(string)
	steps.arrive()
	last := -1.0
	see := func(status, step string, matched float64) {
		t.Helper()
		v := b.ask("GET", base+"/request/"+id+"/status", "")
		if v["status"] != status || v["step"] != step || v["matched_records"] != matched || v["is_trial"] != false || v["result_limit"] != 50.0 {
			t.Errorf("%v, want %s %s %v", v, status, step, matched)
		}
		if p := v["progress"].(float64); p <= last || p > 100 {
			t.Errorf("progress %v after %v", p, last)
		} else {
			last = p
		}
	}
	see("running", "identifying", 0)
	steps.next()
	see("running", "generating_schema", 0)
	steps.next()
	see("running", "generating", 0)
	steps.next() // the pace of the first record
	steps.next()
	see("running", "generating", 1)
	if v := b.ask("GET", base+"/request/"+id, ""); v["total_cost"] != "$1.00" {
		t.Errorf("%v", v)
	}
	if status, _, text := b.call("GET", base+"/request/"+id+"/download", ""); status != http.StatusAccepted {
		t.Errorf("%d %s", status, text)
	}
	for range 2 {
		steps.next()
	}
	steps.release()
	b.settle()
	see("completed", "done", 2)
	v := b.ask("GET", base+"/request/"+id+"/status", "")
	if n := len(v["steps"].([]any)); n != 4 || last != 100 {
		t.Errorf("%d steps, progress %v", n, last)
	}
}

func TestACancelledLookupKeepsAndChargesItsRecords(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	id := b.ask("POST", base+"/trigger", lampSpec)["request_id"].(string)
	steps.arrive()
	for range 4 {
		steps.next()
	}
	v := b.ask("POST", base+"/request/"+id+"/cancel", "")
	if v["status"] != "cancelled" || v["records_processed"] != 1.0 || v["charge"] != "$1.00" {
		t.Errorf("%v", v)
	}
	b.settle()
	if v := b.ask("GET", base+"/request/"+id, ""); v["status"] != "cancelled" || v["matched_records"] != 1.0 || v["total_cost"] != "$1.00" {
		t.Errorf("%v", v)
	}
	if status, _, text := b.call("POST", base+"/request/"+id+"/cancel", ""); status != http.StatusBadRequest {
		t.Errorf("cancelled twice: %d %s", status, text)
	}
	if status, _, text := b.call("GET", base+"/request/"+id+"/download?format=ndjson", ""); status != http.StatusOK || strings.Count(text, "\n") != 1 {
		t.Errorf("%d %q", status, text)
	}
}

func TestNothingChangesAfterACancel(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) {
		// Work that does not see the end of its context before it has gone on.
		c.Wait = func(ctx context.Context, d time.Duration) error {
			return steps.wait(context.WithoutCancel(ctx), d)
		}
	})
	id := b.ask("POST", base+"/trigger", lampSpec)["request_id"].(string)
	steps.arrive()
	for range 3 {
		steps.next()
	}
	b.ask("POST", base+"/request/"+id+"/cancel", "")
	see := func(when string) {
		t.Helper()
		if v := b.ask("GET", base+"/request/"+id+"/status", ""); v["status"] != "cancelled" || v["matched_records"] != 0.0 || v["pages_read"] != 0.0 {
			t.Errorf("%s: %v", when, v)
		}
	}
	see("at once")
	steps.release()
	b.settle()
	see("later")
}

func TestACancelledRequestThatStillWaitsMakesRoom(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	for range atOnce {
		b.ask("POST", "/discover", `{"query":"bread"}`)
		steps.arrive()
	}
	id := b.ask("POST", base+"/trigger", lampSpec)["request_id"].(string)
	b.ask("POST", base+"/request/"+id+"/cancel", "")
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		b.mu.Lock()
		active := b.active
		b.mu.Unlock()
		if active == atOnce {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d are active", active)
		}
	}
}

func TestDownloadsHaveTheRecordsInEveryFormat(t *testing.T) {
	b := newBench(t, nil)
	id := b.lookup(lampSpec)["request_id"].(string)
	for format, want := range map[string]string{
		"":       `[{"designer":null,"is_cheap":true,"price":"$19","product_name":"Steel clip lamp"},`,
		"json":   `[{"designer":null,"is_cheap":true,"price":"$19","product_name":"Steel clip lamp"},`,
		"ndjson": `{"designer":null,"is_cheap":true,"price":"$19","product_name":"Steel clip lamp"}` + "\n{",
		"csv":    "product_name,price,designer,is_cheap\nSteel clip lamp,$19,,true\n",
	} {
		status, _, text := b.call("GET", base+"/request/"+id+"/download?format="+format, "")
		if status != http.StatusOK || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d %s", format, status, text)
		}
	}
	if status, _, text := b.call("GET", base+"/request/"+id+"/download?format=excel", ""); status != http.StatusBadRequest || !strings.Contains(text, "format") {
		t.Errorf("excel: %d %s", status, text)
	}
}

func TestAPreviewIsASampleAndCanBeTriggered(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	v := b.ask("POST", base+"/preview", `[{"query":"breads with a rating"}]`)
	id := v["preview_id"].(string)
	if !strings.HasPrefix(id, "dld_") || len(v["columns"].([]any)) != 4 {
		t.Fatalf("%v", v)
	}
	steps.arrive()
	if v := b.ask("GET", base+"/preview/"+id, ""); v["status"] != "processing" || len(v["sample_data"].([]any)) != 0 {
		t.Errorf("%v", v)
	}
	for range 4 {
		steps.next()
	}
	steps.release()
	b.settle()
	v = b.ask("GET", base+"/preview/"+id, "")
	sample := v["sample_data"].([]any)
	if v["status"] != "completed" || len(sample) != 2 || sample[0].(map[string]any)["rating"] == nil || v["query"] != "breads with a rating" {
		t.Fatalf("%v", v)
	}

	started := b.ask("POST", base+"/trigger", `{"preview_id":"`+id+`","result_limit":5}`)
	steps.arrive()
	v = b.ask("GET", base+"/request/"+started["request_id"].(string), "")
	if v["query"] != "breads with a rating" || len(v["columns"].([]any)) != 4 || started["max_cost"] != "$5.00" {
		t.Errorf("%v", v)
	}
	if status, _, _ := b.call("POST", base+"/trigger", `{"preview_id":"dld_none"}`); status != http.StatusNotFound {
		t.Errorf("an unknown preview: %d", status)
	}
}

func TestAWaitingPreviewIsPending(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	for range atOnce {
		b.ask("POST", "/discover", `{"query":"bread"}`)
		steps.arrive()
	}
	id := b.ask("POST", base+"/preview", `{"query":"bread"}`)["preview_id"].(string)
	if v := b.ask("GET", base+"/preview/"+id, ""); v["status"] != "pending" {
		t.Errorf("%v", v)
	}
}

func TestALookupThatFailsSaysSo(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Fail = func() error { return errScenario } })
	v := b.lookup(lampSpec)
	if v["status"] != "failed" || v["total_cost"] != "$0.00" {
		t.Errorf("%v", v)
	}
	if status, _, _ := b.call("GET", base+"/request/"+v["request_id"].(string)+"/download", ""); status != http.StatusBadRequest {
		t.Errorf("%d", status)
	}
}

func TestEnrichAddsAColumnAndChargesItsValues(t *testing.T) {
	b := newBench(t, nil)
	id := b.lookup(lampSpec)["request_id"].(string)
	v := b.ask("POST", base+"/request/"+id+"/enrich", `{"column_name":"sku","query":"Article number"}`)
	if v["column_name"] != "sku" || v["status"] != "processing" || v["max_additional_cost"] != "$0.10" {
		t.Errorf("%v", v)
	}
	b.settle()
	v = b.ask("GET", base+"/request/"+id, "")
	if row := v["data"].([]any)[0].(map[string]any); row["sku"] != "LAB-2001" || v["total_cost"] != "$2.10" || len(v["columns"].([]any)) != 5 {
		t.Errorf("%v", v)
	}
	b.ask("POST", base+"/request/"+id+"/enrich", `{"column_name":"cto_name"}`)
	b.settle()
	if v := b.ask("GET", base+"/request/"+id, ""); v["total_cost"] != "$2.10" || v["data"].([]any)[0].(map[string]any)["cto_name"] != nil {
		t.Errorf("%v", v)
	}
	if status, _, text := b.call("POST", base+"/request/"+id+"/enrich", `{"column_name":"sku"}`); status != http.StatusBadRequest {
		t.Errorf("twice: %d %s", status, text)
	}
}

func TestEnrichWaitsForTheEndOfTheRequest(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	id := b.ask("POST", base+"/trigger", lampSpec)["request_id"].(string)
	steps.arrive()
	if status, _, text := b.call("POST", base+"/request/"+id+"/enrich", `{"column_name":"sku"}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
}

func TestEnhanceAddsWhatTheIndexKnows(t *testing.T) {
	b := newBench(t, nil)
	v := b.ask("POST", base+"/enhance_query", `{"query":"Find all breads."}`)
	if got := v["enhanced_query"].(string); !strings.HasPrefix(got, "Find all breads") || !strings.Contains(got, `category "recipes"`) {
		t.Errorf("%q", got)
	}
	if v := b.ask("POST", base+"/enhance_query", `{"query":"zebras"}`); v["enhanced_query"] != "zebras" {
		t.Errorf("%v", v)
	}
}

func TestRequestsThatAreNotThere(t *testing.T) {
	b := newBench(t, nil)
	for _, path := range []string{"GET /preview/x", "GET /request/x", "GET /request/x/status", "GET /request/x/download", "POST /request/x/cancel", "POST /request/x/enrich"} {
		method, path, _ := strings.Cut(path, " ")
		body := ""
		if strings.HasSuffix(path, "enrich") {
			body = `{"column_name":"a"}`
		}
		if status, _, text := b.call(method, base+path, body); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
