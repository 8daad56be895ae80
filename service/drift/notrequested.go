package drift

import "slices"

// notRequested is the drift of a page that lasts because its newest fetch did not ask for the field: what was found in the
// newest run that did. It leaves out a field that never matched, because someone who tries selectors has changed nothing,
// and a field that the contract no longer asks for.
func notRequested(r Run, earlier []Run, c *Contract) (out []Finding) {
	if r.Form != FormPage || r.Useful == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, path := range r.paths() {
		seen[path] = true
	}
	for i, e := range earlier {
		var last []string // it is the newest that asked for them
		for _, path := range e.paths() {
			if e.Useful > 0 && !seen[path] {
				seen[path] = true
				last = append(last, path)
			}
		}
		if e.State != Drift {
			continue
		}
		for _, f := range Alarms(e.Findings) {
			if slices.Contains(last, f.Field) && (!f.Contract || c.wants(f.Field)) && slices.ContainsFunc(earlier[i:], func(o Run) bool { return o.found(f.Field) }) {
				f.Text += "; no fetch since " + e.Ref + " has asked for it"
				out = append(out, f)
			}
		}
	}
	return out
}

// found reports whether a required field of a page matched, by what its run was found to be.
func (r Run) found(path string) bool {
	return r.Useful > 0 && r.requested(path) && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Field == path && f.Word == Missing && !f.Contract })
}

// wants reports whether a contract, which may be nil, asks for a field.
func (c *Contract) wants(path string) bool {
	return c != nil && slices.ContainsFunc(c.Fields, func(w Wanted) bool { return w.Name == path })
}
