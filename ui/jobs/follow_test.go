package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestTheContractAloneCannotFollowAndSaysWhy(t *testing.T) {
	f := &fakeJobs{quiet: true, jobs: []model.Job{
		{ID: "job-1", Snapshot: "sd_1", Profile: "acme", Dataset: "gd_products", State: model.JobAccepted, Inputs: 4, Done: -1, Records: -1},
	}}
	flow(t, f, "documented", 120, 40, func(s *uitest.Screen) {
		s.Expect("not followed: the contract shows no way")
		s.Press("X")
		s.Expect("the contract shows no way to ask for a job's state or result")
		if f.follows() != 0 {
			t.Fatal("it was followed")
		}
	})
}

func TestAJobOfAnotherProfileIsFollowedAndNamedWithIt(t *testing.T) {
	job := model.Job{ID: "job-1", Snapshot: "sd_1", Profile: "beta", Dataset: "gd_products", State: model.JobRunning, Inputs: 4, Done: 1, Records: 1}
	f := &fakeJobs{quiet: true, jobs: []model.Job{job}}
	flow(t, f, "documented", 200, 40, func(s *uitest.Screen) {
		s.Expect("not followed: it belongs to profile beta")
		said := func(e service.Followed) {
			f.events <- e
			s.After(time.Second)
		}
		said(service.Followed{Job: job, On: true})
		s.Expect("followed: the service is asked regularly", "1 job followed")
		s.Press("f")
		s.Expect("it is already being followed")
		said(service.Followed{Job: job, Err: errors.New("its key is locked")})
		s.Expect("not followed: its key is locked · f follows it again", "stopped following job-1 of profile beta: its key is locked")
		s.Press("x", "f")
		s.ExpectNot("it belongs to profile beta")
		said(service.Followed{Err: errors.New("the database cannot be reached")})
		s.Expect("no job is followed, trying again every 10 seconds: the database cannot be reached")
		job.State = model.JobReady
		said(service.Followed{Job: job})
		s.Expect("job-1 of profile beta is ready (@ switches to its profile)")
		job.Records = 0
		said(service.Followed{Job: job})
		s.Expect("! job-1 of profile beta: ready, no records (@ switches to its profile)", "! ready, no records")
		s.Press("d")
		s.Expect("it belongs to profile beta")
	})
}

func TestAllJobsAreFollowedToTheirEnd(t *testing.T) {
	f := &fakeJobs{}
	for i := range 20 {
		id := string(rune('a' + i))
		f.jobs = append(f.jobs, model.Job{ID: id, Snapshot: "sd_" + id, Profile: "acme", Dataset: "d", State: model.JobRunning, Inputs: 4, Done: 0, Records: 0})
	}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.After(time.Minute)
		if n := f.follows(); n != 20 {
			t.Fatalf("%d jobs were followed in the end, want 20", n)
		}
		if screen := s.Screen(); strings.Contains(screen, "running  ") && strings.Contains(screen, "●") {
			t.Fatalf("jobs still run:\n%s", screen)
		}
	})
}

func TestFStartsAWatchAgainThatEndedEarly(t *testing.T) {
	f := &fakeJobs{
		jobs:     []model.Job{{ID: "a", Snapshot: "sd_a", Profile: "acme", Dataset: "d", State: model.JobRunning, Inputs: 4}},
		watchErr: errors.New("the service cannot be reached"),
	}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("stopped following a: the service cannot be reached")
		s.Expect("not followed: the service cannot be reached", "● running")
		s.Press("r") // a reload alone does not start it
		if f.follows() != 1 {
			t.Fatalf("followed %d times, want 1", f.follows())
		}
		f.watchErr = nil
		s.Press("f")
		s.After(9 * time.Second)
		s.Expect("✓ ready")
	})
}

func TestAnotherProfileStopsWhatIsFollowed(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{{ID: "a", Snapshot: "sd_a", Profile: "acme", Dataset: "d", State: model.JobRunning, Inputs: 4}}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "staging", Ready: true}})
		if f.stopped != 1 {
			t.Fatalf("%d watches stopped, want 1", f.stopped)
		}
		s.Expect("it belongs to profile")
	})
}

func TestTheWatchCommandNamesTheProfile(t *testing.T) {
	for profile, want := range map[string]string{"beta": "zonedeck --profile beta jobs watch job-1", "a b": "zonedeck --profile 'a b' jobs watch"} {
		f := &fakeJobs{quiet: true, jobs: []model.Job{{ID: "job-1", Snapshot: "sd_1", Profile: profile, Dataset: "gd_products", State: model.JobRunning}}}
		flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
			s.Press("y")
			s.Expect(want)
		})
	}
}
