package journal

import (
	"context"
	"database/sql"
)

// Keep is how much history a journal keeps. Jobs are kept for good.
type Keep struct {
	Entries     int   // lines of the timeline
	Fetches     int   // fetches that can be opened again
	Comparisons int   // comparisons that can be opened again
	BodyBytes   int64 // of bodies in the file; older fetches keep everything but the body
}

// defaultKeep is generous to a person's use and bounds what a loop of calls can
// fill.
func defaultKeep() Keep {
	return Keep{Entries: 200_000, Fetches: 20_000, Comparisons: 2_000, BodyBytes: 512 << 20}
}

// pruneEvery is after how many lines of the timeline the journal is pruned. The
// count is the file's, not the process's: a thousand short commands prune too.
const pruneEvery = 512

// Prune forgets the oldest history beyond keep. The file does not shrink; its
// room is used again. The journal prunes itself after every 512 entries.
func (j *Journal) Prune(ctx context.Context, keep Keep) error {
	if !j.Keeps() {
		return ErrNoHistory
	}
	return j.db.Write(ctx, "forgetting the oldest history", func(ctx context.Context, tx *sql.Tx) error {
		return prune(ctx, tx, keep)
	})
}

func prune(ctx context.Context, tx *sql.Tx, keep Keep) error {
	for _, s := range []struct {
		query string
		arg   any
	}{
		{"DELETE FROM activity WHERE id <= (SELECT max(id) FROM activity) - ?", keep.Entries},
		{"DELETE FROM activity_costs WHERE id <= (SELECT max(id) FROM activity) - ?", keep.Entries},
		{"DELETE FROM activity_sources WHERE id <= (SELECT max(id) FROM activity) - ?", keep.Entries},
		{"DELETE FROM fetches WHERE at < (SELECT at FROM fetches ORDER BY at DESC LIMIT 1 OFFSET ?)", max(keep.Fetches-1, 0)},
		{"DELETE FROM twins WHERE at < (SELECT at FROM twins ORDER BY at DESC LIMIT 1 OFFSET ?)", max(keep.Comparisons-1, 0)},
		{`UPDATE fetches SET body = NULL WHERE body IS NOT NULL AND at < (
			SELECT max(at) FROM (SELECT at, sum(body_size) OVER (ORDER BY at DESC, id) AS size FROM fetches WHERE body IS NOT NULL)
			WHERE size > ?) + 1`, keep.BodyBytes},
	} {
		if _, err := tx.ExecContext(ctx, s.query, s.arg); err != nil {
			return err
		}
	}
	return nil
}
