package dialect

import "time"

// Cadence is how a job is asked for until it is over.
type Cadence struct {
	// First is the wait after the first question, Last the longest one.
	First, Last time.Duration
	// New is how long after its acceptance a job may be unknown to the service.
	New time.Duration
	// Unknown is how long the service has to say of a job that it accepted that it knows no such job
	// before that is believed, and how long a 404 in other words is taken for a passing one.
	Unknown time.Duration
	// Patience is how long every question may fail before someone who waits is told.
	Patience time.Duration
	// Limit is how long after its acceptance a job is asked for; from then on only when the
	// operator wants it.
	Limit time.Duration
}

// Cadence is how often a job is asked for. The contract shows no figures; public
// documentation says that a new job may be unknown for some 20 s and that polling too often
// is itself "too fast" (service.md 7). local is the emulator, which takes no harm.
func (Dialect) Cadence(local bool) Cadence {
	c := Cadence{First: 2 * time.Second, Last: 30 * time.Second, New: 30 * time.Second, Unknown: 3 * time.Minute, Patience: 4 * time.Minute, Limit: 24 * time.Hour}
	if local {
		c.First, c.Last, c.Unknown, c.Patience = 300*time.Millisecond, 2*time.Second, 5*time.Second, 15*time.Second
	}
	return c
}

// Wait is how long to wait after an answer, before jitter. age is the job's since it was
// accepted; done of total inputs are through, -1 where the service does not say. Others that
// are asked for at the same time stretch the wait: many jobs together are not to be asked
// for more often than eight.
func (c Cadence) Wait(age time.Duration, done, total, jobs int) time.Duration {
	wait := min(max(age/2, c.First), c.Last)
	if done > 0 && total > done { // ask about when it will be over
		rest := time.Duration(float64(age) * float64(total-done) / float64(done))
		wait = min(wait, max(rest/2, c.First))
	}
	return wait * time.Duration(max(jobs, togetherAtMost)) / togetherAtMost
}

const togetherAtMost = 8
