package model

// RecordColumn is one column of a table of records.
type RecordColumn struct {
	Name string
	// Type is what the values looked like: "text", "number", "bool", "object",
	// "list", "null", or "mixed".
	Type string
	// Filled is how many of the table's rows have a value that is not empty.
	Filled int
}

// RecordTable is the first records of a job's result. Cells are remote text:
// sanitise them before they reach a terminal.
type RecordTable struct {
	Columns []RecordColumn
	// Rows hold one cell per column; a missing value is "".
	Rows [][]string
	// Total is the number of records in the result, or -1 when only the beginning
	// was read.
	Total int
}

// FillRate is the share of the table's rows in which column i has a value, from
// 0 to 1; 0 for an empty table or a column that is not there.
func (t RecordTable) FillRate(i int) float64 {
	if i < 0 || i >= len(t.Columns) || len(t.Rows) == 0 {
		return 0
	}
	return float64(t.Columns[i].Filled) / float64(len(t.Rows))
}
