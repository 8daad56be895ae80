package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// accepted makes a journal with one accepted job.
func accepted(t *testing.T, rn *Runner) model.Job {
	t.Helper()
	return begun(t, rn, "", func(job *model.Job) { job.State, job.Snapshot, job.Accepted = model.JobAccepted, "sd_1", rn.cfg.Now() })
}

// begun is a job of the ledger with an address of the inbox or none, and how it stands.
func begun(t *testing.T, rn *Runner, webhook string, stands func(*model.Job)) model.Job {
	t.Helper()
	job := model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 3, Done: -1, Records: -1, WebhookToken: webhook}
	return changed(t, rn, noerr.Try(rn.cfg.Ledger.Begin(t.Context(), job, "", nil, nil)).Must(t).ID, stands)
}

// script is a client of an API that gives one answer after the other, the last
// one again and again. It knows no parts of results, and does not count questions for them.
func script(t *testing.T, answers ...http.HandlerFunc) (*Runner, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		if noParts(w, r) {
			return
		}
		n := int(asked.Add(1)) - 1
		answers[min(n, len(answers)-1)](w, r)
	})
	p.Local = true
	j, _ := withLedger(t)
	return newRunner(t, p, j), &asked
}

// noParts answers a question for the parts of a result: there is no such thing.
func noParts(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/parts") {
		return false
	}
	http.NotFound(w, r)
	return true
}

