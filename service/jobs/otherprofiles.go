package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/catalogue"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/webhook"
)

// Jobs are the jobs of the profile in use, and of the others that the ledger knows. Use Join.
type Jobs struct {
	*Runner
	*Launching
	*catalogue.Catalogue
	otherRunners *otherRunners // nil for none
}

// OtherProfiles are the accounts other than the one in use. Their jobs are followed, too; nothing else is sent to
// their services.
type OtherProfiles interface {
	// OtherProfiles returns the profiles now configured, without the one in use and without the embedded emulator,
	// which lives in the process that uses it.
	OtherProfiles() []model.Profile
	// OtherProfile gives a profile's addresses and key. It asks nobody for a passphrase: the person at the terminal
	// works with another profile.
	OtherProfile(name string) exchange.Source
}

// lookForOthers is how often the ledger is searched for jobs of profiles that are not followed yet.
const lookForOthers = 2 * time.Second

// otherRunners holds the runners of other profiles, each made when first needed.
type otherRunners struct {
	OtherProfiles
	cfg   Config
	owing interface {
		Owing(ctx context.Context, now time.Time) ([]string, error)
	}

	mu      sync.Mutex
	runners map[string]*Runner
}

// Parts are what Jobs are made of. The Machine, Settler and Catalogue of a launch are the other parts.
type Parts struct {
	Config
	Launch        LaunchConfig
	Catalogue     *catalogue.Catalogue
	OtherProfiles OtherProfiles // nil for none
	// OtherList lists the jobs at their services.
	OtherList RemoteList
	// Machine is this machine's clock, which dates the jobs of the others. The profile in use may have an emulator's,
	// which can be moved.
	Machine Clock
}

// Join makes Jobs. It does no I/O.
func Join(p Parts) *Jobs {
	js := &Jobs{Runner: New(p.Config), Catalogue: p.Catalogue}
	p.Launch.Machine, p.Launch.Settler, p.Launch.Catalogue = js.Runner, js.Settler(), p.Catalogue
	js.Launching = NewLaunching(p.Launch)
	if c := p.Config; p.OtherProfiles != nil && c.Ledger != nil {
		c.Clock, c.List, c.Ledger, c.Coverages = p.Machine, p.OtherList, c.Ledger.By(p.Machine.Now), nil // nothing is downloaded for them
		js.otherRunners = &otherRunners{OtherProfiles: p.OtherProfiles, cfg: c, owing: c.Ledger, runners: map[string]*Runner{}}
	}
	return js
}

func (o *otherRunners) profile(name string) (model.Profile, error) {
	profiles := o.OtherProfiles.OtherProfiles()
	i := slices.IndexFunc(profiles, func(p model.Profile) bool { return p.Name == name })
	if i < 0 {
		return model.Profile{}, fmt.Errorf("profile %s is not in the config file", name)
	}
	return profiles[i], nil
}

// runnerOf returns the runner of another configured profile, or nil.
func (o *otherRunners) runnerOf(name string) *Runner {
	if o == nil {
		return nil
	}
	if _, err := o.profile(name); err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runners[name] == nil {
		c := o.cfg
		c.Source = o.OtherProfile(name)
		o.runners[name] = New(c)
	}
	return o.runners[name]
}

// whyNot returns why a profile's jobs cannot be asked about, or nil.
func (o *otherRunners) whyNot(name string) error {
	p, err := o.profile(name)
	if err != nil {
		return err
	}
	d, err := dialect.Find(p.Dialect)
	if err == nil && !d.AsksForJobs() {
		_, err = d.JobPaths(p.APIVersion, "", "none")
	}
	return err
}

// FollowsOthers reports whether there are other profiles whose jobs can be asked about.
func (js *Jobs) FollowsOthers() bool {
	return js.otherRunners != nil && slices.ContainsFunc(js.otherRunners.OtherProfiles.OtherProfiles(), func(p model.Profile) bool { return js.otherRunners.whyNot(p.Name) == nil })
}

// Follow asks the services about all jobs in flight until ctx ends: those of the profile in use (see
// Runner.Follow) and those of every other configured profile. It calls on for all of them, from this
// goroutine; Job.Profile tells them apart. A Followed without a job is about the profile in use only.
//
// It returns the errors of Runner.Follow for the profile in use, except ErrNotShown: that profile's
// dialect may change, and other profiles have their own. A profile whose jobs cannot be followed is tried again.
func (js *Jobs) Follow(ctx context.Context, on func(Followed)) error {
	if js.otherRunners == nil {
		return js.Runner.Follow(ctx, on)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := followers{js: js, events: make(chan followedBy), running: map[string]*following{}, logged: map[string]string{}}
	defer f.all.Wait()
	defer cancel()
	f.start(ctx, inUse, js.Runner)
	f.look(ctx)
	next := time.NewTicker(lookForOthers)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			f.look(ctx)
		case e := <-f.events:
			if err := f.handle(e, on); err != nil {
				return err
			}
		}
	}
}

// followAgain is the pause between a failure and the next try to follow the jobs.
const followAgain = 10 * time.Second

// KeepFollowing is Follow that begins again when it fails, until ctx ends. say gets each failure, if it is not the last
// one again.
func (js *Jobs) KeepFollowing(ctx context.Context, on func(Followed), say func(error)) {
	keepFollowing(ctx, func() error { return js.Follow(ctx, on) }, say)
}

