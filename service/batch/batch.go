package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/drift"
	"zonedeck/service/fetch"
	"zonedeck/service/work"
)

// Config is what Batches need.
type Config struct {
	Fetch *fetch.Fetcher
	Files Files
	// Dir is the folder of the batches, each in a folder of its own.
	Dir string
	// Database is what --database takes for the one in use; "" for this machine, or that of the profile.
	Database string
	Journal  Journal
	Drift    Drift // nil learns nothing
	Clock    Clock
	Log      *slog.Logger
	// Profiles are this machine's.
	Profiles Profiles
}

// Profiles say what this machine's configuration has of a profile.
type Profiles interface {
	Known(p model.Profile) fetch.Known
	// Variable is what a variable of the profile in use stands for.
	Variable(name string) (model.Variable, bool)
}

// Files open the store of batches when it is first needed.
type Files interface {
	Batches(ctx context.Context) (*store.Store, error)
}

// Journal keeps a line for each batch.
type Journal interface {
	PutCall(ctx context.Context, a model.HistoryEntry) error
}

// Drift learns what the pages of a batch show of the fields that it requires; *drift.Monitor does.
type Drift interface {
	Pages(ctx context.Context, p *drift.Pages, required []string) (said string, err error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Batches are the batches of this machine.
type Batches struct {
	Config
	background background
}

// Plan is what a batch sends, as it is kept: references, and no secrets.
type Plan struct {
	// Request is the template. A variable {{name}} that is none of its Secrets is a column of the rows.
	Request model.FetchRequest
	Profile string
	Retries int    // that each item may have
	Source  string // the name of the input
	// Path is the input's, "" for standard input; Kind and Column say how it was read, SkipBad that bad rows were left out.
	Path, Kind, Column string `json:",omitempty"`
	SkipBad            bool   `json:",omitempty"`
	Price              int64  // what one try may cost at most, in billionths of a dollar; 0 where that is not known
	// Unpriced is the zone without a rate, where the price is not known.
	Unpriced model.ZoneName `json:",omitempty"`
	Rules    []Rule         `json:",omitempty"`
	// AtOnce, Rate and Cap are those that it was begun with.
	AtOnce int     `json:",omitempty"`
	Rate   float64 `json:",omitempty"`
	Cap    int64   `json:",omitempty"`
}

// State is a batch as it is now.
type State struct {
	store.Batch
	Plan Plan
	// Live says that a process works on it.
	Live bool
	// Workers are those on a server, the dead with them. OnServer names the database.
	Workers  []work.Worker
	Slots    map[string]int // of its limit, by the names of the workers that share it
	OnServer string
	database string // as commands name it
	// Flying is how many fetches are in flight, as far as this process knows.
	Flying int
}

// Over reports whether nothing more happens by itself.
func (s State) Over() bool { return s.State != store.Running }

// Remaining is how many items have no result yet, of those that are or may be sent.
func (s State) Remaining() int64 {
	return s.Wanted() - s.Tally.Answered - s.Tally.Unanswered - s.Tally.Dropped
}

// OK is how many items are ok.
func (s State) OK() (n int64) {
	for v, count := range s.Tally.Verdicts {
		if v.Class == model.ClassOK {
			n += count
		}
	}
	return n
}

// Verdicts are those that items have, the most frequent first.
func (s State) Verdicts() []store.Verdict {
	return slices.SortedFunc(maps.Keys(s.Tally.Verdicts), func(a, b store.Verdict) int {
		return cmp.Or(cmp.Compare(s.Tally.Verdicts[b], s.Tally.Verdicts[a]), cmp.Compare(a.Class+"/"+model.Class(a.Cause), b.Class+"/"+model.Class(b.Cause)))
	})
}

// WorstHosts are the hosts with most failures, at most n.
func (s State) WorstHosts(n int) []string {
	hosts := s.Tally.Hosts
	names := slices.SortedFunc(maps.Keys(hosts), func(a, b string) int {
		return cmp.Or(cmp.Compare(hosts[b].Failures(), hosts[a].Failures()), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return hosts[name].Failures() == 0 })
	return names[:min(n, len(names))]
}

// Dollars is an amount of the store.
func Dollars(billionths int64) float64 { return float64(billionths) / 1e9 }

// billionths is an amount in dollars as the store has it, never less.
func billionths(dollars float64) int64 {
	n := int64(dollars * 1e9)
	if float64(n) < dollars*1e9 {
		n++
	}
	return n
}

func (b *Batches) dir(id string) string { return filepath.Join(b.Dir, id) }

// state is a batch of the store with its plan.
func (b *Batches) state(ctx context.Context, st *store.Store, of store.Batch) (State, error) {
	states, err := b.states(ctx, st, []store.Batch{of})
	s := states[0]
	if err == nil && len(s.Workers) > 0 {
		s.Slots, err = st.Server.Shares.Held(ctx, lane(of.ID))
	}
	return s, err
}

// states are batches as state gives them, but for the slots of their workers.
func (b *Batches) states(ctx context.Context, st *store.Store, all []store.Batch) (states []State, err error) {
	var workers map[string][]work.Worker
	if st.Server != nil {
		workers, err = st.Server.Workers(ctx)
	}
	for _, of := range all {
		s := State{Batch: of, Workers: workers[lane(of.ID)], database: b.Database}
		if st.Server == nil {
			s.Live = locked(b.dir(of.ID))
		} else {
			s.OnServer, s.Live = st.Server.String(), slices.ContainsFunc(s.Workers, func(w work.Worker) bool { return !w.Dead })
		}
		if fault := json.Unmarshal(of.Plan, &s.Plan); fault != nil {
			err = errors.Join(err, fmt.Errorf("the plan of batch %s: %w", of.ID, fault))
		}
		states = append(states, s)
	}
	return states, err
}

// List gives all batches, the newest first.
func (b *Batches) List(ctx context.Context) ([]State, error) {
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Batches(ctx)
	if err != nil {
		return nil, err
	}
	return b.states(ctx, s, all)
}

// Waiting are the batches of a profile that wait for the operator: they were interrupted, or items of them wait for a
// decision. Where this machine never had a batch, nothing is opened.
func (b *Batches) Waiting(ctx context.Context, profile string) ([]State, error) {
	if known, err := os.ReadDir(b.Dir); len(known) == 0 && (err == nil || errors.Is(err, os.ErrNotExist)) {
		return nil, nil
	}
	all, err := b.List(ctx)
	return slices.DeleteFunc(all, func(s State) bool { return !s.Waits(profile) }), err
}

// UnknownError says that no batch has an identifier or a name.
type UnknownError struct{ ID, database string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no batch %q: '%s' shows them", model.Cut(model.Line(e.ID, 60), 60), commandOn(e.database, "list"))
}

// Show gives one batch, by its identifier or the newest of a name. Errors are an *UnknownError and the
// store's.
func (b *Batches) Show(ctx context.Context, id string) (State, error) {
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return State{}, err
	}
	of, err := s.Batch(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		return State{}, &UnknownError{id, b.Database}
	}
	if err != nil {
		return State{}, err
	}
	return b.state(ctx, s, of)
}

// change changes a batch, which id names as in Show.
func (b *Batches) change(ctx context.Context, id string, change func(of *store.Batch) error) (State, error) {
	was, err := b.Show(ctx, id)
	if err != nil {
		return State{}, err
	}
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return State{}, err
	}
	of, err := s.Change(ctx, was.ID, func(of *store.Batch) error {
		of.Changed = b.Clock.Now()
		return change(of)
	})
	if errors.Is(err, store.ErrUnknown) {
		return State{}, &UnknownError{id, b.Database}
	}
	if err != nil {
		return State{}, err
	}
	return b.state(ctx, s, of)
}

// Pause stops a batch: what is in flight comes to its end, and nothing more is sent.
func (b *Batches) Pause(ctx context.Context, id string) (State, error) {
	return b.change(ctx, id, func(of *store.Batch) error {
		if of.State == store.Running {
			of.State, of.Reason = store.Paused, "by the operator"
		}
		return nil
	})
}

// Settings are what may change while a batch runs. Nil stays as it is.
type Settings struct {
	AtOnce *int     // 0 is what the product allows
	Rate   *float64 // items begun in a second; 0 has no bound
	Cap    *float64 // dollars; 0 has none
}

// Set changes settings of a batch, also while it runs. A cap below what is spent stops it. With a higher one, a batch that
// has reached its cap is paused.
func (b *Batches) Set(ctx context.Context, id string, to Settings) (State, error) {
	was, err := b.Show(ctx, id)
	if err != nil {
		return was, err
	}
	p := b.today(ctx, was.Plan)
	return b.change(ctx, was.ID, func(of *store.Batch) error {
		if to.AtOnce != nil {
			of.AtOnce = *to.AtOnce
		}
		if to.Rate != nil {
			of.Rate = *to.Rate
		}
		if to.Cap == nil {
			return nil
		}
		switch of.Cap = billionths(*to.Cap); {
		case of.State != store.Capped:
		case of.Cap == 0 || of.Spent+of.Reserved+p.Price <= of.Cap:
			of.State, of.Reason = store.Paused, "the cap was raised: it goes on when it is resumed"
			if of.Cap == 0 {
				of.Reason = "it has no cap any more: it goes on when it is resumed"
			}
		default:
			of.Reason = p.capWords(*of, p.Price)
		}
		return p.checkCap(of.Cap)
	})
}

// today is a plan with the rates of now, if this machine has its zones: one may have a rate since.
func (b *Batches) today(ctx context.Context, p Plan) Plan {
	if now, err := b.ours(ctx, p); err == nil {
		return now
	}
	return p
}

// ProfileError refuses to go on with a batch of another profile than the one in use.
type ProfileError struct{ ID, Profile, database string }

func (e *ProfileError) Error() string {
	return fmt.Sprintf("batch %s belongs to profile %s: '%s' goes on with it", e.ID, e.Profile, commandOn(e.database, "resume "+e.ID+" --profile "+e.Profile))
}

// resume makes a batch want work again, unless its cap leaves nothing for a fetch.
func (b *Batches) resume(ctx context.Context, id string) (State, error) {
	used, err := b.Fetch.ProfileInUse(ctx)
	if err != nil {
		return State{}, err
	}
	was, err := b.Show(ctx, id)
	if err != nil {
		return was, err
	}
	p := b.today(ctx, was.Plan)
	return b.change(ctx, was.ID, func(of *store.Batch) error {
		switch {
		case of.Profile != used.Name:
			return &ProfileError{of.ID, of.Profile, b.Database}
		case of.State == store.Capped && of.Cap > 0 && of.Spent+p.Price > of.Cap:
			of.Reason = p.capWords(*of, p.Price)
		case of.State == store.Paused || of.State == store.Capped:
			of.State, of.Reason = store.Running, ""
		}
		return nil
	})
}

// Remove forgets a batch and deletes its folder, with results and bodies. Errors are an *UnknownError, a *BusyError, the
// store's and the system's.
func (b *Batches) Remove(ctx context.Context, id string) error {
	s, unlock, err := b.alone(ctx, id)
	if err != nil {
		return err
	}
	st, err := b.Files.Batches(ctx)
	if err == nil {
		err = files.Ended(b.dir(s.ID)) // what a kill leaves is swept
	}
	if err == nil {
		err = st.Remove(ctx, s.ID)
	}
	if err == nil && st.Server != nil {
		err = st.Server.Shares.Forget(ctx, lane(s.ID))
	}
	unlock() // first: some systems cannot remove a file that is locked
	if err == nil {
		err = os.RemoveAll(b.dir(s.ID))
	}
	return err
}

// logs are the committed results of a batch: the logs of its workers, or what the server has in a temporary folder.
func (b *Batches) logs(ctx context.Context, id string) (dir string, places map[string]files.Length, done func(), err error) {
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	if s.Server == nil {
		places, err = s.Workers(ctx, id)
		return b.dir(id), places, func() {}, err
	}
	if dir, err = os.MkdirTemp("", "zonedeck-results-"); err != nil {
		return "", nil, nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	if places, err = s.Server.Export(ctx, id, dir); err != nil {
		done()
	}
	return dir, places, done, err
}

// Unpack writes the bodies of a batch into a folder, named by their digests, and returns how many it wrote. An AbsentError
// says that it wrote those that this machine has.
func (b *Batches) Unpack(ctx context.Context, id, out string, on func(done int64)) (int64, error) {
	return files.Unpack(ctx, b.dir(id), b.Results(ctx, id, false), out, on)
}

// AbsentError says whose bodies this machine does not have.
type AbsentError = files.AbsentError
