package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"zonedeck/service/emulator/state"
)

// A job is kept as its state, its inputs (several to a line), and a line for each input
// that is done.
const (
	keptJobs      = state.Table[meta]("jobs")
	keptInputs    = state.Lines("inputs")
	keptRecords   = state.Lines("records")
	inputsPerLine = 256
)

// load reads the jobs. It leaves out a job that cannot be read, with a note.
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

// create writes a new job in one transaction.
func (e *Engine) create(j *job, inputs []json.RawMessage, done *line) error {
	return e.conf.State.Update(func(tx *state.Tx) error {
		if err := keptJobs.Put(tx, j.id, j.meta); err != nil {
			return err
		}
		n := 0
		for chunk := range slices.Chunk(inputs, inputsPerLine) {
			b, err := encodeValue(chunk)
			if err == nil {
				err = keptInputs.Put(tx, j.id, n, b)
			}
			if err != nil {
				return err
			}
			n += len(chunk)
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

// drop deletes a job, or only its inputs and records. If a power cut undoes it, the next
// sweep repeats it.
func (j *job) drop(withState bool) error {
	return j.engine.conf.State.Soon(func(tx *state.Tx) error {
		err := errors.Join(keptInputs.Delete(tx, j.id), keptRecords.Delete(tx, j.id))
		if withState && err == nil {
			err = keptJobs.Delete(tx, j.id)
		}
		return err
	})
}

// eachInput calls fn for the inputs in their order, and ends with its first error.
func (j *job) eachInput(fn func(i int, in json.RawMessage) error) error {
	return keptInputs.Each(j.engine.conf.State, j.id, func(first int, b []byte) error {
		var chunk []json.RawMessage
		if err := json.Unmarshal(b, &chunk); err != nil {
			return fmt.Errorf("reading the inputs from %d: %w", first, err)
		}
		for i, in := range chunk {
			if err := fn(first+i, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachLine calls fn for the line of each input that has one, in the order of the inputs.
// It leaves out records beyond the limit of the job.
func (j *job) eachLine(fn func(line) error) error {
	left := j.spec.LimitTotal
	return keptRecords.Each(j.engine.conf.State, j.id, func(i int, b []byte) error {
		l := line{I: i}
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("reading the records of input %d: %w", i, err)
		}
		if j.spec.LimitTotal > 0 {
			l.Records = l.Records[:min(len(l.Records), left)]
			left -= len(l.Records)
		}
		return fn(l)
	})
}

// Inputs reads the inputs of a job. Errors: [ErrNoSnapshot], [ErrNoInput] when they
// were removed, or the disk's.
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
