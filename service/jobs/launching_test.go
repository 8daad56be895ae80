package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/catalogue"
	"zonedeck/service/config"
	"zonedeck/service/ledger"
)

// state is what a launch finds: the ledger, the service, the key and the inbox.
type state struct {
	profile       model.Profile
	same          []model.Job
	others        EarlierJobs
	launched      []model.JobInput // of others, beside https://a.test/1
	unreadable    error
	overCap       error
	most          int // inputs within the cap
	dollars       float64
	repeated      model.Job
	gone          error // for the ledger has no such job
	missing       Missing
	candidates    []Candidate
	listErr       error
	named         model.Job // has the name "nightly"
	late          string    // a name that newer has by the time of the trigger
	doubt         string    // about a claim
	newer         *model.Job
	admin         bool
	keyErr        error
	warning       string // of the inbox
	addressErr    error
	authorization string

	sent     []model.TriggerRequest
	admitted string
	settled  Fate
	sure     bool
}

func (s *state) Estimate(_ context.Context, r model.TriggerRequest) (Estimate, error) {
	e := Estimate{Inputs: len(r.Inputs), Records: float64(len(r.Inputs)), Dollars: s.dollars, worst: s.dollars}
	if len(r.Inputs) <= s.most {
		return e, nil
	}
	return e, s.overCap
}

func (s *state) SameInputs(_ context.Context, _ model.TriggerRequest, within time.Duration) ([]model.Job, error) {
	if within != time.Hour {
		return nil, fmt.Errorf("within %s", within)
	}
	return s.same, s.unreadable
}

func (s *state) SharedInputs(_ context.Context, r model.TriggerRequest, _ time.Duration) (EarlierJobs, error) {
	out := NewEarlierJobs(r.Inputs)
	for _, o := range s.others.Overlaps {
		out.Add(o.Job, append([]model.JobInput{{URL: "https://a.test/1"}}, s.launched...))
	}
	out.Unknown = s.others.Unknown
	return out, s.unreadable
}

// Trigger refuses what was launched meanwhile, unless the guard knows it.
func (s *state) Trigger(_ context.Context, r model.TriggerRequest) (model.Job, error) {
	if j := s.newer; j != nil && r.Guard != nil && !slices.Contains(r.Guard.Known, j.ID) {
		return model.Job{}, &ledger.SameError{Job: j.ID, State: j.State}
	}
	if s.newer != nil && s.late != "" && r.Once == s.late {
		return model.Job{}, &ledger.SameError{Job: s.newer.ID, State: s.newer.State, Once: s.late}
	}
	s.sent = append(s.sent, r)
	return model.Job{ID: "job-9", State: model.JobAccepted}, nil
}

func (s *state) Job(_ context.Context, id string) (model.Job, error) {
	if s.newer != nil && id == s.newer.ID {
		return *s.newer, nil
	}
	return s.repeated, s.gone
}

func (s *state) Recover(context.Context) ([]model.Job, error) { return nil, nil }

func (s *state) Once(_ context.Context, name string) (model.Job, error) {
	if name != "nightly" || s.named.ID == "" {
		return model.Job{}, cmp.Or(s.unreadable, fmt.Errorf("%w: %s", ErrUnknownJob, name))
	}
	return s.named, nil
}

func (s *state) Request(context.Context, string) (model.TriggerRequest, error) {
	return s.missing.Request, nil
}

func (s *state) Missing(context.Context, string) (Missing, error) { return s.missing, nil }

func (s *state) Candidates(context.Context, string) ([]Candidate, error) {
	return s.candidates, s.listErr
}

func (s *state) Claim(_ context.Context, id, snapshot string, sure bool) (model.Job, error) {
	if s.doubt != "" && !sure {
		return model.Job{}, &DoubtError{Job: id, Snapshot: snapshot, Against: s.doubt}
	}
	s.settled, s.sure = Started(snapshot), sure
	return model.Job{ID: id}, nil
}

func (s *state) NotStarted(_ context.Context, id string) (model.Job, error) {
	s.settled = DidNotStart
	return model.Job{ID: id}, nil
}

func (s *state) AwaitWebhook(_ context.Context, id string) (model.Job, error) {
	s.settled = Await
	return model.Job{ID: id}, nil
}

func (s *state) Profile(context.Context) (model.Profile, error) { return s.profile, nil }