func TestWatchFollowsToTheEnd(t *testing.T) {
	t.Parallel()
	cl, asked := script(t,
		text(404, "Snapshot does not exist"),
		text(200, `{"status":"starting"}`),
		text(503, "busy"),
		text(200, `{"status":"an unknown word","inputs":3,"inputs_done":1,"records":10}`),
		text(200, `{"status":"ready","inputs_done":3,"records":30}`))
	job := accepted(t, cl)
	var states []string
	got := noerr.Try(cl.Watch(t.Context(), "sd_1", func(j model.Job) { states = append(states, string(j.State)+" "+j.Wire) })).Must(t)
	want := "accepted |running starting|running starting|running an unknown word|ready ready" // the second one with its failed poll
	if strings.Join(states, "|") != want {
		t.Errorf("seen %v", states)
	}
	if got.State != model.JobReady || got.Done != 3 || got.Records != 30 || asked.Load() != 5 {
		t.Errorf("%+v after %d polls", got, asked.Load())
	}
	kept, err := cl.Job(t.Context(), job.ID)
	if err != nil || kept.State != model.JobReady || len(kept.Steps) != 6 || kept.Fault.Any() {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if _, err := cl.Watch(t.Context(), job.ID, nil); err != nil || asked.Load() != 5 {
		t.Errorf("a job that is over was asked for again: %v", err)
	}
}

func TestAJobThatIsNotInTheLedgerIsNotWatched(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"ready"}`))
	without := newRunner(t, servicetest.Profile("http://lab.test"))
	for name, rn := range map[string]*Runner{"an unknown job": cl, "no ledger": without} {
		job, err := rn.Watch(t.Context(), "job-7", func(j model.Job) { t.Errorf("%s: seen %+v", name, j) })
		if !errors.Is(err, ErrUnknownJob) || job.ID != "" || asked.Load() != 0 {
			t.Errorf("%s: %+v, %v after %d polls", name, job, err, asked.Load())
		}
	}
	if list, _, err := without.Jobs(t.Context(), 0); list != nil || err != nil {
		t.Errorf("the ledger that is not there: %+v, %v", list, err)
	}
	if list, err := without.Recover(t.Context()); list != nil || err != nil {
		t.Errorf("recovered from no ledger: %+v, %v", list, err)
	}
	if list, err := without.SameInputs(t.Context(), trigger("http://lab.test/1"), time.Hour); list != nil || err != nil {
		t.Errorf("the same inputs: %v, %v", list, err)
	}
}

func TestAFailedJobSaysWhy(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"failed","error_message":"collector\u001b broke"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	if err != nil || job.State != model.JobFailed || job.Detail != "collector broke" {
		t.Errorf("%+v, %v", job, err)
	}
}

// A job that the service reports as cancelled is a failure with its verdict; one that was cancelled from here is none,
// also where a question sees it before the answer comes.
func TestAJobThatIsCancelledElsewhereSaysSo(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"canceled"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	d := job.Fault.Diagnosis
	if err != nil || job.State != model.JobCanceled || job.Fault.Call != model.CallNone || d.Class != model.ClassOutside || d.Cause != model.CauseServiceError {
		t.Errorf("%+v, %v", job, err)
	}
	if len(d.Evidence) != 1 || d.Evidence[0].Text != "the service says: canceled" || len(d.Steps) != 1 || d.Steps[0].Action != model.ActionLaunch {
		t.Errorf("%+v", d)
	}
	for _, seen := range []bool{false, true} {
		cl, _ = script(t, func(w http.ResponseWriter, r *http.Request) {
			if seen {
				job, err := cl.Job(r.Context(), "job-1")
				if err == nil {
					_, err = cl.record(r.Context(), job, dialect.Progress{State: model.JobCanceled, Wire: "canceled"})
				}
				noerr.Want(t, err)
			}
			text(200, "OK")(w, r)
		})
		accepted(t, cl)
		if job, err := cl.CancelJob(t.Context(), "job-1"); err != nil || job.State != model.JobCanceled || job.Fault.Any() || job.Steps[len(job.Steps)-1].Text != "cancelled on request" {
			t.Errorf("%+v, %v", job, err)
		}
	}
}

// What the service answers about a result that there is none of does not take the place of why.
func TestTheResultOfAJobThatEndedWithoutOneIsNotAskedFor(t *testing.T) {
	for _, state := range []model.JobState{model.JobFailed, model.JobCanceled} {
		cl, asked := script(t, text(400, "Snapshot is "+string(state)))
		changed(t, cl, accepted(t, cl).ID, func(job *model.Job) { job.State, job.Detail = state, "the collector broke" })
		want := "job job-1 " + state.Predicate() + " (the collector broke): there is no result to fetch; nothing was sent"
		if _, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir(), Format: "json"}, nil); !errors.Is(err, ErrNoResult) || err.Error() != want {
			t.Errorf("%s: downloaded: %v", state, err)
		}
		job := noerr.Try(cl.Job(t.Context(), "job-1")).Must(t)
		if _, err := cl.Records(t.Context(), job.ID, 1); !errors.Is(err, ErrNoResult) || err.Error() != want {
			t.Errorf("%s: its rows: %v", state, err)
		}
		if job.State != state || job.Detail != "the collector broke" || job.Fault.Any() || asked.Load() != 0 {
			t.Errorf("%s: %+v, %d calls", state, job, asked.Load())
		}
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"running"}`))
	accepted(t, cl)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	job, err := cl.Watch(ctx, "job-1", func(j model.Job) {
		if j.State == model.JobRunning {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || job.State != model.JobRunning {
		t.Errorf("%s, %v", job.State, err)
	}
}

func TestAnySuccessOfTheServiceCancelsAJob(t *testing.T) {
	for status, want := range map[int]model.JobState{200: model.JobCanceled, 299: model.JobCanceled, 300: model.JobAccepted} {
		cl, _ := script(t, text(status, "OK"))
		accepted(t, cl)
		_, err := cl.CancelJob(t.Context(), "job-1")
		if (err == nil) != (want == model.JobCanceled) {
			t.Errorf("%d: %v", status, err)
		}
		if job, err := cl.Job(t.Context(), "job-1"); err != nil || job.State != want {
			t.Errorf("%d: the job is %s, %v; want %s", status, job.State, err, want)
		}
	}
}

func TestWatchEndsWhenTheLedgerCannotBeReadAnyMore(t *testing.T) {
	cl, asked := script(t, text(503, "busy"), text(200, `{"status":"running"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", func(j model.Job) {
		if j.State == model.JobRunning {
			_ = cl.cfg.Ledger.Close()
		}
	})
	if err == nil || job.ID != "job-1" || job.State != model.JobRunning || asked.Load() != 2 {
		t.Errorf("%+v, %v after %d polls", job, err, asked.Load())
	}
}

func TestWatchSeesWhatOthersCancelled(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text(200, "OK")(w, r)
			return
		}
		text(200, `{"status":"running"}`)(w, r)
	})
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", func(j model.Job) {
		if j.State == model.JobRunning {
			noerr.Want(t, noerr.From(cl.CancelJob(t.Context(), "job-1")))
		}
	})
	if err != nil || job.State != model.JobCanceled {
		t.Errorf("%s, %v", job.State, err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.Is(err, ErrJobOver) {
		t.Errorf("again: %v", err)
	}
}

func TestALateAnswerDoesNotReopenAJob(t *testing.T) {
	var cl *Runner
	var asked *atomic.Int32
	cl, asked = script(t, func(w http.ResponseWriter, r *http.Request) {
		// While this poll is being answered, another process sees the end.
		noerr.Want(t, noerr.From(cl.cfg.Ledger.Change(r.Context(), "job-1", func(job *model.Job) (string, error) {
			job.State = model.JobFailed
			return "", nil
		})))
		text(200, `{"status":"running"}`)(w, r)
	}, text(200, `{"status":"ready"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	if err != nil || job.State != model.JobFailed || asked.Load() != 1 {
		t.Errorf("%s after %d polls, %v", job.State, asked.Load(), err)
	}
}

func TestCancelIsRefusedByTheService(t *testing.T) {
	cl, _ := script(t, text(400, "Snapshot is not running"))
	accepted(t, cl)
	job, err := cl.CancelJob(t.Context(), "job-1")
	var d *exchange.CallError
	if !errors.As(err, &d) || d.Text != "Snapshot is not running" || job.State != model.JobAccepted {
		t.Errorf("%s, %v", job.State, err)
	}
}

// bits are the same random bits each time.
type bits uint64

func (b bits) Uint64() uint64 { return uint64(b) }

func TestQuestionsAreSpacedOut(t *testing.T) {
	now := time.Now()
	cadence := dialect.Cadence{First: 2 * time.Second, Last: 30 * time.Second}
	for name, c := range map[string]struct {
		age         time.Duration
		done, total int
		jobs        int
		want        time.Duration
	}{
		"a new job":                 {0, -1, 10, 1, 2 * time.Second},
		"half its age":              {20 * time.Second, -1, 10, 8, 10 * time.Second},
		"an old job":                {time.Hour, 0, 10, 1, 30 * time.Second},
		"almost over":               {time.Hour, 999, 1000, 1, 2 * time.Second},
		"soon over":                 {100 * time.Second, 80, 100, 1, 12500 * time.Millisecond},
		"all done and not yet over": {time.Minute, 10, 10, 1, 30 * time.Second},
		"one of many":               {time.Hour, -1, 10, 80, 5 * time.Minute},
	} {
		job := model.Job{Accepted: now.Add(-c.age), Done: c.done, Inputs: c.total}
		for n, want := range map[uint64]time.Duration{0: c.want * 4 / 5, uint64(c.want * 2 / 5): c.want * 6 / 5} {
			rn := New(Config{Clock: servicetest.ClockFunc(func() time.Time { return now }), Rand: bits(n)})
			rn.watching.among(c.jobs)
			if got := rn.watching.wait(cadence, job); (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

func TestAJobOfAnotherProfileIsLeftAlone(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"ready"}`))
	accepted(t, cl)
	p := noerr.Try(cl.cfg.Source.Profile(t.Context())).Must(t)
	p.Name = "staging"
	other := newRunner(t, p, func(o *Config) { o.Ledger = cl.cfg.Ledger })
	var re *model.RequestError
	if _, err := other.Watch(t.Context(), "job-1", nil); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("%v", err)
	}
	if asked.Load() != 0 {
		t.Error("it was asked for")
	}
	if _, err := cl.Watch(t.Context(), "job-9", nil); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("unknown: %v", err)
	}
}

func TestAJobIsAskedForWithTheKeyThatStartedIt(t *testing.T) {
	cl, asked := script(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+servicetest.KeyValue {
			t.Errorf("authorization %q", got)
		}
		text(200, `{"status":"ready"}`)(w, r)
	})
	began := func(key string) string {
		return changed(t, cl, accepted(t, cl).ID, func(job *model.Job) { job.KeyName = key }).ID
	}
	// Another key, of another level, must not be used because this one's value is lost.
	if _, err := cl.Watch(t.Context(), began("lost"), nil); !errors.Is(err, keystore.ErrSecretMissing) || asked.Load() != 0 {
		t.Errorf("%v after %d polls", err, asked.Load())
	}
	if job, err := cl.Watch(t.Context(), began("removed"), nil); err != nil || job.State != model.JobReady || asked.Load() != 1 {
		t.Errorf("a key that the inventory no longer has, asked for with the profile's: %v after %d polls", err, asked.Load())
	}
}

func TestPollsKeepTheKeyOutOfTheLedger(t *testing.T) {
	cl, _ := script(t,
		text(200, `{"status":"running `+servicetest.KeyValue+`"}`),
		text(200, `{"status":"failed","error_message":"`+servicetest.KeyValue+`"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	if err != nil || strings.Contains(fmt.Sprintf("%+v", job), servicetest.KeyValue) {
		t.Errorf("%+v, %v", job, err)
	}
	servicetest.NoSecretUnder(t, filepath.Dir(cl.cfg.Ledger.Path()))
}

func TestAKeyThatAHeaderRepeatsIsMasked(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-brd-error", "unknown key "+servicetest.KeyValue)
		w.Header().Set("x-brd-error-code", "k_"+servicetest.KeyValue)
		w.WriteHeader(http.StatusForbidden)
	})
	accepted(t, cl)
	_, err := cl.Watch(t.Context(), "job-1", nil)
	var d *exchange.CallError
	if !errors.As(err, &d) || len(d.Diagnosis.Evidence) == 0 {
		t.Fatal(err)
	}
	servicetest.NoSecret(t, "the evidence", fmt.Sprint(d.Diagnosis.Evidence, d))
}

func TestAnAnswerThatIsNotReadySaysWhenToAskAgain(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"status":"building","message":"try again in 10s"}`))
	})
	call := noerr.Try(cl.callFor(t.Context(), accepted(t, cl).ID)).Must(t)
	if p, err := call.poll(t.Context()); err != nil || p.After != 10*time.Second || p.State != model.JobRunning || p.Wire != "building" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAChangeAtTheSameTimeIsTold(t *testing.T) {
	told := 0
	f := follower{reported: map[string]Followed{}, on: func(Followed) { told++ }}
	job := model.Job{ID: "job-1", State: model.JobRunning, Steps: []model.JobStep{{Text: "running"}}}
	f.report(Followed{Job: job})
	f.report(Followed{Job: job})
	if told != 1 {
		t.Errorf("told %d times of a job that stands as it was", told)
	}
	job.Steps = append(job.Steps, model.JobStep{Text: "it is not asked for any more"})
	f.report(Followed{Job: job})
	if told != 2 {
		t.Errorf("told %d times, once of the change", told-1)
	}
	job.Fault.GivenUp = true // the row, read after the steps that belong to it
	f.report(Followed{Job: job})
	if told != 3 {
		t.Errorf("told %d times, twice of the change and its row", told-1)
	}
}

// A job that waits costs a write now and then, and the service nothing until its webhook is due.
func TestAJobThatWaitsForItsWebhookIsSeldomLookedAt(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		local     bool
		due, want time.Duration
	}{
		"the emulator, nearly due":               {true, 5 * time.Second, 5 * time.Second},
		"the emulator, whose clock may be moved": {true, 20 * time.Minute, 15 * time.Second},
		"a service":                              {false, 20 * time.Minute, 5 * time.Minute},
		"a service, nearly due":                  {false, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cl, asked := script(t, text(200, `{"status":"ready"}`))
			inProfile(t, cl, func(p *model.Profile) { p.Local = c.local })
			cl.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
			job := changed(t, cl, accepted(t, cl).ID, func(job *model.Job) { job.WebhookDue = now.Add(c.due) })
			before := texts(t, cl, job.ID)
			cl.watching.everyJob.all = 1
			item := work.Item{Lane: lane("test"), Key: job.ID}
			again, err := cl.watching.ask(t.Context(), item)
			if err != nil || again != c.want || asked.Load() != 0 || !slices.Equal(texts(t, cl, job.ID), before) {
				t.Errorf("again in %s after %d questions, %v", again, asked.Load(), err)
			}
			now = now.Add(c.due)
			if again, err = cl.watching.ask(t.Context(), item); err != nil || again != 0 || asked.Load() != 1 {
				t.Errorf("due: again in %s after %d questions, %v", again, asked.Load(), err)
			}
			if job, err = cl.Job(t.Context(), job.ID); err != nil || job.State != model.JobReady || !job.WebhookDue.IsZero() || !strings.HasPrefix(texts(t, cl, job.ID)[len(before)], "no webhook came in time") {
				t.Errorf("%+v, %v", job, err)
			}
			now = now.Add(-c.due)
		})
	}
}

// While a job is followed, the config file may change.
func TestAQuestionGoesByTheProfileAsItIsNow(t *testing.T) {
	moved, gone := servicetest.API(t, text(200, `{"status":"ready"}`)), errors.New("nothing is sent with profile test")
	for name, c := range map[string]struct {
		now   func() (model.Profile, error)
		state model.JobState
		err   error
	}{
		"it has another address": {func() (model.Profile, error) { return moved, nil }, model.JobReady, nil},
		"it is gone":             {func() (model.Profile, error) { return model.Profile{}, gone }, model.JobRunning, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			first := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/progress/") {
					asked.Add(1)
				}
				text(200, `{"status":"running"}`)(w, r)
			})
			var changed atomic.Bool
			ledger, _ := withLedger(t)
			cl := newRunner(t, first, ledger, func(conf *Config) {
				conf.Source = servicetest.Source{Base: conf.Source, ProfileBy: func(context.Context) (model.Profile, error) {
					if changed.Load() {
						return c.now()
					}
					return first, nil
				}}
			})
			job := accepted(t, cl)
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			seen := false
			noerr.Must(t, cl.Follow(ctx, func(f Followed) {
				switch {
				case f.Job.State == model.JobRunning && f.On:
					changed.Store(true)
				case f.Job.ID == job.ID && f.Job.State == c.state && errors.Is(f.Err, c.err):
					seen = true
					end()
				}
			}))
			if !seen || asked.Load() != 1 {
				t.Errorf("seen: %t, after %d questions at the first address", seen, asked.Load())
			}
		})
	}
}

// A job that another process still sends is waited for: until it was accepted and is over, or until that process is dead.
func TestAJobOnItsWayIsWaitedFor(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"ready"}`))
	begin := func() (*ledger.Ledger, model.Job) {
		other, _, err := ledger.Open(t.Context(), rn.cfg.Ledger.Path(), time.Now)
		noerr.Must(t, err)
		job := noerr.Try(other.Begin(t.Context(), model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 1, Done: -1, Records: -1}, "", nil, nil)).Must(t)
		return other, job
	}
	send := func(l *ledger.Ledger, id string, to model.JobState, snapshot string) {
		noerr.Must(t, noerr.From(l.Change(t.Context(), id, func(job *model.Job) (string, error) {
			job.State, job.Snapshot = to, snapshot
			return "", nil
		})))
	}
	for want, end := range map[model.JobState]func(l *ledger.Ledger, id string){
		model.JobNotSent: func(*ledger.Ledger, string) {},
		model.JobMayHave: func(l *ledger.Ledger, id string) { send(l, id, model.JobSending, "") },
		model.JobReady: func(l *ledger.Ledger, id string) {
			send(l, id, model.JobSending, "")
			send(l, id, model.JobAccepted, "sd_1")
		},
	} {
		other, job := begin()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if got, err := rn.Watch(short, job.ID, nil); !errors.Is(err, context.DeadlineExceeded) || got.State != model.JobIntent {
			t.Errorf("%s: while its process lives: %s, %v", want, got.State, err)
		}
		cancel()
		watched := make(chan error, 1)
		go func() {
			got, err := rn.Watch(t.Context(), job.ID, nil)
			if err == nil && got.State != want {
				err = fmt.Errorf("it is %s", got.State)
			}
			watched <- err
		}()
		end(other, job.ID)
		noerr.Must(t, other.Close())
		if err := <-watched; err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}
