package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// Comparison is a comparison as it was put, with the request's credentials masked, and without the
// cells that Misplaced names. Its fetches may be gone by now.
func (j *Journal) Comparison(ctx context.Context, id string) (model.Grid, error) {
	var t model.Grid
	err := j.readJSON(ctx, "comparison "+id, "SELECT twin FROM twins WHERE id = ?", id, &t)
	t.Cells = slices.DeleteFunc(t.Cells, model.Cell.Misplaced)
	return t, err
}

// Named asks the newest fetches for database.Names. They are told apart without their addresses, which may be private.
const Named = `SELECT ref, class || ', ' || zone || ', ' || strftime('%Y-%m-%d %H:%M UTC', at / 1000000, 'unixepoch')
	FROM activity WHERE kind = 'fetch' AND ref <> '' ORDER BY id DESC LIMIT 200`

// newestComparisons is how many comparisons of a URL are looked at.
const newestComparisons = 50

// NewestComparison is the newest comparison that asked of the target what a request asks, with a
// profile, and has a run by the request's zone and access method. Without one among the newest
// 50 of its URL, the error wraps database.ErrNotFound.
func (j *Journal) NewestComparison(ctx context.Context, profile string, r model.FetchRequest) (model.Grid, error) {
	if err := j.flush(ctx); err != nil {
		return model.Grid{}, err
	}
	const doing = "reading the comparisons of a URL"
	want := masked(r)
	var newest model.Grid
	err := database.Each(ctx, j.db, `SELECT t.twin FROM activity a JOIN twins t ON t.id = a.ref
		WHERE a.kind = ? AND a.profile = ? AND a.url = ? ORDER BY a.id DESC LIMIT ?`,
		[]any{string(model.HistoryComparison), profile, want.URL, newestComparisons}, func(row database.Scanner) error {
			var text string
			if err := row.Scan(&text); err != nil || newest.ID != "" {
				return err
			}
			var t model.Grid
			if err := json.Unmarshal([]byte(text), &t); err != nil {
				return err
			}
			if _, ran := t.ObservedUse(r.Zone.Name, r.Via); ran && t.Base.SameFetch(want) {
				newest = t
			}
			return nil
		})
	switch {
	case err != nil:
		return model.Grid{}, j.db.Fault(doing, err)
	case newest.ID == "":
		return model.Grid{}, fmt.Errorf("%s: %w", doing, database.ErrNotFound)
	}
	return newest, nil
}

// readJSON reads the JSON that a query finds for an identifier; what names it in errors.
func (j *Journal) readJSON(ctx context.Context, what, query, id string, into any) error {
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