func (s *state) Dataset(_ context.Context, _, name string) (model.Dataset, catalogue.Listing, error) {
	if name == "none" {
		return model.Dataset{}, catalogue.Listing{}, &catalogue.UnknownError{Name: name}
	}
	return model.Dataset{ID: name}, catalogue.Listing{}, nil
}

func (s *state) May(context.Context, string) ([]ask.Question, error) {
	if s.admin {
		return []ask.Question{{Kind: ask.AdminReason, About: "boss", Want: ask.Reason}}, s.keyErr
	}
	return nil, s.keyErr
}

func (s *state) Admit(_ context.Context, key, reason string) error {
	s.admitted = key + ": " + reason
	return nil
}

func (s *state) NewAddress(context.Context) (address, warning string, err error) {
	return "http://127.0.0.1:8787/hook", s.warning, s.addressErr
}
func (s *state) Authorization() string { return s.authorization }

// launching is the use case over a state, and the folder of its files.
func (s *state) launching(t *testing.T) (l *Launching, data string) {
	t.Helper()
	s.profile.Name, s.profile.Dialect = "acme", "brightdata"
	data = t.TempDir()
	at := fixedClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return NewLaunching(LaunchConfig{Machine: s, Settler: s, Profile: s, Catalogue: s, Keys: s, Inbox: s, InputLists: InputLists{Paths: config.Paths{Data: data}, Clock: at}}), data
}

// urls is a draft of addresses.
func urls(lines ...string) Draft {
	return Draft{Dataset: "gd_1", From: Rows{Reader: strings.NewReader(strings.Join(lines, "\n")), Name: "urls.txt"}}
}

func kinds(questions []ask.Question) (out []ask.Kind) {
	for _, q := range questions {
		out = append(out, q.Kind)
	}
	return out
}

func TestWhatALaunchAsks(t *testing.T) {
	local := model.Profile{Local: true}
	ready, open := model.Job{ID: "job-1", State: model.JobReady}, model.Job{ID: "job-2", State: model.JobMayHave}
	running := model.Job{ID: "job-3", Profile: "acme", State: model.JobRunning}
	lost := model.Job{ID: "job-4", Profile: "acme", State: model.JobMayHave}
	over := model.Job{ID: "job-5", Profile: "acme", State: model.JobReady}
	one := Missing{Request: model.TriggerRequest{Dataset: "gd_1", Inputs: []model.JobInput{{URL: "https://a.test/1"}}, Repeats: "job-5"}, Inputs: 2}
	two := urls("https://a.test/1", "https://a.test/2")
	without := urls("https://a.test/1", "https://a.test/2")
	without.OnlyUnlaunched = true
	for name, c := range map[string]struct {
		state state
		draft Draft
		want  []ask.Kind
	}{
		"a real account":                  {state{dollars: 1}, urls("https://a.test/1"), []ask.Kind{ask.Cost}},
		"the emulator":                    {state{profile: local, dollars: 1}, urls("https://a.test/1"), nil},
		"the emulator at an unknown cost": {state{profile: local, dollars: -1}, urls("https://a.test/1"), []ask.Kind{ask.Cost}},
		"a bad row":                       {state{profile: local}, urls("https://a.test/1", "nonsense"), []ask.Kind{ask.BadRows}},
		"an ADMIN key":                    {state{profile: local, admin: true}, urls("https://a.test/1"), []ask.Kind{ask.AdminReason}},
		"the same inputs":                 {state{profile: local, same: []model.Job{ready}}, urls("https://a.test/1"), []ask.Kind{ask.SameInputs}},
		"some of the inputs":              {state{profile: local, others: EarlierJobs{Overlaps: []Overlap{{Job: ready}}}}, two, []ask.Kind{ask.SharedInputs}},
		"inputs that are not known":       {state{profile: local, others: EarlierJobs{Unknown: []model.Job{open}}}, urls("https://a.test/1"), []ask.Kind{ask.SharedInputs}},
		"what is left":                    {state{profile: local, others: EarlierJobs{Overlaps: []Overlap{{Job: ready}}}}, without, nil},
		"a running job again":             {state{profile: local, repeated: running, missing: one}, Draft{From: Again{Job: "job-3"}}, []ask.Kind{ask.Unsettled}},
		"one that may have started":       {state{profile: local, repeated: lost, missing: one}, Draft{From: Again{Job: "job-4"}}, []ask.Kind{ask.Unsettled}},
		"one that is over":                {state{profile: local, repeated: over, missing: one, same: []model.Job{over}}, Draft{From: Again{Job: "job-5"}}, nil},
		"one that was launched again":     {state{profile: local, repeated: over, missing: one, same: []model.Job{ready, over}}, Draft{From: Again{Job: "job-5"}}, []ask.Kind{ask.SameInputs}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state
			l, _ := s.launching(t)
			r, err := l.Check(t.Context(), c.draft)
			if got := kinds(r.Questions); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("it asks %v, %v; want %v", got, err, c.want)
			}
			if len(s.sent) > 0 {
				t.Error("Check launched it")
			}
			if _, err := l.Launch(t.Context(), r, nil); len(c.want) > 0 == (err == nil) || len(s.sent) > 0 == (len(c.want) > 0) {
				t.Errorf("without an answer: %v, sent %d", err, len(s.sent))
			}
		})
	}
	for _, j := range []model.Job{running, lost} {
		s := state{profile: local, repeated: j, missing: one}
		l, _ := s.launching(t)
		r, err := l.Check(t.Context(), Draft{From: Again{Job: j.ID}})
		doubt := map[model.JobState]string{model.JobMayHave: "if it did, "}[j.State]
		if want := j.ID + " " + j.State.Predicate() + ": " + doubt + "another job with 1 input is billed a second time"; err != nil || !strings.HasPrefix(r.Questions[0].Text, want) {
			t.Errorf("%+v, %v", r.Questions, err)
		}
	}
	rest := one
	rest.Unmatched, rest.Lacking = 2, 1
	s := state{profile: local, repeated: over, missing: rest}
	l, _ := s.launching(t)
	if r, err := l.Check(t.Context(), Draft{From: Again{Job: "job-5", Missing: true}}); err != nil || !reflect.DeepEqual(kinds(r.Questions), []ask.Kind{ask.Unmatched, ask.Lacking}) {
		t.Errorf("%v, %v", kinds(r.Questions), err)
	}
	s = state{profile: local, repeated: model.Job{ID: "job-6", Profile: "acme", State: model.JobNotSent, Steps: []model.JobStep{{State: model.JobMayHave}}}, missing: one}
	l, _ = s.launching(t)
	if r, err := l.Check(t.Context(), Draft{From: Again{Job: "job-6"}}); err != nil || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0].Text, "a person said that job-6 had not started") {
		t.Errorf("%v, %v", r.Notes, err)
	}
}

