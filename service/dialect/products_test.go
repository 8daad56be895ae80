package dialect

import (
	"encoding/json"
	"errors"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func asking(dataset string, extra map[string]string) model.TriggerRequest {
	return model.TriggerRequest{Dataset: dataset, Inputs: []model.JobInput{{Extra: extra}}}
}

func TestAProductHasCallsOfItsOwn(t *testing.T) {
	d := Embedded()
	for dataset, want := range map[string]JobPaths{
		"discover": {Progress: "/discover", Snapshot: "/discover", Query: "task_id=x-1"},
		"deep_lookup": {
			Progress: "/datasets/deep_lookup/v1/request/x-1/status", Snapshot: "/datasets/deep_lookup/v1/request/x-1", Cancel: "/datasets/deep_lookup/v1/request/x-1/cancel",
		},
	} {
		if got, err := d.JobPaths("v3", dataset, "x-1"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", dataset, got, err)
		}
		if _, err := d.JobPaths("v3", dataset, "x&y"); !errors.Is(err, model.ErrRequest) {
			t.Errorf("%s: %v", dataset, err)
		}
		if q := d.TriggerQuery(dataset, model.JobSettings{}); q != nil {
			t.Errorf("%s: %v", dataset, q)
		}
		if n := d.PartRows(dataset, -1); n != 0 {
			t.Errorf("%s: parts of %d", dataset, n)
		}
		if _, is := Default().ProductOf(dataset); is { // there it is a name of the operator's
			t.Errorf("%s is a product of the contract", dataset)
		}
	}
	if d.TriggerPath("v3", "discover") != "/discover" || d.TriggerPath("v3", "deep_lookup") != "/datasets/deep_lookup/v1/trigger" {
		t.Error("paths of triggers")
	}
	if names, ok := d.JobNames("discover", []byte(`{"status":"ok","task_id":"a","job_id":"b"}`)); names != (model.JobNames{Snapshot: "a", JobID: "b"}) || !ok {
		t.Error(names, ok)
	}
	if _, ok := d.JobNames("deep_lookup", []byte(`{"task_id":"a"}`)); ok {
		t.Error("an identifier of another product")
	}
}

func TestBodyOfAProduct(t *testing.T) {
	d := Embedded()
	limited := func(r model.TriggerRequest) model.TriggerRequest { r.Settings.LimitTotal = 7; return r }
	for _, c := range []struct {
		name string
		r    model.TriggerRequest
		want string // the body, or "" for an error
	}{
		{"discover", asking("discover", map[string]string{"query": `"a"`, "include_content": "true"}), `{"include_content":true,"query":"a"}`},
		{"a limit", limited(asking("discover", map[string]string{"query": `"a"`})), `{"num_results":7,"query":"a"}`},
		{"two limits", limited(asking("discover", map[string]string{"query": `"a"`, "num_results": "3"})), ""},
		{"a text that is no JSON", asking("discover", map[string]string{"query": `a"b`}), `{"query":"a\"b"}`},
		{"two inputs", model.TriggerRequest{Dataset: "discover", Inputs: make([]model.JobInput, 2)}, ""},
		{"a setting", model.TriggerRequest{Dataset: "discover", Inputs: make([]model.JobInput, 1), Settings: model.JobSettings{LimitPerInput: 1}}, ""},
		{"a question alone", asking("deep_lookup", map[string]string{"query": `"a"`}), `{"query":"a"}`},
		{
			"columns in words", limited(asking("deep_lookup", map[string]string{"query": `"a"`, "title": `"t"`, "columns": `"n; p: in $; where c: below 20;"`})),
			`{"query":"a","result_limit":7,"spec":{"columns":[{"name":"n","description":"","type":"enrichment"},{"name":"p","description":"in $","type":"enrichment"},{"name":"c","description":"below 20","type":"constraint"}],"query":"a","title":"t"}}`,
		},
		{"columns as they are", asking("deep_lookup", map[string]string{"query": `"a"`, "columns": `[{"name":"n"}]`}), `{"query":"a","spec":{"columns":[{"name":"n"}],"query":"a"}}`},
		{"a specification", asking("deep_lookup", map[string]string{"query": `"a"`, "spec": `{"columns":[]}`}), `{"query":"a","spec":{"columns":[]}}`},
		{"both", asking("deep_lookup", map[string]string{"query": `"a"`, "spec": `{}`, "columns": `"n"`}), ""},
		{"a column twice", asking("deep_lookup", map[string]string{"query": `"a"`, "columns": `"n; n: x"`}), ""},
		{"a column without a name", asking("deep_lookup", map[string]string{"query": `"a"`, "columns": `"n; : x"`}), ""},
		{"no column", asking("deep_lookup", map[string]string{"query": `"a"`, "columns": `" ; "`}), ""},
		{"a title alone", asking("deep_lookup", map[string]string{"query": `"a"`, "title": `"t"`}), ""},
	} {
		body, product, err := d.ProductBody(c.r)
		if string(body) != c.want || !product || (c.want == "") != errors.Is(err, model.ErrRequest) {
			t.Errorf("%s: %s, %t, %v", c.name, body, product, err)
		}
	}
	if _, product, err := d.ProductBody(asking("gd_x", nil)); product || err != nil {
		t.Error(product, err)
	}
}

func TestStateOfAProduct(t *testing.T) {
	d := Embedded()
	for _, c := range []struct {
		dataset, body string
		rows          int
		want          Progress
	}{
		{"discover", `{"status":"processing","duration_seconds":0.1}`, 0, Progress{State: model.JobRunning, Wire: "processing", Inputs: -1, Done: -1, Records: -1}},
		{"discover", `{"status":"done"}`, 3, Progress{State: model.JobReady, Wire: "done", Inputs: -1, Done: 1, Records: 3}},
		{"discover", `{"status":"error","message":"no\nluck"}`, 0, Progress{State: model.JobFailed, Wire: "error", Detail: "no luck", Inputs: -1, Done: -1, Records: -1}},
		{"discover", `{"status":"resting"}`, 0, Progress{State: model.JobRunning, Wire: "resting", Inputs: -1, Done: -1, Records: -1}},
		{"deep_lookup", `{"status":"running","step":"generating","progress":45,"matched_records":2}`, 0, Progress{State: model.JobRunning, Wire: "running", Detail: "generating, 45 %", Inputs: -1, Done: -1, Records: 2}},
		{"deep_lookup", `{"status":"queued","step":"","progress":"?","matched_records":-2}`, 0, Progress{State: model.JobRunning, Wire: "queued", Inputs: -1, Done: -1, Records: -1}},
		{"deep_lookup", `{"status":"completed","step":"done","matched_records":9}`, 0, Progress{State: model.JobReady, Wire: "completed", Inputs: -1, Done: 1, Records: 9}},
		{"deep_lookup", `{"status":"cancelled","matched_records":1}`, 0, Progress{State: model.JobCanceled, Wire: "cancelled", Inputs: -1, Done: -1, Records: 1}},
	} {
		var head map[string]json.RawMessage
		noerr.Must(t, json.Unmarshal([]byte(c.body), &head))
		if got, err := d.ReadProductProgress(c.dataset, head, c.rows); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.body, got, err)
		}
	}
	if _, err := d.ReadProductProgress("discover", nil, 0); err == nil {
		t.Error("a state without a status")
	}
}

