package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/share"
	"zonedeck/service/work"
)

// The moments of a run.
const (
	commitEvery = 250 * time.Millisecond
	// ahead is how many slices are in the queue beyond those that are done: it stays small, whatever the input.
	ahead = 200
	// leaving is how long fetches in flight may take once the run is told to end. Those that take longer are lost.
	leaving = 3 * time.Second
)

// slicesAhead is how many slices are worked on beyond those that fill the slots: beginning and ending one takes a while.
const slicesAhead = 8

// lane names the lane of a batch's slices, and on a server its limit and its rate.
func lane(id string) string { return "batch " + id }

func lockOf(dir string) string { return filepath.Join(dir, "run") }

// locked reports whether a process works on the batch of a folder.
func locked(dir string) bool {
	unlock, ok, err := textfile.TryLock(lockOf(dir))
	if ok {
		unlock()
	}
	return err == nil && !ok
}

// hold keeps others from working on a batch; on a server it only sees that no worker does.
func (b *Batches) hold(ctx context.Context, s State) (unlock func(), err error) {
	place, err := b.lockOf(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	unlock, ok, err := textfile.TryLock(place)
	if ok && s.OnServer != "" && s.Live {
		unlock()
		ok = false
	}
	if err == nil && !ok {
		err = &BusyError{s}
	}
	return unlock, err
}

// lockOf is the lock of a batch: on a server each process has its own.
func (b *Batches) lockOf(ctx context.Context, id string) (string, error) {
	dir := b.dir(id)
	s, err := b.Files.Batches(ctx)
	if err != nil || s.Server == nil {
		return lockOf(dir), err
	}
	return lockOf(dir) + "-" + s.Server.Process, os.MkdirAll(dir, 0o700)
}

// Run works on a batch until nothing is left to send, it is paused, its cap is reached or ctx ends; a batch that was
// paused or capped goes on. While another process works on it, Run watches, and takes over when that one is gone. on gets
// the state about four times a second, on another goroutine. It returns the state at the end, also with an
// error; an empty one if the store cannot be asked.
func (b *Batches) Run(ctx context.Context, id string, on func(State)) (State, error) {
	s, err := b.resume(ctx, id)
	if err != nil {
		return s, err
	}
	return b.attend(ctx, s, on)
}

// attend is Run for a batch that is not resumed.
func (b *Batches) attend(ctx context.Context, s State, on func(State)) (State, error) {
	place, err := b.lockOf(ctx, s.ID)
	for err == nil && !s.Over() {
		unlock, ok, lockErr := textfile.TryLock(place)
		if lockErr != nil {
			return s, lockErr
		}
		if ok {
			s, err = b.work(ctx, s, on)
			unlock()
			if err == nil || ctx.Err() != nil { // as it is without this process
				if now, showErr := b.Show(context.WithoutCancel(ctx), s.ID); showErr == nil {
					s = now
				}
			}
		} else {
			on(s)
			if err = exchange.Pause(ctx, commitEvery); err == nil {
				s, err = b.Show(ctx, s.ID)
			}
		}
		if err == nil {
			err = context.Cause(ctx)
		}
	}
	return s, err
}

// runner works on a batch in this process.
type runner struct {
	b        *Batches
	id, name string // of the batch, and of this worker
	plan     Plan
	round    int // as lines of results have it
	store    *store.Store
	stock    stock
	log      *files.Log
	ways     prepared
	gates    []*gate // of these
	detours  detours
	slots    slots // items that are worked on
	leases   leases
	hands    hands
	rate     pacer
	keyRate  pacer                   // nil on one machine, where exchange holds it
	stop     context.CancelCauseFunc // of the items that are not sent yet

	learned   int64          // the results of which drift learns next
	learning  sync.Mutex     // held while it does
	along     sync.WaitGroup // drift, which learns while the batch runs
	paying    sync.Mutex
	saving    sync.Mutex // held by a commit
	unsaved   bool       // a commit failed: what it had is in the log alone, and nothing is committed after it
	reserving sync.Mutex // held while the reservation in the store changes
	mu        sync.Mutex
	broken    error   // the first fault
	cut       bool    // a fetch was cut off, and may be in flight at the service
	price     int64   // what a try may cost now
	next      pending // since the last commit; of its slices the numbers alone
	slices    map[int]store.Slice
	claims    map[int]*store.Claim // of these, on a server
	busy      map[int]bool         // the slices that are worked on
	purse     purse
	deadAt    share.Deadline // others may give back then what the worker has reserved on a server
	finished  bool           // by this worker
}

// pending is what the next commit commits.
type pending struct {
	store.Progress
	repeated  []place       // items whose last try is answered and paid for, and that are sent again
	committed chan struct{} // closed then
}

func (r *runner) newPending() pending {
	return pending{Progress: store.Progress{Worker: r.name}, committed: make(chan struct{})}
}

// errLeft ends a slice that is not done: the batch was paused, capped or told to end.
var errLeft = errors.New("it goes on later")

// work runs the batch whose lock is held.
func (b *Batches) work(ctx context.Context, s State, on func(State)) (end State, err error) {
	r := &runner{b: b, id: s.ID, plan: s.Plan, slices: map[int]store.Slice{}, busy: map[int]bool{}, hands: make(hands), claims: map[int]*store.Claim{}, rate: bucket{rate.NewLimiter(rate.Inf, 1)}}
	if err := r.open(ctx); err != nil {
		return s, errors.Join(err, r.close())
	}
	defer func() { err = errors.Join(err, r.close()) }()
	handing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.stop = stop
	r.shareLimits(handing)
	if s, err = r.commit(ctx); err == nil { // takes the settings, and puts the first slices into the queue
		err = r.renewLease(ctx)
	}
	if err != nil {
		return s, err
	}
	on(s)
	returnLease := r.lease(ctx)
	// What is in flight comes to its end when the batch is paused, and is cut off a while after the program is told to end.
	sending, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	defer context.AfterFunc(ctx, func() {
		if r.store.Server != nil {
			r.store.Server.Hasten()
		}
		time.AfterFunc(leaving, func() { cut(context.Cause(ctx)) })
	})()
	var g errgroup.Group
	g.Go(func() error { r.keepCommitting(handing, on); return nil })
	g.Go(func() error {
		defer stop(errLeft)
		if handing.Err() != nil { // nothing was left to send
			return nil
		}
		most := r.plan.inProgress(s.AtOnce)/files.SliceItems + slicesAhead
		if r.store.Server != nil { // what one worker has taken, the others cannot
			most = min(most, max(2, s.Slices/8))
		}
		return r.store.Work(handing, lane(r.id), most, func(_ context.Context, item work.Item) (time.Duration, error) {
			return 0, r.slice(handing, sending, item.Key)
		})
	})
	err = g.Wait()
	r.along.Wait()
	returnLease()
	return r.conclude(context.WithoutCancel(ctx), s, err)
}

// conclude ends a run of which nothing is in flight any more. A fault pauses the batch of one machine; on a server the other
// workers go on.
func (r *runner) conclude(ctx context.Context, s State, err error) (State, error) {
	r.mu.Lock()
	r.purse.free = 0
	err = cmp.Or(r.broken, err)
	r.mu.Unlock()
	if _, fault := r.commit(ctx); err == nil {
		err = fault
	}
	if err != nil && r.store.Server == nil {
		_, fault := r.b.change(ctx, r.id, func(of *store.Batch) error {
			if of.State == store.Running {
				of.State, of.Reason = store.Paused, model.Line(err.Error(), 300)
			}
			return nil
		})
		if err = fmt.Errorf("%w; what came is kept, and '%s' goes on", err, s.Command("resume")); fault != nil {
			r.b.Log.Warn("a batch with a fault was not paused", "batch", r.id, "error", fault)
		}
	}
	if r.unsaved && r.store.Server != nil { // it would be asked in vain
		return State{}, fmt.Errorf("%w; what came is kept on this machine, whose next run of the batch takes it in", err)
	}
	end, fault := r.b.Show(ctx, s.ID)
	if fault == nil && (r.finished || r.store.Server == nil) { // of several workers, one keeps it
		r.keepLine(ctx, end)
	}
	return end, errors.Join(err, fault)
}

func (r *runner) open(ctx context.Context) (err error) {
	dir := r.b.dir(r.id)
	if err := files.Begun(dir); err != nil {
		return err
	}
	if r.store, err = r.b.Files.Batches(ctx); err != nil {
		return err
	}
	price := r.plan.Price
	if r.plan, err = r.b.ours(ctx, r.plan); err != nil {
		return err
	}
	r.price = price
	if err := r.reprice(ctx, r.plan); err != nil {
		return err
	}
	places, err := r.store.Workers(ctx, r.id)
	if err != nil {
		return err
	}
	r.name = "w" + strconv.Itoa(len(places)+1)
	if r.ways, err = r.b.prepare(ctx, r.plan); err != nil {
		return err
	}
	if on := r.store.Server; on != nil {
		key, err := r.ways[0].Key(ctx)
		if err != nil {
			return err
		}
		r.name, r.stock, r.rate, r.keyRate = on.Process, &shared{runner: r, marked: map[int]int{}}, on.Shares.Rate(lane(r.id)), on.Shares.Rate("key "+r.plan.Profile+"/"+key)
	} else {
		items, err := files.OpenItems(dir)
		if err != nil {
			return err
		}
		r.stock = local{r, items}
	}
	r.next = r.newPending()
	if err := r.recover(ctx); err != nil { // before the log is opened: it may be that of an earlier run of this process
		return err
	}
	if err := r.remember(ctx); err != nil {
		return err
	}
	r.log, err = files.OpenLog(dir, r.name)
	return err
}

func (r *runner) close() error {
	var errs []error
	r.ways.Close()
	close(r.hands)
	if r.log != nil {
		errs = append(errs, r.log.Close())
	}
	if r.stock != nil {
		errs = append(errs, r.stock.close())
	}
	return errors.Join(errs...)
}

// keepCommitting commits until all is done or ctx ends.
func (r *runner) keepCommitting(ctx context.Context, on func(State)) {
	every := time.NewTicker(commitEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if s, err := r.commit(context.WithoutCancel(ctx)); err == nil {
			on(s)
			r.learnAlong(ctx, s)
		}
	}
}

// commit puts what came since the last one on disk and into the store, and takes from there what was changed meanwhile.
// After an error it does nothing more: what came is in the log, for whoever goes on.
func (r *runner) commit(ctx context.Context) (s State, err error) {
	r.saving.Lock() // what is older does not come later
	defer r.saving.Unlock()
	if r.unsaved {
		return s, errLeft
	}
	if s, err = r.save(ctx); err != nil {
		r.unsaved = true
		r.fault(err)
	}
	return s, err
}

func (r *runner) save(ctx context.Context) (State, error) {
	p, err := r.take()
	if err != nil {
		return State{}, err
	}
	p.Pace = cmp.Or(r.leases.missing(), r.ways[0].Pace(ctx))
	of, err := r.keep(ctx, p)
	if err != nil {
		return State{}, err
	}
	for _, at := range p.repeated {
		if err := r.stock.mark(ctx, at, 0); err != nil {
			return State{}, err
		}
	}
	close(p.committed)
	plan, err := r.b.ours(ctx, r.plan)
	if err == nil {
		err = r.reprice(ctx, plan)
	}
	if err != nil {
		return State{}, err
	}
	r.mu.Lock()
	r.round = of.Tally.Rounds
	flying := r.purse.flying
	if left := of.Cap - of.Spent - of.Reserved; of.Cap > 0 && (left < 0 || left < r.price && flying == 0) {
		r.purse.free = 0 // the cap was lowered, or others may need it
	}
	r.mu.Unlock()
	of, err = r.queue(ctx, of)
	if err != nil {
		return State{}, err
	}
	r.resize(of.AtOnce)
	r.rate.Set(of.Rate)
	if of.State != store.Running {
		r.stop(errLeft)
	}
	s := State{Batch: of, Plan: plan, Live: true, Flying: flying}
	if s.Remaining() == 0 && of.State == store.Running {
		if s, err = r.b.change(ctx, r.id, r.complete); err != nil {
			return State{}, err
		}
		r.stop(errLeft)
	}
	return s, nil
}

// complete ends a batch of which nothing is left to send.
func (r *runner) complete(of *store.Batch) error {
	if of.State != store.Running { // another worker was first
		return nil
	}
	r.finished = true
	of.State, of.Ended = store.Done, of.Changed
	if of.Tally.Unanswered > 0 {
		of.State, of.Reason = store.Held, MaybeSent(of.Tally.Unanswered)+": a decision is due"
	}
	return nil
}

// reprice has tries be reserved by today's rates. With a cap they must have some.
func (r *runner) reprice(ctx context.Context, plan Plan) error {
	if plan.Price == r.price {
		return nil
	}
	_, err := r.b.change(ctx, r.id, func(of *store.Batch) (err error) {
		if plan.Price == 0 && of.Cap > 0 {
			return plan.checkCap(of.Cap)
		}
		r.mu.Lock()
		r.price = plan.Price
		r.mu.Unlock()
		var p Plan
		if err := json.Unmarshal(of.Plan, &p); err != nil {
			return err
		}
		p.Price, p.Unpriced = plan.Price, plan.Unpriced
		of.Plan, err = json.Marshal(p)
		return err
	})
	return err
}

// keep commits what came, and what the worker has reserved then.
func (r *runner) keep(ctx context.Context, p pending) (store.Batch, error) {
	r.reserving.Lock()
	defer r.reserving.Unlock()
	r.mu.Lock()
	p.Reserved = r.purse.reserved()
	r.mu.Unlock()
	of, taken, err := r.store.Commit(ctx, r.id, p.Progress)
	if err == nil {
		r.detours.committed(p.Counts)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range taken {
		r.forget(n)
	}
	return of, err
}

// take gives what is to be committed, once it is on disk.
func (r *runner) take() (pending, error) {
	p := r.snapshot()
	_, err := r.log.Sync() // what was appended since then is on disk, too, and is committed next
	return p, err
}

// snapshot is what came since the last one. Its lengths and its outcomes belong together.
func (r *runner) snapshot() pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.next
	p.Place, p.Now, p.Slices, p.Claims = r.log.Length(), r.b.Clock.Now(), map[int]store.Slice{}, map[int]store.Claim{}
	for n := range r.next.Slices {
		if r.slices[n] == nil { // it is another worker's now
			continue
		}
		p.Slices[n] = append(store.Slice(nil), r.slices[n]...)
		if c := r.claims[n]; c != nil {
			p.Claims[n] = *c
			c.Tally, c.Lines = store.Tally{}, nil
			continue // it is forgotten when it is left
		}
		if p.Slices[n].Todo() == 0 {
			delete(r.slices, n)
		}
	}
	p.Counts, p.Holds = r.detours.uncommitted(), r.plan.holds()
	r.purse.settled = 0
	r.next = r.newPending()
	return p
}

// forget drops what is known of a slice that is not this worker's any more; what came of it is late. r.mu is held.
func (r *runner) forget(n int) {
	if c := r.claims[n]; c != nil {
		r.next.Late = append(r.next.Late, c.Lines...)
	}
	delete(r.claims, n)
	delete(r.slices, n)
	delete(r.next.Slices, n)
}

// fault ends the run because of what this worker alone may have met; an errLeft is none.
func (r *runner) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breakBy(err)
}

