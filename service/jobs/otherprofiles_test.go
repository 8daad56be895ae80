package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/overview"
	"zonedeck/service/servicetest"
)

// accounts are two accounts with one ledger: acme, whose console runs, and beta, for which only a launch is
// ever run. Each has its own emulator, and acme's refuses beta's key.
type accounts struct {
	acme, beta         *Jobs
	acmeDemo, betaDemo servicetest.Demo
	ledger             *ledger.Ledger
	gone, documented   atomic.Bool // beta is no longer configured, or has another dialect
	asked              []string    // the references that were resolved for beta, by acme's client
	unread, locked     error       // why beta's profile, or its key, is unavailable
	wrong              bool        // acme's client has another value for beta's key
}

func twoAccounts(t *testing.T, change func(o *Parts), rules ...fault.Rule) *accounts {
	t.Helper()
	sc := scenario.Demo()
	sc.PageDelay, sc.Faults = time.Millisecond, rules
	demo := func(name string) servicetest.Demo {
		d := servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: sc, LoopbackWebhooks: true})
		d.Profile.Name, d.Profile.Local = name, false
		return d
	}
	a := &accounts{acmeDemo: demo("acme"), betaDemo: demo("beta")}
	l, dir := servicetest.Ledger(t)
	queue := servicetest.Work(t)
	a.ledger = l
	options := func(d servicetest.Demo) Parts {
		wire := exchange.New(exchange.Config{})
		list := overview.Config{Wire: wire, Now: time.Now}
		return Parts{Machine: machine{}, OtherList: list, Config: Config{
			Source: d.Source(d.Profile), Wire: wire, Ledger: l, Queues: queue, DownloadsDir: filepath.Join(dir, "downloads"),
			List: list,
		}}
	}
	a.beta = Join(options(a.betaDemo))
	o := options(a.acmeDemo)
	o.OtherProfiles = a
	if change != nil {
		change(&o)
	}
	a.acme = Join(o)
	return a
}

func (a *accounts) OtherProfiles() []model.Profile {
	if a.gone.Load() {
		return nil
	}
	return []model.Profile{a.betaProfile()}
}

func (a *accounts) OtherProfile(string) exchange.Source { return betaSource{a} }

// betaSource is the source of beta for acme's client.
type betaSource struct{ *accounts }

func (b betaSource) Profile(context.Context) (model.Profile, error) {
	if b.unread != nil {
		return model.Profile{}, b.unread
	}
	if b.gone.Load() {
		return model.Profile{}, errors.New("profile beta is not in the config file")
	}
	return b.betaProfile(), nil
}

func (b betaSource) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	if b.wrong {
		return keystore.NewSecret("no-key-0123456789"), nil
	}
	b.asked = append(b.asked, strings.TrimPrefix(ref, "demo:key/"))
	return b.betaDemo.Secret(ctx, ref)
}

func (b betaSource) Key(name string) (model.Key, bool) { return b.betaDemo.Key(name) }

func (b betaSource) Permit(_ context.Context, _ model.Profile, _ model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if b.locked != nil {
		return keystore.Secret{}, b.locked
	}
	return take()
}

// betaProfile is beta as it is configured now.
func (a *accounts) betaProfile() model.Profile {
	p := a.betaDemo.Profile
	if a.documented.Load() {
		p.Dialect = "documented"
	}
	return p
}

// ofProduct is a launch for one page.
func ofProduct(url string) model.TriggerRequest {
	return model.TriggerRequest{Dataset: "gd_products", Inputs: []model.JobInput{{URL: url, Row: 1}}}
}

// launched returns a job of beta that its process has left to others.
func (a *accounts) launched(t *testing.T) model.Job {
	t.Helper()
	job, err := a.beta.Trigger(t.Context(), ofProduct("http://lab.test/product/1"))
	if err != nil || job.State != model.JobAccepted {
		t.Fatalf("%+v, %v", job, err)
	}
	return job
}

