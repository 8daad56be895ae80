package records

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
)

// changedRow is a line of a difference (docs/schema/jobs-rows-change.json).
type changedRow struct {
	Change string          `json:"change"`
	Fields []changedField  `json:"fields,omitempty"`
	Row    json.RawMessage `json:"row"`
}

type changedField struct {
	Name    string `json:"name"`
	Old     string `json:"old"`
	OldType string `json:"old_type"`
	New     string `json:"new"`
	NewType string `json:"new_type"`
}

// WriteChanges writes the rows of a difference as NDJSON: what became of each, and for a changed one the
// fields. on, which may be nil, gets how many are written.
func (f *File) WriteChanges(ctx context.Context, w io.Writer, c Compared, on func(Progress)) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	p := Progress{Found: c.Rows.Len()}
	err := c.EachChange(ctx, f, func(change Change, row []byte, fields []FieldChange) error {
		if p.Rows++; on != nil && p.Rows%4096 == 0 {
			on(p)
		}
		line := changedRow{Change: change.String(), Row: row}
		for _, x := range fields {
			line.Fields = append(line.Fields, changedField{x.Name, x.Old.Text, x.Old.Kind.String(), x.New.Text, x.New.Kind.String()})
		}
		return enc.Encode(line)
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
