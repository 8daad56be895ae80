package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
)

// product is one of the service that has no data sets, but whose work is a job like theirs: one
// POST starts it, its answer names it, and it is asked for until it is over. The contract names
// the products (service.md 1) and shows none of their calls.
type product struct {
	// dataset describes it; its ID stands where a job names its data set.
	dataset model.Dataset
	product model.Product
	trigger string // the path of the POST
	id      string // the field of its answer that names the job
	paths   func(id string) JobPaths
	// body is the POST's, by the fields of its input.
	body func(in map[string]json.RawMessage) (map[string]any, error)
	// states are the states that the service's words mean; a word that is not among them means
	// that the job is running.
	states map[string]model.JobState
	// records is the field of a state that counts them, "" for none; cost is the field of a
	// result that says what it cost, "" for none.
	records, cost string
	// rows is the field of a result that holds them.
	rows    string
	preview previewCalls // empty where none is known
	// byRecord says that its records are what it bills.
	byRecord bool
}

const deepLookupPath = "/datasets/deep_lookup/v1"

// brightDataProducts are those of public documentation; deep lookup is beta there, its answers from
// a specification.
func brightDataProducts() []product {
	text := func(name, about string) model.InputField {
		return model.InputField{Name: name, Type: "text", Description: about}
	}
	return []product{
		{
			product: model.ProductDiscover, trigger: "/discover", id: "task_id", rows: "results",
			dataset: model.Dataset{
				ID: "discover", Name: "Discover", Kind: model.CollectDiscover,
				Description: "Finds pages of the web for a query, ranked by what they are wanted for. Its calls are from public documentation.",
				Methods: []model.CollectMethod{{Bound: "num_results", Fields: []model.InputField{
					{Name: "query", Type: "text", Required: true, Description: "what to search for"},
					text("intent", "what the pages are wanted for, which ranks them"),
					{Name: "num_results", Type: "number", Description: "pages at most, up to 1000"},
					text("country", "two letters"), text("city", ""), text("language", ""),
					{Name: "filter_keywords", Type: "array", Description: "words that a page must have", Example: `["review"]`},
					{Name: "include_content", Type: "boolean", Description: "whether the text of each page comes, too"},
					{Name: "remove_duplicates", Type: "boolean"},
					text("start_date", "the first day, as 2026-01-31"), text("end_date", "the last day"),
					{Name: "format", Type: "text", Description: "of the content: json or md"},
				}}},
			},
			paths: func(id string) JobPaths {
				q := url.Values{"task_id": {id}}.Encode()
				return JobPaths{Progress: "/discover", Snapshot: "/discover", Query: q}
			},
			body:   plainBody,
			states: map[string]model.JobState{"done": model.JobReady, "error": model.JobFailed, "failed": model.JobFailed},
		},
		{
			product: model.ProductDeepLookup, trigger: deepLookupPath + "/trigger", id: "request_id", rows: "data", records: "matched_records", cost: "total_cost", byRecord: true,
			dataset: model.Dataset{
				ID: "deep_lookup", Name: "Deep lookup", Kind: model.CollectDeepLookup,
				Description: "Finds what meets a question, and fills a table with what is known of each. Its calls are from a published specification, marked beta.",
				Methods: []model.CollectMethod{{Bound: "result_limit", Fields: []model.InputField{
					{Name: "query", Type: "text", Required: true, Description: "what to find"},
					{
						Name: "columns", Description: "columns of the table, with ; between: NAME, NAME: what it is, or where NAME: what a record must meet; or a JSON array as the service takes it. Left out, the service chooses",
						Example: `"name; price: in dollars; where cheap: below 20 dollars"`,
					},
					{Name: "result_limit", Type: "number", Description: "records at most"},
					text("title", "of the table"),
				}}},
			},
			paths: func(id string) JobPaths {
				at := deepLookupPath + "/request/" + id
				return JobPaths{Progress: at + "/status", Snapshot: at, Cancel: at + "/cancel"}
			},
			body:    lookupBody,
			preview: previewCalls{path: deepLookupPath + "/preview", id: "preview_id"},
			states: map[string]model.JobState{
				"completed": model.JobReady, "failed": model.JobFailed, "cancelled": model.JobCanceled, "canceled": model.JobCanceled,
			},
		},
	}
}

// product is the product that a job names in place of a data set; false for a data set.
func (d Dialect) product(dataset string) (product, bool) {
	i := slices.IndexFunc(d.products, func(p product) bool { return p.dataset.ID == dataset })
	if i < 0 {
		return product{}, false
	}
	return d.products[i], true
}