// until follows with acme's client until told has seen enough.
func (a *accounts) until(t *testing.T, told func(Followed) bool) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	enough := false
	noerr.Must(t, a.acme.Follow(ctx, func(f Followed) {
		if !enough && told(f) {
			enough = true
			end()
		}
	}))
	if !enough {
		t.Fatal("it was not told")
	}
}

func TestAJobOfAnotherProfileIsFollowed(t *testing.T) {
	a := twoAccounts(t, nil)
	job := a.launched(t)
	a.until(t, func(f Followed) bool { return f.Job.ID == job.ID && f.Job.State == model.JobReady })
	if got, err := a.acme.Job(t.Context(), job.ID); err != nil || got.Profile != "beta" || got.State != model.JobReady {
		t.Errorf("%+v, %v", got, err)
	}
	if len(a.asked) == 0 || slices.ContainsFunc(a.asked, func(name string) bool { return name != job.KeyName }) {
		t.Errorf("resolved %q", a.asked)
	}
}

func TestAJobOfAnotherProfileIsFollowedWhileOneIsWatched(t *testing.T) {
	a := twoAccounts(t, nil)
	job := a.launched(t)
	watched, err := a.acme.Trigger(t.Context(), ofProduct("http://lab.test/product/2"))
	noerr.Must(t, err)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	got, err := a.acme.WatchAndFollow(ctx, watched.ID, func(model.Job) { // the watch goes on once the other job is over
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for now, err := a.acme.Job(ctx, job.ID); err == nil && now.State != model.JobReady; now, err = a.acme.Job(ctx, job.ID) {
			<-look.C
		}
	})
	if err != nil || got.State != model.JobReady {
		t.Errorf("%s, %v", got.State, err)
	}
	if now, err := a.acme.Job(t.Context(), job.ID); err != nil || now.State != model.JobReady {
		t.Errorf("the other job: %s, %v", now.State, err)
	}
}

func TestAJobThatIsLaunchedWithAnotherProfileMeanwhileIsFollowed(t *testing.T) {
	t.Parallel()
	a := twoAccounts(t, nil)
	var job model.Job
	a.until(t, func(f Followed) bool {
		if f.Job.ID == "" && job.ID == "" { // nothing is in flight yet
			job = a.launched(t)
		}
		return job.ID != "" && f.Job.ID == job.ID && f.Job.State == model.JobReady
	})
}

func TestWhatTheProfileInUseCannotAskForOtherProfilesCan(t *testing.T) {
	a := twoAccounts(t, func(o *Parts) {
		p, err := o.Source.Profile(t.Context())
		noerr.Must(t, err)
		p.Dialect = "documented"
		o.Source = exchange.As(o.Source, p)
	})
	job := a.launched(t)
	a.until(t, func(f Followed) bool { return f.Job.ID == job.ID && f.Job.State == model.JobReady })
}

func TestAJobOfAnotherProfileWhoseKeyCannotBeHadIsSaidNotToBeFollowed(t *testing.T) {
	locked := errors.New("the key of beta is locked")
	a := twoAccounts(t, nil)
	a.locked = locked
	job := a.launched(t)
	a.until(t, func(f Followed) bool {
		return f.Job.ID == job.ID && !f.On && f.Next.IsZero() && errors.Is(f.Err, locked)
	})
}

func TestAWebhookOfAnotherProfilesJobHasItsServiceAsked(t *testing.T) {
	a := twoAccounts(t, nil)
	r := ofProduct("http://lab.test/product/1")
	token := strings.ToLower(rand.Text())
	r.Settings.Notify = model.WebhookAddress("http://127.0.0.1:9", token) // nobody listens there
	job, err := a.beta.Trigger(t.Context(), r)
	if err != nil || job.WebhookDue.IsZero() {
		t.Fatalf("%+v, %v", job, err)
	}
	heard := ""
	a.until(t, func(f Followed) bool {
		if f.Job.ID == job.ID && heard == "" { // it waits
			_, heard, err = a.acme.HeardWebhook(t.Context(), model.WebhookNews{ID: "d1", Token: token, Verified: true, How: "verified"})
			noerr.Want(t, err)
		}
		return f.Job.ID == job.ID && f.Job.State == model.JobReady
	})
	if heard != "the service is asked for the job's state" {
		t.Errorf("%q", heard)
	}
}

