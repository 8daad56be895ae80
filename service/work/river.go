package work

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"zonedeck/service/database"
)

// defaultLease is how long a process may hold one item.
const defaultLease = 45 * time.Second

// Unleased is the lease of items that may take any time.
const Unleased = time.Duration(math.MaxInt64)

// fetchEvery is how often a worker looks for due items. It gets no notifications of items from other
// processes: on SQLite, River would query every 50 ms for those.
const fetchEvery = 250 * time.Millisecond

// Options configure a queue.
type Options struct {
	// Lease is how long a process may hold one item, 0 for 45 s. The context of a handler ends
	// shortly before. Items of a process that hangs go to others within 30 s after their lease,
	// those of a dead process within two seconds. With Unleased a process holds them as long as it lives.
	Lease time.Duration
	// Cooldown is the least time between two looks for items that are due, 0 for 100 ms.
	Cooldown time.Duration
	// Log takes errors that no caller waits for; nil discards them.
	Log *slog.Logger
}

// files is a Queue in a SQLite file.
type files struct {
	*queue[*sql.Tx]
	db *database.DB
}

// OpenFile opens a queue in a SQLite file, or creates it with mode 0600. Several processes may have it
// open. A damaged file is put aside and a new one begun: callers put work again that is still worth
// doing.
func OpenFile(ctx context.Context, path string, o Options) (Queue, error) {
	db, _, err := database.Open(ctx, path, database.Options{Name: "queue of work", Now: time.Now, Busy: database.Busy})
	if err != nil {
		return nil, err
	}
	q, err := Within(ctx, db, o)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &files{q.(*queue[*sql.Tx]), db}, nil
}

// Within makes a queue in a file that has other tables, too. Its Close leaves the file open.
func Within(ctx context.Context, db *database.DB, o Options) (Queue, error) {
	driver := riversqlite.New(db.Writer())
	if err := migrate(ctx, db.Path(), driver); err != nil {
		return nil, fmt.Errorf("making the tables of %s: %w", db.Path(), database.Classify(err))
	}
	return newQueue(driver, signFiles(db.Path()+".workers"), o)
}

// Close implements Queue.
func (q *queue[T]) Close() error { return nil }

// Close implements Queue.
func (f *files) Close() error { return f.db.Close() }

// migrate creates River's tables. Two processes must not do so at once.
func migrate[T any](ctx context.Context, path string, driver riverdriver.Driver[T]) error {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	waiting, cancel := context.WithTimeout(ctx, database.Busy)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 20*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another process: %w", err)
	}
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// queue is a Queue on any database that River has a driver for; T is its transaction.
type queue[T any] struct {
	driver riverdriver.Driver[T]
	signs  signs
	o      Options
	client *river.Client[T] // adds items but works on none
}

func newQueue[T any](driver riverdriver.Driver[T], signs signs, o Options) (*queue[T], error) {
	o.Lease, o.Log = cmp.Or(o.Lease, defaultLease), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	q := &queue[T]{driver: driver, signs: signs, o: o}
	var err error
	q.client, err = river.NewClient(driver, q.config())
	return q, err
}

func (q *queue[T]) config() *river.Config {
	timeout, rescue := q.o.Lease*8/9, q.o.Lease
	if rescue == Unleased {
		timeout, rescue = -1, 100*365*24*time.Hour
	}
	return &river.Config{
		Logger: slog.New(warnings{q.o.Log.Handler()}), PollOnly: true, FetchPollInterval: fetchEvery, FetchCooldown: q.o.Cooldown,
		JobTimeout: timeout, RescueStuckJobsAfter: rescue,
		MaxAttempts: math.MaxInt16, // each kill of a process that holds it counts as one
		RetryPolicy: soon{}, CompletedJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: time.Hour,
	}
}

// warnings drops what River logs every few seconds while all is well.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// soon is how long River waits after a handler panicked or a process was killed.
type soon struct{}

func (soon) NextRetry(job *rivertype.JobRow) time.Time {
	if len(job.Errors) > 0 && job.Errors[len(job.Errors)-1].Trace != "" { // a panic
		return time.Now().Add(RetryAfter)
	}
	return time.Now()
}

// args is an Item as River stores it.
type args struct {
	Lane  string `json:"lane"  river:"unique"`
	Key   string `json:"key"   river:"unique"`
	Until int64  `json:"until"`
}

// Kind is River's name for the only kind of job. It is stored in its rows.
func (args) Kind() string { return "zonedeck_item" }

