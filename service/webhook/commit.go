package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// maxGroup bounds how many webhooks one transaction takes.
const maxGroup = 256

// arrival waits for its place in the inbox.
type arrival struct {
	row      row
	identity string
	done     chan placed
}

// placed is the outcome of an arrival.
type placed struct {
	id        string
	duplicate bool
	keep      bool // its body is the webhook's, or may be
	err       error
}

// commit writes arrivals in groups until ctx ends. A group is one transaction, on disk before its arrivals
// are answered.
func (in *Inbox) commit(ctx context.Context, arrivals <-chan *arrival) {
	for {
		var group []*arrival
		select {
		case a := <-arrivals:
			group = append(group, a)
		case <-ctx.Done():
			return
		}
		for more := true; more && len(group) < maxGroup; {
			select {
			case a := <-arrivals:
				group = append(group, a)
			default:
				more = false
			}
		}
		in.commitGroup(ctx, group)
	}
}

func (in *Inbox) commitGroup(ctx context.Context, group []*arrival) {
	out := make([]placed, len(group))
	complete := false
	err := in.write(context.WithoutCancel(ctx), "writing to the inbox", func(ctx context.Context, tx *sql.Tx) error {
		for i, a := range group {
			var err error
			if out[i], err = put(ctx, tx, a); err != nil {
				return err
			}
		}
		complete = true
		return nil
	})
	// A server that is gone may have committed: then the sender's repeat is a duplicate. sweepBodies takes a body that has no row.
	unsure := complete && errors.Is(err, database.ErrGone)
	for i, a := range group {
		if err != nil {
			out[i] = placed{err: err, keep: unsure}
		}
		a.done <- out[i]
	}
}

// put adds an arrival, or counts it as a repeat of a stored webhook. A verified arrival replaces an
// unverified webhook: otherwise anyone who knows the bytes could keep the real webhook from being
// verified. Nothing replaces a verified one.
func put(ctx context.Context, tx *sql.Tx, a *arrival) (placed, error) {
	var n int64
	var first row // the stored webhook, only the fields used here
	var checks, repeats string
	err := tx.QueryRowContext(ctx, "SELECT n, at, remote, file, early, repeats FROM deliveries WHERE identity = $1", a.identity).
		Scan(&n, database.Time(&first.At), &first.Remote, &first.File, &checks, &repeats)
	first.checks, first.Repeats = listOf[check](checks), listOf[model.WebhookRepeat](repeats)
	r, keep := a.row, false
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if err := tx.QueryRowContext(ctx, "UPDATE inbox_marks SET number = number + 1 RETURNING number").Scan(&n); err != nil {
			return placed{}, err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO deliveries ("+columns+`, identity)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, '', $23)`,
			n, database.Micros(r.At), database.Micros(r.At), 1, r.Target, r.Remote, text(r.Headers), r.Size, r.SHA256, r.File,
			r.SenderID, string(model.WebhookPending), "", "", "", "", "", 0, 0, r.token, database.Micros(r.wall), text(r.checks), a.identity)
		return placed{id: model.WebhookID(n), keep: true}, err
	case err != nil:
		return placed{}, err
	case !verified(r.checks) || verified(first.checks):
		_, err = tx.ExecContext(ctx, "UPDATE deliveries SET seen = seen + 1, last = $1, repeats = $2 WHERE n = $3",
			database.Micros(r.At), text(withRepeat(first.Repeats, r)), n)
	default:
		// The machine that has its body works on it.
		if keep = path.Dir(first.File) != path.Dir(r.File); !keep {
			r.File = first.File
		}
		_, err = tx.ExecContext(ctx, `UPDATE deliveries SET seen = seen + 1, last = $1, wall = $2, remote = $3, headers = $4, early = $5, repeats = $6,
			file = $7, verdict = 'pending', passed = '', why = '', worked = 0 WHERE n = $8`,
			database.Micros(r.At), database.Micros(r.wall), r.Remote, text(r.Headers), text(r.checks), text(withRepeat(first.Repeats, first)), r.File, n)
	}
	return placed{id: model.WebhookID(n), duplicate: true, keep: keep}, err
}

func verified(checks []check) bool {
	v, _, _ := verdictOf(checks)
	return v == model.WebhookVerified
}

// maxRepeats is how many different repeats of a webhook are kept.
const maxRepeats = 20

// withRepeat adds r to the front of a list of repeats, and merges it with an equal one.
func withRepeat(list []model.WebhookRepeat, r row) []model.WebhookRepeat {
	v, _, why := verdictOf(r.checks)
	add := model.WebhookRepeat{Last: r.At.UTC().Truncate(time.Microsecond), Times: 1, Remote: r.Remote, Verdict: v, Reason: why}
	same := slices.IndexFunc(list, func(h model.WebhookRepeat) bool { return h.Remote == add.Remote && h.Verdict == v && h.Reason == why })
	if same >= 0 {
		add.Times += list[same].Times
		list = slices.Delete(list, same, same+1)
	}
	list = slices.Insert(list, 0, add)
	return list[:min(len(list), maxRepeats)]
}

// listOf reads a list from a column. An unreadable list is empty.
func listOf[T any](text string) (out []T) {
	_ = json.Unmarshal([]byte(text), &out)
	return out
}