func TestAJobOfAnotherProfileIsAskedForAtOnce(t *testing.T) {
	a := twoAccounts(t, nil)
	job := a.launched(t)
	noerr.Want(t, noerr.From(a.acme.AskNow(t.Context(), job.ID)))
	a.gone.Store(true)
	var wrong *model.RequestError
	if _, err := a.acme.AskNow(t.Context(), job.ID); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "belongs to profile beta, not to acme") {
		t.Errorf("%v", err)
	}
}

// The machine's clock dates what the console writes of a real account, even if the profile in use is an
// emulator whose clock was moved.
func TestTheJobsOfOtherProfilesGoByTheMachinesClock(t *testing.T) {
	moved := func() time.Time { return time.Now().Add(10 * 24 * time.Hour) }
	a := twoAccounts(t, func(o *Parts) { o.Clock, o.Ledger = servicetest.ClockFunc(moved), o.Ledger.By(moved) })
	job := a.launched(t)
	a.until(t, func(f Followed) bool { return f.Job.ID == job.ID && f.Job.State == model.JobReady })
	got, err := a.acme.Job(t.Context(), job.ID)
	if err != nil || time.Until(got.Updated) > time.Minute {
		t.Errorf("updated %s, %v", got.Updated, err)
	}
}

// The profile changes while its job is followed. A job that is no longer followed must not be shown as followed.
func TestAJobWhoseProfileCanNoLongerBeAskedIsSaidNotToBeFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *accounts)
		want   string
	}{
		"it left the configuration": {func(a *accounts) { a.gone.Store(true) }, "profile beta is not in the config file"},
		"its dialect shows no way":  {func(a *accounts) { a.documented.Store(true) }, "asking for a job's state or result: the contract does not show it; choose dialect brightdata"},
	} {
		t.Run(name, func(t *testing.T) {
			a := twoAccounts(t, nil, fault.Rule{
				ID: "slow", Match: fault.Match{Point: fault.Job}, Do: fault.Action{Kind: fault.Latency, Delay: fault.Delay{Fixed: fault.MaxDelay}},
			})
			job := a.launched(t)
			on := false
			a.until(t, func(f Followed) bool {
				if f.Job.ID == job.ID && f.On && f.Job.State == model.JobRunning && !on {
					on = true
					c.change(a)
				}
				return on && f.Job.ID == job.ID && !f.On && f.Err != nil && strings.HasSuffix(f.Err.Error(), c.want)
			})
		})
	}
}

func TestNothingIsAskedForOtherProfilesWhileTheInventoryIsUnread(t *testing.T) {
	unread := errors.New("keys.toml cannot be read")
	a := twoAccounts(t, nil)
	a.unread = unread
	job := a.launched(t)
	if _, err := a.acme.AskNow(t.Context(), job.ID); !errors.Is(err, unread) {
		t.Errorf("%v", err)
	}
}

func TestThatTheKeyOfAnotherProfileIsRejectedGoesByTheMachinesClock(t *testing.T) {
	moved := func() time.Time { return time.Now().Add(10 * 24 * time.Hour) }
	history, _ := servicetest.Journal(t)
	a := twoAccounts(t, func(o *Parts) {
		o.Clock, o.Wire = servicetest.ClockFunc(moved), exchange.New(exchange.Config{Now: moved, Timer: time.Now})
		o.Ledger, o.Journal = o.Ledger.By(moved), history
	})
	a.wrong = true
	job := a.launched(t)
	a.until(t, func(f Followed) bool { return f.Job.ID == job.ID && f.Err != nil })
	events, err := history.KeyEvents(t.Context(), job.KeyName, 1)
	if err != nil || len(events) != 1 || events[0].Profile != "beta" || time.Until(events[0].At) > time.Minute {
		t.Errorf("%+v, %v", events, err)
	}
}