func (a args) item(due time.Time) Item {
	return Item{Lane: a.Lane, Key: a.Key, Until: timeOf(a.Until), Due: due}
}

func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// queueOf is the name of a lane's queue. River allows only a-z, 0-9, - and _ in names.
func queueOf(lane string) string {
	sum := sha256.Sum256([]byte(lane))
	return "lane-" + hex.EncodeToString(sum[:16])
}

func decode(raw []byte) (a args, err error) {
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("an item of the queue of work: %w: %w", database.ErrCorrupt, err)
	}
	return a, nil
}

// open are the states of an item that is not done.
func open() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

func argsOf(item Item) args { return args{item.Lane, item.Key, database.Micros(item.Until)} }

func optsOf(item Item) *river.InsertOpts {
	return &river.InsertOpts{Queue: queueOf(item.Lane), UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: open()}}
}

func (q *queue[T]) insert(ctx context.Context, item Item) (*rivertype.JobInsertResult, error) {
	res, err := q.client.Insert(ctx, argsOf(item), optsOf(item))
	if err != nil {
		return nil, fmt.Errorf("putting %s into the queue of work: %w", item.Key, database.Classify(err))
	}
	return res, nil
}

// Put implements Queue.
func (q *queue[T]) Put(ctx context.Context, item Item) error {
	_, err := q.insert(ctx, item)
	return err
}

// Items implements Queue.
func (q *queue[T]) Items(ctx context.Context, lane string) ([]Item, error) {
	rows, err := q.rows(ctx, lane)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, row := range rows {
		a, err := decode(row.EncodedArgs)
		if err != nil {
			return nil, err
		}
		items = append(items, a.item(row.ScheduledAt))
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	return items, nil
}

// rows returns the items of a lane that are not done, as River's rows.
func (q *queue[T]) rows(ctx context.Context, lane string) (rows []*rivertype.JobRow, err error) {
	params := river.NewJobListParams().Queues(queueOf(lane)).States(open()...).First(1000).OrderBy(river.JobListOrderByID, river.SortOrderAsc)
	for {
		page, err := q.client.JobList(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("reading the queue of work: %w", database.Classify(err))
		}
		rows = append(rows, page.Jobs...)
		if len(page.Jobs) < 1000 {
			return rows, nil
		}
		params = params.After(page.LastCursor)
	}
}

// Work implements Queue.
func (q *queue[T]) Work(ctx context.Context, lane string, n int, handle Handler) error {
	conf := q.config()
	conf.Queues = map[string]river.QueueConfig{queueOf(lane): {MaxWorkers: n}}
	conf.Workers = river.NewWorkers()
	if err := river.AddWorkerSafely(conf.Workers, &worker{handle: handle, stopping: ctx, log: q.o.Log}); err != nil {
		return err
	}
	name, end, err := q.signs.begin(ctx, lane)
	if err != nil {
		return fmt.Errorf("beginning to work: %w", err)
	}
	defer end()
	conf.ID = name
	client, err := river.NewClient(q.driver, conf)
	if err != nil {
		return err
	}
	// River gets a context that outlasts ctx, to record how handlers ended.
	lasting := context.WithoutCancel(ctx)
	ended, unsubscribe := client.Subscribe(river.EventKindJobSnoozed, river.EventKindJobFailed, river.EventKindJobCompleted)
	var hastening sync.WaitGroup
	hastening.Go(func() { q.keepHastening(lasting, ended) })
	defer hastening.Wait()
	defer unsubscribe()
	if err := client.Start(lasting); err != nil {
		return fmt.Errorf("beginning to work: %w", database.Classify(err))
	}
	q.keepFreeing(ctx)
	return client.StopAndCancel(lasting)
}

// worker adapts a Handler to River.
type worker struct {
	river.WorkerDefaults[args]
	handle   Handler
	stopping context.Context //nolint:containedctx // Work's, which River does not pass on
	log      *slog.Logger
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.stopping, cancel)()
	again, err := w.handle(ctx, job.Args.item(job.ScheduledAt))
	switch {
	case w.stopping.Err() != nil && err != nil:
		return river.JobSnooze(0) // for another process
	case err != nil:
		w.log.Warn("work goes on later", "item", job.Args.Key, "error", err)
		return river.JobSnooze(RetryAfter)
	case again > 0:
		return river.JobSnooze(again)
	default:
		return nil
	}
}
