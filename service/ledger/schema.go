package ledger

// oldestSchema is database.Options.Oldest: the schema that the first migration makes.
const oldestSchema = 4

// migrations are database.Options.Migrations. All statements of this package also
// work on PostgreSQL: they use numbered parameters, no type or clause that only
// SQLite has, and numbers that the ledger gives out itself. Counts of a service
// are BIGINT, because PostgreSQL's INTEGER has 32 bits; for SQLite the two are
// the same. A job's number is an INTEGER, which SQLite keeps without an index
// (see maxNumber). Bytes are BYTEA: PostgreSQL has no BLOB, and SQLite accepts
// any type name.
var migrations = [...]string{
	`
CREATE TABLE jobs (
	n        INTEGER PRIMARY KEY,
	snapshot TEXT NOT NULL,
	profile  TEXT NOT NULL,
	dataset  TEXT NOT NULL,
	key      TEXT NOT NULL,
	state    TEXT NOT NULL,
	wire     TEXT NOT NULL,
	status   INTEGER NOT NULL,
	detail   TEXT NOT NULL,
	fault    TEXT NOT NULL,
	inputs   BIGINT NOT NULL,
	digest   TEXT NOT NULL,
	done     BIGINT NOT NULL,
	records  BIGINT NOT NULL,
	bytes    BIGINT NOT NULL,
	file     TEXT NOT NULL,
	created  BIGINT NOT NULL,
	accepted BIGINT NOT NULL,
	updated  BIGINT NOT NULL,
	owner    TEXT NOT NULL,
	sha256   TEXT NOT NULL DEFAULT '',
	account  TEXT NOT NULL DEFAULT '', -- of its rows
	repeats  TEXT NOT NULL DEFAULT '',
	hook     TEXT NOT NULL DEFAULT '', -- the webhook that it waits for
	hook_due BIGINT NOT NULL DEFAULT 0,
	asked    TEXT NOT NULL DEFAULT ''  -- what bounds its records, so that an estimate reads no inputs
);
CREATE INDEX jobs_snapshot ON jobs (snapshot);
CREATE INDEX jobs_state    ON jobs (state);
CREATE INDEX jobs_digest   ON jobs (digest, created);

CREATE TABLE job_steps (
	job   INTEGER NOT NULL REFERENCES jobs (n),
	seq   INTEGER NOT NULL,
	at    BIGINT NOT NULL,
	state TEXT NOT NULL,
	text  TEXT NOT NULL,
	PRIMARY KEY (job, seq)
);

CREATE TABLE marks (
	number INTEGER NOT NULL,
	logged BIGINT NOT NULL
);
INSERT INTO marks (number, logged) VALUES (0, 0);

CREATE INDEX jobs_hook ON jobs (hook);

CREATE TABLE job_requests (
	job     INTEGER PRIMARY KEY REFERENCES jobs (n),
	request BYTEA NOT NULL
);
`,
	// The checksums of each job that ever got a number. A mark of migrated says that the jobs have none yet.
	`
CREATE TABLE job_sums (
	job     INTEGER PRIMARY KEY,
	job_row BIGINT NOT NULL,
	steps   BIGINT NOT NULL
);
UPDATE marks SET logged = -2;
`,
	// What the service called job_id and snapshot_id.
	`
ALTER TABLE jobs ADD COLUMN job_id TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN snapshot_id TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_job_id ON jobs (job_id);
CREATE INDEX jobs_snapshot_id ON jobs (snapshot_id);
`,
}