// Products are those whose jobs the dialect can start and that are no data sets.
func (d Dialect) Products() []model.Dataset {
	out := make([]model.Dataset, len(d.products))
	for i, p := range d.products {
		out[i] = p.dataset
	}
	return out
}

// ProductOf is the product that a job belongs to; ok is false for a data set.
func (d Dialect) ProductOf(dataset string) (p model.Product, ok bool) {
	of, ok := d.product(dataset)
	return of.product, ok
}

// Cancels reports whether it is known how a job is cancelled, where it is known how it is asked for.
func (d Dialect) Cancels(dataset string) bool {
	p, ok := d.product(dataset)
	return !ok || p.paths("").Cancel != ""
}

// BillsRecords reports whether the records of a job are what is billed, as far as is known.
func (d Dialect) BillsRecords(dataset string) bool {
	p, ok := d.product(dataset)
	return !ok || p.byRecord
}

// Settings are those of a request. A limit that a product's input sets is the limit of its job.
func (d Dialect) Settings(r model.TriggerRequest) model.JobSettings {
	p, ok := d.product(r.Dataset)
	if ok && r.Settings.LimitTotal == 0 && len(r.Inputs) == 1 {
		r.Settings.LimitTotal, _ = strconv.Atoi(r.Inputs[0].Extra[p.bound()])
	}
	return r.Settings
}

// Discovers reports whether a job may find any number of records for an input.
func (d Dialect) Discovers(r model.TriggerRequest) bool {
	_, ok := d.product(r.Dataset)
	return ok || r.Settings.Discover != "" || r.OpenEnded
}

func (p product) bound() string { return p.dataset.Methods[0].Bound }

// ProductBody is the body of the POST that starts a product's job; ok is false for a data set,
// whose body is its inputs (service.md 4.2). The error is a *model.RequestError.
func (d Dialect) ProductBody(r model.TriggerRequest) (body []byte, ok bool, err error) {
	p, ok := d.product(r.Dataset)
	if !ok {
		return nil, false, nil
	}
	if len(r.Inputs) != 1 {
		return nil, true, model.BadField("inputs", "%s takes one input for a job, and there are %d: launch a job for each", p.dataset.ID, len(r.Inputs))
	}
	if setting := r.Settings.FirstGiven(); setting != "" {
		return nil, true, model.BadField(setting, "%s takes no discovery, limit for each input, notification or delivery, as far as public sources show", p.dataset.ID)
	}
	in := map[string]json.RawMessage{}
	if u := r.Inputs[0].URL; u != "" {
		in["url"], _ = json.Marshal(u) // a text always marshals
	}
	for name, value := range r.Inputs[0].Extra {
		if in[name] = json.RawMessage(value); !json.Valid(in[name]) {
			in[name], _ = json.Marshal(value)
		}
	}
	if limit := r.Settings.LimitTotal; limit > 0 {
		if was := in[p.bound()]; was != nil {
			return nil, true, model.BadField("limit", "the input has %s %s, and the limit is %d: give one of them", p.bound(), clean(string(was)), limit)
		}
		in[p.bound()] = strconv.AppendInt(nil, int64(limit), 10)
	}
	fields, err := p.body(in)
	if err != nil {
		return nil, true, model.BadField("inputs", "%w", err)
	}
	if body, err = json.Marshal(fields); err != nil {
		return nil, true, model.BadField("inputs", "%w", err)
	}
	return body, true, nil
}

// plainBody has the fields of the input as they are.
func plainBody(in map[string]json.RawMessage) (map[string]any, error) {
	out := make(map[string]any, len(in))
	for name, value := range in {
		out[name] = value
	}
	return out, nil
}

// LookupColumn is a column of a deep lookup's table: what it holds, or what a record must meet.
type LookupColumn struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type" jsonschema:"enrichment or constraint, which a record must meet"`
}

// lookupBody puts what describes the table into spec (public documentation).
func lookupBody(in map[string]json.RawMessage) (map[string]any, error) {
	out, _ := plainBody(in)
	delete(out, "columns")
	delete(out, "title")
	if in["columns"] == nil && in["title"] == nil || in["spec"] != nil {
		if in["columns"] != nil || in["title"] != nil {
			return nil, errors.New("spec has its own columns and title: leave the others out")
		}
		return out, nil
	}
	if in["columns"] == nil {
		return nil, errors.New("a title needs columns: public sources show it beside them alone")
	}
	spec := map[string]any{"query": in["query"]}
	if in["title"] != nil {
		spec["title"] = in["title"]
	}
	var words string
	if json.Unmarshal(in["columns"], &words) != nil {
		spec["columns"] = in["columns"]
	} else {
		columns, err := lookupColumns(words)
		if err != nil {
			return nil, err
		}
		spec["columns"] = columns
	}
	out["spec"] = spec
	return out, nil
}