func TestWhatCannotBeLaunched(t *testing.T) {
	damaged := errors.New("the ledger is damaged")
	cap := model.BadField("max_cost", "%w", errCost)
	again := model.Job{ID: "job-5", Profile: "beta", State: model.JobReady}
	unlaunched := urls("https://a.test/1")
	unlaunched.OnlyUnlaunched = true
	hook := urls("https://a.test/1")
	hook.Settings.Endpoint = model.InboxEndpoint
	unknown := urls("https://a.test/1")
	unknown.Dataset = "none"
	for name, c := range map[string]struct {
		state state
		draft Draft
		want  string
	}{
		"a ledger that cannot be read":      {state{unreadable: damaged}, urls("https://a.test/1"), "the ledger cannot be searched for the same inputs: the ledger is damaged"},
		"no good row":                       {state{}, urls("nonsense"), "inputs: 1 row of urls.txt cannot be used and none is good"},
		"no row":                            {state{}, urls(""), "inputs: urls.txt holds no inputs"},
		"a cost above the cap":              {state{overCap: cap}, urls("https://a.test/1"), "max_cost: the job may cost more than its cap"},
		"everything was launched":           {state{others: EarlierJobs{Overlaps: []Overlap{{Job: again}}}}, unlaunched, "only_unlaunched: every input was launched within the last hour"},
		"an inbox that does not receive":    {state{addressErr: fs.ErrClosed}, hook, "endpoint: file already closed"},
		"a key that is refused":             {state{keyErr: errors.New("it has expired")}, urls("https://a.test/1"), "it has expired"},
		"a job of another profile":          {state{repeated: again}, Draft{From: Again{Job: "job-5"}}, "profile: job job-5 belongs to profile beta, not to acme"},
		"a list that is not there":          {state{}, Draft{Dataset: "gd_1", From: SavedList{Name: "x"}}, `source: there is no saved list "x"; none is saved in `},
		"a data set that nobody has":        {state{}, unknown, `no data set is called "none"`},
		"inputs of a source that is no one": {state{}, Draft{Dataset: "gd_1"}, "source: it has no inputs"},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := c.state.launching(t)
			if _, err := l.Check(t.Context(), c.draft); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestWhatWasNamedMayBeLaunchedAgain(t *testing.T) {
	named, newer := model.Job{ID: "job-1", State: model.JobReady}, model.Job{ID: "job-2", State: model.JobRunning}
	s := state{same: []model.Job{named}, newer: &named}
	l, _ := s.launching(t)
	r := noerr.Try(l.Check(t.Context(), urls("https://a.test/1"))).Must(t)
	given := ask.Answers{}
	for _, q := range r.Questions {
		given.With(q, ask.Agreed)
	}
	if _, err := l.Launch(t.Context(), r, given); err != nil || len(s.sent) != 1 || !slices.Equal(s.sent[0].Guard.Known, []string{"job-1"}) {
		t.Fatalf("a job that was named: %v, %+v", err, s.sent)
	}
	s.newer = &newer
	_, err := l.Launch(t.Context(), r, given)
	q, asked := ask.Missing(err, ask.SameInputs)
	if want := "the same inputs were launched as job-2 (running); this is a second job, billed a second time"; !asked || q.About != "job-2" || q.Text != want {
		t.Fatalf("a newer one: %v", err)
	}
	if _, err := l.Launch(t.Context(), r, given.With(q, ask.Agreed)); err != nil || !slices.Equal(s.sent[1].Guard.Known, []string{"job-1", "job-2"}) {
		t.Errorf("once it was named: %v", err)
	}
	// A yes to every equal job is one to those that start meanwhile.
	s.newer = &model.Job{ID: "job-3"}
	if _, err := l.Launch(t.Context(), r, ask.Answers{}.Always(ask.SameInputs).Always(ask.Cost)); err != nil || s.sent[2].Guard != nil {
		t.Errorf("a yes to every equal job: %v, %+v", err, s.sent)
	}
}

// What came into the ledger while a person looked at the report is asked about, once.
func TestWhatWasLaunchedMeanwhileIsAskedAbout(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	job := func(id string, minute int) model.Job {
		return model.Job{ID: id, State: model.JobReady, Created: at.Add(time.Duration(minute) * time.Minute)}
	}
	shared := func(jobs ...model.Job) (e EarlierJobs) {
		for _, j := range jobs {
			e.Overlaps = append(e.Overlaps, Overlap{Job: j})
		}
		return e
	}
	unknown := func(jobs ...model.Job) EarlierJobs { return EarlierJobs{Unknown: jobs} }
	local := model.Profile{Local: true}
	old, newer := job("job-1", 0), job("job-2", 1)
	again := Missing{Request: model.TriggerRequest{Dataset: "gd_1", Inputs: []model.JobInput{{URL: "https://a.test/1"}}, Repeats: "job-5"}}
	over := model.Job{ID: "job-5", Profile: "acme", State: model.JobReady}
	without := urls("https://a.test/2")
	without.OnlyUnlaunched = true
	for name, c := range map[string]struct {
		state state
		draft Draft
		since func(*state)
		kind  ask.Kind
		about string
	}{
		"nothing":                         {state{others: shared(old)}, urls("https://a.test/1"), func(*state) {}, "", ""},
		"the same inputs":                 {state{}, urls("https://a.test/1"), func(s *state) { s.same = []model.Job{newer} }, ask.SameInputs, "job-2"},
		"some of them":                    {state{}, urls("https://a.test/1"), func(s *state) { s.others = shared(newer) }, ask.SharedInputs, "job-2"},
		"some more of them":               {state{others: shared(old)}, urls("https://a.test/1"), func(s *state) { s.others = shared(newer, old) }, ask.SharedInputs, "job-2"},
		"what is not known":               {state{others: shared(old)}, urls("https://a.test/1"), func(s *state) { s.others.Unknown = []model.Job{newer} }, ask.SharedInputs, "job-2"},
		"what is known beside an unknown": {state{others: unknown(old)}, urls("https://a.test/1"), func(s *state) { s.others.Overlaps = shared(newer).Overlaps }, ask.SharedInputs, "job-2"},
		"what was not known is left out":  {state{others: unknown(old)}, without, func(*state) {}, "", ""},
		"another that is not known":       {state{others: unknown(old)}, without, func(s *state) { s.others = unknown(newer, old) }, ask.SharedInputs, "job-2"},
		"the job again":                   {state{repeated: over, missing: again}, Draft{From: Again{Job: "job-5"}}, func(s *state) { s.same = []model.Job{newer, over} }, ask.SameInputs, "job-2"},
		"some of a job again":             {state{repeated: over, missing: again}, Draft{From: Again{Job: "job-5"}}, func(s *state) { s.others = shared(newer) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state
			s.profile = local
			l, _ := s.launching(t)
			d := c.draft
			if rows, ok := d.From.(Rows); ok && d.OnlyUnlaunched {
				rows.Reader = strings.NewReader("https://a.test/2")
				d.From = rows
			}
			r := noerr.Try(l.Check(t.Context(), d)).Must(t)
			given := ask.Answers{}
			for _, q := range r.Questions {
				given.With(q, ask.Agreed)
			}
			c.since(&s)
			_, err := l.Launch(t.Context(), r, given)
			if q, asked := ask.Missing(err, c.kind); asked != (c.kind != "") || q.About != c.about {
				t.Fatalf("%v, want a question of kind %q about %s", err, c.kind, c.about)
			} else if asked {
				_, err = l.Launch(t.Context(), r, given.With(q, ask.Agreed))
			}
			if err != nil || len(s.sent) != 1 {
				t.Errorf("once it was answered: %v, sent %d", err, len(s.sent))
			}
			s.unreadable = errors.New("the ledger is damaged")
			if _, err := l.Launch(t.Context(), r, given); err == nil || len(s.sent) != 1 {
				t.Errorf("with a ledger that cannot be searched: %v, sent %d", err, len(s.sent))
			}
		})
	}
}

func TestALaunchKeepsWhatItLeavesOut(t *testing.T) {
	s := state{admin: true}
	l, data := s.launching(t)
	d := urls("https://a.test/1", "nonsense", "https://a.test/2")
	d.Sample, d.SaveList = 1, "mine"
	r, err := l.Check(t.Context(), d)
	if err != nil || len(r.Request.Inputs) != 1 {
		t.Fatalf("%d inputs, %v", len(r.Request.Inputs), err)
	}
	given := ask.Answers{}.Always(ask.Cost).Always(ask.BadRows).AlwaysWith(ask.AdminReason, ask.Answer{Text: " migration "})
	out, err := l.Launch(t.Context(), r, given)
	rejected := filepath.Join(data, "downloads", "rejected-20260102-030405.txt")
	if bad := s.sent[0].Rejected; err != nil || bad != (model.JobRejected{Rows: 1, File: rejected}) || s.admitted != ": migration" || len(out.Notes) != 2 {
		t.Errorf("%+v, admitted %q, kept %v, %v", bad, s.admitted, out.Notes, err)
	}
	if b, err := os.ReadFile(filepath.Join(data, "lists", "mine.ndjson")); err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("the list has %q, %v", b, err)
	}
	d = urls("https://b.test/1")
	d.SaveList = "mine"
	var kept *KeepError
	if _, err := l.Check(t.Context(), d); !errors.As(err, &kept) || !kept.IsList || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a list that is there with other inputs: %v", err)
	}
	noerr.Must(t, os.RemoveAll(filepath.Join(data, "downloads")))
	noerr.Must(t, os.WriteFile(filepath.Join(data, "downloads"), nil, 0o600))
	if _, err := l.Launch(t.Context(), r, given); !errors.As(err, &kept) || kept.IsList || len(s.sent) != 1 {
		t.Errorf("without a place for the bad rows: %v, sent %d", err, len(s.sent))
	}
}

