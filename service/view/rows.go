package view

import "zonedeck/service/records"

// Rows is a result's rows and columns (docs/schema/jobs-rows.json).
type Rows struct {
	SchemaVersion Version      `json:"schema_version"`
	File          string       `json:"file"`
	Format        string       `json:"format" enum:"csv|json|ndjson|values" jsonschema:"how rows follow one another"`
	Rows          int64        `json:"rows"`
	Matched       *int64       `json:"matched" jsonschema:"rows that were asked for; null with --about"`
	Unreadable    int64        `json:"unreadable" jsonschema:"rows that cannot be read"`
	Columns       []RowsColumn `json:"columns"`
	Difference    *RowsDiff    `json:"difference" jsonschema:"of a comparison"`
	Notes         []string     `json:"notes"`
}

// RowsColumn is a column.
type RowsColumn struct {
	Name          string           `json:"name"`
	Type          string           `json:"type" jsonschema:"the kinds that were seen, but null, joined by +; null where there are no others"`
	Kinds         map[string]int64 `json:"kinds" jsonschema:"how many values of each kind there are"`
	Filled        int64            `json:"filled" jsonschema:"rows with a value that is neither null nor empty"`
	Fill          float64          `json:"fill" jsonschema:"their share, from 0 to 1"`
	Distinct      int64            `json:"distinct" jsonschema:"values that differ as they are spelled"`
	DistinctAbout bool             `json:"distinct_about" jsonschema:"distinct is an estimate, with a standard error of 1.6 %"`
}

// RowsDiff is the difference from another result.
type RowsDiff struct {
	IDField   string   `json:"id_field"`
	Added     int64    `json:"added"`
	Removed   int64    `json:"removed"`
	Changed   int64    `json:"changed"`
	Unchanged int64    `json:"unchanged"`
	Old       RowsSide `json:"old"`
	New       RowsSide `json:"new"`
}

// RowsSide is one of two results.
type RowsSide struct {
	Rows        int64 `json:"rows"`
	RepeatedIDs int64 `json:"repeated_ids" jsonschema:"rows whose value of id_field a row before has, too; the first counts"`
	WithoutID   int64 `json:"without_id"`
	Unreadable  int64 `json:"unreadable"`
	Errors      int64 `json:"errors" jsonschema:"rows that tell an error; they are not compared"`
}

// NewRows are the columns of a file, which an operator knows as place, with how many of its rows match, how they differ and what was said.
func NewRows(f *records.File, place string, p records.Profile, matched *int64, diff *RowsDiff, notes []string) Rows {
	state := f.State()
	out := Rows{
		File: place, Format: string(f.Format()), Rows: state.Rows, Matched: matched,
		Unreadable: p.Damaged, Columns: []RowsColumn{}, Difference: diff, Notes: append(list(notes), state.Notes...),
	}
	for _, c := range p.Columns {
		kinds := map[string]int64{}
		for k, n := range c.Kinds {
			if n > 0 {
				kinds[records.Kind(k).String()] = n //nolint:gosec // a kind
			}
		}
		out.Columns = append(out.Columns, RowsColumn{Name: c.Name, Type: c.Type(), Kinds: kinds, Filled: c.Filled, Fill: c.Fill(p.Rows), Distinct: c.Distinct, DistinctAbout: c.About})
	}
	return out
}

// NewRowsDiff is a comparison with another file.
func NewRowsDiff(c records.Compared) *RowsDiff {
	return &RowsDiff{IDField: c.Key, Added: c.Added, Removed: c.Removed, Changed: c.Changed, Unchanged: c.Unchanged, Old: RowsSide(c.Old), New: RowsSide(c.New)}
}
