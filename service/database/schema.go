package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// schema is what a file says about its tables and indexes, as assignments of SQL, with their places in sqlite_schema.
type schema map[string]int64

func readSchema(ctx context.Context, q Queryer) (schema, error) {
	s := schema{}
	const query = "SELECT rowid, format('(type, name, tbl_name, sql) = (%Q, %Q, %Q, %Q)', type, name, tbl_name, sql) FROM sqlite_schema WHERE type IS NOT 'trigger'"
	err := Each(ctx, q, query, nil, func(row Scanner) error {
		var place int64
		var text string
		err := row.Scan(&place, &text)
		s[text] = place
		return err
	})
	return s, err
}

// compareSchema returns what a file lacks of the schema that the migrations make, and what it has besides.
func (o Options) compareSchema(ctx context.Context, q Queryer) (lacking, others schema, err error) {
	made, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	made.SetMaxOpenConns(1) // each connection is a file of its own
	for _, migration := range o.Migrations {
		if _, err := made.ExecContext(ctx, migration); err != nil {
			return nil, nil, err
		}
	}
	if lacking, err = readSchema(ctx, made); err == nil {
		others, err = readSchema(ctx, q)
	}
	for text := range lacking {
		if _, has := others[text]; has {
			delete(lacking, text)
			delete(others, text)
		}
	}
	return lacking, others, err
}

// checkTables checks Options.Checked, after the schema. Its error is classified.
func (db *DB) checkTables(ctx context.Context) error {
	if len(db.o.Checked) == 0 {
		return nil
	}
	lacking, _, err := db.o.compareSchema(ctx, db.pool())
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("%w: its schema is not as it was made", ErrCorrupt)
	}
	for _, table := range db.o.Checked {
		if err == nil {
			err = db.integrity(ctx, table)
		}
	}
	return db.o.classify(err)
}

// rewriteSchema writes the one damaged row of a file's schema anew, and the schema's number.
func rewriteSchema(ctx context.Context, path string, o Options) error {
	// A connection that may write the schema reads one that it does not understand.
	w, err := sql.Open("sqlite", fmt.Sprintf("%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=writable_schema(1)", fileURI(path), o.Busy.Milliseconds()))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // what was written is committed
	w.SetMaxOpenConns(1)
	tx, err := w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	lacking, others, err := o.compareSchema(ctx, tx)
	if err != nil || len(lacking) > 1 || len(lacking) != len(others) {
		return errors.Join(ErrCorrupt, err)
	}
	for right := range lacking {
		for _, place := range others {
			if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE sqlite_schema SET %s WHERE rowid = %d", right, place)); err != nil {
				return err
			}
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", o.newest())); err != nil {
		return err
	}
	return tx.Commit()
}
