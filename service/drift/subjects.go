package drift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rows"
)

// Subjects are those of the profile in use.
type Subjects struct {
	*Monitor
	Profile string // its name
	Jobs    Jobs
}

// Jobs lists the newest jobs of all profiles, and keeps what drifts in the result of one.
type Jobs interface {
	Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error)
	SetDrift(ctx context.Context, id string, d model.JobDrift) error
}

// jobsSearched is how many jobs List searches for silent collectors.
const jobsSearched = 2000

// Named finds the collector for a name or an address.
func (c Subjects) Named(ctx context.Context, name string) (Subject, error) {
	return c.Monitor.Named(ctx, c.Profile, name)
}

// List returns how the collectors stand.
func (c Subjects) List(ctx context.Context) ([]Standing, error) {
	list, _, err := c.Jobs.Jobs(ctx, jobsSearched)
	if err != nil {
		return nil, err
	}
	return c.Standings(ctx, c.Profile, list)
}

// Show returns the detail of a collector as of a run; see Monitor.ShowRun.
func (c Subjects) Show(ctx context.Context, kind Kind, name, ref string) (Detail, error) {
	return c.ShowRun(ctx, Subject{c.Profile, kind, name}, ref)
}

// Accept records that what a collector gives now is normal; seq is its newest run, 0 for any. It returns how the
// collector then stands.
func (c Subjects) Accept(ctx context.Context, kind Kind, name string, seq int64, reason string) (Standing, error) {
	s, err := c.Monitor.Accept(ctx, Subject{c.Profile, kind, name}, seq, reason)
	if err != nil {
		return s, err
	}
	return s, c.note(ctx, s)
}

// TakeBack takes back the newest acceptance of a collector.
func (c Subjects) TakeBack(ctx context.Context, kind Kind, name string) error {
	of := Subject{c.Profile, kind, name}
	if err := c.Monitor.TakeBack(ctx, of); err != nil {
		return err
	}
	d, err := c.Monitor.Show(ctx, of)
	if err != nil {
		return err
	}
	return c.note(ctx, d.Standing)
}

// note has the job of a data set's newest run say how it stands.
func (c Subjects) note(ctx context.Context, s Standing) error {
	if s.Run.Kind != Dataset {
		return nil
	}
	return c.Jobs.SetDrift(context.WithoutCancel(ctx), s.Run.Ref, s.Verdict.drift())
}

// ToEdit names the file of a collector's contract, which need not exist, or the file that must be fixed first.
func (c Subjects) ToEdit(kind Kind, name string) (string, error) {
	file, err := c.ContractFile(kind, name)
	var fault *textfile.Error
	switch {
	case errors.As(err, &fault):
		if filepath.Ext(fault.File) != ".toml" { // the folder itself cannot be read: there is no file to mend
			return "", err
		}
		return fault.File, nil
	case err != nil:
		return "", err
	}
	return file, os.MkdirAll(filepath.Dir(file), 0o700) // the editor makes the file
}

// UnusedContracts returns the contracts for no collector of the list: their names may be misspelt.
func (c Subjects) UnusedContracts(list []Standing) ([]Contract, error) {
	all, err := c.Contracts()
	return slices.DeleteFunc(all, func(k Contract) bool {
		return slices.ContainsFunc(list, func(s Standing) bool { return k.Is(s.Run.Kind, s.Run.Name) })
	}), err
}

// File is a file with a result of a data set.
type File struct {
	io.Reader
	Name, Format string // Format is empty if the ending of Name or the content decides
	Dataset      string
	Contract     *Contract // nil for the data set's own
	At           time.Time
}

// UnreadableError says why a file is not a result.
type UnreadableError struct{ err error }

func (e *UnreadableError) Error() string { return e.err.Error() }

// CheckFile compares a result with its contract and with the runs of its data set. Nothing is stored.
func (c Subjects) CheckFile(ctx context.Context, f File) (r Run, v Verdict, err error) {
	if f.Contract == nil {
		if f.Contract, err = c.Contract(Dataset, f.Dataset); err != nil {
			return r, v, err
		}
	}
	if f.Format == "" {
		f.Format = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.Name), "."))
	}
	p := NewProfiler(f.Contract)
	err = rows.EachRow(f, f.Format, func(r rows.Row) error {
		p.Row(r)
		return ctx.Err()
	})
	if err != nil {
		return r, v, &UnreadableError{fmt.Errorf("%s cannot be read as a result: %w", f.Name, err)}
	}
	r = p.Run(Subject{c.Profile, Dataset, f.Dataset}, filepath.Base(f.Name), f.At)
	v, err = c.Compare(ctx, r, f.Contract)
	return r, v, err
}