// What matters to a launch alone does not keep a draft from being previewed.
func TestAPreviewNeedsNoLedgerAndNoFile(t *testing.T) {
	taken := func(data string) error {
		err := os.MkdirAll(filepath.Join(data, "lists"), 0o700)
		return errors.Join(err, os.WriteFile(filepath.Join(data, "lists", "mine.ndjson"), nil, 0o600))
	}
	damaged := errors.New("the ledger is damaged")
	for name, c := range map[string]struct {
		state      state
		unlaunched bool
		want       string // the error of a preview
	}{
		"a list that is there":             {state: state{}},
		"a ledger that cannot be read":     {state: state{unreadable: damaged}},
		"what was launched is to be known": {state: state{unreadable: damaged}, unlaunched: true, want: "the ledger cannot be searched for the same inputs: the ledger is damaged"},
		"a cost above the cap":             {state: state{overCap: model.BadField("max_cost", "%w", errCost)}, want: "max_cost: the job may cost more than its cap"},
		"a key that is refused":            {state: state{keyErr: errors.New("it has expired")}, want: "it has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			l, data := c.state.launching(t)
			noerr.Must(t, taken(data))
			for _, preview := range []bool{false, true} {
				d := urls("https://a.test/1")
				d.SaveList, d.OnlyUnlaunched, d.Preview = "mine", c.unlaunched, preview
				_, err := l.Check(t.Context(), d)
				if !preview && err == nil || preview && (err == nil) != (c.want == "") || preview && err != nil && !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("preview %v: %v, want %q", preview, err, c.want)
				}
			}
		})
	}
}

