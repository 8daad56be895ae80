package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/query"
)

// Named asks the newest webhooks for database.Names.
const Named = "SELECT 'hook-' || n, verdict || ', ' || job FROM deliveries ORDER BY n DESC LIMIT 200"

// How many rows a query reads at once. Headers take up to 64 KiB per row.
const (
	rowsAtOnce = 512
	fullAtOnce = 64
)

// Count is how many webhooks the inbox has.
func (in *Inbox) Count(ctx context.Context) (n int, err error) {
	if err := in.db.QueryRowContext(ctx, "SELECT count(*) FROM deliveries").Scan(&n); err != nil {
		return 0, in.db.Fault("reading the inbox", err)
	}
	return n, nil
}

// Numbers returns the numbers of all matching webhooks, newest first (see model.WebhookID), and how many
// webhooks the inbox has.
func (in *Inbox) Numbers(ctx context.Context, f Filter) (numbers []int64, total int, err error) {
	if total, err = in.Count(ctx); err != nil {
		return nil, 0, err
	}
	clauses, args := whereClause(f, math.MaxInt64)
	if len(f.WithoutSQL().Terms()) > 0 {
		err = in.match(ctx, f, listed, rowsAtOnce, 0, func(rows []row) error {
			for _, r := range rows {
				numbers = append(numbers, r.n)
			}
			return nil
		})
		return numbers, total, err
	}
	err = database.Each(ctx, in.db, "SELECT n FROM deliveries "+clauses+" ORDER BY n DESC", args, func(s database.Scanner) error {
		var n int64
		err := s.Scan(&n)
		numbers = append(numbers, n)
		return err
	})
	if err != nil {
		return nil, 0, in.db.Fault("reading the inbox", err)
	}
	return numbers, total, nil
}

// Rows returns the webhooks with those numbers, newest first, without unknown ones and without headers.
func (in *Inbox) Rows(ctx context.Context, numbers []int64) (list []model.Webhook, err error) {
	for some := range slices.Chunk(numbers, rowsAtOnce) {
		those, args := database.In(some)
		var rows []row
		err := in.each(ctx, "SELECT "+listed+" FROM deliveries WHERE n "+those+" ORDER BY n DESC", "reading the inbox", args, func(r row) error {
			rows = append(rows, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, r := range in.withStates(ctx, rows) {
			list = append(list, r.Webhook)
		}
	}
	return list, nil
}

// List returns the newest matching webhooks, newest first, without headers, and how many webhooks the
// inbox has. limit 0 means all. Get returns the headers.
func (in *Inbox) List(ctx context.Context, f Filter, limit int) (list []model.Webhook, total int, err error) {
	if total, err = in.Count(ctx); err != nil {
		return nil, 0, err
	}
	err = in.match(ctx, f, listed, rowsAtOnce, limit, func(rows []row) error {
		for _, r := range in.withStates(ctx, rows) {
			list = append(list, r.Webhook)
		}
		return nil
	})
	return list, total, err
}

// Each calls take for the newest matching webhooks, newest first, with headers, until take returns an
// error. limit 0 means all.
func (in *Inbox) Each(ctx context.Context, f Filter, limit int, take func(model.Webhook) error) error {
	return in.match(ctx, f, columns, fullAtOnce, limit, func(rows []row) error {
		for _, r := range in.withStates(ctx, rows) {
			if err := take(r.Webhook); err != nil {
				return err
			}
		}
		return nil
	})
}

// match calls take for the newest matching rows, up to atOnce at a time.
func (in *Inbox) match(ctx context.Context, f Filter, columns string, atOnce, limit int, take func([]row) error) error {
	if limit <= 0 {
		limit = math.MaxInt
	}
	for before := int64(math.MaxInt64); limit > 0; {
		clauses, args := whereClause(f, before)
		var some []row
		query := fmt.Sprintf("SELECT %s FROM deliveries %s ORDER BY n DESC LIMIT $%d", columns, clauses, len(args)+1)
		err := in.each(ctx, query, "reading the inbox", append(args, atOnce), func(r row) error {
			some = append(some, r)
			return nil
		})
		if err != nil || len(some) == 0 {
			return err
		}
		before = some[len(some)-1].n
		if some, err = in.matching(ctx, some, f); err != nil {
			return err
		}
		some = some[:min(len(some), limit)]
		if err := take(some); err != nil {
			return err
		}
		limit -= len(some)
	}
	return nil
}

// whereClause returns the conditions of a filter that SQL can express, for rows with numbers below before.
func whereClause(f Filter, before int64) (clauses string, args []any) {
	clauses, args = "WHERE n < $1", []any{before}
	for _, t := range f.Terms() {
		condition, values, ok := f.SQL(t)
		switch {
		case !ok:
			continue
		case t.Name == "job" && t.Op != query.Has && t.Value == noJob:
			condition, values = "job = ''", nil
			if t.Not {
				condition = "job <> ''"
			}
		case t.Name == "job" && t.Op == query.Has && !t.Not:
			condition = "job <> ''"
		case t.Name == "from" && t.Op == query.Contains: // repeats have addresses, too
			positive := t
			positive.Not = false
			once, _, _ := f.SQL(positive)
			condition = strings.Replace(condition, once, "("+once+" OR "+strings.Replace(once, "remote", "repeats", 1)+")", 1)
			values = append(values, `%"remote":"`+strings.TrimPrefix(values[0].(string), "%")) //nolint:forcetypeassert // a pattern
		}
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		clauses += " AND " + condition
	}
	return clauses, args
}

// matching returns the rows that pass a filter.
func (in *Inbox) matching(ctx context.Context, rows []row, f Filter) ([]row, error) {
	if f = f.WithoutSQL(); len(f.Terms()) == 0 {
		return rows, nil
	}
	jobs, err := in.jobs(ctx, rows)
	if err != nil && slices.ContainsFunc(f.Terms(), func(t query.Term) bool { return t.Name == "dataset" }) { // a search for words does without jobs
		return nil, fmt.Errorf("the data sets of the webhooks' jobs are unknown: %w", err)
	}
	return slices.DeleteFunc(rows, func(r row) bool {
		job := jobs[r.Job]
		c := Candidate{Webhook: r.Webhook, dataset: job.Dataset}
		c.JobState = job.State
		return !f.Match(c)
	}), nil
}

// jobs returns the known jobs of rows.
func (in *Inbox) jobs(ctx context.Context, rows []row) (map[string]model.WebhookJob, error) {
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		if r.Job != "" {
			ids = append(ids, r.Job)
		}
	}
	if len(ids) == 0 || in.ledger == nil {
		return nil, nil
	}
	slices.Sort(ids)
	return in.ledger.WebhookJobs(ctx, slices.Compact(ids))
}

// withStates adds the states of jobs to rows. If the ledger cannot be read, the states stay empty.
func (in *Inbox) withStates(ctx context.Context, rows []row) []row {
	jobs, err := in.jobs(ctx, rows)
	if err != nil {
		return rows
	}
	for i, r := range rows {
		rows[i].JobState = jobs[r.Job].State
	}
	return rows
}
