package jobs

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

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
	e.mu.Lock()
	all := make([]*job, 0, len(e.jobs))
	for _, j := range e.jobs {
		all = append(all, j)
	}
	e.mu.Unlock()
	for _, j := range all {
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
			err = os.RemoveAll(j.dir)
		case age > Retention:
			err = j.empty()
		}
		if err != nil {
			e.conf.Log.Error("an expired job could not be removed", "snapshot", j.id, "error", err)
		}
	}
}

// empty removes the inputs and records of an expired job; its state stays.
func (j *job) empty() error {
	var errs []error
	for _, name := range [...]string{recordsName, inputName} {
		if err := os.Remove(filepath.Join(j.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// handOver gives the hooks of an ended job to whoever delivers them, and forgets them
// then: the secrets they hold leave the folder.
func (j *job) handOver() {
	j.handing.Lock()
	defer j.handing.Unlock()
	s := j.snapshot()
	j.mu.Lock()
	m := j.meta
	j.mu.Unlock()
	if len(m.Hooks) == 0 || !s.Status.Ended() {
		return
	}
	conf := j.engine.conf
	if conf.HandOver != nil {
		if err := conf.HandOver(s, m.Hooks); err != nil {
			conf.Log.Error("a job's webhooks were not taken; they are offered again", "snapshot", j.id, "error", err)
			return
		}
	}
	m.Hooks = nil
	if err := writeMeta(j.dir, m); err != nil {
		conf.Log.Error("a job's webhooks were taken and that could not be kept", "snapshot", j.id, "error", err)
		return
	}
	j.mu.Lock()
	j.meta = m
	j.mu.Unlock()
}