func TestTheChoiceToLeaveInputsOut(t *testing.T) {
	earlier := EarlierJobs{Overlaps: []Overlap{{Job: model.Job{ID: "job-1", State: model.JobReady}}}}
	s := state{others: earlier, dollars: 1}
	l, _ := s.launching(t)
	r, err := l.Check(t.Context(), urls("https://a.test/1", "https://a.test/2", "https://a.test/3"))
	if err != nil || r.Unlaunched == nil || r.Unlaunched.Err != nil {
		t.Fatalf("%+v, %v", r.Unlaunched, err)
	}
	left := r.Unlaunched
	if left.LeftOut.Inputs != 1 || left.LeftOut.Good != 3 || len(left.Request.Inputs) != 2 || !reflect.DeepEqual(kinds(left.Questions), []ask.Kind{ask.Cost}) {
		t.Errorf("%+v of %d inputs, %v", left.LeftOut, len(left.Request.Inputs), kinds(left.Questions))
	}
	if r, err := l.Check(t.Context(), urls("https://a.test/1")); err != nil || r.Unlaunched != nil {
		t.Errorf("where nothing would be left: %+v, %v", r.Unlaunched, err)
	}
	d := urls("https://a.test/2", "https://a.test/1")
	d.Sample = 1
	if r, err := l.Check(t.Context(), d); err != nil || r.Unlaunched != nil {
		t.Errorf("where a sample has nothing of theirs: %+v, %v", r.Unlaunched, err)
	}
	s.launched = []model.JobInput{{URL: "https://a.test/2"}}
	d = urls("https://a.test/2", "https://a.test/1")
	d.Sample = 1
	if r, err := l.Check(t.Context(), d); err != nil || r.Unlaunched != nil {
		t.Errorf("where they have all that a sample is of: %+v, %v", r.Unlaunched, err)
	}
}

