package session

import (
	"context"
	"log/slog"
	"sync"

	"zonedeck/service/work"
)

// durable opens the queue of durable work when it is first needed: most commands never do.
type durable struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex
	open work.Queue
}

func (d *durable) queue(ctx context.Context) (work.Queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil {
		return d.open, nil
	}
	q, err := work.OpenFile(ctx, d.path, work.Options{Log: d.log})
	if err == nil {
		d.open = q
	}
	return q, err
}

func (d *durable) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil
	}
	return d.open.Close()
}
