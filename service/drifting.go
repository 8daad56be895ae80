package service

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
	"zonedeck/service/drift"
	"zonedeck/service/rows"
)

// ErrNoDrift says that the program does not record drift.
var ErrNoDrift = errors.New("drift is not recorded in this run")

// Drift watches the collectors of the profile in use. Its methods are drift.Monitor's.
type Drift struct {
	monitor *drift.Monitor
	profile string // its name
	jobs    func(ctx context.Context, limit int) ([]model.Job, int, error)
}

// silentJobs is how many jobs List searches for silent collectors.
const silentJobs = 2000

// subject names a collector of the profile in use.
func (d Drift) subject(kind drift.Kind, name string) (drift.Subject, error) {
	if d.monitor == nil {
		return drift.Subject{}, ErrNoDrift
	}
	return drift.Subject{Profile: d.profile, Kind: kind, Name: name}, nil
}

// Named finds the collector for a name or an address.
func (d Drift) Named(ctx context.Context, name string) (drift.Subject, error) {
	of, err := d.subject("", "")
	if err != nil {
		return drift.Subject{}, err
	}
	return d.monitor.Named(ctx, of.Profile, name)
}

// List returns how the collectors stand.
func (d Drift) List(ctx context.Context) ([]drift.Standing, error) {
	of, err := d.subject("", "")
	if err != nil {
		return nil, err
	}
	list, _, err := d.jobs(ctx, silentJobs)
	if err != nil {
		return nil, err
	}
	return d.monitor.List(ctx, of.Profile, list)
}

// Show returns the detail of a collector.
func (d Drift) Show(ctx context.Context, kind drift.Kind, name string) (drift.Detail, error) {
	of, err := d.subject(kind, name)
	if err != nil {
		return drift.Detail{}, err
	}
	return d.monitor.Show(ctx, of)
}

// Accept records that what a collector gives now is normal; seq is its newest run, 0 for any. It returns how the
// collector then stands.
func (d Drift) Accept(ctx context.Context, kind drift.Kind, name string, seq int64, reason string) (drift.Standing, error) {
	of, err := d.subject(kind, name)
	if err != nil {
		return drift.Standing{}, err
	}
	return d.monitor.Accept(ctx, of, seq, reason)
}

// TakeBack takes back the newest acceptance of a collector.
func (d Drift) TakeBack(ctx context.Context, kind drift.Kind, name string) error {
	of, err := d.subject(kind, name)
	if err != nil {
		return err
	}
	return d.monitor.TakeBack(ctx, of)
}

// ToEdit names the file of a collector's contract, which need not exist, or the file that must be fixed first.
func (d Drift) ToEdit(kind drift.Kind, name string) (string, error) {
	file, err := d.ContractFile(kind, name)
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

// Contract finds the contract of a collector, nil if there is none.
func (d Drift) Contract(kind drift.Kind, name string) (*drift.Contract, error) {
	if d.monitor == nil {
		return nil, ErrNoDrift
	}
	return d.monitor.Contract(kind, name)
}

// Contracts returns the valid contracts. The error is about the others.
func (d Drift) Contracts() ([]drift.Contract, error) {
	if d.monitor == nil {
		return nil, ErrNoDrift
	}
	return d.monitor.Contracts()
}

// ContractFile names the file of a collector's contract, which need not exist.
func (d Drift) ContractFile(kind drift.Kind, name string) (string, error) {
	if d.monitor == nil {
		return "", ErrNoDrift
	}
	return d.monitor.ContractFile(kind, name)
}

// Compare judges a run that is not stored by those of its collector.
func (d Drift) Compare(ctx context.Context, r drift.Run, c *drift.Contract) (drift.Verdict, error) {
	of, err := d.subject(r.Kind, r.Name)
	if err != nil {
		return drift.Verdict{}, err
	}
	r.Subject = of
	return d.monitor.Compare(ctx, r, c)
}

// UnusedContracts returns the contracts for no collector of the list: their names may be misspelt.
func (d Drift) UnusedContracts(list []drift.Standing) ([]drift.Contract, error) {
	all, err := d.Contracts()
	return slices.DeleteFunc(all, func(c drift.Contract) bool {
		return slices.ContainsFunc(list, func(s drift.Standing) bool { return c.Is(s.Run.Kind, s.Run.Name) })
	}), err
}

// DriftFile is a file with a result of a data set.
type DriftFile struct {
	io.Reader
	Name, Format string // Format is empty if the ending of Name or the content decides
	Dataset      string
	Contract     *drift.Contract // nil for the data set's own
	At           time.Time
}

// UnreadableError says why a file is not a result.
type UnreadableError struct{ err error }

func (e *UnreadableError) Error() string { return e.err.Error() }

// CheckFile compares a result with its contract and with the runs of its data set. Nothing is stored.
func (d Drift) CheckFile(ctx context.Context, f DriftFile) (r drift.Run, v drift.Verdict, err error) {
	if f.Contract == nil {
		if f.Contract, err = d.Contract(drift.Dataset, f.Dataset); err != nil {
			return r, v, err
		}
	}
	if f.Format == "" {
		f.Format = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.Name), "."))
	}
	p := drift.NewProfiler(f.Contract)
	err = rows.EachRow(f, f.Format, func(r rows.Row) error {
		p.Row(r)
		return ctx.Err()
	})
	if err != nil {
		return r, v, &UnreadableError{fmt.Errorf("%s cannot be read as a result: %w", f.Name, err)}
	}
	r = p.Run(drift.Subject{Kind: drift.Dataset, Name: f.Dataset}, filepath.Base(f.Name), f.At)
	v, err = d.Compare(ctx, r, f.Contract)
	return r, v, err
}