func TestTheChoiceToLeaveInputsOutKeepsTheOtherAnswers(t *testing.T) {
	earlier := EarlierJobs{Overlaps: []Overlap{{Job: model.Job{ID: "job-1", State: model.JobReady}}}}
	local, capped := model.Profile{Local: true}, model.BadField("max_cost", "%w", errCost)
	for name, c := range map[string]struct {
		state state
		notes []string
		want  []ask.Kind
		err   string
	}{
		"an ADMIN key":                     {state: state{admin: true}, want: []ask.Kind{ask.AdminReason}},
		"an ADMIN key and another refusal": {state: state{admin: true, overCap: capped}, err: "max_cost: "},
		"a key that is refused":            {state: state{keyErr: errors.New("it has expired")}, err: "it has expired"},
		"an address that is not reached":   {state: state{warning: "the service cannot reach it"}, notes: []string{"notify", "sample"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state
			s.profile, s.others = local, earlier
			l, _ := s.launching(t)
			d := urls("https://a.test/1", "https://a.test/2", "https://a.test/3", "https://a.test/4")
			d.Sample, d.Settings.Notify = 2, model.InboxEndpoint
			r, err := l.Check(t.Context(), d)
			left := r.Unlaunched
			if left == nil || fmt.Sprint(left.Err) != fmt.Sprint(err) || c.err != "" && !strings.HasPrefix(fmt.Sprint(err), c.err) {
				t.Fatalf("%v, and with inputs left out: %+v", err, left)
			}
			if err == nil && !reflect.DeepEqual(kinds(left.Questions), c.want) {
				t.Errorf("it asks %v, want %v", kinds(left.Questions), c.want)
			}
			for _, about := range c.notes {
				if !slices.ContainsFunc(left.Notes, func(n ask.Note) bool { return n.About == about && n.Warn == (about == "notify") }) {
					t.Errorf("no note about %s in %v", about, left.Notes)
				}
			}
			if _, err := l.Launch(t.Context(), left.Report, ask.Answers{}.Always(ask.Cost)); len(c.want) > 0 && (err == nil || len(s.sent) > 0) {
				t.Errorf("it was launched without an answer: %v", err)
			}
		})
	}
	// What is within the cap once inputs are left out is judged like the whole.
	s := state{profile: local, others: earlier, admin: true, overCap: capped, most: 2}
	l, _ := s.launching(t)
	r, err := l.Check(t.Context(), urls("https://a.test/1", "https://a.test/2", "https://a.test/3"))
	if left := r.Unlaunched; err == nil || left == nil || left.Err != nil || !slices.Equal(kinds(left.Questions), []ask.Kind{ask.AdminReason}) {
		t.Errorf("%v, and with inputs left out: %+v", err, left)
	}
}

