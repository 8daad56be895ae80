package jobs

import "time"

// expiredFor is how long a snapshot is listed as expired.
const expiredFor = Retention

// Wake starts a sweep: it removes expired snapshots and hands over hooks that could not be
// handed over before. Call it after moving the clock; otherwise it happens every hour.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *Engine) keepHouse() {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		e.sweep()
		select {
		case <-t.C:
		case <-e.wake:
		case <-e.ctx.Done():
			return
		}
	}
}

// sweep hands over the hooks that are left, removes the records of expired jobs from disk,
// and the jobs themselves some time later.
func (e *Engine) sweep() {
	for _, j := range e.all() {
		s := j.snapshot()
		if !s.Status.Ended() {
			continue
		}
		j.handOver()
		age := e.conf.Now().Sub(s.Created)
		var err error
		switch {
		case age > Retention+expiredFor:
			e.mu.Lock()
			delete(e.jobs, j.id)
			e.mu.Unlock()
			err = j.drop(true)
		case age > Retention && !j.emptied:
			err = j.drop(false)
			j.emptied = err == nil
		}
		if err != nil {
			e.conf.Log.Error("could not remove an expired job", "snapshot", j.id, "error", err)
		}
	}
}