// fakeOwing are the profiles with jobs in flight.
type fakeOwing []string

func (f *fakeOwing) Owing(context.Context, time.Time) ([]string, error) { return *f, nil }

// onlyProfile is configured besides the one in use.
type onlyProfile struct{ profile model.Profile }

func (o onlyProfile) OtherProfiles() []model.Profile    { return []model.Profile{o.profile} }
func (onlyProfile) OtherProfile(string) exchange.Source { return nil }

// alone returns the followers of a client without a profile in use, and with beta.
func alone(t *testing.T) (f *followers, owing *fakeOwing, asked func() error) {
	t.Helper()
	beta := servicetest.Profile("http://beta.test")
	beta.Name = "beta"
	js := Join(Parts{})
	owing = &fakeOwing{"beta"}
	js.otherRunners = &otherRunners{OtherProfiles: onlyProfile{beta}, cfg: js.Runner.cfg, owing: owing}
	own, end := context.WithCancelCause(t.Context())
	f = &followers{js: js, running: map[string]*following{
		inUse:  {end: func(error) {}},
		"beta": {end: end, on: map[string]Followed{}},
	}, logged: map[string]string{}}
	return f, owing, func() error { return context.Cause(own) }
}

func TestAProfileWithNothingInFlightIsFollowedNoMore(t *testing.T) {
	f, owing, ended := alone(t)
	none := func(Followed) {}
	see := func(e Followed, in fakeOwing) error {
		*owing = in
		noerr.Must(t, f.handle(followedBy{profile: "beta", Followed: e}, none))
		f.look(t.Context())
		return ended()
	}
	running := Followed{Job: model.Job{ID: "job-1", State: model.JobRunning}, On: true}
	over := Followed{Job: model.Job{ID: "job-1", State: model.JobReady}}
	for _, s := range []struct {
		what string
		told Followed
		in   fakeOwing
	}{
		{"a job is followed", running, fakeOwing{"beta"}},
		{"it is over, which is not told yet", running, nil},
		{"that is told", over, nil},
		{"none is asked for, and one was launched", Followed{}, fakeOwing{"beta"}},
		{"that is followed", running, nil},
	} {
		if err := see(s.told, s.in); err != nil {
			t.Fatalf("%s: ended: %v", s.what, err)
		}
	}
	if see(over, nil); see(Followed{}, nil) == nil {
		t.Error("it goes on")
	}
}

// A job of a real account that may have started is found in its service's list, even if the profile in
// use is an emulator whose clock was moved.
func TestAJobOfAnotherProfileIsFoundByTheMachinesClock(t *testing.T) {
	moved := func() time.Time { return time.Now().Add(10 * 24 * time.Hour) }
	lost := fault.Rule{
		ID: "lost", Match: fault.Match{Point: fault.API, Path: "*/trigger"}, When: fault.When{Nth: 1},
		Do: fault.Action{Kind: fault.Drop, Accepted: true},
	}
	a := twoAccounts(t, func(o *Parts) { o.Clock, o.Ledger = servicetest.ClockFunc(moved), o.Ledger.By(moved) }, lost)
	job, err := a.beta.Trigger(t.Context(), ofProduct("http://lab.test/product/1"))
	if err != nil || job.State != model.JobMayHave {
		t.Fatalf("%+v, %v", job, err)
	}
	found, err := a.acme.otherRunners.runnerOf("beta").Settler().Candidates(t.Context(), job.ID)
	if err != nil || len(found) != 1 || found[0].For != "1 input" && found[0].Against != "" || found[0].After.Abs() > time.Minute {
		t.Errorf("%+v, %v", found, err)
	}
}