func TestTheInboxIsFilledIn(t *testing.T) {
	s := state{authorization: "env:HOOK", warning: "the service cannot reach it"}
	l, _ := s.launching(t)
	d := urls("https://a.test/1")
	d.Settings.Notify, d.InboxAuth = model.InboxEndpoint, true
	r, err := l.Check(t.Context(), d)
	if err != nil || r.Request.Settings.Notify != "http://127.0.0.1:8787/hook" || r.Request.Settings.Auth != "env:HOOK" {
		t.Errorf("%+v, %v", r.Request.Settings, err)
	}
	want := ask.Note{About: "notify", Text: "the service cannot reach it", Warn: true}
	if !slices.Contains(r.Notes, want) {
		t.Errorf("notes %v", r.Notes)
	}
	d = urls("https://a.test/1")
	d.Settings.Notify = model.InboxEndpoint
	if r, err := l.Check(t.Context(), d); err != nil || r.Request.Settings.Auth != "" {
		t.Errorf("without the wish for it: %+v, %v", r.Request.Settings, err)
	}
}

func TestAJobThatMayHaveStartedIsSettled(t *testing.T) {
	candidate := func(snapshot, against string) Candidate {
		return Candidate{RemoteJob: model.RemoteJob{Snapshot: snapshot}, Inputs: 1, Against: against}
	}
	found := []Candidate{candidate("sd_1", ""), candidate("sd_2", "it can be job-8 as well")}
	for name, c := range map[string]struct {
		state state
		fate  Fate
		doubt string // what has to be answered, too
		sure  bool
	}{
		"as one that fits":                      {state{candidates: found}, Started("sd_1"), "", false},
		"as one in doubt":                       {state{candidates: found}, Started("sd_2"), "it can be job-8 as well", true},
		"as one that the service puts in doubt": {state{candidates: found, doubt: "it has 2 inputs"}, Started("sd_1"), "sd_1 may not be job job-7: it has 2 inputs", true},
		"as not started where one fits":         {state{candidates: found}, DidNotStart, "in the service's list it can be sd_1 or sd_2 (it can be job-8 as well)", false},
		"as not started where five fit":         {state{candidates: append(slices.Clone(found), candidate("sd_3", ""), candidate("sd_4", ""), candidate("sd_5", ""))}, DidNotStart, "in the service's list it can be sd_1 or sd_2 (it can be job-8 as well) or sd_3 or 2 more jobs", false},
		"as not started where none does":        {state{}, DidNotStart, "", false},
		"as not started unseen":                 {state{listErr: errNoList}, DidNotStart, "nobody has checked: the service's list could not be read (the service's list of jobs cannot be asked for)", false},
		"by its webhook":                        {state{candidates: found}, Await, "", false},
		"as a job with the name of a fate":      {state{candidates: append(found, candidate(string(Await), "it is odd"))}, Started(Await), "it is odd", true},
		"as another with one":                   {state{}, Started(DidNotStart), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state
			s.repeated = model.Job{ID: "job-7", State: model.JobMayHave, Inputs: 1}
			l, _ := s.launching(t)
			settlement := noerr.Try(l.Settle(t.Context(), "job-7")).Must(t)
			_, err := l.Decide(t.Context(), settlement, c.fate, nil)
			if q, asked := ask.Missing(err, ask.Unfitting); asked != (c.doubt != "") || q.Text != c.doubt {
				t.Fatalf("%v, want %q", err, c.doubt)
			} else if asked {
				_, err = l.Decide(t.Context(), settlement, c.fate, ask.Answers{}.With(q, ask.Agreed))
			}
			if err != nil || s.settled != c.fate || s.sure != c.sure {
				t.Errorf("settled as %#v, sure %v: %v", s.settled, s.sure, err)
			}
		})
	}
}

