package journal

// migrations are database.Options.Migrations.
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
	`
CREATE TABLE twins (
	id   TEXT PRIMARY KEY,
	at   INTEGER NOT NULL,
	twin TEXT NOT NULL
) STRICT;
CREATE INDEX twins_at ON twins (at);
`,
}
