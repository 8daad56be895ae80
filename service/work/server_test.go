package work

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"zonedeck/service/database/postgrestest"
)

// server is a Queue on a PostgreSQL server.
type server struct {
	*queue[pgx.Tx]
	pool *pgxpool.Pool
}

func (s server) Close() error {
	s.pool.Close()
	return nil
}

// OpenOnServer opens the queue of a path on the tests' server, as on several machines: workers give no signs of
// life there.
func OpenOnServer(t *testing.T, path string, o Options) (Queue, error) {
	t.Helper()
	pool := postgrestest.Pool(t, path)
	driver := riverpgxv5.New(pool)
	err := migrate(t.Context(), path, driver)
	if err != nil {
		return nil, err
	}
	q, err := newQueue(driver, "", o)
	return server{q, pool}, err
}
