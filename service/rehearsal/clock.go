package rehearsal

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Time is the emulator's clock.
type Time struct {
	// Now is its time, UTC.
	Now time.Time
	// Ahead is how far it is ahead of the machine's clock.
	Ahead time.Duration
}

type timeAnswer struct {
	Now    time.Time `json:"now"`
	Offset string    `json:"offset"`
}

func (a timeAnswer) time() (Time, error) {
	ahead, err := time.ParseDuration(a.Offset)
	if err != nil {
		return Time{}, fmt.Errorf("reading the emulator's clock: %w", err)
	}
	return Time{Now: a.Now, Ahead: ahead}, nil
}

// Time reads the clock.
func (c *Client) Time(ctx context.Context) (Time, error) {
	var a timeAnswer
	if err := c.call(ctx, http.MethodGet, "/time", nil, nil, &a); err != nil {
		return Time{}, err
	}
	return a.time()
}

// Advance moves the clock forward. It never goes back: a *RefusedError says so, and also
// that it would go too far.
func (c *Client) Advance(ctx context.Context, by time.Duration) (Time, error) {
	var a timeAnswer
	if err := c.call(ctx, http.MethodPost, "/time", nil, map[string]string{"advance": by.String()}, &a); err != nil {
		return Time{}, err
	}
	return a.time()
}
