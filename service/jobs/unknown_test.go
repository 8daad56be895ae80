package jobs

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// forgetful is a service whose answers a test changes, with a clock that it moves.
type forgetful struct {
	t      *testing.T
	rn     *Runner
	now    time.Time
	p      model.Profile
	answer http.HandlerFunc
	asked  int
}

// The answers of a forgetful service.
var (
	runs    = text(200, `{"status":"running","inputs":3,"inputs_done":1}`)
	unknown = text(404, "Snapshot does not exist")
	noPage  = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html><h1>Not Found</h1>"))
	}
)

// forgets is one that has accepted a job, launched from where it is.
func forgets(t *testing.T, change ...func(*Config)) *forgetful {
	t.Helper()
	s := &forgetful{t: t, now: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), answer: text(200, `{"snapshot_id":"sd_1"}`)}
	s.p = servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		if noParts(w, r) {
			return
		}
		s.asked++
		s.answer(w, r)
	})
	ledger, _ := withLedger(t)
	s.rn = newRunner(t, s.p, append([]func(*Config){ledger, func(c *Config) {
		c.Clock, c.Rand = servicetest.ClockFunc(func() time.Time { return s.now }), bits(0)
		c.Source = servicetest.Source{Base: c.Source, ProfileBy: func(context.Context) (model.Profile, error) { return s.p, nil }}
	}}, change...)...)
	job, err := s.rn.Trigger(t.Context(), trigger("http://lab.test/1"))
	if err != nil || job.State != model.JobAccepted {
		t.Fatalf("%+v, %v", job, err)
	}
	s.now, s.asked = s.now.Add(time.Minute), 0
	return s
}

// asks has a question asked as the queue does, and gives the job as it is then.
func (s *forgetful) asks(answer http.HandlerFunc) (job model.Job, again time.Duration) {
	s.t.Helper()
	s.answer = answer
	return s.asksUntil(s.now.Add(time.Hour))
}

// asksUntil is asks with the last answer, and with the time at which the job is given up.
func (s *forgetful) asksUntil(until time.Time) (job model.Job, again time.Duration) {
	s.t.Helper()
	s.rn.watching.everyJob.all = 1
	again, err := s.rn.watching.ask(s.t.Context(), work.Item{Lane: lane("test"), Key: "job-1", Until: until})
	s.rn.watching.everyJob.all = 0
	noerr.Must(s.t, err)
	if job, err = s.rn.Job(s.t.Context(), "job-1"); err != nil {
		s.t.Fatal(err)
	}
	return job, again
}

// forgotten asks until the service has said for long enough that it knows no such job.
func (s *forgetful) forgotten(answer http.HandlerFunc) (job model.Job, again time.Duration) {
	s.t.Helper()
	if job, again = s.asks(answer); again == 0 || job.State.Final() {
		s.t.Fatalf("after one answer: %+v, again in %s", job, again)
	}
	s.now = s.now.Add(3*time.Minute - time.Second)
	if job, again = s.asks(answer); again == 0 || job.State.Final() || job.GivenUp() {
		s.t.Fatalf("too early: %+v, again in %s", job, again)
	}
	s.now = s.now.Add(time.Second)
	return s.asks(answer)
}

func notes(d model.Diagnosis) (out []string) {
	for _, e := range d.Evidence {
		if e.Kind == "note" {
			out = append(out, e.Text)
		}
	}
	return out
}

func actions(d model.Diagnosis) (out []model.Action) {
	for _, s := range d.Steps {
		out = append(out, s.Action)
	}
	return out
}

