package jobs

import "time"

// goneAfter is how long an expired snapshot is still known as expired.
const goneAfter = Retention

// Wake looks for what time has brought about: snapshots that have expired, hooks that
// could not be handed over. Whoever moves the clock calls it; otherwise it happens
// every hour.
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

// sweep hands over what was not, takes the records of expired jobs from disk, and the
// jobs themselves some time later.
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
		case age > Retention+goneAfter:
			e.mu.Lock()
			delete(e.jobs, j.id)
			e.mu.Unlock()
			err = j.drop(true)
		case age > Retention && !j.emptied:
			err = j.drop(false)
			j.emptied = err == nil
		}
		if err != nil {
			e.conf.Log.Error("an expired job could not be removed", "snapshot", j.id, "error", err)
		}
	}
}
