package view

// Rows is a result's rows and columns (docs/schema/jobs-rows.json).
type Rows struct {
	SchemaVersion Version      `json:"schema_version"`
	File          string       `json:"file"`
	Format        string       `json:"format"`
	Rows          int64        `json:"rows"`
	Matched       *int64       `json:"matched"`
	Damaged       int64        `json:"damaged"`
	Columns       []RowsColumn `json:"columns"`
	Difference    *RowsDiff    `json:"difference"`
	Notes         []string     `json:"notes"`
}

// RowsColumn is a column.
type RowsColumn struct {
	Name          string           `json:"name"`
	Type          string           `json:"type"`
	Kinds         map[string]int64 `json:"kinds"`
	Filled        int64            `json:"filled"`
	Fill          float64          `json:"fill"`
	Distinct      int64            `json:"distinct"`
	DistinctAbout bool             `json:"distinct_about"`
}

// RowsDiff is the difference from another result.
type RowsDiff struct {
	Key     string   `json:"key"`
	Added   int64    `json:"added"`
	Removed int64    `json:"removed"`
	Changed int64    `json:"changed"`
	Same    int64    `json:"same"`
	Old     RowsSide `json:"old"`
	New     RowsSide `json:"new"`
}

// RowsSide is one of two results.
type RowsSide struct {
	Rows       int64 `json:"rows"`
	Repeated   int64 `json:"repeated_keys"`
	Without    int64 `json:"without_key"`
	Unreadable int64 `json:"unreadable"`
	Errors     int64 `json:"errors"`
}
