package database

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// ErrGone says that a server cannot be reached, or ended the connection.
var ErrGone = errors.New("the database cannot be reached")

// ErrAddress says that a text is not the address of a server.
var ErrAddress = errors.New("this is not the address of a PostgreSQL database: write postgres://NAME@HOST/DATABASE, or a reference to it such as env:NAME")

// Server is a database on a PostgreSQL server. Transactions of its DB are READ COMMITTED: who changes what others
// change, too, locks it first, by updating its row or by Lock.
type Server struct {
	*DB
	Pool    *pgxpool.Pool // for a library that brings its own tables
	host    string
	silence *silence
}

// serverConnections bounds the connections of one process.
const serverConnections = 6

// OpenServer opens the database at an address: postgres://NAME:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full. What the
// address leaves out comes from the variables of libpq and its file of passwords. No error repeats the password.
func OpenServer(ctx context.Context, address string) (*Server, error) {
	conf, err := pgxpool.ParseConfig(address)
	if err != nil || !IsAddress(address) {
		return nil, cmp.Or(checkFiles(address), ErrAddress) // the driver's error repeats parts of it
	}
	conf.MaxConns = serverConnections
	c := conf.ConnConfig
	patience := newSilence(usualSilence)
	c.ConnectTimeout, c.DialFunc = cmp.Or(c.ConnectTimeout, 10*time.Second), patience.dial
	for name, value := range map[string]string{
		"application_name": "zonedeck", "default_transaction_isolation": "read committed",
		// A process that is stopped within a transaction keeps the others waiting no longer than this.
		"idle_in_transaction_session_timeout": "10s", "lock_timeout": "15s",
	} {
		if c.RuntimeParams[name] == "" {
			c.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err == nil {
		if err = pool.Ping(ctx); err != nil {
			pool.Close()
		}
	}
	host := fmt.Sprintf("%s of %s", c.Database, net.JoinHostPort(c.Host, fmt.Sprint(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", host, Classify(err))
	}
	w, r := stdlib.OpenDBFromPool(pool), stdlib.OpenDBFromPool(pool)
	w.SetMaxOpenConns(1)
	r.SetMaxOpenConns(serverConnections - 2) // one is left for the library
	return &Server{over(w, r), pool, host, patience}, nil
}

// IsAddress reports whether a text is meant as the address of a server.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// HoldsPassword reports whether an address has a password in it.
func HoldsPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true // as far as can be seen
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password") || u.Query().Has("sslpassword")
}

// String names the database, without login.
func (s *Server) String() string { return s.host }

// Hasten has what is asked end after three seconds of silence from now on, for a process that is told to end.
func (s *Server) Hasten() { s.silence.limit.Store(int64(shortSilence)) }

// Close closes all connections.
func (s *Server) Close() error {
	err := s.DB.Close()
	s.Pool.Close()
	return err
}

// Clock is the server's time in microseconds since 1970, as an expression: what several machines agree on goes by it.
const Clock = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"

// Lock makes other transactions that lock the same name wait until this one ends.
func Lock(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "zonedeck "+name)
	return err
}

// Alone runs fn while no other process does, on the whole server: the tables are made once.
func (s *Server) Alone(ctx context.Context, fn func() error) error {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return Classify(err)
	}
	defer conn.Release()
	const key = "hashtextextended('zonedeck schema', 0)"
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock("+key+")"); err != nil {
		return Classify(err)
	}
	err = fn()
	_, unlocked := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+key+")")
	return errors.Join(err, Classify(unlocked))
}

// Migrate makes the tables of a room, or changes them. The table zonedeck_schema has the number of each room's schema. A
// newer one than migrations make is refused. Released migrations are never edited.
func (s *Server) Migrate(ctx context.Context, room string, migrations []string) error {
	have, err := s.schema(ctx, room)
	if err == nil && have < len(migrations) {
		err = s.Alone(ctx, func() error { return s.migrate(ctx, room, migrations) })
	}
	if err == nil && have > len(migrations) {
		err = &ServerError{fmt.Sprintf("the %s tables have schema %d, and this program knows up to %d: use a later version", room, have, len(migrations)), errTooNew}
	}
	if err != nil {
		return fmt.Errorf("opening the database %s: %w", s.host, Classify(err))
	}
	return nil
}

