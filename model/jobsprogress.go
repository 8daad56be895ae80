package model

// JobsProgress is how far a set of jobs is together. The set is the jobs in flight at the time the
// service first says how far one of them is; it stays until all of them have ended, and jobs that
// come later are the next set. So it does not fall while it is shown. The zero value has no jobs;
// one goroutine uses it.
type JobsProgress struct {
	set      map[string]Job // with those of it that have ended
	later    map[string]Job // in flight, and not of the set
	percent  int            // percent of the set's inputs, at most what was reached; valid once told
	reported bool
}

// Update takes what a job is now; on says that the service is asked about it. A job that is no longer
// asked about before its end leaves the set.
func (p *JobsProgress) Update(j Job, on bool) {
	if p.set == nil {
		p.set, p.later = map[string]Job{}, map[string]Job{}
	}
	_, in := p.set[j.ID]
	delete(p.later, j.ID)
	switch {
	case in && (on || j.State.Final()):
		p.set[j.ID] = j
	case in:
		delete(p.set, j.ID)
	case !on || j.State.Final():
	case p.reported:
		p.later[j.ID] = j
	default:
		p.set[j.ID] = j
	}
	if p.over() {
		*p = JobsProgress{set: p.later, later: map[string]Job{}}
	}
	p.add()
}

// over reports whether no job of the set is in flight.
func (p *JobsProgress) over() bool {
	for _, j := range p.set {
		if !j.State.Final() {
			return false
		}
	}
	return true
}

// add adds up the set. A job that has ended is done, and one of which the service does not say how
// far it is has done nothing yet.
func (p *JobsProgress) add() {
	done, inputs := 0, 0
	for _, j := range p.set {
		switch {
		case j.Inputs <= 0:
			continue
		case j.State.Final():
			done, p.reported = done+j.Inputs, true
		case j.Done >= 0:
			done, p.reported = done+min(j.Done, j.Inputs), true
		}
		inputs += j.Inputs
	}
	if inputs > 0 {
		p.percent = max(p.percent, done*100/inputs)
	}
}

// Any reports whether a job of the set is in flight.
func (p *JobsProgress) Any() bool { return len(p.set) > 0 }

// Percent is how far the set is, of its inputs; -1 where the service says it of none.
func (p *JobsProgress) Percent() int {
	if !p.reported {
		return -1
	}
	return p.percent
}