// breakBy is fault while r.mu is held.
func (r *runner) breakBy(err error) {
	if r.broken == nil && !errors.Is(err, errLeft) {
		r.broken = err
	}
	r.stop(errLeft)
}

// queue puts the next slices into the queue.
func (r *runner) queue(ctx context.Context, of store.Batch) (store.Batch, error) {
	if of.Queued >= of.Slices {
		return of, nil
	}
	done, err := r.store.Done(ctx, r.id)
	if err != nil {
		return of, err
	}
	upTo := min(of.Slices, done+ahead)
	if upTo < of.Queued+ahead/4 && upTo < of.Slices || of.Queued >= upTo {
		return of, nil
	}
	for n := of.Queued; n < upTo; n++ {
		if err := r.put(ctx, n); err != nil {
			return of, err
		}
	}
	return r.store.Change(ctx, r.id, func(of *store.Batch) error {
		of.Queued = max(of.Queued, upTo)
		return nil
	})
}

func (r *runner) put(ctx context.Context, n int) error {
	return r.store.Put(ctx, work.Item{Lane: lane(r.id), Key: strconv.Itoa(n)})
}

// slice sends the items of a slice. ctx ends what was not sent yet, and sending what is in flight.
func (r *runner) slice(ctx, sending context.Context, key string) error {
	n, err := strconv.Atoi(key)
	if err != nil {
		return err
	}
	if !r.begin(n) { // it was freed while this process hung, and what it had in flight is not over yet
		return errLeft
	}
	defer r.end(n)
	items, outcomes, err := r.stock.load(ctx, n)
	if err != nil {
		if ctx.Err() == nil { // it would be so again
			r.fault(err)
		}
		return err
	}
	var all sync.WaitGroup
	lost := make([]bool, len(items))
	for i, it := range items {
		if !outcomes[i].Open() {
			continue
		}
		if err = r.slots.take(ctx); err != nil {
			break
		}
		all.Add(1)
		r.hands.do(func() {
			defer all.Done()
			defer r.slots.leave()
			lost[i] = r.item(ctx, sending, place{n, i}, it)
		})
	}
	all.Wait()
	var unanswered []int
	for i := range lost {
		if lost[i] {
			unanswered = append(unanswered, i)
		}
	}
	err = errors.Join(err, r.stock.leave(ctx, n, unanswered))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = r.cut || len(unanswered) > 0
	if outcomes.Todo() > 0 {
		return errors.Join(errLeft, err)
	}
	return err
}

