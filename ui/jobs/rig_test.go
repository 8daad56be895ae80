package jobs_test

import (
	"cmp"
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

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/batch"
	"zonedeck/service/catalogue"
	"zonedeck/service/dialect"
	service "zonedeck/service/jobs"
	result "zonedeck/service/records"
	"zonedeck/ui"
	"zonedeck/ui/jobs"
	"zonedeck/ui/jobs/drift"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/uitest"
)

// fakeJobs answers as the use case would, with what a test gives it. Its jobs run for a few seconds of fake time.
type fakeJobs struct {
	drifts model.JobDrift // what the fields of a downloaded result show

	local    bool // the profile is the embedded emulator's
	dialect  string
	terminal alert.Terminal
	notify   bool
	held     io.Reader // what every file of inputs reads
	results  *results
	drift    drift.Monitor
	batches  fakeBatches
	// inbox gives addresses of the inbox, by what authorization refers to; nil for no inbox.
	inbox         func() (address, warning string, err error)
	authorization string
	// listing are the data sets.
	listing catalogue.Listing

	// check completes what Check found, and refuses it. asked is what a job asked for, askedErr why that is not known.
	check    func(r *service.Report) error
	asked    model.TriggerRequest
	askedErr error
	slow     time.Duration // of a launch
	// launch decides the result of a launch.
	launch func(model.Job) (model.Job, error)
	// options are what a job can be besides not started, against speaks against that, listErr is why nobody knows.
	options []service.FateOption
	against string
	listErr error
	// preview is what every preview shows.
	preview    dialect.LookupPreview
	previewErr error
	downloads  func(ctx context.Context, to service.Destination, on func(service.Progress)) (model.Job, error)
	cancels    func() (model.Job, error)
	records    model.RecordTable // before recordsErr
	recordsErr error
	ledgerErr  error
	// watchErr ends every watch at once, quiet has no job followed but for events.
	watchErr error
	quiet    bool
	events   chan service.Followed
	// knows is the state of a forgotten job that the service knows again; "" for none.
	knows model.JobState

	mu        sync.Mutex
	jobs      []model.Job
	reads     int             // how often the list was read
	anew      bool            // the list of data sets was asked for so the last time
	drafts    []service.Draft // that were checked
	read      string          // what the rows of the last one held
	triggered []model.TriggerRequest
	given     ask.Answers // to the last launch
	previewed []model.TriggerRequest
	canceled  []string
	formats   []string
	// begun are the jobs that are followed, with the seconds since, watches counts those that ever were.
	begun            map[string]int
	watches, stopped int
	opens, closes    int // files of inputs
}

// inputsFile is an open file of inputs.
type inputsFile struct {
	io.Reader
	jobs *fakeJobs
}

func (f inputsFile) Close() error {
	f.jobs.closes++
	return nil
}

func (f *fakeJobs) Jobs(_ context.Context, limit int) ([]model.Job, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if limit > 1 {
		f.reads++
	}
	return slices.Clone(f.jobs[:min(limit, len(f.jobs))]), len(f.jobs), f.ledgerErr
}

func (f *fakeJobs) Datasets(_ context.Context, _ string, anew bool) (catalogue.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.anew = anew
	return f.listing, nil
}

// Check takes each line of what is read for an input, and asks for the price of a real account's.
func (f *fakeJobs) Check(_ context.Context, d service.Draft) (service.Report, error) {
	r := service.Report{Request: model.TriggerRequest{Dataset: d.Dataset, Key: d.Key, Settings: d.Settings, MaxCost: d.MaxCost, Repeats: d.Repeats}}
	read := ""
	switch from := d.From.(type) {
	case service.Rows:
		b, err := io.ReadAll(from.Reader)
		if err != nil {
			return r, err
		}
		r.Source, read = from.Name, string(b)
		for line := range strings.FieldsSeq(read) {
			r.Request.Inputs = append(r.Request.Inputs, model.JobInput{URL: line})
		}
		r.Rows.Rows = r.Request.Inputs
	case service.Again:
		r.Request, r.Repeated = f.asked, f.job(from.Job)
	}
	f.mu.Lock()
	f.drafts, f.read = append(f.drafts, d), read
	f.mu.Unlock()
	n := len(r.Request.Inputs)
	r.Estimate = service.Estimate{Inputs: n, Records: float64(n), Basis: "one for each input", Dollars: -1}
	if !f.local {
		r.Questions = []ask.Question{{Kind: ask.Cost, About: d.Dataset}}
	}
	if f.check != nil {
		return r, f.check(&r)
	}
	return r, f.askedErr
}

