package journal

// oldestSchema is database.Options.Oldest, the schema that the first of migrations makes.
const oldestSchema = 11

// migrations are database.Options.Migrations.
var migrations = [...]string{
	// The triggers keep the index of words up to date whichever process writes. activity_costs has dollars, for the lines
	// whose cost is known; activity_sources has who did it, for the lines of others than the operator. key_sightings has
	// when a key first stood in a list of this machine, key_uses when it was sent, and key_values the same for each value
	// by its fingerprint: another key may get the name of one that is gone. These stay whatever happens to the lines.
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

CREATE TABLE twins (
	id   TEXT PRIMARY KEY,
	at   INTEGER NOT NULL,
	twin TEXT NOT NULL
) STRICT;
CREATE INDEX twins_at ON twins (at);

CREATE VIRTUAL TABLE activity_search USING fts5 (
	words, kind, class, zone, key, profile, content='', contentless_delete=1, prefix='1 2 3'
);
CREATE TRIGGER activity_search_insert AFTER INSERT ON activity BEGIN
	INSERT INTO activity_search (rowid, words, kind, class, zone, key, profile)
	VALUES (new.id, new.words, new.kind, new.class, new.zone, new.key, new.profile);
END;
CREATE TRIGGER activity_search_update AFTER UPDATE OF words ON activity BEGIN
	UPDATE activity_search SET words = new.words, kind = new.kind, class = new.class, zone = new.zone, key = new.key, profile = new.profile
	WHERE rowid = new.id;
END;
CREATE TRIGGER activity_search_delete AFTER DELETE ON activity BEGIN
	DELETE FROM activity_search WHERE rowid = old.id;
END;

CREATE TABLE baselines (
	profile TEXT PRIMARY KEY,
	at      INTEGER NOT NULL,
	matrix  TEXT NOT NULL
) STRICT;

CREATE TABLE activity_costs (
	id   INTEGER PRIMARY KEY,
	cost REAL NOT NULL
) STRICT;

CREATE TABLE activity_sources (
	id     INTEGER PRIMARY KEY,
	source TEXT NOT NULL
) STRICT;

CREATE TABLE key_sightings (
	key     TEXT NOT NULL,
	profile TEXT NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (key, profile)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_uses (
	key     TEXT NOT NULL,
	profile TEXT NOT NULL,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	PRIMARY KEY (key, profile)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_values (
	fingerprint TEXT NOT NULL,
	key         TEXT NOT NULL,
	profile     TEXT NOT NULL,
	seen        INTEGER NOT NULL,
	used        INTEGER NOT NULL,
	PRIMARY KEY (fingerprint, key, profile)
) STRICT, WITHOUT ROWID;
`,
	// A console made the index of times, and the index of words below a mark: those of a file that had an older schema
	// once, and of which no console has come to the end.
	`
CREATE INDEX IF NOT EXISTS activity_at ON activity (at);
CREATE TABLE IF NOT EXISTS activity_unindexed (below INTEGER NOT NULL) STRICT;
INSERT INTO activity_search (rowid, words, kind, class, zone, key, profile)
	SELECT id, words, kind, class, zone, key, profile FROM activity WHERE id < (SELECT below FROM activity_unindexed);
DROP TABLE activity_unindexed;
`,
}
