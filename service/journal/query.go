package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// Fetch is a fetch as it was put, with the request's credentials masked. A
// large body is a file's name, and the file may be gone by now.
func (j *Journal) Fetch(ctx context.Context, id string) (model.FetchResult, error) {
	doing := "reading fetch " + id
	if err := j.flush(ctx); err != nil {
		return model.FetchResult{}, err
	}
	var request, result string
	var body []byte
	err := j.db.QueryRowContext(ctx, "SELECT request, result, body FROM fetches WHERE id = ?", id).Scan(&request, &result, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return model.FetchResult{}, fmt.Errorf("fetch %s: %w", id, database.ErrNotFound)
	}
	if err != nil {
		return model.FetchResult{}, j.db.Fault(doing, err)
	}
	var r model.FetchResult
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		return model.FetchResult{}, fmt.Errorf("%s: %w", doing, err)
	}
	if err := json.Unmarshal([]byte(request), &r.Request); err != nil {
		return model.FetchResult{}, fmt.Errorf("%s: %w", doing, err)
	}
	r.Body.Bytes = body
	return r.AsProof(), nil
}

// Twin is a comparison as it was put, with the request's credentials masked, and without the
// cells that Misplaced names. Its fetches may be gone by now.
func (j *Journal) Twin(ctx context.Context, id string) (model.Twin, error) {
	var t model.Twin
	err := j.kept(ctx, "comparison "+id, "SELECT twin FROM twins WHERE id = ?", id, &t)
	t.Cells = slices.DeleteFunc(t.Cells, model.TwinCell.Misplaced)
	return t, err
}

// newestTwins is how many comparisons of a URL are looked at.
const newestTwins = 50

// NewestTwin is the newest comparison that asked of the target what a request asks, with a
// profile, and has a run by the request's zone and access method. Without one among the newest
// 50 of its URL, the error wraps database.ErrNotFound.
func (j *Journal) NewestTwin(ctx context.Context, profile string, r model.FetchRequest) (model.Twin, error) {
	if err := j.flush(ctx); err != nil {
		return model.Twin{}, err
	}
	const doing = "reading the comparisons of a URL"
	want := masked(r)
	var newest model.Twin
	err := database.Each(ctx, j.db, `SELECT t.twin FROM activity a JOIN twins t ON t.id = a.ref
		WHERE a.kind = ? AND a.profile = ? AND a.url = ? ORDER BY a.id DESC LIMIT ?`,
		[]any{string(model.ActivityTwin), profile, want.URL, newestTwins}, func(row database.Scanner) error {
			var text string
			if err := row.Scan(&text); err != nil || newest.ID != "" {
				return err
			}
			var t model.Twin
			if err := json.Unmarshal([]byte(text), &t); err != nil {
				return err
			}
			if _, ran := t.Shown(r.Zone.Name, r.Via); ran && t.Request.SameFetch(want) {
				newest = t
			}
			return nil
		})
	switch {
	case err != nil:
		return model.Twin{}, j.db.Fault(doing, err)
	case newest.ID == "":
		return model.Twin{}, fmt.Errorf("%s: %w", doing, database.ErrNotFound)
	}
	return newest, nil
}

// kept reads the JSON that a query finds for an identifier; what names it in errors.
func (j *Journal) kept(ctx context.Context, what, query, id string, into any) error {
	if err := j.flush(ctx); err != nil {
		return err
	}
	var text string
	err := j.db.QueryRowContext(ctx, query, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, database.ErrNotFound)
	}
	if err != nil {
		return j.db.Fault("reading "+what, err)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	return nil
}

// KeyEvents is what happened to a key, newest first, at most limit events.
func (j *Journal) KeyEvents(ctx context.Context, key string, limit int) ([]KeyEvent, error) {
	const doing = "reading the events of a key"
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	var list []KeyEvent
	err := database.Each(ctx, j.db, "SELECT at, profile, key, event, text FROM key_events WHERE key = ? ORDER BY id DESC LIMIT ?",
		[]any{key, limit}, func(row database.Scanner) error {
			var e KeyEvent
			err := row.Scan(database.Time(&e.At), &e.Profile, &e.Key, &e.Event, &e.Text)
			list = append(list, e)
			return err
		})
	if err != nil {
		return nil, j.db.Fault(doing, err)
	}
	return list, nil
}

// KeyUse is when a key was first seen here (PutKeysSeen, an event EventRecorded, or a use before them), and
// when it was last used with a profile: sent by whatever call (PutKeyUsed), and, of older versions, by fetches,
// jobs, comparisons, tests and events that are uses (EventUsed), as far as the history goes back. Zero is not known.
type KeyUse struct {
	Key, Profile string
	Seen, Last   time.Time
	// Kept says that Seen stays when the history that tells it is pruned.
	Kept bool
}

// Join is the first sight and the last use of two.
func (u KeyUse) Join(o KeyUse) KeyUse {
	if u.Seen.IsZero() || !o.Seen.IsZero() && o.Seen.Before(u.Seen) {
		u.Seen = o.Seen
	}
	if o.Last.After(u.Last) {
		u.Last = o.Last
	}
	u.Kept = u.Kept || o.Kept
	return u
}

// PutKeysSeen queues when keys stood in a list of this machine. What was seen before stays.
func (j *Journal) PutKeysSeen(ctx context.Context, keys []KeyUse) error {
	return j.put(ctx, entry{bytes: int64(64 * len(keys)), write: func(ctx context.Context, tx *sql.Tx) error {
		for _, k := range keys {
			if _, err := tx.ExecContext(ctx, "INSERT INTO key_sightings (key, profile, at) VALUES (?,?,?) ON CONFLICT DO NOTHING", k.Key, k.Profile, database.Micros(k.Seen)); err != nil {
				return err
			}
		}
		return nil
	}})
}

// PutKeyUsed queues that a key was sent now.
func (j *Journal) PutKeyUsed(ctx context.Context, profile, key string) error {
	at := database.Micros(j.now())
	return j.put(ctx, entry{bytes: 64, write: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO key_uses (key, profile, first, last) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)", key, profile, at, at)
		return err
	}})
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
		err := row.Scan(&u.Key, &u.Profile, database.Time(&u.Seen), database.Time(&u.Last), &u.Kept)
		uses = append(uses, u)
		return err
	})
	if err != nil {
		return nil, j.db.Fault("reading the uses of keys", err)
	}
	return uses, nil
}
