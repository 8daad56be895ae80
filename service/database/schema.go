package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// schemaRow is a row of sqlite_schema: a table or an index, with its columns as literals of SQL. Where the table
// begins in the file is not in it.
type schemaRow struct{ kind, name, table, text string }

// like reports whether another row may be this one, damaged in one place.
func (r schemaRow) like(other schemaRow) bool {
	same := 0
	for _, equal := range []bool{r.kind == other.kind, r.name == other.name, r.table == other.table, r.text == other.text} {
		if equal {
			same++
		}
	}
	return same >= 3
}

// readSchema reads the tables and indexes of a file by their places in its schema.
func readSchema(ctx context.Context, q Queryer) (rows []schemaRow, places []int64, err error) {
	const query = "SELECT rowid, quote(type), quote(name), quote(tbl_name), quote(sql) FROM sqlite_schema WHERE type <> 'trigger' ORDER BY rowid"
	err = Each(ctx, q, query, nil, func(row Scanner) error {
		var place int64
		var r schemaRow
		err := row.Scan(&place, &r.kind, &r.name, &r.table, &r.text)
		rows, places = append(rows, r), append(places, place)
		return err
	})
	return rows, places, err
}

// schemaOf is the schema that the migrations up to a version make.
func (o Options) schemaOf(ctx context.Context, version int) (rows []schemaRow, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, migration := range o.Migrations[:version+1-max(o.Oldest, 1)] {
		if _, err := db.ExecContext(ctx, migration); err != nil {
			return nil, err
		}
	}
	rows, _, err = readSchema(ctx, db)
	return rows, err
}

// compareSchema returns the rows that a file's schema lacks, of the newest one, and how many others it has.
func (db *DB) compareSchema(ctx context.Context, pool *sql.DB) (lacking []schemaRow, others int, err error) {
	want, err := db.o.schemaOf(ctx, db.o.newest())
	if err != nil {
		return nil, 0, err
	}
	have, _, err := readSchema(ctx, pool)
	lacking, surplus := differing(want, have)
	return lacking, len(surplus), err
}

// differing returns the rows that are wanted and not there, and the indexes of those that are there and not wanted.
func differing(want, have []schemaRow) (lacking []schemaRow, surplus []int) {
	for _, w := range want {
		if !slices.Contains(have, w) {
			lacking = append(lacking, w)
		}
	}
	for i, h := range have {
		if !slices.Contains(want, h) {
			surplus = append(surplus, i)
		}
	}
	return lacking, surplus
}

// checkTables compares the schema, and checks Options.Checked.
func (db *DB) checkTables(ctx context.Context) error {
	lacking, _, err := db.compareSchema(ctx, db.w)
	if err != nil {
		return err
	}
	if len(lacking) > 0 {
		return fmt.Errorf("%w: its schema lacks %s as it was made", ErrCorrupt, lacking[0].name)
	}
	for _, table := range db.o.Checked {
		var verdict string
		if err := db.w.QueryRowContext(ctx, "PRAGMA integrity_check("+table+")").Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" {
			return verdictError(verdict)
		}
	}
	return nil
}

// rewriteSchema writes damaged rows of a file's schema anew, and its number. It gives up if it cannot tell which rows
// these were.
func rewriteSchema(ctx context.Context, path string, o Options) error {
	// A connection that may write the schema reads one that it does not understand.
	w := connect(path, o, "_pragma", "writable_schema(1)", "_txlock", "immediate")
	w.SetMaxOpenConns(1)
	defer func() { _ = w.Close() }() // what was written is committed
	tx, err := w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	have, places, err := readSchema(ctx, tx)
	if err != nil {
		return err
	}
	for version := o.newest(); version >= max(o.Oldest, 1); version-- {
		want, err := o.schemaOf(ctx, version)
		if err != nil {
			return err
		}
		lacking, surplus := differing(want, have)
		if len(lacking) != len(surplus) || len(lacking) > 1 || len(lacking) == 1 && !lacking[0].like(have[surplus[0]]) {
			continue
		}
		for i, r := range lacking {
			statement := fmt.Sprintf("UPDATE sqlite_schema SET type = %s, name = %s, tbl_name = %s, sql = %s WHERE rowid = %d", r.kind, r.name, r.table, r.text, places[surplus[i]])
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", version)); err != nil {
			return err
		}
		return tx.Commit()
	}
	return fmt.Errorf("%w: its schema cannot be told", ErrCorrupt)
}
