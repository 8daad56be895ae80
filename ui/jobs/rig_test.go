package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/catalogue"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	service "zonedeck/service/jobs"
	"zonedeck/service/keys"
	result "zonedeck/service/records"
	"zonedeck/ui"
	"zonedeck/ui/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/uitest"
)

// fakeLedger plays the service. Its jobs run for a few seconds of fake time.
type fakeLedger struct {
	// downloads stands in for Download.
	downloads func(ctx context.Context, to service.Destination, on func(service.Progress)) (model.Job, error)
	admitted  []string // why ADMIN keys were used
	admitErr  error
	estimate  service.Estimate
	local     bool      // the profile is the embedded emulator's
	held      io.Reader // what every file of inputs reads
	terminal  alert.Terminal
	notify    bool
	mu        sync.Mutex
	jobs      []model.Job
	reads     int // how often the list was read
	triggered []model.TriggerRequest
	watched   []string
	asked     []string
	wake      chan struct{} // that there is something in asked; nil until Follow
	left      bool          // the jobs were followed once
	events    chan service.Followed
	stopped   int // watches that ended by their context
	canceled  []string
	formats   []string
	// answer decides the result of a trigger.
	answer  func(model.Job) (model.Job, error)
	records model.RecordTable
	listErr error
	// recordsErr comes with the records that were read before it.
	recordsErr error
	sameErr    error
	// watchErr ends every watch at once.
	watchErr error
	slow     time.Duration // of a trigger
	// listing are the data sets.
	listing catalogue.Listing
	anew    bool // the list was asked for so the last time
	// rest and candidates are what a job asked for and what it can be.
	rest       service.Missing
	candidates []service.Candidate
	launched   []model.JobInput // what readyJob was launched with
	unknown    []model.Job      // whose inputs are not known
	sharedErr  error
	// launchedToo are older jobs with the inputs that the newest of them has.
	launchedToo []model.Job
	perInput    float64     // dollars, 0 for not known
	maxInputs   int         // 0 for any number
	same        []model.Job // beside what was triggered
	sure        bool        // of the last claim
	settleErr   error
	// preview is what every preview shows, previewed are the requests for one.
	preview    dialect.LookupPreview
	previewed  []model.TriggerRequest
	previewErr error
	cancels    func() (model.Job, error)
	// opens and closes count the files of inputs.
	opens, closes int
	hookAuth      string // by which the inbox checks
	// refused and checkErr refuse a data set and a job.
	refused, checkErr error
	// knows is the state of a forgotten job that the service knows again; "" for none.
	knows model.JobState
	// hooks gives addresses of the inbox; nil for no inbox.
	hooks   func() (address, warning string, err error)
	results *results
	lists   service.InputLists
	dialect string
}

// inputsFile is an open file of inputs.
type inputsFile struct {
	io.Reader
	ledger *fakeLedger
}

func (f inputsFile) Close() error {
	f.ledger.closes++
	return nil
}

func (f *fakeLedger) Jobs(_ context.Context, limit int) ([]model.Job, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if limit > 1 {
		f.reads++
	}
	return append([]model.Job(nil), f.jobs[:min(limit, len(f.jobs))]...), len(f.jobs), f.listErr
}

func (f *fakeLedger) PreviewJob(_ context.Context, r model.TriggerRequest) (dialect.LookupPreview, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.previewed = append(f.previewed, r)
	out := f.preview
	if d, err := dialect.Find(f.dialect); err == nil {
		out.Note = d.PreviewNote(r)
	}
	return out, f.previewErr
}

func (f *fakeLedger) Request(context.Context, string) (model.TriggerRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rest.Request, f.settleErr
}

func (f *fakeLedger) Missing(context.Context, string) (service.Missing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rest, f.settleErr
}

func (f *fakeLedger) Candidates(context.Context, string) ([]service.Candidate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.candidates, f.settleErr
}

func (f *fakeLedger) Claim(_ context.Context, id, snapshot string, sure bool) (model.Job, error) {
	f.mu.Lock()
	f.sure = sure
	f.mu.Unlock()
	return f.settle(id, func(j *model.Job) { j.State, j.Snapshot = model.JobReady, snapshot })
}

func (f *fakeLedger) AwaitHook(_ context.Context, id string) (model.Job, error) {
	return f.settle(id, func(j *model.Job) { j.HookDue = time.Now().Add(30 * time.Minute) })
}

func (f *fakeLedger) NotStarted(_ context.Context, id string) (model.Job, error) {
	return f.settle(id, func(j *model.Job) { j.State = model.JobNotSent })
}

