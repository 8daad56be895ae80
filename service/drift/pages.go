package drift

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// Pages are what the pages of a batch show of the fields that it required: one run, as the rows of a job's result are.
// Take each result, then Keep.
type Pages struct {
	Profile string
	Batch   string // its identifier
	Source  string // the name of its input, by which pages of several hosts are known
	At      time.Time
	run     Run
	filled  map[string]int
	name    string // of the target of the pages until now
	mixed   bool   // they are of several hosts
}

// Take takes a result: looked says whether the page came and was looked at, and missing which of the required fields it
// did not have.
func (p *Pages) Take(address string, looked bool, missing []string, class model.Class, cause model.Cause) {
	if p.run.Returned++; !looked {
		p.run.Class, p.run.Cause = class, cause
		return
	}
	p.run.Useful++
	if p.filled == nil {
		p.filled = map[string]int{}
	}
	for _, path := range missing {
		p.filled[path]--
	}
	switch name := targetName(address); {
	case p.run.Useful == 1:
		p.name = name
	case !p.mixed && name != p.name:
		p.name, p.mixed = common(p.name, name)
	}
}

// common is the name of two targets of a host: segments that differ are "*".
func common(a, b string) (name string, mixed bool) {
	one, other := strings.Split(a, "/"), strings.Split(b, "/")
	switch {
	case one[0] != other[0]:
		return "", true
	case len(one) != len(other):
		return one[0] + "/*", false
	}
	for i := range one {
		if one[i] != other[i] {
			one[i] = "*"
		}
	}
	return strings.Join(one, "/"), false
}

// Pages stores the run of a batch's pages; an earlier one of it goes. said is a line for the history, empty without drift.
func (m *Monitor) Pages(ctx context.Context, p *Pages, required []string) (said string, err error) {
	if p.run.Returned == 0 || len(required) == 0 {
		return "", nil
	}
	r := p.run
	r.Subject, r.Ref, r.At, r.Form = Subject{p.Profile, Target, p.name}, p.Batch, p.At, FormJSON
	if p.mixed || p.name == "" {
		r.Name = p.Source
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(required))) {
		path = model.Cut(path, maxPath)
		r.Fields = append(r.Fields, Field{Path: path, Present: r.Useful, Filled: r.Useful + p.filled[path]})
	}
	v, err := m.put(ctx, r)
	if err == nil {
		err = m.forgetOthers(ctx, r)
	}
	return v.drift().In(r.Name), err
}

// forgetOthers forgets runs of the same batch under other names: further pages gave it another one.
func (m *Monitor) forgetOthers(ctx context.Context, r Run) error {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return err
	}
	return store.db.Write(ctx, "forgetting earlier runs of "+model.Line(r.Ref, 80), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE profile=? AND kind=? AND ref=? AND name<>?", r.Profile, r.Kind, r.Ref, r.Name)
		return err
	})
}
