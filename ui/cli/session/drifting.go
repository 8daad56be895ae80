package session

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/drift"
)

// driftStore opens the store of what fields show when it is first needed: most commands never do.
type driftStore struct {
	path string
	now  func() time.Time // the machine's: ages count by it
	log  *slog.Logger

	mu   sync.Mutex
	open *drift.Store
}

func (d *driftStore) store(ctx context.Context) (*drift.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil {
		return d.open, nil
	}
	s, notice, err := drift.Open(ctx, d.path, d.now, drift.DefaultKeep())
	if err != nil {
		return nil, err
	}
	if notice != "" {
		d.log.Warn(notice)
	}
	d.open = s
	return s, nil
}

func (d *driftStore) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil
	}
	return d.open.Close()
}

// person is how the history names who accepts something.
func person(getenv func(string) string) string {
	return model.Line(cmp.Or(getenv("USER"), getenv("USERNAME"), "operator"), 60)
}
