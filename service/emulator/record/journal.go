package record

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of a journal, where its configuration says nothing.
const (
	defaultEntries = 5000
	defaultBytes   = 16 << 20
	// bodyPrefix is how much of a body is kept, in bytes.
	bodyPrefix = 2 << 10
	// bodySlack is how much more is looked at, for a secret that stands across the end.
	bodySlack = 512
	// MaxLimit is the most entries that one call gives.
	MaxLimit = 5000
)

// ErrClosed is the end of a journal that nothing more comes from.
var ErrClosed = errors.New("the journal is closed")

// Config is what a Journal stands on.
type Config struct {
	// Now is the emulator's clock.
	Now func() time.Time
	// Secrets are the values that must not stand in an entry: plain keys and passwords.
	// It is called for every entry; nil is none.
	Secrets func() []string
	// Entries and Bytes bound what is kept; 0 is 5,000 and 16 MiB.
	Entries, Bytes int
}

// Journal keeps the newest entries. Make it with New.
type Journal struct {
	conf Config

	mu      sync.Mutex
	kept    []kept // the oldest first
	bytes   int
	seq     uint64
	changed chan struct{} // closed when an entry comes; nil while nobody waits
	closed  bool
}

// kept is an entry that does not change any more.
type kept struct {
	e    *Entry
	size int
}

// New makes an empty journal.
func New(conf Config) *Journal {
	if conf.Entries <= 0 {
		conf.Entries = defaultEntries
	}
	if conf.Bytes <= 0 {
		conf.Bytes = defaultBytes
	}
	if conf.Secrets == nil {
		conf.Secrets = func() []string { return nil }
	}
	return &Journal{conf: conf}
}

// add keeps an entry, and lets the oldest go.
func (j *Journal) add(e *Entry) {
	size := e.size()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	for len(j.kept) > 0 && (len(j.kept) >= j.conf.Entries || j.bytes+size > j.conf.Bytes) {
		j.bytes -= j.kept[0].size
		j.kept[0] = kept{} // the array behind lives on for a while
		j.kept = j.kept[1:]
	}
	j.kept = append(j.kept, kept{e, size})
	j.bytes += size
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Query chooses entries. The zero value is the newest hundred.
type Query struct {
	// Since is the last entry seen: only later ones come, the oldest of them first. 0
	// gives the newest.
	Since uint64
	// Zone and Point, where not empty, are the ones wanted.
	Zone, Point string
	// Limit bounds the entries; 0 is 100, the most is MaxLimit.
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

// Page is what a Query found.
type Page struct {
	// Requests are in the order in which they ended.
	Requests []Entry `json:"requests"`
	// Last is the Since of the next call.
	Last uint64 `json:"last"`
	// Lost is how many entries after Since are gone already.
	Lost uint64 `json:"lost"`
}

// Read gives entries that are there.
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

// after gives what followed q.Since, where 0 is before the first.
func (j *Journal) after(q Query) Page {
	p := Page{Requests: []Entry{}, Last: max(j.seq, q.Since)}
	gone := j.seq - uint64(len(j.kept)) // the last that is gone
	if q.Since < gone {
		p.Lost = gone - q.Since
	}
	for _, k := range j.kept[min(max(q.Since, gone), j.seq)-gone:] {
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

// Last is the newest entry's number.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// Follow calls each for every entry after q.Since (0: from the oldest that is there), now
// and as they come, until ctx ends, each gives an error, or the journal is closed and
// everything was given (ErrClosed). lost counts the entries before this one that were
// gone before they could be read. A follower never holds a request up.
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

// Close ends every Follow once it has given what there is. Entries that come later are
// still kept.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