func (f *fakeJobs) Launch(ctx context.Context, r service.Report, given ask.Answers) (out service.Launched, err error) {
	if err := cmp.Or(given.Open(r.Questions), wait(ctx, f.slow)); err != nil {
		return out, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.triggered, f.given = append(f.triggered, r.Request), given
	now, n := time.Now(), len(f.triggered)
	out.Job = model.Job{
		ID: fmt.Sprintf("job-%d", n), Snapshot: fmt.Sprintf("sd_%d", n), Profile: "acme", Dataset: r.Request.Dataset,
		KeyName: r.Request.Key, State: model.JobAccepted, Inputs: len(r.Request.Inputs), Records: -1, Created: now, Updated: now,
		Steps: []model.JobStep{{At: now, State: model.JobIntent, Text: "written before sending"}, {At: now, State: model.JobAccepted, Text: "snapshot received"}},
	}
	if f.launch != nil {
		if out.Job, err = f.launch(out.Job); err != nil {
			return service.Launched{}, err
		}
	}
	f.jobs = append(f.jobs, out.Job)
	if r.Rows.Bad > 0 {
		out.Notes = []ask.Note{{Text: "1 bad row kept in rejected.txt"}}
	}
	return out, nil
}

func (f *fakeJobs) Settle(_ context.Context, id string) (service.Settlement, error) {
	none := service.FateOption{Fate: service.DidNotStart, Text: "it has not started", Against: f.against}
	return service.Settlement{
		Job: f.job(id), Problem: f.listErr, Candidates: make([]service.Candidate, len(f.options)),
		Options: append(slices.Clone(f.options), none, service.FateOption{Fate: service.Await, Text: "wait for its webhook"}),
	}, nil
}

// Decide asks about what something speaks against.
func (f *fakeJobs) Decide(_ context.Context, s service.Settlement, fate service.Fate, given ask.Answers) (model.Job, error) {
	for _, o := range s.Options {
		doubt := ask.Question{Kind: ask.Unfitting, About: s.Job.ID, Text: o.Against}
		if o.Fate == fate && o.Against != "" && !given.To(doubt).Yes {
			return s.Job, &ask.Unanswered{Questions: []ask.Question{doubt}}
		}
	}
	return f.change(s.Job.ID, func(j *model.Job) {
		switch fate {
		case service.DidNotStart:
			j.State = model.JobNotSent
		case service.Await:
			j.WebhookDue = time.Now().Add(30 * time.Minute)
		default:
			j.State, j.Snapshot = model.JobReady, fmt.Sprint(fate)
		}
	}), nil
}

// change changes a job that is listed.
func (f *fakeJobs) change(id string, change func(*model.Job)) model.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.jobs, func(j model.Job) bool { return j.ID == id })
	change(&f.jobs[i])
	return f.jobs[i]
}

func (f *fakeJobs) job(id string) model.Job { return f.change(id, func(*model.Job) {}) }

func (f *fakeJobs) PreviewJob(_ context.Context, r model.TriggerRequest) (dialect.LookupPreview, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.previewed = append(f.previewed, r)
	return f.preview, f.previewErr
}

func (f *fakeJobs) Request(context.Context, string) (model.TriggerRequest, error) {
	return f.asked, f.askedErr
}

func (f *fakeJobs) profile() model.Profile {
	return model.Profile{Name: "acme", Dialect: f.dialect, Can: dialect.Abilities(f.dialect), Local: f.local}
}

func (f *fakeJobs) NewAddress(context.Context) (address, warning string, err error) { return f.inbox() }

func (f *fakeJobs) Authorization() string { return f.authorization }

// console is the program around the tab.
type console struct{ *fakeJobs }

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
	return inputsFile{strings.NewReader(content), c.fakeJobs}, nil
}

func (c console) OpenResult(ctx context.Context, name string) (*result.File, error) {
	return c.results.open(ctx, name)
}

func (c console) SaveRows(path string, fill func(io.Writer) error) (string, error) {
	return c.results.save(path, fill)
}

func (c console) PlanBatch(_ context.Context, path string, d batch.Draft) (batch.Report, error) {
	return c.batches.plan(path, d)
}
func (console) Editor() func(string) tea.ExecCommand { return nil }
func (console) Inbox() kit.Overlay                   { return nil }

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// deps are what the tab works with over a fake.
func deps(t *testing.T, f *fakeJobs) jobs.Deps {
	t.Helper()
	d := jobs.Deps{
		Ctx: t.Context(), Clock: wallClock{}, Theme: kit.NewTheme(true, false), Console: console{f}, Terminal: f.terminal, Notify: f.notify, Jobs: f, Drift: f.drift, Batches: &f.batches,
	}
	if f.inbox != nil {
		d.Inbox = f
	}
	return d
}

