package journal

import (
	"context"
	"database/sql"
	"time"

	"zonedeck/service/database"
)

// KeyUse is when a key was first seen here (PutKeysSeen, an event EventRecorded, or a use before them), and
// when it was last used with a profile: sent by whatever call (PutKeyUsed), and, of older versions, by fetches,
// jobs, comparisons, tests and events that are uses (EventUsed), as far as the history goes back. Zero is not known.
type KeyUse struct {
	Key, Profile string
	First, Last  time.Time
	// Lasting says that First stays when the history that tells it is pruned.
	Lasting bool
}

// Join is the first sight and the last use of two.
func (u KeyUse) Join(o KeyUse) KeyUse {
	if u.First.IsZero() || !o.First.IsZero() && o.First.Before(u.First) {
		u.First = o.First
	}
	if o.Last.After(u.Last) {
		u.Last = o.Last
	}
	u.Lasting = u.Lasting || o.Lasting
	return u
}

// PutKeysSeen queues when keys stood in a list of this machine. What was seen before stays.
func (j *Journal) PutKeysSeen(ctx context.Context, keys []KeyUse) error {
	return j.put(ctx, entry{bytes: int64(64 * len(keys)), write: func(ctx context.Context, tx *sql.Tx) error {
		for _, k := range keys {
			if _, err := tx.ExecContext(ctx, "INSERT INTO key_sightings (key, profile, at) VALUES (?,?,?) ON CONFLICT DO NOTHING", k.Key, k.Profile, database.Micros(k.First)); err != nil {
				return err
			}
		}
		return nil
	}})
}

// PutKeyUsed queues that a key was sent at a time, with the value of a fingerprint.
func (j *Journal) PutKeyUsed(ctx context.Context, at time.Time, profile, key, fingerprint string) error {
	us := database.Micros(at)
	return j.put(ctx, entry{bytes: 64, write: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO key_uses (key, profile, first, last) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)", key, profile, us, us)
		if err != nil {
			return err
		}
		return putKeyValue(ctx, tx, KeyValue{Fingerprint: fingerprint, KeyUse: KeyUse{Key: key, Profile: profile, First: at, Last: at}})
	}})
}

// KeyValue is a value of a key, by its fingerprint, with when it was first seen and last sent (PutKeyUsed).
type KeyValue struct {
	Fingerprint string
	KeyUse
}

// PutKeyValues queues when values of keys were seen. The earliest sight stays.
func (j *Journal) PutKeyValues(ctx context.Context, values []KeyValue) error {
	return j.put(ctx, entry{bytes: int64(80 * len(values)), write: func(ctx context.Context, tx *sql.Tx) error {
		for _, v := range values {
			if err := putKeyValue(ctx, tx, v); err != nil {
				return err
			}
		}
		return nil
	}})
}

func putKeyValue(ctx context.Context, tx *sql.Tx, v KeyValue) error {
	if v.Fingerprint == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO key_values (fingerprint, key, profile, seen, used) VALUES (?,?,?,?,?)
		ON CONFLICT DO UPDATE SET seen = min(seen, excluded.seen), used = max(used, excluded.used)`,
		v.Fingerprint, v.Key, v.Profile, database.Micros(v.First), database.Micros(v.Last))
	return err
}

// KeyValues are the values of keys that were seen, one for each name and profile.
func (j *Journal) KeyValues(ctx context.Context) ([]KeyValue, error) {
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	var values []KeyValue
	err := database.Each(ctx, j.db, "SELECT fingerprint, key, profile, seen, used FROM key_values ORDER BY seen", nil, func(row database.Scanner) error {
		var v KeyValue
		err := row.Scan(&v.Fingerprint, &v.Key, &v.Profile, database.Time(&v.First), database.Time(&v.Last))
		values = append(values, v)
		return err
	})
	if err != nil {
		return nil, j.db.Fault("reading the values of keys", err)
	}
	return values, nil
}

// KeyUses are the sights and uses of every key, one for each profile. The inventory is that of all profiles:
// when a key came into it is told without one.
func (j *Journal) KeyUses(ctx context.Context) ([]KeyUse, error) {
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	var uses []KeyUse
	err := database.Each(ctx, j.db, `SELECT key, profile, min(at), max(CASE WHEN used THEN at ELSE 0 END), max(kept) FROM (
		SELECT key, profile, at, 1 AS used, 0 AS kept FROM activity WHERE key <> '' AND kind <> 'key'
		UNION ALL SELECT key, profile, at, 1, 0 FROM key_events WHERE event = ?
		UNION ALL SELECT key, '', at, 0, 0 FROM key_events WHERE event = ?
		UNION ALL SELECT key, profile, first, 0, 0 FROM key_uses
		UNION ALL SELECT key, profile, last, 1, 0 FROM key_uses
		UNION ALL SELECT key, profile, at, 0, 1 FROM key_sightings) GROUP BY key, profile`, []any{EventUsed, EventRecorded}, func(row database.Scanner) error {
		var u KeyUse
		err := row.Scan(&u.Key, &u.Profile, database.Time(&u.First), database.Time(&u.Last), &u.Lasting)
		uses = append(uses, u)
		return err
	})
	if err != nil {
		return nil, j.db.Fault("reading the uses of keys", err)
	}
	return uses, nil
}
