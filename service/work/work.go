// Package work keeps work that outlives the process that began it: an item is on disk until
// its handler says that it is done, and any process of the user may take it up.
//
// A Queue hands a due item to one process at a time. A process that is killed while it holds
// an item loses it after the lease, and another process gets it. An item is a slice
// of work that is worth a row on a disk (the polling of a job, a slice of a batch), never one
// URL.
//
// OpenFile keeps the items in a SQLite file, using River. Any other implementation has to pass the
// tests of worktest.Suite.
package work

import (
	"context"
	"time"
)

// Item is one piece of work. Lane and Key name it: the queue holds at most one item of a name.
type Item struct {
	// Lane is what a worker chooses by: a handler gets the items of its own lane.
	Lane string
	Key  string
	// Until is when its handler gives it up. The queue only stores it, to the microsecond.
	Until time.Time
	// Due is when a handler gets it. Put does not read it.
	Due time.Time
}

// Outlasts reports whether the item is given up later than another; a zero Until means never.
func (i Item) Outlasts(other Item) bool {
	return !other.Until.IsZero() && (i.Until.IsZero() || i.Until.After(other.Until))
}

// Handler works on an item and says after how long it wants it again; 0 means that the item
// is done. An error is logged and the item comes again after RetryAfter. ctx ends with the
// worker, and before the lease does.
type Handler func(ctx context.Context, item Item) (again time.Duration, err error)

// RetryAfter is the wait after a handler's error.
const RetryAfter = 15 * time.Second

// Queue is a queue of items. It is safe for concurrent use, and by several processes where
// it is kept on a disk.
type Queue interface {
	// Put adds an item, due at once, unless the queue has it already.
	Put(ctx context.Context, item Item) error
	// Hasten makes an item due at once, and adds it if the queue does not have it. A later Until
	// replaces the item's. An item that a handler holds comes again right after the handler, unless
	// the handler says that it is done.
	Hasten(ctx context.Context, item Item) error
	// Items are the items of a lane that are not done, in the order of their keys.
	Items(ctx context.Context, lane string) ([]Item, error)
	// Work hands the items of a lane to handle, at most n at a time, until ctx ends. It
	// returns once the last handler has. Items that were not finished are due at once for others.
	Work(ctx context.Context, lane string, n int, handle Handler) error
	// Close closes the store of the items. No call may be under way.
	Close() error
}
