package webhook

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"zonedeck/service/database"
)

// pruneEvery is how often a receiver cleans up.
const pruneEvery = time.Hour

// Retention says how much an inbox keeps; 0 stands for the default. What is bookmarked, or not
// worked on, is kept whatever it says, and counts.
type Retention struct {
	Count int
	Age   time.Duration
	Bytes int64
}

// DefaultRetention is what an inbox keeps unless the configuration says otherwise.
func DefaultRetention() Retention {
	return Retention{Count: 10_000, Age: 30 * 24 * time.Hour, Bytes: 5 << 30}
}

// Prune removes the oldest deliveries beyond what is kept, with their bodies.
func (in *Inbox) Prune(ctx context.Context, keep Retention) error {
	def := DefaultRetention()
	keep = Retention{cmp.Or(keep.Count, def.Count), cmp.Or(keep.Age, def.Age), cmp.Or(keep.Bytes, def.Bytes)}
	type old struct {
		n    int64
		file string
	}
	var drop []old
	var count int
	var bytes int64
	before := database.Micros(in.now().Add(-keep.Age))
	rows, err := in.rows(ctx, "ORDER BY n DESC", "looking for what the inbox need not keep")
	if err != nil {
		return err
	}
	for _, r := range rows {
		count++
		bytes += r.Size
		if !r.Bookmarked && r.Worked && (count > keep.Count || bytes > keep.Bytes || database.Micros(r.Last) < before) {
			drop = append(drop, old{r.n, r.File})
		}
	}
	if len(drop) == 0 {
		return nil
	}
	err = in.db.Write(ctx, "cleaning up the inbox", func(ctx context.Context, tx *sql.Tx) error {
		for _, d := range drop {
			if _, err := tx.ExecContext(ctx, "DELETE FROM deliveries WHERE n = $1 AND marked = 0", d.n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range drop {
		if err := os.Remove(d.file); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
