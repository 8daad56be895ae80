package service

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
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
)

// OtherProfiles are the accounts other than the one in use. Their jobs are followed, too; nothing else is sent to
// their services.
type OtherProfiles struct {
	// Profiles returns the profiles now configured, without the one in use and without the embedded emulator,
	// which lives in the process that uses it.
	Profiles func() []model.Profile
	// Source gives a profile's addresses and key. It asks nobody for a passphrase: the person at the terminal
	// works with another profile.
	Source func(profile string) exchange.Source
	// Now is the machine's clock. The profile in use may have an emulator's, which can be moved.
	Now func() time.Time
}

// lookForOthers is how often the ledger is searched for jobs of profiles that are not followed yet.
const lookForOthers = 2 * time.Second

// otherRunners holds the runners of other profiles, each made when first needed. Use newOthers.
type otherRunners struct {
	OtherProfiles
	runner func(name string) *jobs.Runner
	ledger interface {
		Owing(ctx context.Context, now time.Time) ([]string, error)
	}

	mu      sync.Mutex
	runners map[string]*jobs.Runner
}

// newOthers makes the runners of o.OtherProfiles, which must be set, from the parts in j.
func newOthers(o ClientOptions, j jobs.Config) *otherRunners {
	of := &otherRunners{OtherProfiles: *o.OtherProfiles, ledger: o.Ledger, runners: map[string]*jobs.Runner{}}
	j.Clock, j.Ledger = clockBy(of.Now), o.Ledger.By(of.Now)
	j.Coverages = nil // nothing is downloaded for them
	of.runner = func(name string) *jobs.Runner {
		j := j
		j.Source = of.Source(name)
		j.List = remoteJobs{Source: j.Source, Wire: j.Wire, Now: of.Now}
		return jobs.New(j)
	}
	return of
}

func (o *otherRunners) profile(name string) (model.Profile, error) {
	profiles := o.Profiles()
	i := slices.IndexFunc(profiles, func(p model.Profile) bool { return p.Name == name })
	if i < 0 {
		return model.Profile{}, fmt.Errorf("profile %s is not in the config file", name)
	}
	return profiles[i], nil
}

