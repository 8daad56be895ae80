package service

import (
	"context"
	"errors"

	"zonedeck/model"
)

// ErrNoJournal says that this run keeps no history: the journal could not be
// opened, or none was asked for.
var ErrNoJournal = errors.New("no history is kept in this run")

// Activity is one page of the timeline, newest first. It needs no network.
func (c *Client) Activity(ctx context.Context, f model.ActivityFilter) ([]model.Activity, error) {
	if c.o.Journal == nil {
		return nil, ErrNoJournal
	}
	return c.o.Journal.Activity(ctx, f)
}

// LoadFetch gives a fetch of the history again, by the identifier in its result
// or in the timeline. Nothing is sent. A body that was kept on disk may have been
// cleaned up since.
func (c *Client) LoadFetch(ctx context.Context, id string) (model.FetchResult, error) {
	if c.o.Journal == nil {
		return model.FetchResult{}, ErrNoJournal
	}
	return c.o.Journal.Fetch(ctx, id)
}