// lookupColumns reads the columns of a table as they are typed; see Words.
func lookupColumns(words string) (out []LookupColumn, err error) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(words, ";") {
		name, about, _ := strings.Cut(part, ":")
		c := LookupColumn{Name: strings.TrimSpace(name), Description: strings.TrimSpace(about), Type: "enrichment"}
		if rest, ok := strings.CutPrefix(c.Name, "where "); ok {
			c.Name, c.Type = strings.TrimSpace(rest), "constraint"
		}
		switch {
		case strings.TrimSpace(part) == "":
			continue
		case c.Name == "":
			return nil, fmt.Errorf("columns: %q has no name: write NAME, or NAME: what it is", model.Cut(strings.TrimSpace(part), 60))
		case seen[c.Name]:
			return nil, fmt.Errorf("columns: %q is there twice", model.Cut(c.Name, 60))
		}
		seen[c.Name] = true
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("columns: there are none")
	}
	return out, nil
}

// WordsOfColumns are columns as they are typed; ok is false where a text of them would be read as
// something else.
func WordsOfColumns(columns []LookupColumn) (words string, ok bool) {
	parts := make([]string, len(columns))
	for i, c := range columns {
		if parts[i] = c.Name; c.Type == "constraint" {
			parts[i] = "where " + c.Name
		}
		if c.Description != "" {
			parts[i] += ": " + c.Description
		}
	}
	words = strings.Join(parts, "; ")
	again, err := lookupColumns(words)
	return words, err == nil && slices.Equal(again, columns)
}

// Envelope is the field of a product's result that holds its rows; ok is false for a data set,
// whose result is its rows.
func (d Dialect) Envelope(dataset string) (rows string, ok bool) {
	p, ok := d.product(dataset)
	return p.rows, ok
}

// readProduct reads a state of a product's job: the fields of an answer besides its rows, and how
// many of those there are.
func (p product) readProgress(head map[string]json.RawMessage, rows int) (Progress, error) {
	out := Progress{State: model.JobRunning, Inputs: -1, Done: -1, Records: -1}
	text := func(name string) string {
		var s string
		_ = json.Unmarshal(head[name], &s) // what is no text says nothing
		return clean(s)
	}
	if out.Wire = text("status"); out.Wire == "" {
		return out, fmt.Errorf("progress: the answer has no status among %s", clean(strings.Join(slices.Sorted(maps.Keys(head)), ", ")))
	}
	if state, known := p.states[out.Wire]; known {
		out.State = state
	}
	if p.records != "" {
		n := count(-1)
		_ = n.UnmarshalJSON(head[p.records]) // it never fails
		out.Records = int(n)
	} else if out.State == model.JobReady {
		out.Records = rows
	}
	switch out.State {
	case model.JobReady:
		out.Done = 1
	case model.JobRunning:
		var percent json.Number
		if _ = json.Unmarshal(head["progress"], &percent); percent != "" {
			percent += " %"
		}
		out.Detail = strings.Trim(clean(text("step")+", "+string(percent)), ", ")
	default:
		for _, name := range []string{"error_message", "error", "message"} {
			if out.Detail == "" {
				out.Detail = text(name)
			}
		}
	}
	return out, nil
}

// ReadProductProgress reads a state of a product's job: head has the fields of the answer besides
// its rows, of which there are so many.
func (d Dialect) ReadProductProgress(dataset string, head map[string]json.RawMessage, rows int) (Progress, error) {
	p, ok := d.product(dataset)
	if !ok {
		return Progress{}, fmt.Errorf("%s is a data set", clean(dataset))
	}
	return p.readProgress(head, rows)
}

// Charged is what a product's result says it cost, in dollars; ok is false where it does not say.
func (d Dialect) Charged(dataset string, head map[string]json.RawMessage) (dollars float64, ok bool) {
	p, _ := d.product(dataset)
	var text string
	if p.cost == "" || json.Unmarshal(head[p.cost], &text) != nil {
		return 0, false
	}
	number, dollar := strings.CutPrefix(text, "$")
	dollars, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	return dollars, dollar && err == nil && dollars >= 0 && dollars < 1e9
}
