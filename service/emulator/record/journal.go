package record

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The default bounds of a journal.
const (
	defaultEntries = 5000
	defaultBytes   = 16 << 20
	// bodyPrefix is how many bytes of a body an entry keeps.
	bodyPrefix = 2 << 10
	// bodySlack is how many more bytes are searched, for a secret across the end.
	bodySlack = 512
	// MaxLimit bounds the entries of one call.
	MaxLimit = 5000
)

// ErrClosed means that the journal is closed and has no more entries.
var ErrClosed = errors.New("the journal is closed")

// Config configures a Journal.
type Config struct {
	// Now is the emulator's clock.
	Now func() time.Time
	// Secrets returns the values to mask: plain keys and passwords. It is called for every
	// entry; nil masks none.
	Secrets func() []string
	// Entries and Bytes bound the journal; 0 is 5,000 and 16 MiB.
	Entries, Bytes int
}

// Journal keeps the newest entries. Make it with New.
type Journal struct {
	conf Config

	mu      sync.Mutex
	kept    []kept // the oldest first
	bytes   int
	seq     uint64
	changed chan struct{} // closed by the next entry; nil if no follower waits
	closed  bool
}

// kept is an entry that no longer changes.
type kept struct {
	e    *Entry
	size int
}

// New makes an empty journal.
func New(conf Config) *Journal {
	conf.Entries, conf.Bytes = cmp.Or(conf.Entries, defaultEntries), cmp.Or(conf.Bytes, defaultBytes)
	if conf.Secrets == nil {
		conf.Secrets = func() []string { return nil }
	}
	return &Journal{conf: conf}
}

func (j *Journal) add(e *Entry) {
	size := e.size()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	for len(j.kept) > 0 && (len(j.kept) >= j.conf.Entries || j.bytes+size > j.conf.Bytes) {
		j.bytes -= j.kept[0].size
		j.kept[0] = kept{} // lets the entry be collected before the array is
		j.kept = j.kept[1:]
	}
	j.kept = append(j.kept, kept{e, size})
	j.bytes += size
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Query selects entries. The zero value selects the newest hundred.
type Query struct {
	// Since is the last entry seen: later ones follow, the oldest first. 0 selects the
	// newest.
	Since uint64
	// Zone and Point filter by zone and point, unless empty.
	Zone, Point string
	// Limit bounds the entries; 0 is 100, the maximum MaxLimit.
	Limit int
}

func (q Query) wants(e *Entry) bool {
	return (q.Zone == "" || q.Zone == e.Zone) && (q.Point == "" || q.Point == e.Point)
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, MaxLimit)
}

// Page is the result of a Query.
type Page struct {
	// Requests are in the order in which they ended.
	Requests []Entry `json:"requests"`
	// Last is the Since of the next call.
	Last uint64 `json:"last"`
	// Lost counts the entries after Since that were dropped.
	Lost uint64 `json:"lost"`
}

// Read returns the entries that a query selects.
func (j *Journal) Read(q Query) Page {
	j.mu.Lock()
	defer j.mu.Unlock()
	if q.Since > 0 {
		return j.after(q)
	}
	p := Page{Requests: []Entry{}, Last: j.seq}
	for _, k := range slices.Backward(j.kept) {
		if len(p.Requests) == q.limit() {
			break
		}
		if q.wants(k.e) {
			p.Requests = append(p.Requests, *k.e)
		}
	}
	slices.Reverse(p.Requests)
	return p
}

// after returns the entries after q.Since; 0 is before the first.
func (j *Journal) after(q Query) Page {
	p := Page{Requests: []Entry{}, Last: max(j.seq, q.Since)}
	dropped := j.seq - uint64(len(j.kept)) // the last dropped entry
	if q.Since < dropped {
		p.Lost = dropped - q.Since
	}
	for _, k := range j.kept[min(max(q.Since, dropped), j.seq)-dropped:] {
		if !q.wants(k.e) {
			continue
		}
		if len(p.Requests) == q.limit() {
			p.Last = k.e.Seq - 1
			break
		}
		p.Requests = append(p.Requests, *k.e)
	}
	return p
}

// Follow calls each for every entry after q.Since (0: from the oldest), now and as they end,
// until ctx ends, each returns an error, or the journal is closed and has no more entries
// (ErrClosed). lost counts the entries before this one that were dropped before they could
// be read. A follower never delays a request.
func (j *Journal) Follow(ctx context.Context, q Query, each func(e *Entry, lost uint64) error) error {
	q.Limit = MaxLimit
	lost := uint64(0)
	for {
		j.mu.Lock()
		batch, closed := j.after(q), j.closed
		if batch.Last == q.Since && !closed && j.changed == nil {
			j.changed = make(chan struct{})
		}
		wake := j.changed
		j.mu.Unlock()
		lost += batch.Lost
		for i := range batch.Requests {
			if err := each(&batch.Requests[i], lost); err != nil {
				return err
			}
			lost = 0
		}
		switch {
		case batch.Last > q.Since:
			q.Since = batch.Last
			continue
		case closed:
			return ErrClosed
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends every Follow after the last entry. Later entries are still kept.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
