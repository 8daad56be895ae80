package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
)

func lostJob() model.Job {
	return model.Job{ID: "job-7", Profile: "acme", Dataset: "gd_products", KeyName: "etl", State: model.JobMayHave, Inputs: 2, Done: -1, Records: -1, Steps: []model.JobStep{{State: model.JobMayHave}}}
}

func askedFor(key string, urls ...string) model.TriggerRequest {
	r := model.TriggerRequest{Dataset: "gd_products", Key: key, Repeats: "job-9", Settings: model.JobSettings{LimitPerInput: 3}}
	for i, u := range urls {
		r.Inputs = append(r.Inputs, model.JobInput{URL: u, Row: i + 1})
	}
	return r
}

func TestAJobThatMayHaveStartedIsAdoptedInOneStep(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, options: []service.FateOption{
		{Fate: service.Started("sd_same"), Text: "2 inputs · running, begun 2s after the POST"}, {Fate: service.Started("sd_other"), Text: "ready, begun 3s before the POST", Against: "it has 5 inputs and not 2"},
	}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("s")
		s.Expect("job-7: 2 candidates in the service's list", "it is sd_same", "2 inputs · running, begun 2s after the POST", "✗ it has 5 inputs and not 2 · ready, begun 3s before", "it has not started")
		s.Press("1")
		s.Expect("job-7: ready", "sd_same")
		s.Press("s")
		s.Expect("the job is ready")
	})
}

func TestAJobThatSomethingSpeaksAgainstIsAdoptedByAYes(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, options: []service.FateOption{{Fate: service.Started("sd_other"), Text: "ready", Against: "it can be job-6 as well"}}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("s", "1")
		s.Expect("Is it sd_other?", "it can be job-6 as well")
		s.Press("n")
		s.Expect("may have started")
		s.Press("s", "1", "y")
		s.Expect("job-7: ready", "sd_other")
	})
}

func TestAJobThatMayHaveStartedIsMarkedOrLaunchedAgain(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, asked: askedFor("", "https://a.test/1", "https://a.test/2"), check: asking(ask.Question{Kind: ask.Unsettled, Text: "job-7 may have started"})}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("s", "w")
		s.Expect("Launch it again?", "job-7 may have started. s looks for it in", "2 inputs of job-7 for dataset gd_products, with key etl: about")
		s.Press("n")
		if len(f.triggered) != 0 {
			t.Fatal("launched without a yes")
		}
		s.Press("s", "x")
		s.Expect("job-7: not sent", "It was marked as not started")
	})
}

func TestAListThatCannotBeReadIsNoReasonToMarkAJob(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, listErr: errors.New("the service answered 503"), against: "nobody has checked"}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.AllowError("the service answered 503")
		s.Press("s")
		s.Expect("job-7: the service's list could not be read", "›l    look again")
		s.ExpectNot("may be it")
		s.Press("x")
		s.Expect("Mark job-7 as not started?", "Nobody has checked.", "launched again are billed a second time")
		s.Press("n")
		s.Expect("may have started")
		s.Press("s")
		f.listErr, f.options = nil, []service.FateOption{{Fate: service.Started("sd_same")}}
		s.Press("enter")
		s.Expect("1 candidate in the service's list", "it is sd_same")
		s.Press("x", "y")
		s.Expect("job-7: not sent")
	})
}

func TestOnlyWhatIsMissingIsLaunchedAgain(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob()}, asked: askedFor("etl", "https://a.test/3"), check: func(r *service.Report) error {
		r.Missing = service.Missing{Inputs: 20, Failed: 1}
		return asking(ask.Question{Kind: ask.Unmatched, Text: "2 rows cannot be matched"}, ask.Question{Kind: ask.Lacking, Text: "5 records did not come"})(r)
	}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("a")
		s.Expect("Launch job-9 again", "the whole job", "20 inputs", "only what is missing", "change it first")
		s.Press("o")
		s.Expect("1 input of job-9", "Of 20 inputs, 0 gave nothing and 1 an error.", "2 rows cannot be matched.", "5 records did not come. Download the result again first: d")
		s.Press("y")
		if len(f.triggered) != 1 || f.drafts[0].From != (service.Again{Job: "job-9", Missing: true}) {
			t.Errorf("%+v of %+v", f.triggered, f.drafts)
		}
	})
}

