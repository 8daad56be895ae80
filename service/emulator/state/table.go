package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// Table names a table of the database that keeps values by id, as JSON:
//
//	const zones = state.Table[record]("zones")
type Table[T any] string

// Put writes the value of an id.
func (t Table[T]) Put(tx *Tx, id string, v T) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = tx.exec("INSERT INTO "+string(t)+" VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value", id, string(b))
	}
	if err != nil {
		return fmt.Errorf("keeping %s in %s: %w", id, t, err)
	}
	return nil
}

// Delete deletes the values of ids, of those that have one.
func (t Table[T]) Delete(tx *Tx, ids ...string) error {
	for _, id := range ids {
		if err := tx.exec("DELETE FROM "+string(t)+" WHERE id = ?", id); err != nil {
			return fmt.Errorf("deleting %s from %s: %w", id, t, err)
		}
	}
	return nil
}

// Get reads one value. ok is false if the id has none.
func (t Table[T]) Get(d *Dir, id string) (v T, ok bool, err error) {
	var text []byte
	err = d.db.r.QueryRowContext(context.Background(), "SELECT value FROM "+string(t)+" WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, false, fmt.Errorf("reading %s of %s: %w", id, t, err)
	}
	return v, true, nil
}

// Each visits the values in the order in which their ids were added. If a value cannot be
// decoded, or visit refuses it, it stays in the table, with a note.
func (t Table[T]) Each(d *Dir, visit func(id string, v T) error) error {
	type row struct {
		id   string
		text []byte
	}
	var all []row // read to the end first: visit may write
	err := d.query("SELECT id, value FROM "+string(t)+" ORDER BY rowid", nil, func(rows *sql.Rows) (bool, error) {
		var r row
		err := rows.Scan(&r.id, &r.text)
		all = append(all, r)
		return true, err
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", t, err)
	}
	for _, r := range all {
		var v T
		err := json.Unmarshal(r.text, &v)
		if err == nil {
			err = visit(r.id, v)
		}
		if err != nil {
			d.Note(fmt.Sprintf("%q of %s is left out: it cannot be read (%v)", r.id, t, err))
		}
	}
	return nil
}

// Lines names a table of the database that keeps numbered lines by id.
type Lines string

const (
	// A read takes this many bytes and lines at a time, so that a slow reader holds neither a
	// connection nor the write-ahead log.
	bytesAtOnce = 1 << 20
	linesAtOnce = 256
)

// Put writes the line of a number.
func (l Lines) Put(tx *Tx, id string, n int, line []byte) error {
	if err := tx.exec("INSERT INTO "+string(l)+" VALUES (?, ?, ?) ON CONFLICT (id, n) DO UPDATE SET line = excluded.line", id, n, line); err != nil {
		return fmt.Errorf("keeping line %d of %s in %s: %w", n, id, l, err)
	}
	return nil
}

// Delete deletes all lines of an id.
func (l Lines) Delete(tx *Tx, id string) error {
	if err := tx.exec("DELETE FROM "+string(l)+" WHERE id = ?", id); err != nil {
		return fmt.Errorf("deleting %s from %s: %w", id, l, err)
	}
	return nil
}

// Each visits the lines of an id in the order of their numbers, and ends with visit's first
// error. visit may keep the bytes, and may be slow.
func (l Lines) Each(d *Dir, id string, visit func(n int, line []byte) error) error {
	type numbered struct {
		n    int
		line []byte
	}
	for next := 0; ; {
		var some []numbered
		size := 0
		err := d.query("SELECT n, line FROM "+string(l)+" WHERE id = ? AND n >= ? ORDER BY n LIMIT ?", []any{id, next, linesAtOnce}, func(rows *sql.Rows) (bool, error) {
			var x numbered
			err := rows.Scan(&x.n, &x.line)
			some, size = append(some, x), size+len(x.line)
			return size < bytesAtOnce, err
		})
		if err != nil {
			return fmt.Errorf("reading %s of %s: %w", id, l, err)
		}
		if len(some) == 0 {
			return nil
		}
		for _, x := range some {
			if err := visit(x.n, x.line); err != nil {
				return err
			}
			next = x.n + 1
		}
	}
}

// query calls each for every row until it wants no more.
func (d *Dir) query(statement string, args []any, each func(*sql.Rows) (more bool, err error)) error {
	rows, err := d.db.r.QueryContext(context.Background(), statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // what went wrong while reading is in rows.Err
	for rows.Next() {
		if more, err := each(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
