package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxKept and MaxKeptBytes bound the records of a snapshot that [Engine.Keep] makes.
const (
	MaxKept      = maxInputRecords
	MaxKeptBytes = maxInputBytes
)

// ErrTooLarge refuses records that are too many, or too long, for one snapshot.
var ErrTooLarge = errors.New("the records are too many for one snapshot")

// Select calls fn for each record of a dataset that jobs here have collected, once, the
// newest job first, until fn wants no more. It leaves out expired snapshots, and jobs that
// kept only some fields.
func (e *Engine) Select(ctx context.Context, dataset string, fn func(json.RawMessage) (more bool)) error {
	seen := map[[sha256.Size]byte]bool{}
	for _, s := range e.List() {
		if s.Dataset != dataset || s.Status != Ready || s.Kept || e.conf.Now().Sub(s.Created) > Retention {
			continue
		}
		j, err := e.job(s.ID)
		if err != nil || len(j.spec.Fields) > 0 {
			continue // removed meanwhile, or without some fields
		}
		err = j.eachLine(func(l line) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, r := range l.Records {
				sum := sha256.Sum256(r)
				if seen[sum] {
					continue
				}
				seen[sum] = true
				if !fn(r) {
					return errEnough
				}
			}
			return nil
		})
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return fmt.Errorf("reading the records of %s: %w", s.ID, err)
		}
	}
	return nil
}

// Keep makes a snapshot of collected records, as the result of the one input of the spec. Errors: [ErrTooMany], [ErrTooLarge], or the disk's.
func (e *Engine) Keep(spec Spec, records []json.RawMessage) (Snapshot, error) {
	size := 0
	for _, r := range records {
		size += len(r) + 1
	}
	if len(records) > MaxKept || size > MaxKeptBytes {
		return Snapshot{}, ErrTooLarge
	}
	return e.add(newID(keptPrefix), spec, &line{Records: records})
}