func TestASecondLaunchOfAJobNamesTheFirst(t *testing.T) {
	second := ask.Question{Kind: ask.SameInputs, About: "job-12", Facts: []ask.Fact{
		{Text: "job-9 was launched again", Job: model.Job{ID: "job-12", Profile: "acme", State: model.JobMayHave}, Outcome: "this is a second job"}, {Text: "not named"},
	}}
	f := &fakeJobs{jobs: []model.Job{readyJob()}, asked: askedFor("etl", "https://a.test/3"), check: asking(second)}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("a", "o")
		s.Expect("job-9 was launched again at", "(job-12, may have started). This")
		s.ExpectNot("Not named")
		s.Press("y")
		if len(f.triggered) != 1 || !f.given.To(second).Yes {
			t.Errorf("%+v by %+v", f.triggered, f.given)
		}
	})
}

func TestALaunchBeforeTheServiceWantsItIsAskedAbout(t *testing.T) {
	for at, want := range map[time.Duration]bool{0: true, -6 * time.Minute: false} {
		refused := readyJob()
		refused.State = model.JobRefused
		f := &fakeJobs{jobs: []model.Job{refused}, asked: askedFor("etl", "https://a.test/3")}
		flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
			f.mu.Lock()
			f.jobs[0].Fault = model.JobFault{Call: model.CallTrigger, At: time.Now().Add(at), Diagnosis: model.Diagnosis{Class: model.ClassTooFast, RetryAfter: 5 * time.Minute}}
			f.mu.Unlock()
			s.Press("r", "a", "w")
			s.Expect("Launch it again?")
			if words := "The service asked to wait until 00:05:00"; want {
				s.Expect(words)
			} else {
				s.ExpectNot(words)
			}
		})
	}
}

func TestAJobIsChangedInTheFormBeforeItIsLaunchedAgain(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob()}, asked: askedFor("etl", "https://a.test/1", "https://a.test/2")}
	flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
		s.Press("a", "e")
		s.Expect("New job", "gd_products", `{"url":"https://a.test/1"}`)
		s.Press("ctrl+s")
		s.Expect("launch 2 inputs")
		s.Press("ctrl+s", "y")
		if d := f.drafts[0]; len(f.triggered) != 1 || d.Repeats != "job-9" || d.Settings.LimitPerInput != 3 {
			t.Errorf("%+v", d)
		}
	})
}

func TestInputsTooLongForTheFormAreLaunchedByACommandThatNamesTheProfile(t *testing.T) {
	long := askedFor("etl", "https://a.test/"+strings.Repeat("x", 1<<20))
	flow(t, &fakeJobs{jobs: []model.Job{readyJob()}, asked: long}, "brightdata", 160, 30, func(s *uitest.Screen) {
		s.Press("a", "e")
		s.Expect("'zonedeck --profile acme jobs relaunch job-9' launches it")
	})
}

func TestWhatCannotBeLaunchedAgainSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		asked model.TriggerRequest
		check func(*service.Report) error
		want  string
	}{
		"no inputs kept":  {check: refusing(service.ErrNoRequest), want: "job-9 cannot be launched again: the ledger does not have its inputs"},
		"another error":   {check: refusing(errors.New("the disk is on fire")), want: "job-9 was not launched again: the disk is on fire"},
		"nothing is left": {want: "every input of job-9 gave data"},
		"a refused key":   {check: refusing(model.BadField("key", "it has expired")), want: "it has expired: change it first (a, then e)"},
		"an ADMIN key":    {asked: askedFor("boss", "https://a.test/1"), check: asking(ask.Question{Kind: ask.AdminReason, Want: ask.Reason}), want: "change it first (a, then e)"},
		"a deaf inbox":    {asked: askedFor("etl", "https://a.test/1"), check: noting(ask.Note{Text: "the disk is on fire", Warn: true}), want: "job-9 was not launched again: the disk is on fire"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeJobs{jobs: []model.Job{readyJob()}, asked: c.asked, check: c.check}
			flow(t, f, "brightdata", 120, 30, func(s *uitest.Screen) {
				s.AllowError("the disk is on fire")
				s.Press("a", "o")
				s.Expect(c.want)
				if len(f.triggered) != 0 {
					t.Error("it was launched")
				}
			})
		})
	}
}

func TestTheWebhookOfAJobThatMayHaveStartedIsWaitedFor(t *testing.T) {
	job := lostJob()
	job.WebhookToken = "abcdefghijklmnop"
	for _, c := range []struct {
		name  string
		inbox func() (string, string, error)
		said  string
	}{{"an inbox that receives", inboxAt("", nil), "; nothing was sent"}, {"none", inboxAt("", errors.New("no zonedeck receives")), "none can arrive now: no zonedeck receives"}} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeJobs{jobs: []model.Job{job}, inbox: c.inbox}
			flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Press("s", "b")
				s.Expect("job-7: waiting for its webhook until", c.said, "webhook", "due by", "if one comes, it")
				s.After(31 * time.Minute)
				s.Expect("was due by", "has not")
			})
		})
	}
	flow(t, &fakeJobs{jobs: []model.Job{lostJob()}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("s")
		s.Expect("wait for its webhook", "the service has no inbox address")
	})
}

// One key does not mark a job while the service's list has jobs that can be it.
func TestAJobThatTheListMayHaveIsMarkedByAYesAlone(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, options: []service.FateOption{{Fate: service.Started("sd_same")}}, against: "it can be sd_same"}
	flow(t, f, "brightdata", 120, 30, func(s *uitest.Screen) {
		s.Press("s", "x")
		s.Expect("Mark job-7 as not started?", "It can be sd_same. If job-7 has started", "billed a second time")
		s.Press("n")
		s.Expect("may have started")
		s.Press("s", "x", "y")
		s.Expect("job-7: not sent")
	})
}

// forgottenJob is a job that the service did not know any more while it ran.
func forgottenJob() model.Job {
	j := readyJob()
	answer := model.Diagnose(model.Outcome{Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 404, ServiceText: "Snapshot does not exist"})
	j.State, j.Wire, j.Detail = model.JobExpired, "running", "the service no longer knows it: Snapshot does not exist"
	j.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.JobForgotten(answer), At: j.Updated, LastAnswer: j.Updated.Add(-time.Hour)}
	return j
}

func TestAForgottenJobIsAskedForOnceMoreAndTakenBack(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{forgottenJob()}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("- expired (last seen running at ", "do next   [f] look for it in the service's", "do next   [a] launch it again")
		s.Press("f")
		s.Expect("the service still does not know it", "- expired")
		f.mu.Lock()
		f.knows = model.JobReady
		f.mu.Unlock()
		s.Press("f")
		s.Expect("is ready: d downloads", "✓ ready")
		s.ExpectNot("expired", "do next")
	})
}

// What it costs to launch a forgotten job again is said before it is.
func TestAForgottenJobIsLaunchedAgainWithAWarning(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{forgottenJob()}, asked: askedFor("etl", "https://a.test/1"), check: noting(ask.Note{Text: "the same inputs are billed a second time"})}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("a")
		s.Expect("the whole job", "the job has expired: no rows to compare with")
		s.Press("w")
		s.Expect("Launch it again?", "The same inputs are billed a second time.")
	})
}
