package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
)

// PutBaseline keeps a matrix as the one that later ones of its profile are compared with, in
// place of the one before. When it returns, it is in the file.
func (j *Journal) PutBaseline(ctx context.Context, m model.Baseline) error {
	m.Target = maskURL(m.Target)
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("keeping a baseline: %w", err)
	}
	err = j.put(ctx, entry{bytes: int64(len(text)), write: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO baselines (profile, at, matrix) VALUES (?,?,?) ON CONFLICT (profile) DO UPDATE SET at=excluded.at, matrix=excluded.matrix",
			m.Profile, database.Micros(m.Started), string(text))
		return err
	}})
	if err != nil {
		return err
	}
	return j.flush(ctx)
}

// Baseline is the matrix that is kept for a profile. Without one the error wraps
// database.ErrNotFound.
func (j *Journal) Baseline(ctx context.Context, profile string) (model.Baseline, error) {
	var m model.Baseline
	err := j.readJSON(ctx, "the baseline of profile "+profile, "SELECT matrix FROM baselines WHERE profile = ?", profile, &m)
	return m, err
}