// runnerOf returns the runner of another configured profile, or nil.
func (o *otherRunners) runnerOf(name string) *jobs.Runner {
	if o == nil {
		return nil
	}
	if _, err := o.profile(name); err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runners[name] == nil {
		o.runners[name] = o.runner(name)
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
func (c *Client) FollowsOthers() bool {
	return c.otherRunners != nil && slices.ContainsFunc(c.otherRunners.Profiles(), func(p model.Profile) bool { return c.otherRunners.whyNot(p.Name) == nil })
}

// Follow asks the services about all jobs in flight until ctx ends: those of the profile in use (see
// jobs.Runner.Follow) and those of every other configured profile. It calls on for all of them, from this
// goroutine; Job.Profile tells them apart. A Followed without a job is about the profile in use only.
//
// It returns the errors of jobs.Runner.Follow for the profile in use, except ErrNotShown: that profile's
// dialect may change, and other profiles have their own. A profile whose jobs cannot be followed is tried again.
func (c *Client) Follow(ctx context.Context, on func(jobs.Followed)) error {
	if c.otherRunners == nil {
		return c.Runner.Follow(ctx, on)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := followers{c: c, events: make(chan followedBy), running: map[string]*following{}, logged: map[string]string{}}
	defer f.all.Wait()
	defer cancel()
	f.start(ctx, inUse, c.Runner)
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
func (c *Client) KeepFollowing(ctx context.Context, on func(jobs.Followed), say func(error)) {
	keepFollowing(ctx, func() error { return c.Follow(ctx, on) }, say)
}

// keepFollowing follows until ctx ends. It says what failed, but does not repeat itself.
func keepFollowing(ctx context.Context, follow func() error, say func(error)) {
	said := ""
	for {
		err := follow()
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
func (c *Client) WatchAndFollow(ctx context.Context, jobID string, on func(model.Job)) (model.Job, error) {
	meanwhile, end := context.WithCancel(ask.By(ctx, ask.Nobody))
	var following sync.WaitGroup
	following.Go(func() {
		if err := c.Follow(meanwhile, func(jobs.Followed) {}); err != nil {
			c.log.Warn("the other jobs are not followed meanwhile", "error", err)
		}
	})
	defer following.Wait()
	defer end()
	return c.Watch(ctx, jobID, on)
}

// inUse is the name of the profile in use among the followers.
const inUse = ""

// followedBy is what a profile's follower reported, or why it ended.
type followedBy struct {
	jobs.Followed
	profile string
	ended   bool
	err     error
}

// following is what Follow's goroutine knows of a profile's follower.
type following struct {
	end  context.CancelCauseFunc
	on   map[string]jobs.Followed // the last report about each job that is followed
	idle bool                     // it reported that no job is followed
}

// followers are the followers of one Follow. Only its goroutine uses them.
type followers struct {
	c       *Client
	events  chan followedBy
	all     sync.WaitGroup
	running map[string]*following // by profile
	logged  map[string]string     // by profile, the last logged reason why it could not be followed
}

// start follows the jobs of a profile.
func (f *followers) start(ctx context.Context, name string, rn *jobs.Runner) {
	own, end := context.WithCancelCause(ctx)
	f.running[name] = &following{end: end, on: map[string]jobs.Followed{}}
	f.all.Go(func() {
		defer end(nil)
		tell := func(e followedBy) {
			e.profile = name
			select {
			case f.events <- e:
			case <-ctx.Done():
			}
		}
		err := rn.Follow(own, func(e jobs.Followed) { tell(followedBy{Followed: e}) })
		tell(followedBy{ended: true, err: cmp.Or(err, context.Cause(own))})
	})
}

// handle passes on what a follower reported.
func (f *followers) handle(e followedBy, on func(jobs.Followed)) error {
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
		on(jobs.Followed{Job: r.on[id].Job, Err: e.err})
	}
	if e.profile == inUse {
		on(jobs.Followed{})
	} else if !errors.Is(e.err, context.Canceled) {
		f.warn(e.profile, e.err)
	}
	return nil
}

// look starts following the profiles that now have jobs in flight, and stops following those that have none
// or are no longer configured.
func (f *followers) look(ctx context.Context) {
	if f.running[inUse] == nil {
		if _, d, err := exchange.Current(ctx, f.c.source); err == nil && d.AsksForJobs() {
			f.start(ctx, inUse, f.c.Runner)
		}
	}
	owing, err := f.c.otherRunners.ledger.Owing(ctx, f.c.otherRunners.Now())
	if err != nil && ctx.Err() == nil {
		f.warn(inUse, err)
	}
	for name, r := range f.running {
		switch why := f.c.otherRunners.whyNot(name); {
		case name == inUse:
		case why != nil:
			r.end(why)
		case r.idle && err == nil && !slices.Contains(owing, name):
			r.end(nil)
		}
	}
	for _, name := range owing {
		if f.running[name] != nil || f.c.otherRunners.whyNot(name) != nil {
			continue
		}
		if rn := f.c.otherRunners.runnerOf(name); rn != nil {
			f.start(ctx, name, rn)
		}
	}
}

// warn logs why a profile's jobs are not followed, unless it logged the same last time.
func (f *followers) warn(name string, err error) {
	if text := err.Error(); f.logged[name] != text {
		f.logged[name] = text
		f.c.log.Warn("the jobs of other profiles are not followed", "profile", name, "error", err)
	}
}

// runnerOf returns the runner of a profile's jobs. For an unknown profile it is that of the profile in use.
func (c *Client) runnerOf(name string) *jobs.Runner {
	if rn := c.otherRunners.runnerOf(name); rn != nil {
		return rn
	}
	return c.Runner
}

// AskNow is jobs.Runner.AskNow for a job of any profile.
func (c *Client) AskNow(ctx context.Context, jobID string) (model.Job, error) {
	job, err := c.Job(ctx, jobID)
	if err != nil {
		return job, err
	}
	return c.runnerOf(job.Profile).AskNow(ctx, job.ID)
}