// begin reports whether nothing else of this process works on a slice; whoever begins calls end.
func (r *runner) begin(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.busy[n]
	r.busy[n] = true
	return !busy
}

func (r *runner) end(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, n)
}

// load gives the items of a slice and what became of them. A slice that nobody has begun is begun.
func (r local) load(ctx context.Context, n int) ([]files.Item, store.Slice, error) {
	items, err := r.items.Slice(n)
	if err != nil {
		return nil, nil, err
	}
	outcomes, err := r.store.Slice(ctx, r.id, n)
	if err != nil {
		return nil, nil, err
	}
	if outcomes == nil {
		outcomes = fresh(items)
		if err := r.store.Begin(ctx, r.id, n, outcomes); err != nil { // before any is sent: who finds the marks looks here
			return nil, nil, err
		}
	}
	if len(outcomes) != len(items) {
		return nil, nil, fmt.Errorf("slice %d of batch %s has %d items on disk and %d in the store", n, r.id, len(items), len(outcomes))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slices[n] = outcomes
	return items, outcomes, nil
}

// fresh are the outcomes of a slice that nobody has begun.
func fresh(items []files.Item) store.Slice {
	out := make(store.Slice, len(items))
	for i, it := range items {
		out[i] = store.ToSend
		if it.Duplicate >= 0 {
			out[i] = store.Duplicate
		}
	}
	return out
}

// touch has a slice committed. r.mu is held.
func (r *runner) touch(n int) {
	if r.next.Slices == nil {
		r.next.Slices = map[int]store.Slice{}
	}
	r.next.Slices[n] = nil
}

// keepLine writes the batch's line into the history, in place of an earlier run's. Of a batch of which nothing is left to
// send drift learns before.
func (r *runner) keepLine(ctx context.Context, s State) {
	said := ""
	if s.State == store.Done || s.State == store.Held {
		said = r.learn(ctx, s)
	}
	of := s.Plan.Request
	err := r.b.Journal.PutCall(ctx, model.HistoryEntry{
		At: s.Changed, Kind: model.HistoryBatch, Profile: s.Profile, Zone: string(of.Zone.Name), URL: of.Summary(), Via: of.Via, Key: of.Key, Ref: s.ID,
		Total: s.Changed.Sub(s.Created), Bytes: s.Tally.Bytes, Cost: Dollars(s.Spent), Priced: s.Plan.Price > 0,
		Text: strings.TrimSuffix(fmt.Sprintf("batch %s: %s, %d of %s answered, %d of them ok; %s", s.ID, s.State, s.Tally.Answered, model.Counted(s.Wanted(), "item"), s.OK(), said), "; "),
	})
	if err != nil {
		r.b.Log.Warn("a batch has no line in the history", "batch", s.ID, "error", err)
	}
}

// rowOf gives the columns of an item.
func rowOf(line []byte) (func(name string) (string, bool), error) {
	var row Row
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, err
	}
	return fetch.Column(row.Values), nil
}