func (f *fakeLedger) settle(id string, change func(*model.Job)) (model.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.jobs, func(j model.Job) bool { return j.ID == id })
	change(&f.jobs[i])
	return f.jobs[i], f.settleErr
}

func (f *fakeLedger) SharedInputs(_ context.Context, r model.TriggerRequest, _ time.Duration) (service.EarlierJobs, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := service.NewEarlierJobs(r.Inputs)
	out.Add(readyJob(), f.launched)
	for _, j := range f.launchedToo {
		out.Add(j, f.launched)
	}
	out.Unknown = f.unknown
	return out, f.sharedErr
}

func (f *fakeLedger) SameInputs(_ context.Context, r model.TriggerRequest, within time.Duration) ([]model.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := slices.Clone(f.same)
	for i, old := range f.triggered[:min(len(f.triggered), len(f.jobs))] {
		if old.Dataset == r.Dataset && slices.EqualFunc(old.Inputs, r.Inputs, func(a, b model.JobInput) bool { return a.URL == b.URL }) && time.Since(f.jobs[i].Created) < within {
			same = append(same, f.jobs[i])
		}
	}
	return same, f.sameErr
}

// Datasets lists what the test set; without it every data set is as one that is not listed.
func (f *fakeLedger) Datasets(_ context.Context, _ string, anew bool) (catalogue.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.anew = anew
	return f.listing, nil
}

func (f *fakeLedger) Find(_ context.Context, _, name string) (model.Dataset, catalogue.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.listing.Datasets {
		if c.Known(name) {
			return c, f.listing, nil
		}
	}
	return model.Dataset{ID: name}, catalogue.Listing{}, f.refused
}

func (f *fakeLedger) Estimate(_ context.Context, r model.TriggerRequest) (service.Estimate, error) {
	if f.estimate.Inputs > 0 || f.checkErr != nil {
		return f.estimate, f.checkErr
	}
	e := service.Estimate{Inputs: len(r.Inputs), Records: float64(len(r.Inputs)), Basis: "one for each input", Dollars: -1}
	if f.perInput > 0 {
		e.Dollars = f.perInput * e.Records
	}
	if f.maxInputs > 0 && e.Inputs > f.maxInputs {
		return e, model.BadField("max_cost", "more than its cap")
	}
	return e, nil
}

// Job is a job as it is listed.
func (f *fakeLedger) Job(_ context.Context, id string) (model.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range slices.Concat(f.jobs, f.same) {
		if j.ID == id {
			return j, nil
		}
	}
	return model.Job{ID: id, Profile: "acme"}, nil
}

func (f *fakeLedger) Profile(context.Context) (config.Profile, error) { return f.profile(), nil }

func (f *fakeLedger) profile() config.Profile {
	return config.Profile{Name: "acme", Dialect: f.dialect, Local: f.local}
}

// May wants a reason for an ADMIN key, and refuses what its record forbids.
func (f *fakeLedger) May(_ context.Context, u keys.Use) ([]ask.Question, error) {
	key := u.Key
	for _, k := range testKeys() {
		if k.Name != key {
			continue
		}
		for _, finding := range keystore.CheckUse(k, model.CapUse, true, time.Now()) {
			if finding.Severity == keystore.SeverityError && k.Level != model.LevelAdmin {
				return nil, model.BadField("key", "%s; %s", finding.Text, finding.Fix)
			}
		}
		if k.Level == model.LevelAdmin {
			return []ask.Question{{Kind: ask.AdminReason, About: key, Want: ask.Reason, Text: "a job is automation, which never uses ADMIN (contract 5.4): pick a USER key, or say why it must be this one"}}, nil
		}
	}
	return nil, nil
}

func (f *fakeLedger) NewHook(context.Context) (address, warning string, err error) { return f.hooks() }

func (f *fakeLedger) HookAuth() string { return f.hookAuth }

// console is the program around the tab.
type console struct{ *fakeLedger }

func (console) Expand(path string) (string, error) {
	return strings.Replace(path, "~", "/home/operator", 1), nil
}

func (c console) OpenInputs(path string) (io.ReadCloser, error) {
	if c.held != nil {
		return io.NopCloser(c.held), nil
	}
	files := map[string]string{
		"urls.txt": "https://a.test/1\nhttps://a.test/2\n",
		"shop.csv": "n,shop page\n1,https://a.test/1\n2,a.test/2\n3,https://a.test/1\n4,https://a.test/4\n5,\n6,b.test\n",
	}
	content, ok := files[path]
	if !ok {
		return nil, fmt.Errorf("open %s: no such file", path)
	}
	c.opens++
	return inputsFile{strings.NewReader(content), c.fakeLedger}, nil
}

