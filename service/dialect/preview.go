package dialect

import (
	"encoding/json"
	"errors"

	"zonedeck/model"
)

// previewCalls are how a product shows what a job would give, before it is launched.
type previewCalls struct {
	path string // of the POST; the path of a preview is below it
	id   string // the field of the POST's answer that names it
}

// Previews reports whether the dialect knows how a preview of a job is asked for. What one costs is
// not shown by public sources.
func (d Dialect) Previews(dataset string) bool {
	p, ok := d.product(dataset)
	return ok && p.preview.path != ""
}

// Preview is how a preview of a job is asked for: the path and the body of the POST. The error is a
// *model.RequestError.
func (d Dialect) Preview(r model.TriggerRequest) (path string, body []byte, err error) {
	p, ok := d.product(r.Dataset)
	if !ok || p.preview.path == "" {
		return "", nil, model.BadField("dataset", "%s has no preview, as far as public sources show", clean(r.Dataset))
	}
	if _, _, err := d.ProductBody(r); err != nil {
		return "", nil, err
	}
	query := r.Inputs[0].Extra["query"]
	if !json.Valid([]byte(query)) {
		text, _ := json.Marshal(query) // a text always marshals
		query = string(text)
	}
	body, err = json.Marshal(map[string]json.RawMessage{"query": json.RawMessage(query)})
	return p.preview.path, body, err
}

// PreviewNote says in a sentence that the columns a job asks for are no part of its preview; it is empty where it asks for none.
func (d Dialect) PreviewNote(r model.TriggerRequest) string {
	if !d.Previews(r.Dataset) || len(r.Inputs) != 1 {
		return ""
	}
	asked := r.Inputs[0].Extra
	var spec struct {
		Columns json.RawMessage `json:"columns"`
	}
	_ = json.Unmarshal([]byte(asked["spec"]), &spec) // without one it has no columns
	if asked["columns"] == "" && spec.Columns == nil {
		return ""
	}
	return "The preview is made from the query alone: these columns are the service's, and those you asked for are no part of it."
}

// PreviewAt is the identifier of a preview by the answer to its POST, and where it is asked for.
func (d Dialect) PreviewAt(dataset string, answer []byte) (id, path string, ok bool) {
	p, _ := d.product(dataset)
	var says map[string]json.RawMessage
	if p.preview.path == "" || json.Unmarshal(answer, &says) != nil || json.Unmarshal(says[p.preview.id], &id) != nil {
		return "", "", false
	}
	if id, ok = word(id); !ok {
		return "", "", false
	}
	return id, p.preview.path + "/" + id, true
}

// LookupPreview is what a deep lookup would give: its columns, and rows of a sample as JSON objects. ID is the
// service's identifier of it.
type LookupPreview struct {
	ID      string
	Columns []LookupColumn
	Rows    []json.RawMessage
	// Note says how a job differs from what the preview shows, "" if it does not.
	Note string
}

// The bounds on what is taken of a preview.
const (
	maxPreviewColumns = 100
	maxPreviewRows    = 100
)

// ReadPreview reads a state of a preview. Until its state is JobReady it has no rows.
func (d Dialect) ReadPreview(dataset string, body []byte) (at Progress, out LookupPreview, err error) {
	p, _ := d.product(dataset)
	var head map[string]json.RawMessage
	var a struct {
		Columns []LookupColumn    `json:"columns"`
		Rows    []json.RawMessage `json:"sample_data"`
	}
	if json.Unmarshal(body, &head) != nil || json.Unmarshal(body, &a) != nil {
		return at, out, errors.New("the answer is not a preview")
	}
	if at, err = p.readProgress(head, 0); err != nil {
		return Progress{}, out, err
	}
	if at.State != model.JobReady {
		return at, out, nil
	}
	for _, c := range a.Columns[:min(len(a.Columns), maxPreviewColumns)] {
		out.Columns = append(out.Columns, LookupColumn{clean(c.Name), clean(c.Description), clean(c.Type)})
	}
	out.Rows = a.Rows[:min(len(a.Rows), maxPreviewRows)]
	return at, out, nil
}
