// Package work keeps work that outlives the process that began it: an item is on disk until
// its handler says that it is done, and any process of the user may work on it.
//
// A Queue hands a due item to one process at a time. If the process is killed or hangs, another
// one gets the item after the lease, or sooner. An item is a slice of work that is worth a
// row on disk (the polling of a job, a slice of a batch), never one URL.
//
// OpenFile keeps the items in a SQLite file, and OpenServer on a PostgreSQL server for workers on several machines, using
// River. Any other implementation has to pass the tests of suite_test.go.
package work

import (
	"context"
	"time"
)

// Item is one piece of work. Lane and Key name it: a queue holds at most one item of a name.
type Item struct {
	// Lane selects the handler: a worker gets only the items of its lane.
	Lane string
	Key  string
	// Until is when its handler gives up, zero for never. The queue only stores it, to the microsecond.
	Until time.Time
	// Due is when a handler gets the item. Put ignores it.
	Due time.Time
}

// Outlasts reports whether the item's Until is later than another's; zero means never.
func (i Item) Outlasts(other Item) bool {
	return !other.Until.IsZero() && (i.Until.IsZero() || i.Until.After(other.Until))
}

// Handler works on an item and returns after how long it wants it again; 0 means that the item
// is done. An error is logged, and the item comes again after RetryAfter. ctx ends with the
// worker, and before the lease.
type Handler func(ctx context.Context, item Item) (again time.Duration, err error)

// RetryAfter is the wait after a handler's error.
const RetryAfter = 15 * time.Second

// Queue is a queue of items. It is safe for concurrent use, and for use by several processes if
// it is on disk.
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
	// returns after the last handler. Unfinished items are then due at once for others.
	Work(ctx context.Context, lane string, n int, handle Handler) error
	// Close closes the store of the items. No call may be under way.
	Close() error
}