func TestAJobThatIsNotThereIsNotSettled(t *testing.T) {
	s := state{gone: ErrUnknownJob}
	l, _ := s.launching(t)
	if _, err := l.Settle(t.Context(), "job-7"); !errors.Is(err, ErrUnknownJob) {
		t.Error(err)
	}
}

func TestALaunchUnderANameIsOne(t *testing.T) {
	s := state{profile: model.Profile{Local: true}, named: model.Job{ID: "job-1", State: model.JobReady}, overCap: errCost}
	l, _ := s.launching(t)
	draft := func(name string, lines ...string) Draft {
		d := urls(lines...)
		d.Once = name
		return d
	}
	var before *OnceError
	if _, err := l.Check(t.Context(), draft("nightly", "no address")); !errors.As(err, &before) || before.Job.ID != "job-1" { // whatever its inputs
		t.Errorf("%v", err)
	}
	for _, name := range []string{" nightly", "two\nlines", strings.Repeat("x", 201)} {
		if _, err := l.Check(t.Context(), draft(name, "https://a.test/1")); !errors.As(err, new(*model.RequestError)) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	s.overCap = nil
	r := noerr.Try(l.Check(t.Context(), draft("weekly", "https://a.test/1"))).Must(t)
	s.newer, s.late = &model.Job{ID: "job-2", State: model.JobSending}, "weekly"
	all := ask.Answers{}.Always(ask.SameInputs)
	if _, err := l.Launch(t.Context(), r, all); !errors.As(err, &before) || before.Job.ID != "job-2" || before.Name != "weekly" { // who was faster
		t.Errorf("%v", err)
	}
	s.newer = nil
	if _, err := l.Launch(t.Context(), r, all); err != nil || s.sent[0].Once != "weekly" {
		t.Errorf("%v, %+v", err, s.sent)
	}
	s.unreadable = errors.New("the ledger is damaged")
	if _, err := l.Check(t.Context(), draft("weekly", "https://a.test/1")); !errors.Is(err, s.unreadable) {
		t.Errorf("%v", err)
	}
}

// A job whose process was killed before it sent anything holds its name only until the next launch; one whose process lives
// holds it.
func TestAJobThatWasNeverSentFreesItsName(t *testing.T) {
	rn, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	s := state{}
	l, _ := s.launching(t)
	l.cfg.Machine = rn
	draft := func() Draft {
		d := urls("https://a.test/1")
		d.Once = "nightly"
		return d
	}
	other, _, err := ledger.Open(t.Context(), rn.cfg.Ledger.Path(), time.Now)
	noerr.Must(t, err)
	intent := noerr.Try(other.Begin(t.Context(), model.Job{Profile: "test", Dataset: "gd_1", Request: &model.JobAsked{Once: "nightly"}}, "d", nil, nil)).Must(t)
	var before *OnceError
	if r, err := l.Check(t.Context(), draft()); !errors.As(err, &before) || before.Job.ID != intent.ID || before.Job.State != model.JobIntent || len(r.Notes) > 0 {
		t.Errorf("%v, %v", err, r.Notes)
	}
	noerr.Must(t, other.Close())
	r := noerr.Try(l.Check(t.Context(), draft())).Must(t)
	if want := intent.ID + " was not sent: the console ended before anything was sent"; len(r.Notes) == 0 || r.Notes[0].Text != want {
		t.Errorf("%v, want %q", r.Notes, want)
	}
	out, err := l.Launch(t.Context(), r, ask.Answers{}.Always(ask.Cost))
	if err != nil || out.Job.State != model.JobAccepted {
		t.Errorf("%v, %v", out.Job.State, err)
	}
	if _, err := l.Check(t.Context(), draft()); !errors.As(err, &before) || before.Job.ID != out.Job.ID {
		t.Errorf("%v", err)
	}
}