// follows is how many jobs were followed so far.
func (f *fakeJobs) follows() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches
}

// KeepFollowing plays the lives of the jobs in flight: each has done a quarter more every two seconds.
func (f *fakeJobs) KeepFollowing(ctx context.Context, on func(service.Followed), say func(error)) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for aged := 0; ; aged = 1 {
		for _, e := range f.live(aged) {
			on(e)
		}
		select {
		case <-ctx.Done():
			f.mu.Lock()
			defer f.mu.Unlock()
			f.stopped, f.quiet = f.stopped+1, true // whoever follows again has another profile
			return
		case e := <-f.events:
			if e.Job.ID == "" && e.Err != nil {
				say(e.Err)
				continue
			}
			on(e)
		case <-second.C:
		}
	}
}

// live is what has happened to the jobs in flight after so many seconds more.
func (f *fakeJobs) live(seconds int) (out []service.Followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.jobs {
		j := &f.jobs[i]
		age, begun := f.begun[j.ID]
		switch {
		case f.quiet || j.State.Final() || j.Snapshot == "" || j.State == model.JobMayHave || j.Profile != "acme" || age < 0:
			continue
		case !begun:
			if f.begun == nil {
				f.begun = map[string]int{}
			}
			f.begun[j.ID] = 0
			f.watches++
			out = append(out, service.Followed{Job: *j, On: true})
			if f.watchErr != nil {
				f.begun[j.ID] = -1 // until somebody asks for it
				out = append(out, service.Followed{Job: *j, Err: f.watchErr})
			}
			continue
		}
		age += seconds
		if f.begun[j.ID] = age; seconds == 0 || age%2 == 1 {
			continue
		}
		if j.State, j.Done = model.JobRunning, age/2*j.Inputs/4; age == 8 {
			j.State = model.JobReady
		}
		j.Records = j.Done
		out = append(out, service.Followed{Job: *j, On: !j.State.Final()})
	}
	return out
}

// AskNow has a job followed again; a forgotten one is asked for once, and known again where knows says so.
func (f *fakeJobs) AskNow(_ context.Context, id string) (model.Job, error) {
	job := f.change(id, func(j *model.Job) {
		switch {
		case !j.Forgotten():
			delete(f.begun, id)
		case f.knows != "":
			j.State, j.Fault = f.knows, model.JobFault{}
		}
	})
	f.events <- service.Followed{} // it wakes Follow
	return job, nil
}

func (f *fakeJobs) CancelJob(_ context.Context, id string) (model.Job, error) {
	f.canceled = append(f.canceled, id)
	if f.cancels != nil {
		return f.cancels()
	}
	return f.change(id, func(j *model.Job) { j.State = model.JobCanceled }), nil
}

func (f *fakeJobs) Download(ctx context.Context, id string, to service.Destination, on func(service.Progress)) (model.Job, error) {
	if f.downloads != nil {
		return f.downloads(ctx, to, on)
	}
	f.formats = append(f.formats, to.Format)
	on(service.Progress{Bytes: 500, Part: 1, Parts: 1})
	return f.change(id, func(j *model.Job) { j.File, j.Bytes = "/tmp/downloads/"+id+".json", 18200 }), nil
}

func (f *fakeJobs) SeeFields(_ context.Context, id string, _ func(service.Progress)) (model.Job, error) {
	if f.drifts.Text == "" {
		return model.Job{}, errors.New("nobody looks at them")
	}
	return f.change(id, func(j *model.Job) { j.State, j.Rows.Drift = model.JobDownloaded, f.drifts }), nil
}

func (f *fakeJobs) Records(context.Context, string, int) (model.RecordTable, error) {
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

func start(t *testing.T, f *fakeJobs, dialect string, w, h int) *uitest.Screen {
	t.Helper()
	f.dialect, f.events = dialect, make(chan service.Followed, 9)
	d := deps(t, f)
	view, other := jobs.New(d), kit.Keys
	if f.drift != nil {
		other = kit.Sandbox
	}
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: d.Theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Jobs, View: view}, {ID: other, View: &uitest.OtherTab{}}},
		Session: kit.Session{ProfileName: "acme", Profile: f.profile(), Local: f.local, Ready: true, Keys: testKeys(), Key: testKeys()[0]},
	})
	return uitest.Start(t, app, w, h)
}

func TestALaunchedJobIsFollowedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeJobs{}
		s := start(t, f, "brightdata", 120, 40)
		s.Expect("no jobs yet: n launches one", "A job makes the service collect many", "d      Download the result to a file.")
		s.Type("nprod") // at once: no letter is a key of the list below
		s.Expect("New job: reading the list of data sets", "› prod█", "nothing matches: enter takes it as an identifier")
		s.Press("ctrl+u")
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