// keepFollowing follows until ctx ends. It says what failed, but does not repeat itself.
func keepFollowing(ctx context.Context, follow func() error, say func(error)) {
	said := ""
	for {
		began := time.Now()
		err := follow()
		if time.Since(began) > followAgain { // it went well meanwhile
			said = ""
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			say(err)
		}
		again := time.NewTimer(followAgain)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
}

// WatchAndFollow is Watch, and follows all other jobs meanwhile. For those, it asks nobody for a passphrase, and the
// reason for an ADMIN key does not apply.
func (js *Jobs) WatchAndFollow(ctx context.Context, jobID string, on func(model.Job)) (model.Job, error) {
	meanwhile, end := context.WithCancel(ask.By(ctx, ask.Nobody))
	var following sync.WaitGroup
	following.Go(func() {
		if err := js.Follow(meanwhile, func(Followed) {}); err != nil {
			js.Runner.cfg.Log.Warn("the other jobs are not followed meanwhile", "error", err)
		}
	})
	defer following.Wait()
	defer end()
	return js.Watch(ctx, jobID, on)
}

// inUse is the name of the profile in use among the followers.
const inUse = ""

// followedBy is what a profile's follower reported, or why it ended.
type followedBy struct {
	Followed
	profile string
	ended   bool
	err     error
}

// following is what Follow's goroutine knows of a profile's follower.
type following struct {
	end  context.CancelCauseFunc
	on   map[string]Followed // the last report about each job that is followed
	idle bool                // it reported that no job is followed
}

// followers are the followers of one Follow. Only its goroutine uses them.
type followers struct {
	js      *Jobs
	events  chan followedBy
	all     sync.WaitGroup
	running map[string]*following // by profile
	logged  map[string]string     // by profile, the last logged reason why it could not be followed
}

// start follows the jobs of a profile.
func (f *followers) start(ctx context.Context, name string, rn *Runner) {
	own, end := context.WithCancelCause(ctx)
	f.running[name] = &following{end: end, on: map[string]Followed{}}
	f.all.Go(func() {
		defer end(nil)
		tell := func(e followedBy) {
			e.profile = name
			select {
			case f.events <- e:
			case <-ctx.Done():
			}
		}
		err := rn.Follow(own, func(e Followed) { tell(followedBy{Followed: e}) })
		tell(followedBy{ended: true, err: cmp.Or(err, context.Cause(own))})
	})
}

// handle passes on what a follower reported.
func (f *followers) handle(e followedBy, on func(Followed)) error {
	r := f.running[e.profile]
	switch {
	case !e.ended && e.Job.ID == "":
		if r.idle = true; e.profile == inUse {
			on(e.Followed)
		}
		return nil
	case !e.ended:
		if delete(r.on, e.Job.ID); e.On {
			r.on[e.Job.ID], r.idle = e.Followed, false
		}
		on(e.Followed)
		return nil
	case e.profile == inUse && !errors.Is(e.err, dialect.ErrNotShown):
		return e.err
	}
	delete(f.running, e.profile)
	for _, id := range slices.Sorted(maps.Keys(r.on)) {
		on(Followed{Job: r.on[id].Job, Err: e.err})
	}
	if e.profile == inUse {
		on(Followed{})
	} else if !errors.Is(e.err, context.Canceled) {
		f.warn(e.profile, e.err)
	}
	return nil
}

// look starts following the profiles that now have jobs in flight, and stops following those that have none
// or are no longer configured.
func (f *followers) look(ctx context.Context) {
	if f.running[inUse] == nil {
		if _, d, err := exchange.Current(ctx, f.js.Runner.cfg.Source); err == nil && d.AsksForJobs() {
			f.start(ctx, inUse, f.js.Runner)
		}
	}
	owing, err := f.js.otherRunners.owing.Owing(ctx, f.js.otherRunners.cfg.Now())
	if err != nil && ctx.Err() == nil {
		f.warn(inUse, err)
	}
	for name, r := range f.running {
		switch why := f.js.otherRunners.whyNot(name); {
		case name == inUse:
		case why != nil:
			r.end(why)
		case r.idle && err == nil && !slices.Contains(owing, name):
			r.end(nil)
		}
	}
	for _, name := range owing {
		if f.running[name] != nil || f.js.otherRunners.whyNot(name) != nil {
			continue
		}
		if rn := f.js.otherRunners.runnerOf(name); rn != nil {
			f.start(ctx, name, rn)
		}
	}
}

// warn logs why a profile's jobs are not followed, unless it logged the same last time.
func (f *followers) warn(name string, err error) {
	if text := err.Error(); f.logged[name] != text {
		f.logged[name] = text
		f.js.Runner.cfg.Log.Warn("the jobs of other profiles are not followed", "profile", name, "error", err)
	}
}

// runnerOf returns the runner of a profile's jobs. For an unknown profile it is that of the profile in use.
func (js *Jobs) runnerOf(name string) *Runner {
	if rn := js.otherRunners.runnerOf(name); rn != nil {
		return rn
	}
	return js.Runner
}

// AskNow is Runner.AskNow for a job of any profile.
func (js *Jobs) AskNow(ctx context.Context, jobID string) (model.Job, error) {
	job, err := js.Job(ctx, jobID)
	if err != nil {
		return job, err
	}
	return js.runnerOf(job.Profile).AskNow(ctx, job.ID)
}

// HeardWebhook implements webhook.Jobs: it tells the job in the ledger, of any profile.
func (js *Jobs) HeardWebhook(ctx context.Context, news model.WebhookNews) (job, said string, err error) {
	j, err := js.JobOfWebhook(ctx, news)
	if err == nil {
		j, said, err = js.runnerOf(j.Profile).HandleWebhook(ctx, news)
	}
	switch {
	case errors.Is(err, ErrOnItsWay):
		return j.ID, "", webhook.ErrLater
	case errors.Is(err, ErrUnknownJob):
		return "", "no job is waiting for it", nil
	default:
		return j.ID, said, err
	}
}
