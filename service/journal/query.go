package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// The bounds of a page of the timeline.
const (
	defaultPage = 200
	maxPage     = 10_000
)

// Activity is one page of the timeline, newest first, narrowed by f. Words are
// looked for without regard to case, all of them, in every text of a line. What
// was put before the call is in the answer.
func (j *Journal) Activity(ctx context.Context, f model.ActivityFilter) ([]model.Activity, error) {
	const doing = "reading the timeline"
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	where, args := narrow(f)
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	list := make([]model.Activity, 0, min(limit, defaultPage))
	err := database.Each(ctx, j.db, `SELECT id, at, kind, profile, zone, url, via, key, class, cause, status, bytes, total, ref, text
		FROM activity`+where+` ORDER BY id DESC LIMIT ?`, append(args, limit), func(row database.Scanner) error {
		var a model.Activity
		var total int64
		err := row.Scan(&a.ID, database.Time(&a.At), &a.Kind, &a.Profile, &a.Zone, &a.URL, &a.Via, &a.Key, &a.Class, &a.Cause,
			&a.Status, &a.Bytes, &total, &a.Ref, &a.Text)
		a.Total = time.Duration(total)
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, j.db.Fault(doing, err)
	}
	return list, nil
}

// narrow is the filter as SQL.
func narrow(f model.ActivityFilter) (string, []any) {
	var terms []string
	var args []any
	add := func(term string, arg any) {
		terms = append(terms, term)
		args = append(args, arg)
	}
	if f.Before > 0 {
		add("id < ?", f.Before)
	}
	if f.Kind != "" {
		add("kind = ?", string(f.Kind))
	}
	if f.Class != "" {
		add("class = ?", string(f.Class))
	}
	if f.Zone != "" {
		add("zone = ?", f.Zone)
	}
	if f.Key != "" {
		add("key = ?", f.Key)
	}
	if f.Profile != "" {
		add("profile = ?", f.Profile)
	}
	if !f.Since.IsZero() {
		add("at >= ?", database.Micros(f.Since))
	}
	for _, w := range f.Words {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			add("instr(words, ?) > 0", w)
		}
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}

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
	return r, nil
}

// Twin is a comparison as it was put, with the request's credentials masked. Its fetches
// may be gone by now.
func (j *Journal) Twin(ctx context.Context, id string) (model.Twin, error) {
	doing := "reading comparison " + id
	if err := j.flush(ctx); err != nil {
		return model.Twin{}, err
	}
	var text string
	err := j.db.QueryRowContext(ctx, "SELECT twin FROM twins WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return model.Twin{}, fmt.Errorf("comparison %s: %w", id, database.ErrNotFound)
	}
	if err != nil {
		return model.Twin{}, j.db.Fault(doing, err)
	}
	var t model.Twin
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return model.Twin{}, fmt.Errorf("%s: %w", doing, err)
	}
	return t, nil
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