func TestColumnsInWords(t *testing.T) {
	columns := []LookupColumn{{"name", "", "enrichment"}, {"price", "in $: net", "enrichment"}, {"cheap", "below 20", "constraint"}}
	words, ok := WordsOfColumns(columns)
	if words != "name; price: in $: net; where cheap: below 20" || !ok {
		t.Errorf("%q, %t", words, ok)
	}
	if words, ok := WordsOfColumns([]LookupColumn{{"a;b", "", "enrichment"}}); ok {
		t.Errorf("%q is read as something else", words)
	}
}

func TestWhatAProductCharged(t *testing.T) {
	d := Embedded()
	for text, want := range map[string]float64{`"$73.00"`: 73, `"$1,234.5"`: 1234.5, `"73"`: -1, `"$-1"`: -1, `"$NaN"`: -1, `"$Inf"`: -1, `73`: -1} {
		got, ok := d.Charged("deep_lookup", map[string]json.RawMessage{"total_cost": json.RawMessage(text)})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %v, %t", text, got, ok)
		}
	}
	if _, ok := d.Charged("gd_x", nil); ok {
		t.Error("a data set tells a cost")
	}
}

func TestPreviewOfAProduct(t *testing.T) {
	d := Embedded()
	path, body, err := d.Preview(asking("deep_lookup", map[string]string{"query": `"a"`, "columns": `"n"`, "result_limit": "3"}))
	if path != "/datasets/deep_lookup/v1/preview" || string(body) != `{"query":"a"}` || err != nil {
		t.Errorf("%s, %s, %v", path, body, err)
	}
	const note = "The preview is made from the query alone: these columns are the service's, and those you asked for are no part of it."
	for _, c := range []struct{ field, value, want string }{
		{"columns", `"n"`, note}, {"spec", `{"columns":[{"name":"n"}]}`, note}, {"spec", `{"query":"a"}`, ""}, {"title", `"t"`, ""},
	} {
		if got := d.PreviewNote(asking("deep_lookup", map[string]string{"query": `"a"`, c.field: c.value})); got != c.want {
			t.Errorf("%s %s: %q", c.field, c.value, got)
		}
	}
	if _, _, err := d.Preview(asking("gd_x", nil)); !errors.Is(err, model.ErrRequest) || d.Previews("discover") {
		t.Error(err)
	}
	if id, at, ok := d.PreviewAt("deep_lookup", []byte(`{"preview_id":"dld_1"}`)); id != "dld_1" || at != path+"/dld_1" || !ok {
		t.Error(id, at, ok)
	}
	if at, _, err := d.ReadPreview("deep_lookup", []byte(`{"status":"failed","error":"no\nluck"}`)); at.Wire != "failed" || at.Detail != "no luck" || err != nil {
		t.Errorf("%+v, %v", at, err)
	}
	for text, want := range map[string]model.JobState{
		`{"status":"pending","columns":[{"name":"n"}]}`: model.JobRunning, `{"status":"resting"}`: model.JobRunning, `{"status":"failed"}`: model.JobFailed,
		`{"status":"completed","columns":[{"name":"n\n","type":"enrichment"}],"sample_data":[{"n":1}]}`: model.JobReady, `{}`: "", `{"status":1}`: "",
	} {
		at, got, err := d.ReadPreview("deep_lookup", []byte(text))
		if at.State != want || (want == "") != (err != nil) || want == model.JobReady && (len(got.Columns) != 1 || got.Columns[0].Name != "n" || len(got.Rows) != 1) {
			t.Errorf("%s: %s, %+v, %v", text, at.State, got, err)
		}
	}
}

func FuzzReadPreview(f *testing.F) {
	d := Embedded()
	f.Add([]byte(`{"status":"completed","columns":[{"name":"a: b","description":"c;d","type":"constraint"}],"sample_data":[{}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, got, err := d.ReadPreview("deep_lookup", body)
		if err != nil {
			return
		}
		words, ok := WordsOfColumns(got.Columns)
		if !ok {
			return
		}
		if again, err := lookupColumns(words); err != nil || len(again) != len(got.Columns) {
			t.Fatalf("%q: %d of %d columns, %v", words, len(again), len(got.Columns), err)
		}
	})
}

func FuzzProductBody(f *testing.F) {
	d := Embedded()
	f.Add("deep_lookup", "name; where p: x", "7")
	f.Add("discover", "", "3")
	f.Fuzz(func(t *testing.T, dataset, columns, limit string) {
		body, product, err := d.ProductBody(asking(dataset, map[string]string{"query": `"q"`, "columns": columns, "result_limit": limit}))
		if product && err == nil && !json.Valid(body) {
			t.Fatalf("%q", body)
		}
	})
}