func TestAJobThatTheServiceForgetsWhileItRunsHasExpired(t *testing.T) {
	history, _ := servicetest.Journal(t)
	s := forgets(t, func(c *Config) { c.Journal = history })
	if job, _ := s.asks(runs); job.State != model.JobRunning {
		t.Fatalf("%+v", job)
	}
	s.now = s.now.Add(time.Hour)
	s.asks(runs)
	s.now = s.now.Add(time.Minute)
	job, again := s.forgotten(unknown)
	if job.State != model.JobExpired || again != 0 || !job.Forgotten() || s.asked != 5 {
		t.Fatalf("%+v, again in %s after %d questions", job, again, s.asked)
	}
	const step = "the service no longer knows it: Snapshot does not exist; last seen running at 2026-11-24 13:01:00 UTC"
	if last := job.Steps[len(job.Steps)-1].Text; job.Detail+"; last seen running at 2026-11-24 13:01:00 UTC" != step || last != step || job.Wire != "running" {
		t.Errorf("detail %q, step %q, wire %q", job.Detail, last, job.Wire)
	}
	d := job.Fault.Diagnosis
	want := []model.Evidence{
		{Kind: "service_status", Text: "404 Not Found from the service"},
		{Kind: "error", Text: "the service says: Snapshot does not exist"},
		{Kind: "note", Text: "last seen running at 2026-11-24 13:01:00 UTC; not known since 2026-11-24 13:02:00 UTC"},
	}
	if d.Class != model.ClassOutside || d.Cause != model.CauseServiceError || !reflect.DeepEqual(d.Evidence, want) || job.Fault.Call != model.CallProgress {
		t.Errorf("%+v", job.Fault)
	}
	if got := actions(d); !slices.Equal(got, []model.Action{model.ActionRetry, model.ActionLaunch}) || !strings.Contains(d.Steps[1].Text, "billed a second time") {
		t.Errorf("%+v", d.Steps)
	}
	lines, err := history.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryJob})
	if err != nil || !strings.HasPrefix(lines[0].Text, "job-1 gd_products: expired: "+step+" · next: look for it in the service's list") || lines[0].Cause != model.CauseServiceError {
		t.Errorf("%+v, %v", lines[0], err)
	}
	if !strings.HasPrefix(lines[1].Text, "job-1 gd_products: asking for the state of job job-1: HTTP 404: Snapshot does not exist · next: ") {
		t.Errorf("%+v", lines[1])
	}
}

// One answer of a replica, or any number of them between others, decides nothing.
func TestAnAnswerInBetweenBeginsAnew(t *testing.T) {
	s := forgets(t)
	s.asks(unknown)
	s.now = s.now.Add(2 * time.Minute)
	if job, _ := s.asks(runs); job.State != model.JobRunning || job.Fault.Any() {
		t.Errorf("%+v", job)
	}
	s.now = s.now.Add(2 * time.Minute)
	if job, again := s.forgotten(unknown); job.State != model.JobExpired || again != 0 {
		t.Errorf("%+v", job)
	}
}

func TestAJobThatTheServiceNeverAnsweredForSaysSo(t *testing.T) {
	s := forgets(t)
	job, _ := s.forgotten(unknown)
	want := "the service no longer knows it: Snapshot does not exist; accepted at 2026-11-24 12:00:00 UTC, and never seen since"
	if job.State != model.JobExpired || job.Steps[len(job.Steps)-1].Text != want {
		t.Errorf("%+v", job)
	}
}

// The service's word that it had the job needs no second answer.
func TestAnExpiredSnapshotHasExpiredAtOnce(t *testing.T) {
	s := forgets(t)
	job, again := s.asks(text(400, "Snapshot is expired"))
	if job.State != model.JobExpired || again != 0 || job.Forgotten() || job.Detail != "the service no longer has the result: Snapshot is expired" {
		t.Errorf("%+v", job)
	}
	if got := actions(job.Fault.Diagnosis); job.Fault.Call != model.CallProgress || !slices.Equal(got, []model.Action{model.ActionLaunch}) {
		t.Errorf("%+v", job.Fault)
	}
	s.answer = text(200, `{"status":"ready"}`) // as the emulator says of it
	if job, err := s.rn.Watch(t.Context(), "job-1", nil); err != nil || job.State != model.JobExpired || s.asked != 1 {
		t.Errorf("%+v, %v after %d questions", job, err, s.asked)
	}
}

// What another process saw meanwhile stays.
func TestAnExpiredSnapshotDoesNotHideThatAJobWasCancelled(t *testing.T) {
	s := forgets(t)
	job, _ := s.asks(func(w http.ResponseWriter, r *http.Request) {
		noerr.Want(t, noerr.From(s.rn.cfg.Ledger.Change(r.Context(), "job-1", func(job *model.Job) (string, error) {
			job.State = model.JobCanceled
			return "", nil
		})))
		text(400, "Snapshot is expired")(w, r)
	})
	if job.State != model.JobCanceled || job.Fault.Any() {
		t.Errorf("%+v", job)
	}
}

