package journal

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations bring a file from version i to i+1; user_version is how many were
// applied. One that was released is never edited: a change is a new one.
var migrations = [...]string{
	`
CREATE TABLE activity (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	at      INTEGER NOT NULL,
	kind    TEXT NOT NULL,
	profile TEXT NOT NULL,
	zone    TEXT NOT NULL,
	url     TEXT NOT NULL,
	via     TEXT NOT NULL,
	key     TEXT NOT NULL,
	class   TEXT NOT NULL,
	cause   TEXT NOT NULL,
	status  INTEGER NOT NULL,
	bytes   INTEGER NOT NULL,
	total   INTEGER NOT NULL,
	ref     TEXT NOT NULL,
	text    TEXT NOT NULL,
	words   TEXT NOT NULL
) STRICT;
CREATE INDEX activity_kind  ON activity (kind);
CREATE INDEX activity_class ON activity (class);
CREATE INDEX activity_zone  ON activity (zone);
CREATE INDEX activity_key   ON activity (key);

CREATE TABLE fetches (
	id        TEXT PRIMARY KEY,
	at        INTEGER NOT NULL,
	request   TEXT NOT NULL,
	result    TEXT NOT NULL,
	body_file TEXT NOT NULL,
	body_size INTEGER NOT NULL,
	body      BLOB
) STRICT;
CREATE INDEX fetches_at ON fetches (at, body_size);

CREATE TABLE jobs (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	snapshot TEXT NOT NULL,
	profile  TEXT NOT NULL,
	dataset  TEXT NOT NULL,
	key      TEXT NOT NULL,
	state    TEXT NOT NULL,
	wire     TEXT NOT NULL,
	status   INTEGER NOT NULL,
	detail   TEXT NOT NULL,
	inputs   INTEGER NOT NULL,
	digest   TEXT NOT NULL,
	done     INTEGER NOT NULL,
	records  INTEGER NOT NULL,
	bytes    INTEGER NOT NULL,
	file     TEXT NOT NULL,
	created  INTEGER NOT NULL,
	accepted INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	owner    TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_snapshot ON jobs (snapshot);
CREATE INDEX jobs_state    ON jobs (state);
CREATE INDEX jobs_digest   ON jobs (digest, created);

CREATE TABLE job_steps (
	id    INTEGER PRIMARY KEY,
	job   INTEGER NOT NULL REFERENCES jobs (n),
	at    INTEGER NOT NULL,
	state TEXT NOT NULL,
	text  TEXT NOT NULL
) STRICT;
CREATE INDEX job_steps_job ON job_steps (job);

CREATE TABLE key_events (
	id      INTEGER PRIMARY KEY,
	at      INTEGER NOT NULL,
	profile TEXT NOT NULL,
	key     TEXT NOT NULL,
	event   TEXT NOT NULL,
	text    TEXT NOT NULL
) STRICT;
CREATE INDEX key_events_key ON key_events (key);
`,
}

// migrate brings the file up to date. have is the version that was read before;
// it is read again inside the transaction, because another process may have
// been quicker.
func (j *Journal) migrate(ctx context.Context, have int) error {
	if have > len(migrations) {
		return fmt.Errorf("%w: it has schema %d, this program knows up to %d", ErrTooNew, have, len(migrations))
	}
	if have == len(migrations) {
		return nil
	}
	return j.write(ctx, full, "making the journal's tables", func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		for ; have < len(migrations); have++ {
			if _, err := tx.ExecContext(ctx, migrations[have]); err != nil {
				return fmt.Errorf("schema %d: %w", have+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", len(migrations)))
		return err
	})
}