func (c console) OpenResult(ctx context.Context, name string) (*result.File, error) {
	return c.results.open(ctx, name)
}

func (c console) SaveRows(path string, fill func(io.Writer) error) (string, error) {
	return c.results.save(path, fill)
}
func (console) Editor() func(string) tea.ExecCommand { return nil }
func (console) Inbox() kit.Overlay                   { return nil }

// useCase is the real use case of launching over the fake.
type useCase struct {
	*fakeLedger
	*service.Launching
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// deps are what the tab works with over a fake.
func deps(t *testing.T, f *fakeLedger) jobs.Deps {
	t.Helper()

	f.lists = service.InputLists{Paths: config.Paths{Data: t.TempDir()}, Clock: wallClock{}}
	d := jobs.Deps{
		Ctx: t.Context(), Clock: wallClock{}, Theme: kit.NewTheme(true, false), Console: console{f}, Terminal: f.terminal, Notify: f.notify,
		Jobs: useCase{f, service.NewLaunching(service.LaunchConfig{Machine: f, Settler: f, Profile: f, Catalogue: f, Keys: f, Inbox: f, InputLists: f.lists})},
	}
	if f.hooks != nil {
		d.Hooks = f
	}
	return d
}

func (f *fakeLedger) Trigger(ctx context.Context, r model.TriggerRequest) (model.Job, error) {
	if err := wait(ctx, f.slow); err != nil {
		return model.Job{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.triggered = append(f.triggered, r)
	now := time.Now()
	j := model.Job{
		ID: fmt.Sprintf("job-%d", len(f.triggered)), Snapshot: fmt.Sprintf("sd_%d", len(f.triggered)), Profile: "acme", Dataset: r.Dataset,
		KeyName: r.Key, State: model.JobAccepted, Inputs: len(r.Inputs), Records: -1, Done: 0, Created: now, Updated: now, Request: &model.JobAsked{Rejected: r.Rejected},
		Steps: []model.JobStep{{At: now, State: model.JobIntent, Text: "written before sending"}, {At: now, State: model.JobAccepted, Text: "snapshot received"}},
	}
	if f.answer != nil {
		var err error
		if j, err = f.answer(j); err != nil {
			return model.Job{}, err
		}
	}
	f.jobs = append(f.jobs, j)
	return j, nil
}

// follows is how many jobs were followed so far.
func (f *fakeLedger) follows() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watched)
}

// Follow looks for jobs in flight each second and plays their lives.
func (f *fakeLedger) Follow(ctx context.Context, on func(service.Followed)) error {
	var lives sync.WaitGroup
	defer lives.Wait()
	begun := map[string]bool{}
	events := make(chan service.Followed)
	send := func(e service.Followed) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	f.mu.Lock()
	if f.wake == nil {
		f.wake = make(chan struct{}, 100)
	}
	wake, left := f.wake, f.left
	f.left = true // whoever follows again has another profile
	f.mu.Unlock()
	for !left {
		f.mu.Lock()
		var ids []string
		for _, j := range f.jobs {
			if !j.State.Final() && j.Snapshot != "" && j.State != model.JobMayHave && j.Profile == "acme" && !begun[j.ID] {
				ids = append(ids, j.ID)
			}
		}
		ids = append(ids, f.asked...)
		f.asked = nil
		f.mu.Unlock()
		for _, id := range ids {
			begun[id] = true
			lives.Go(func() {
				last := f.begun(id)
				send(service.Followed{Job: last, On: true})
				_, err := f.watch(ctx, id, func(j model.Job) {
					last = j
					send(service.Followed{Job: j, On: !j.State.Final()})
				})
				if err != nil && ctx.Err() == nil {
					send(service.Followed{Job: last, Err: err})
				}
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			on(e)
		case <-wake:
		case <-look.C:
		}
	}
	for {
		select {
		case e := <-f.events:
			on(e)
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *fakeLedger) begun(id string) model.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if j.ID == id {
			return j
		}
	}
	return model.Job{ID: id}
}

func (f *fakeLedger) watch(ctx context.Context, id string, on func(model.Job)) (model.Job, error) {
	f.mu.Lock()
	f.watched = append(f.watched, id)
	if err := f.watchErr; err != nil {
		f.mu.Unlock()
		return model.Job{}, err
	}
	var j model.Job
	for _, o := range f.jobs {
		if o.ID == id {
			j = o
		}
	}
	f.mu.Unlock()
	j.State = model.JobRunning
	for done := 1; done < 4; done++ {
		if err := wait(ctx, 2*time.Second); err != nil {
			f.mu.Lock()
			f.stopped++
			f.mu.Unlock()
			return j, err
		}
		j.Done, j.Records = done*j.Inputs/4, done*j.Inputs/4
		on(j)
	}
	if err := wait(ctx, 2*time.Second); err != nil {
		return j, err
	}
	j.State, j.Done, j.Records = model.JobReady, j.Inputs, j.Inputs
	on(j) // the last change is an event too
	return j, nil
}

func (f *fakeLedger) Download(ctx context.Context, id string, to service.Destination, on func(service.Progress)) (model.Job, error) {
	if f.downloads != nil {
		return f.downloads(ctx, to, on)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.formats = append(f.formats, to.Format)
	on(service.Progress{Bytes: 500, Part: 1, Parts: 1})
	for i := range f.jobs {
		if f.jobs[i].ID == id {
			f.jobs[i].File, f.jobs[i].Bytes = "/tmp/downloads/"+id+".json", 18200
			return f.jobs[i], nil
		}
	}
	return model.Job{}, errors.New("no such job")
}

func (f *fakeLedger) Admit(_ context.Context, key, reason string) error {
	f.admitted = append(f.admitted, key+": "+reason)
	return f.admitErr
}

func (f *fakeLedger) Records(context.Context, string, int) (model.RecordTable, error) {
	return f.records, f.recordsErr
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func testKeys() []model.Key {
	now := time.Now()
	fresh := model.Rotation{Last: now.AddDate(0, 0, -5)}
	expires := model.ExpiresAt(now.AddDate(0, 2, 0))
	return []model.Key{
		{Name: "etl", Level: model.LevelUser, Duty: model.DutyBatch, Expires: expires, Rotation: fresh},
		{Name: "billing", Level: model.LevelFinance, Duty: model.DutyHuman, Expires: expires, Rotation: fresh},
		{Name: "boss", Level: model.LevelAdmin, Duty: model.DutyHuman, Expires: expires, Rotation: fresh},
	}
}

func start(t *testing.T, f *fakeLedger, dialect string, w, h int) *uitest.Screen {
	t.Helper()
	f.dialect, f.events = dialect, make(chan service.Followed, 9)
	d := deps(t, f)
	view := jobs.New(d)
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: d.Theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Jobs, View: view}, {ID: kit.Keys, View: &uitest.Elsewhere{}}},
		Session: kit.Session{ProfileName: "acme", Profile: f.profile(), Ready: true, Keys: testKeys(), Key: testKeys()[0]},
	})
	return uitest.Start(t, app, w, h)
}

func TestALaunchedJobIsFollowedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLedger{}
		s := start(t, f, "brightdata", 120, 40)
		s.Expect("no jobs yet: n launches one", "A job has the service collect many inputs", "d      Download the result to a file.")
		s.Press("n")
		s.Expect("New job: reading the list of data sets", "nothing has these words: enter takes them as an identifier")
		s.Type("gd_products")
		s.Press("enter")
		s.Expect("New job", "check the inputs", "Nothing is launched yet")
		s.Paste("https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\nhttps://a.test/4")
		t.Log(s.Screen())
		s.Press("ctrl+s")
		s.Expect("4 inputs from what was pasted", "key etl USER", "about 4 records (one for each input); cost unknown", "launch 4 inputs")
		if len(f.triggered) != 0 {
			t.Fatal("the check sent something")
		}
		s.Press("ctrl+s")
		s.Expect("Launch 4 inputs?", "4 inputs for dataset gd_products, with key etl: about 4")
		if len(f.triggered) != 0 {
			t.Fatal("it was sent before the answer")
		}
		s.After(time.Second)
		s.PressFast("y")
		s.Expect("accepted", "sd_1", "gd_products")
		s.ExpectNot("New job")
		s.After(5 * time.Second)
		s.Expect("running", "2 of 4")
		t.Log(s.Screen())
		s.After(4 * time.Second)
		s.Expect("✓ ready", "4 of 4", "job-1 is ready: d downloads")
		if len(f.triggered) != 1 || len(f.triggered[0].Inputs) != 4 || f.triggered[0].Key != "etl" {
			t.Fatalf("triggered %+v", f.triggered)
		}
	})
}