// A 404 that is not the service's own is no word about the job. It may pass; the job stays what it was,
// and that nobody asks for it is said.
func TestAGatewaysAnswerSaysNothingOfAJob(t *testing.T) {
	s := forgets(t)
	s.asks(runs)
	job, again := s.forgotten(noPage)
	if job.State != model.JobRunning || again != 0 || !job.GivenUp() || job.Label() != "was running" || job.Fault.Diagnosis.Rule != model.RuleJobNotFound {
		t.Fatalf("%+v, again in %s", job, again)
	}
	if got := notes(job.Fault.Diagnosis); !slices.Equal(got, []string{"last seen running at 2026-11-24 12:01:00 UTC; not known since 2026-11-24 12:01:00 UTC"}) {
		t.Errorf("%q", got)
	}
	if since := time.Date(2026, 11, 24, 12, 1, 0, 0, time.UTC); !job.Fault.At.Equal(since) || !job.Fault.LastAnswer.Equal(since) {
		t.Errorf("unknown since %s, seen %s", job.Fault.At, job.Fault.LastAnswer)
	}
	if last := job.Steps[len(job.Steps)-1]; !strings.HasSuffix(last.Text, "Not Found; last seen running at 2026-11-24 12:01:00 UTC; it is not asked for any more") {
		t.Errorf("%q", last.Text)
	}
	if job, _ = s.asks(runs); job.GivenUp() || job.Fault.Any() || job.Label() != "running" {
		t.Errorf("the service answers again: %+v", job)
	}
}

// Where another account may be asked, the service's word is none about the job: it may run, and be billed. Another
// process may ask the right one.
func TestAnotherAccountsWordSaysNothingOfAJob(t *testing.T) {
	otherValue := func(s *forgetful) {
		s.rn.cfg.Source = servicetest.Source{Base: s.rn.cfg.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) {
			return keystore.NewSecret("another-value"), nil
		}}
	}
	for name, c := range map[string]struct {
		change func(s *forgetful)
		says   string
	}{
		"account": {func(s *forgetful) { s.p.Account = "hl_other" }, "it was launched for account hl_test01, but hl_other is asked"},
		"version": {func(s *forgetful) { s.p.APIVersion = "v4" }, "it was launched by version v3 of the service's paths, but v4 is asked"},
		"value":   {otherValue, "the key's value is not the one that launched it, and may belong to another account"},
		"key": {func(s *forgetful) {
			key := s.rn.cfg.Source.Key
			s.rn.cfg.Source = servicetest.Source{Base: s.rn.cfg.Source, KeyBy: func(name string) (model.Key, bool) {
				if name == "batch-user" {
					return model.Key{}, false
				}
				k, ok := key("batch-user")
				k.Name = name
				return k, ok
			}}
			s.p.Key = "new"
			otherValue(s)
		}, "it was launched with key batch-user, which the inventory no longer has, and is asked for with new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := forgets(t)
			right, access := s.p, s.rn.cfg.Source
			c.change(s)
			job, again := s.forgotten(unknown)
			if job.State != model.JobAccepted || !job.GivenUp() || job.Fault.Diagnosis.Rule != model.RuleJobUnknown || again == 0 {
				t.Fatalf("%+v, again in %s", job, again)
			}
			if got := notes(job.Fault.Diagnosis); len(got) != 2 || got[1] != c.says {
				t.Errorf("%q", got)
			}
			if got := actions(job.Fault.Diagnosis); !slices.Equal(got, []model.Action{model.ActionCheckKey, model.ActionCheckNetwork, model.ActionRetry}) {
				t.Errorf("%q", got)
			}
			asked := s.asked
			if _, again := s.asks(unknown); again == 0 || s.asked != asked {
				t.Errorf("it is asked for from here, or not left to others: %d questions, again in %s", s.asked-asked, again)
			}
			s.p, s.rn.cfg.Source = right, access
			s.rn.watching.forget("job-1")
			if job, again := s.asks(unknown); job.State != model.JobAccepted || job.GivenUp() || again == 0 {
				t.Errorf("what another account said counts: %+v", job)
			}
			if job, _ := s.asks(runs); job.State != model.JobRunning || job.Fault.Any() {
				t.Errorf("from where it was launched: %+v", job)
			}
		})
	}
	// What has answered for it is the right one, whatever launched it.
	s := forgets(t)
	otherValue(s)
	s.asks(runs)
	if job, again := s.forgotten(unknown); job.State != model.JobExpired || again != 0 {
		t.Errorf("%+v", job)
	}
}

