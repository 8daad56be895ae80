package drift

import (
	"context"
	"database/sql"
	"math"
	"strconv"

	"zonedeck/service/database"
)

// heldFields is how many fields of a page have runs kept for them beyond the newest ones: the fields that were asked for
// last.
const heldFields = 50

// ranked gives each run its place, the smaller the more it is needed: 0 for the newest of its collector, ?3 for one that no
// later run is held against. That is done with the good ones, the last and the first since the newest acceptance. Of pages
// that is counted for each required field among the runs that asked for it, where one that drifts in others is good, too; and the
// newest run that asked for it is held against the one before it for since when it drifts.
func ranked(of string) string {
	return `WITH known AS MATERIALIZED (SELECT runs.seq, profile, kind, name, form, useful, state, at, asked, findings, length(fields) + length(findings) + length(asked) AS size, runs.seq IS run_seq OR state IN ('ok', 'first', 'few') AS good, run_seq IS NULL OR (at, runs.seq) >= (run_at, run_seq) AS since
			FROM runs LEFT JOIN (SELECT profile, kind, name, run_at, run_seq, max(seq) FROM accepted GROUP BY profile, kind, name) USING (profile, kind, name) ` + of + `),
		alarmed AS MATERIALIZED (SELECT known.seq, json_extract(finding.value, '$.field') AS field FROM known, json_each(known.findings) AS finding
			WHERE form = 'page' AND NOT good AND json_extract(finding.value, '$.word') NOT IN ('new', 'too few rows')),
		pages AS MATERIALIZED (SELECT known.seq, profile, kind, name, form, useful, at, since, asked.value AS field, good OR state = 'drift' AND (known.seq, asked.value) NOT IN (SELECT seq, field FROM alarmed) AS good
			FROM known, json_each(known.asked) AS asked WHERE form = 'page' AND useful > 0),
		lately AS (SELECT profile, kind, name, field, row_number() OVER (PARTITION BY profile, kind, name ORDER BY max(at) DESC, max(seq) DESC, field) AS n FROM pages GROUP BY profile, kind, name, field),
		asking AS MATERIALIZED (SELECT pages.* FROM pages JOIN lately USING (profile, kind, name, field) WHERE n <= ` + strconv.Itoa(heldFields) + `),
		held AS (SELECT seq, profile, kind, name, form, useful, at, since, '' AS field FROM known WHERE good AND form <> 'page'
			UNION ALL SELECT seq, profile, kind, name, form, useful, at, since, field FROM asking WHERE good),
		placed AS (SELECT seq,
			CASE
			WHEN row_number() OVER last <= ?1 OR sum(useful) OVER last - useful < ?2 THEN row_number() OVER last
			WHEN since AND (row_number() OVER first <= ?1 OR sum(useful) OVER first - useful < ?2) THEN row_number() OVER first
			ELSE ?3 END AS place
		FROM held WINDOW last AS (PARTITION BY profile, kind, name, form, field ORDER BY at DESC, seq DESC ROWS UNBOUNDED PRECEDING),
			first AS (PARTITION BY profile, kind, name, form, field, since ORDER BY at, seq ROWS UNBOUNDED PRECEDING)
		UNION ALL SELECT seq, iif(row_number() OVER (PARTITION BY profile, kind, name, field ORDER BY at DESC, seq DESC) <= 2, 1, ?3) FROM asking),
		ranked AS (SELECT seq, at, size,
			CASE row_number() OVER (PARTITION BY profile, kind, name ORDER BY at DESC, seq DESC) WHEN 1 THEN 0 ELSE ifnull(best, ?3) END AS place
		FROM known LEFT JOIN (SELECT seq, min(place) AS best FROM placed GROUP BY seq) USING (seq)) `
}

// prune forgets what is too much. The newest run of a collector and those that later ones are compared with stay whatever their
// age and number, so that drift does not become normal by lasting. The bound on the size of all takes the others first,
// and of these the oldest of each collector: one with many runs does not take the few of another. It takes an eighth at once, because
// that is a look at all runs.
func (s *Store) prune(ctx context.Context, tx *sql.Tx, c Subject) error {
	const last = math.MaxInt32
	var size int64
	if err := tx.QueryRowContext(ctx, "SELECT sum(length(fields) + length(findings) + length(asked)) FROM runs").Scan(&size); err != nil {
		return err
	}
	for _, q := range []struct {
		query string
		args  []any
	}{
		{
			ranked("WHERE (profile, kind, name) IN (SELECT profile, kind, name FROM runs WHERE at < ?4)") + "DELETE FROM runs WHERE at < ?4 AND seq IN (SELECT seq FROM ranked WHERE place = ?3)",
			[]any{goodRuns, goodRows, last, database.Micros(s.now().Add(-s.keep.Age))},
		},
		{
			ranked("WHERE profile=?4 AND kind=?5 AND name=?6 AND (SELECT count(*) FROM runs WHERE profile=?4 AND kind=?5 AND name=?6) > ?7") + `DELETE FROM runs WHERE seq IN (SELECT seq FROM ranked WHERE place = ?3)
			AND seq NOT IN (SELECT seq FROM runs WHERE profile=?4 AND kind=?5 AND name=?6 ORDER BY at DESC, seq DESC LIMIT ?7)`,
			[]any{goodRuns, goodRows, last, c.Profile, c.Kind, c.Name, s.keep.Runs},
		},
		{
			ranked("WHERE ?5 > ?4") + `DELETE FROM runs WHERE seq IN (SELECT seq FROM (SELECT seq, sum(size) OVER (ORDER BY place, at DESC, seq DESC) AS total FROM ranked) WHERE total > ?4 * 7 / 8)`,
			[]any{goodRuns, goodRows, last, s.keep.Bytes, size},
		},
		{
			`DELETE FROM accepted WHERE profile=? AND kind=? AND name=? AND seq NOT IN (SELECT seq FROM accepted WHERE profile=? AND kind=? AND name=? ORDER BY seq DESC LIMIT ?)`,
			[]any{c.Profile, c.Kind, c.Name, c.Profile, c.Kind, c.Name, s.keep.Accepted},
		},
	} {
		if _, err := tx.ExecContext(ctx, q.query, q.args...); err != nil {
			return err
		}
	}
	return nil
}
