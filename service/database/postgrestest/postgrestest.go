// Package postgrestest runs tests on a PostgreSQL server instead of a SQLite file, if the environment names a
// server. Only tests import it.
package postgrestest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"zonedeck/service/database"
)

// variable holds the server's address: postgres://NAME:PASSWORD@localhost/DATABASE. The tests make schemas in that
// database, and drop them afterwards.
const variable = "ZONEDECK_POSTGRES"

// Available reports whether the environment names a server.
func Available() bool { return os.Getenv(variable) != "" }

// OnFile runs a test on SQLite even so, because the test is about the file.
func OnFile(t testing.TB) {
	t.Helper()
	t.Setenv(variable, "")
}

// place returns a path's schema, and the number of its lock.
func place(path string) (schema string, number int64) {
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("test_%x", sum[:12]), int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any number will do
}

// config configures connections to the tables of a path.
func config(t testing.TB, path string) *pgxpool.Config {
	t.Helper()
	conf, err := pgxpool.ParseConfig(os.Getenv(variable))
	if err != nil {
		t.Fatal(err)
	}
	conf.ConnConfig.RuntimeParams["search_path"], _ = place(path)
	return conf
}

// Open opens a DB on the server with the tables of the migrations. As with a file, opening the same path again in a
// test opens the same tables.
func Open(t testing.TB, path string, migrations []string) *database.DB {
	t.Helper()
	w := Raw(t, path)
	if err := makeTables(t, w, path, migrations); err != nil {
		t.Fatal(err)
	}
	conf := config(t, path).ConnConfig
	conf.RuntimeParams["default_transaction_read_only"] = "on"
	r := stdlib.OpenDB(*conf)
	r.SetMaxOpenConns(4)
	return database.Over(path, w, r)
}

// Raw opens one connection to the tables of a path, like any other program.
func Raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	_, number := place(path)
	db := sql.OpenDB(inTurn{stdlib.GetConnector(*config(t, path).ConnConfig), number})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() }) // most are closed by then
	return db
}

// Address is the address of an empty schema for the tables of a path: of one database, as far as the program sees. It
// skips the test where there is no server.
func Address(t testing.TB, path string) string {
	t.Helper()
	if !Available() {
		t.Skip(variable + " names no server")
	}
	if err := makeTables(t, Raw(t, path), path, nil); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(os.Getenv(variable))
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := place(path)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

// Server is a server with an empty schema for the tables of a path, closed with the test.
func Server(t testing.TB, path string) *database.Server {
	t.Helper()
	s, err := database.OpenServer(t.Context(), Address(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some are closed by then
	return s
}

// makeTables makes the schema of a path, unless it exists. The test that made it drops it.
func makeTables(t testing.TB, db *sql.DB, path string, migrations []string) error {
	schema, _ := place(path)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is none
	var there bool
	if err := tx.QueryRowContext(t.Context(), "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil || there {
		return err
	}
	for _, statements := range append([]string{"CREATE SCHEMA " + schema}, migrations...) {
		if _, err := tx.ExecContext(t.Context(), statements); err != nil {
			return fmt.Errorf("%s: %w", statements, err)
		}
	}
	t.Cleanup(func() {
		if _, err := Raw(t, path).ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return tx.Commit()
}

// inTurn makes connections whose transactions run one after the other, like SQLite's BEGIN IMMEDIATE: what a
// transaction of the ledger or the inbox has read does not change before it ends.
type inTurn struct {
	driver.Connector
	number int64
}

func (c inTurn) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	server, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver gave a %T", conn), conn.Close())
	}
	return &turn{server, c.number}, nil
}

type turn struct {
	*stdlib.Conn
	number int64
}

func (c *turn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	// Not the server's default: a snapshot from before the lock would be too old.
	o.Isolation = driver.IsolationLevel(sql.LevelReadCommitted)
	tx, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", []driver.NamedValue{{Ordinal: 1, Value: c.number}}); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}
