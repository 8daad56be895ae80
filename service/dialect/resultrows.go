package dialect

import "zonedeck/model"

// RowError is the class of an error row by the code that the service put into it; outside,
// and not recognised, where no meaning is known.
func (d Dialect) RowError(code string) (model.Class, model.Cause) {
	if d.rowCodes {
		if code == "dead_page" { // the page answered 404
			return model.ClassOutside, model.CauseTargetError
		}
		if m := meaning(code); m.class != "" {
			return m.class, m.cause
		}
	}
	return model.ClassOutside, model.CauseUnrecognised
}

// BilledRows is how many rows of a result are billed, -1 where the dialect does not know.
// Public documentation: rows with an error are not billed.
func (d Dialect) BilledRows(dataset string, r model.JobRows) int {
	if !d.rowCodes || !r.Counted || !d.BillsRecords(dataset) {
		return -1
	}
	return r.Returned - r.Failed()
}
