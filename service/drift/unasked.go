package drift

import "slices"

// unasked is what stays drift of a page although its newest fetch did not ask for it: of each other field what the newest
// run that did found. One that never matched is left out: whoever tries selectors has changed nothing.
func unasked(r Run, earlier []Run, c *Contract) (out []Finding) {
	if r.Form != FormPage || r.Useful == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range r.Fields {
		seen[f.Path] = true
	}
	for i, e := range earlier {
		var fields []string
		for _, f := range e.Fields {
			if e.Useful > 0 && !seen[f.Path] {
				seen[f.Path] = true
				fields = append(fields, f.Path)
			}
		}
		if e.State != Drift || len(fields) == 0 {
			continue
		}
		for _, f := range Alarms(Judge(e, earlier[i+1:], c).Findings) {
			if slices.Contains(fields, f.Field) && slices.ContainsFunc(earlier[i:], func(o Run) bool { had, _ := o.Field(f.Field); return had.Filled > 0 }) {
				f.Text += "; no fetch since " + e.Ref + " has asked for it"
				out = append(out, f)
			}
		}
	}
	return out
}
