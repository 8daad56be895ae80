package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"zonedeck/service/emulator/state"
)

// What is kept of a job: its state, its inputs, some to a line, and a line for each input
// that is done.
const (
	keptJobs      = state.Table[meta]("jobs")
	keptInputs    = state.Lines("inputs")
	keptRecords   = state.Lines("records")
	inputsPerLine = 256
)

// load reads the jobs. One that cannot be read is left out, with a note.
func (e *Engine) load() error {
	return keptJobs.Each(e.conf.State, func(id string, m meta) error {
		j := e.newJob(id, m)
		// Records that were kept were neither collected nor discovered by this job.
		if _, err := InputFields(m.Dataset, m.Discover); err != nil && (errors.Is(err, ErrNoDataset) || !j.meta.Kept) {
			return fmt.Errorf("dataset %q: %w", m.Dataset, err)
		}
		if m.Status.Ended() {
			close(j.over)
		} else {
			e.running[m.Dataset]++
		}
		e.jobs[id] = j
		return nil
	})
}

// create keeps a new job, as a whole or not at all.
func (e *Engine) create(j *job, inputs []json.RawMessage, done *line) error {
	return e.conf.State.Update(func(tx *state.Tx) error {
		if err := keptJobs.Put(tx, j.id, j.meta); err != nil {
			return err
		}
		n := 0
		for some := range slices.Chunk(inputs, inputsPerLine) {
			b, err := encodeValue(some)
			if err == nil {
				err = keptInputs.Put(tx, j.id, n, b)
			}
			if err != nil {
				return err
			}
			n += len(some)
		}
		if done == nil {
			return nil
		}
		b, err := encodeValue(done)
		if err != nil {
			return err
		}
		return keptRecords.Put(tx, j.id, done.I, b)
	})
}

// drop forgets what is kept of a job, or of its inputs and records alone. What was not
// forgotten when the machine died is dropped again.
func (j *job) drop(whole bool) error {
	return j.engine.conf.State.Soon(func(tx *state.Tx) error {
		err := errors.Join(keptInputs.Delete(tx, j.id), keptRecords.Delete(tx, j.id))
		if whole && err == nil {
			err = keptJobs.Delete(tx, j.id)
		}
		return err
	})
}

// eachInput calls fn for the inputs in their order, and ends with its first error.
func (j *job) eachInput(fn func(i int, in json.RawMessage) error) error {
	return keptInputs.Each(j.engine.conf.State, j.id, func(first int, b []byte) error {
		var some []json.RawMessage
		if err := json.Unmarshal(b, &some); err != nil {
			return fmt.Errorf("reading the inputs from %d: %w", first, err)
		}
		for i, in := range some {
			if err := fn(first+i, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachLine calls fn for the line of each input that has one, in the inputs' order.
// Records beyond those that the whole job may have are left out.
func (j *job) eachLine(fn func(line) error) error {
	left := j.shape.total
	return keptRecords.Each(j.engine.conf.State, j.id, func(i int, b []byte) error {
		l := line{I: i}
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("reading the records of input %d: %w", i, err)
		}
		if j.shape.total > 0 {
			l.Records = l.Records[:min(len(l.Records), left)]
			left -= len(l.Records)
		}
		return fn(l)
	})
}

// Inputs reads the inputs of a job. Errors: [ErrNoSnapshot], [ErrNoInput] when they
// are gone, or the disk's.
func (e *Engine) Inputs(id string) ([]json.RawMessage, error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	err = j.eachInput(func(_ int, in json.RawMessage) error {
		all = append(all, in)
		return nil
	})
	if err == nil && len(all) < j.snapshot().Inputs {
		err = ErrNoInput
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