// The service's list is asked before a job counts as forgotten.
func TestTheServicesListIsLookedAtBeforeAJobHasExpired(t *testing.T) {
	const list = "the service's list of gd_products "
	for name, c := range map[string]struct {
		listed []string
		err    error
		other  bool // the key has another value
		state  model.JobState
		asked  bool // again
		says   []string
	}{
		"has it":                            {[]string{"sd_0", "sd_1"}, nil, false, model.JobRunning, true, nil},
		"empty":                             {nil, nil, false, model.JobExpired, false, []string{list + "does not have it"}},
		"unreadable":                        {nil, errors.New("no way"), false, model.JobExpired, false, []string{list + "could not be read: no way"}},
		"of another account":                {[]string{"sd_7"}, nil, true, model.JobRunning, true, []string{"the key's value is not the one that launched it, and may belong to another account", list + "does not have it"}},
		"of another account and profile":    {[]string{"sd_3"}, nil, true, model.JobRunning, true, []string{"the key's value is not the one that launched it, and may belong to another account", list + "does not have it"}},
		"named like one of the ledger":      {[]string{"job-2"}, nil, true, model.JobRunning, true, []string{"the key's value is not the one that launched it, and may belong to another account", list + "does not have it"}},
		"of the account, by a rotated key":  {[]string{"sd_7", "sd_2"}, nil, true, model.JobExpired, false, []string{list + "does not have it, but has job-2"}},
		"too long to be looked at as whole": {slices.Repeat([]string{"sd_7"}, maxListedJobs), nil, false, model.JobExpired, false, []string{list + "does not have it among those that were looked at"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := forgets(t, func(cfg *Config) {
				cfg.List = remoteList(func(_ context.Context, key, dataset string, _ int) (out []model.RemoteJob, skipped int, err error) {
					if key != "batch-user" || dataset != "gd_products" {
						t.Errorf("asked for %s by %s", dataset, key)
					}
					for _, id := range c.listed {
						out = append(out, model.RemoteJob{Snapshot: id})
					}
					return out, 0, c.err
				})
			})
			s.asks(runs)
			s.answer = text(200, `{"snapshot_id":"sd_2"}`)
			noerr.Must(t, noerr.From(s.rn.Trigger(t.Context(), trigger("http://lab.test/2"))))
			noerr.Must(t, noerr.From(s.rn.cfg.Ledger.Adopt(t.Context(), model.Job{Profile: "staging", Snapshot: "sd_3"})))
			if c.other {
				s.rn.cfg.Source = servicetest.Source{Base: s.rn.cfg.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) {
					return keystore.NewSecret("another-value"), nil
				}}
				s.rn.watching.jobs = nil // another process
			}
			job, again := s.forgotten(unknown)
			if job.State != c.state || (again > 0) != c.asked {
				t.Fatalf("%+v, again in %s", job, again)
			}
			if got := notes(job.Fault.Diagnosis); c.says != nil && !slices.Equal(got[1:], c.says) {
				t.Errorf("%q", got)
			}
		})
	}
}

// A job whose time is over while that is not decided is decided all the same.
func TestTheEndOfTheTimeDoesNotHideThatAJobIsUnknown(t *testing.T) {
	s := forgets(t)
	s.answer = unknown
	if _, again := s.asksUntil(s.now.Add(-time.Second)); again == 0 {
		t.Fatal("it is given up after one answer")
	}
	s.now = s.now.Add(3 * time.Minute)
	if job, again := s.asksUntil(s.now.Add(-time.Second)); again != 0 || job.State != model.JobExpired {
		t.Errorf("%+v, again in %s", job, again)
	}
}