// ID tells a database from all others, wherever it is: what goes with it and stays on a machine is named by that.
func (s *Server) ID(ctx context.Context) (id string, err error) {
	err = s.Migrate(ctx, "database", []string{"CREATE TABLE zonedeck_database (id UUID NOT NULL); INSERT INTO zonedeck_database VALUES (gen_random_uuid())"})
	if err == nil {
		err = s.Fault("reading which database it is", s.QueryRowContext(ctx, "SELECT CAST(id AS TEXT) FROM zonedeck_database").Scan(&id))
	}
	return id, err
}

// schema is the number of a room's schema, 0 without one.
func (s *Server) schema(ctx context.Context, room string) (have int, err error) {
	var there bool
	if err := s.QueryRowContext(ctx, "SELECT to_regclass('zonedeck_schema') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = s.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM zonedeck_schema WHERE room = $1", room).Scan(&have)
	return have, err
}

func (s *Server) migrate(ctx context.Context, room string, migrations []string) error {
	return s.Write(ctx, "making the "+room+" tables", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS zonedeck_schema (room TEXT PRIMARY KEY, version BIGINT NOT NULL)"); err != nil {
			return err
		}
		have := 0 // read again: another process may have been quicker
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM zonedeck_schema WHERE room = $1", room).Scan(&have); err != nil {
			return err
		}
		for ; have < len(migrations); have++ {
			if _, err := tx.ExecContext(ctx, migrations[have]); err != nil {
				return fmt.Errorf("schema %d: %w", have+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO zonedeck_schema (room, version) VALUES ($1, $2) ON CONFLICT (room) DO UPDATE SET version = excluded.version", room, have)
		return err
	})
}

// ServerError is what a server refused, in words for the operator. It wraps one of Faults or ErrGone.
type ServerError struct {
	Text string
	kind error
}

func (e *ServerError) Error() string { return e.Text }

// Unwrap gives the error that callers decide on.
func (e *ServerError) Unwrap() error { return e.kind }

// classifyServer is Classify for errors of the driver of PostgreSQL. Errors of connecting name no password.
func classifyServer(err error) error {
	if errors.As(err, new(*ServerError)) {
		return err
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(*net.OpError)) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
			return &ServerError{"the database cannot be reached: " + cmp.Or(certificateFault(err), innermost(err).Error()), ErrGone}
		}
		return err
	}
	text, kind := "", ErrReadOnly
	switch pg.Code {
	case "25006":
		text = "the database is read-only: name the primary server"
	case "42501":
		text = "the role of the database has no right to this (docs/scale.md lists what it needs)"
	case "53100":
		text, kind = "the disk of the database is full", ErrFull
	case "40001", "40P01", "55P03":
		text, kind = "another process keeps a row of the database locked", ErrLocked
	case "XX001", "XX002":
		text, kind = "the database is damaged", ErrCorrupt
	case "3D000":
		text, kind = "the server has no database of this name: create it first", ErrGone
	case "53300", "53400":
		text, kind = "the server has no connection left: raise max_connections, or run fewer workers", ErrGone
	default:
		switch pg.Code[:min(2, len(pg.Code))] {
		case "28":
			text, kind = "the server refuses the login", ErrGone
		case "08", "57":
			text, kind = "the server ended the connection", ErrGone
		default:
			return err
		}
	}
	return &ServerError{fmt.Sprintf("%s (%s)", text, pg.Message), kind}
}

// innermost is the innermost of an error's causes: of several tries, of the first.
func innermost(err error) error {
	if several, is := err.(interface{ Unwrap() []error }); is && len(several.Unwrap()) > 0 {
		return innermost(several.Unwrap()[0])
	}
	if next := errors.Unwrap(err); next != nil {
		return innermost(next)
	}
	return err
}