// Another process may hear of the job while this one looks.
func TestAnAnswerThatAnotherProcessHadIsNotOverwritten(t *testing.T) {
	s := forgets(t)
	s.asks(unknown)
	before := noerr.Try(s.rn.Job(t.Context(), "job-1")).Must(t)
	s.asks(runs)
	job, err := s.rn.forget(t.Context(), before, model.CallProgress, model.JobForgotten(before.Fault.Diagnosis), "no")
	if err != nil || job.State != model.JobRunning || job.Fault.Any() {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAForgottenJobIsTakenBackWhenTheServiceKnowsItAgain(t *testing.T) {
	watch := func(s *forgetful) (model.Job, error) { return s.rn.Watch(t.Context(), "sd_1", nil) }
	for name, ask := range map[string]func(s *forgetful) (model.Job, error){
		"watch": watch,
		"once":  func(s *forgetful) (model.Job, error) { return s.rn.AskNow(t.Context(), "job-1") },
		"webhook": func(s *forgetful) (model.Job, error) {
			job, _, err := s.rn.HandleWebhook(t.Context(), model.WebhookNews{ID: "hook-1", Snapshot: "sd_1", Verified: true})
			return job, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := forgets(t)
			s.asks(runs)
			forgotten, _ := s.forgotten(unknown)
			if job, err := ask(s); err != nil || job.State != model.JobExpired || job.Detail != forgotten.Detail || !job.Forgotten() {
				t.Errorf("still unknown: %+v, %v", job, err)
			}
			var fault *exchange.CallError
			s.answer = text(503, "busy")
			if job, err := ask(s); name != "webhook" && !errors.As(err, &fault) || !job.Forgotten() {
				t.Errorf("no answer: %+v, %v", job, err)
			}
			s.answer = text(200, `{"status":"ready","records":3}`)
			job, err := ask(s)
			if err != nil || job.State != model.JobReady || job.Records != 3 || job.Detail != "" || job.Fault.Any() {
				t.Errorf("%+v, %v", job, err)
			}
			if last := job.Steps[len(job.Steps)-1]; last.Text != "the service knows it again: ready" {
				t.Errorf("%+v", last)
			}
		})
	}
	s := forgets(t)
	s.forgotten(unknown)
	asked := s.asked
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if s.asked == asked+1 {
			runs(w, r)
			return
		}
		text(200, `{"status":"ready"}`)(w, r)
	}
	var seen []string
	job, err := s.rn.Watch(t.Context(), "job-1", func(j model.Job) { seen = append(seen, string(j.State)) })
	if err != nil || job.State != model.JobReady || strings.Join(seen, " ") != "expired running ready" {
		t.Errorf("%v, %+v, %v", seen, job, err)
	}
}

// The result of a ready job is treated in the same way, but for the time: a person asked for it.
func TestAReadyJobThatTheServiceNoLongerKnowsHasExpired(t *testing.T) {
	download := func(s *forgetful, answer http.HandlerFunc) model.Job {
		t.Helper()
		s.answer = answer
		job, err := s.rn.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.json")}, nil)
		if (err == nil) != (job.State == model.JobDownloaded) {
			t.Errorf("%+v, %v", job, err)
		}
		return job
	}
	ready := func() *forgetful {
		s := forgets(t)
		s.asks(text(200, `{"status":"ready"}`))
		return s
	}
	s := ready()
	job := download(s, unknown)
	if !job.Forgotten() || job.Fault.Call != model.CallDownload || job.Detail != "the service no longer knows it: Snapshot does not exist" || !strings.HasPrefix(notes(job.Fault.Diagnosis)[0], "last seen ready at ") {
		t.Errorf("%+v", job)
	}
	if job := download(s, text(503, "busy")); !job.Forgotten() {
		t.Errorf("what is known of it was lost: %+v", job)
	}
	if job := download(s, text(200, `{"a":1}`)); job.State != model.JobDownloaded || job.Fault.Any() {
		t.Errorf("%+v", job)
	}
	for name, answer := range map[string]http.HandlerFunc{"a page": noPage, "a router": text(404, "404 page not found")} {
		if job := download(ready(), answer); job.State != model.JobReady || job.Fault.Call != model.CallDownload {
			t.Errorf("%s: %+v", name, job)
		}
	}
	s = ready()
	s.p.Account = "hl_other"
	if job := download(s, unknown); job.State != model.JobReady || job.Fault.Diagnosis.Rule != model.RuleJobUnknown {
		t.Errorf("another account: %+v", job)
	}
}

// A watch waits for the decision, also where the service wants to be asked so seldom that its patience would end
// before.
func TestAWatchWaitsUntilItIsDecided(t *testing.T) {
	for after, questions := range map[string]int{"": 8, "170": 4} {
		asked := 0
		pipes(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 {
				runs(w, r)
				return
			}
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			unknown(w, r)
		}, func(t *testing.T, rn *Runner) {
			job, err := rn.Watch(t.Context(), "job-1", nil)
			if err != nil || job.State != model.JobExpired || asked < questions {
				t.Errorf("%q: %+v, %v after %d questions", after, job, err, asked)
			}
		})
	}
}
