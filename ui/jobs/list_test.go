package jobs_test

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestTheFilterHidesTheJobsThatDoNotMatch(t *testing.T) {
	jobs := []model.Job{readyJob(), readyJob(), readyJob()}
	for i, d := range []string{"gd_pages", "gd_reviews", "gd_pages"} {
		n := string(rune('0' + i))
		jobs[i].ID, jobs[i].Snapshot, jobs[i].Dataset, jobs[i].Profile, jobs[i].Created = "job-"+n, "sd_"+n, d, "acme", time.Now().Add(-time.Duration(i)*time.Hour)
	}
	jobs[2].State, jobs[2].Detail = model.JobFailed, "the collector broke"
	flow(t, &fakeJobs{jobs: jobs}, "brightdata", 120, 40, func(s *uitest.Screen) {
		for typed, c := range map[string]struct{ shown, hidden []string }{
			"pages":                       {[]string{"job-0", "job-2", "2 of 3"}, []string{"job-1"}},
			"dataset:gd_p since:90m":      {[]string{"job-0", "1 of 3"}, []string{"job-1", "job-2"}},
			"state:failed":                {[]string{"job-2"}, []string{"job-0", "job-1"}},
			"state:open":                  {[]string{"nothing matches", "0 of 3"}, []string{"job-0", "job-1", "job-2"}},
			"profile:ACME sd_1":           {[]string{"job-1"}, []string{"job-0", "job-2"}},
			"profile:other":               {[]string{"nothing matches"}, nil},
			"collector state:fail":        {[]string{"job-2"}, []string{"job-0", "job-1"}},
			"size:3":                      {[]string{"unknown term"}, nil},
			"state:blah":                  {[]string{"is not one of open, intent"}, nil},
			"state:":                      {[]string{"state: has no value"}, nil},
			"since:soon":                  {[]string{"write 2h"}, nil},
			"https://nowhere.test/?a=b:c": {[]string{"nothing matches"}, nil},
		} {
			s.Press("/")
			s.Type(typed)
			s.Expect(c.shown...)
			for _, hidden := range c.hidden {
				s.ExpectNot("│ "+hidden, " "+hidden+" ")
			}
			s.Press("esc") // back to what was shown before
			s.Expect("job-0", "job-1", "job-2")
		}
		s.Press("/")
		s.Type("job-")
		s.Press("down") // in the list, while letters still go into the filter
		s.Expect("job-1 · gd_reviews", "/ job-")
		s.Press("ctrl+u")
		s.Type("reviews")
		s.Press("enter")
		s.Expect("Jobs (1 of 3)", "esc shows all", "job-1 · gd_reviews")
		s.Send(kit.Goto{View: kit.Jobs, Msg: kit.OpenJob{ID: "job-2"}}) // another tab wants a hidden one
		s.Expect("Jobs (3)", "job-2 · gd_pages")
		s.Press("/")
		s.Type("reviews")
		s.Press("enter", "esc")
		s.Expect("Jobs (3)")
		s.ExpectNot("· 1 new") // the rows above the cursor were hidden, and did not come
		s.Press("/")
		s.Type("reviews:")
		s.Press("enter")
		s.Expect("i enter keep: ", "reviews: has no value", "/ reviews:") // not cut back to the words before the mistake
		s.Press("backspace")
		s.ExpectNot("enter keep: ")
		s.Press("enter")
		s.Expect("Jobs (1 of 3)", "esc shows all")
	})
}

func TestTheListOpensOnTheJobThatNeedsAPerson(t *testing.T) {
	jobs := []model.Job{readyJob(), readyJob(), readyJob()}
	for i := range jobs {
		jobs[i].ID, jobs[i].Created = "job-"+string(rune('0'+i)), time.Now().Add(-time.Duration(i)*time.Hour)
	}
	jobs[1].State = model.JobMayHave
	flow(t, &fakeJobs{jobs: jobs}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("›! may have started job-1")
		if screen := s.Screen(); strings.Index(screen, "job-0") < strings.Index(screen, "job-1") || strings.Index(screen, "job-2") < strings.Index(screen, "job-0") {
			t.Errorf("the jobs stand in another order:\n%s", screen)
		}
	})
}

// What is known of a job stands beside the list: what came of it, what it cost, and whether it is asked for.
func TestHowAJobStands(t *testing.T) {
	rows := func(r model.JobRows) func(*model.Job) {
		return func(j *model.Job) { j.State, j.Rows = model.JobDownloaded, r }
	}
	in := func(state model.JobState) func(*model.Job) {
		return func(j *model.Job) { j.State, j.Snapshot, j.Inputs, j.Done = state, "", 2, -1 }
	}
	for name, c := range map[string]struct {
		change func(*model.Job)
		want   []string
		hidden []string
	}{
		"rows with data": {
			rows(model.JobRows{Counted: true, Returned: 24, Useful: 23, Billed: -1, Errors: []model.JobRowErrors{{Code: "dead_page", Rows: 1}}}),
			[]string{"20      23", "24 rows · 23 useful · 1 error"},
			nil,
		},
		"records that did not come": {
			rows(model.JobRows{Counted: true, Returned: 12, Useful: 12, Billed: -1}),
			[]string{"! the service counted 20 records", "rows came: the answer may have been cut; d"},
			nil,
		},
		"inputs without a record": {func(j *model.Job) { j.Inputs, j.Done, j.Records = 40, 40, 12 }, []string{"12 records from 40 inputs"}, nil},
		"may have started":        {in(model.JobMayHave), []string{"! may have started", "never sent again"}, []string{"webhook", "Webhook"}}, // nothing receives one
		"its process was killed": { // nobody saw a connection break
			func(j *model.Job) {
				in(model.JobMayHave)(j)
				j.Detail, j.Fault = "the console ended while the request was on its way", model.TriggerUnseen(j.Created)
			},
			[]string{"unrecognised (trigger): zonedeck ended", "evidence  the process that sent the request", "do next   [s] look for the job"},
			[]string{"broke"},
		},
		"cancelled":           {func(j *model.Job) { j.State, j.Wire = model.JobCanceled, "running" }, []string{"- cancelled (the service last said running)"}, nil},
		"an intent":           {in(model.JobIntent), []string{"2 inputs · not sent yet"}, nil},
		"being sent":          {in(model.JobSending), []string{"2 inputs · being sent, no answer yet"}, nil},
		"accepted":            {in(model.JobAccepted), []string{"2 inputs · the service reports no progress"}, nil},
		"not counted":         {func(*model.Job) {}, []string{"cost      not counted yet"}, nil},
		"a cost":              {rows(model.JobRows{Counted: true, Returned: 20, Useful: 20, Billed: 20, Cost: 0.03, Priced: true}), []string{"20 useful · 20 billed ($0.0300)"}, []string{"cost "}},
		"without a rate":      {func(j *model.Job) { j.State, j.Rows = model.JobExpired, model.JobRows{Counted: true, Billed: 20} }, []string{"20 billed (unpriced)"}, []string{"cost "}},
		"not known":           {rows(model.JobRows{Counted: true, Billed: -1}), []string{"cost      not known"}, nil},
		"refused":             {func(j *model.Job) { j.State = model.JobRefused }, []string{"inputs    20"}, []string{"cost "}},
		"cancelled, its cost": {func(j *model.Job) { j.State = model.JobCanceled }, []string{"cost      not known: what was collected"}, nil},
		"given up elsewhere": {
			func(j *model.Job) {
				answer := model.Diagnose(model.Outcome{Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 404})
				j.State, j.Profile = model.JobRunning, "other"
				j.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.JobUnknown(answer, false), At: j.Updated, LastAnswer: j.Updated.Add(-time.Hour), GivenUp: true}
			},
			[]string{"? was running", "(last seen at ", "The console has stopped asking"},
			[]string{"● running", "waiting to be followed"},
		},
		"not known to the service so far": {
			func(j *model.Job) {
				*j = forgottenJob()
				j.State, j.Detail, j.Fault.Diagnosis = model.JobRunning, "", model.JobUnknown(model.Diagnosis{Class: model.ClassOutside}, true)
			},
			[]string{"● running", "The service says that", "it knows no such job", "followed: the service is asked again"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := readyJob()
			c.change(&j)
			flow(t, &fakeJobs{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Expect(c.want...)
				s.ExpectNot(c.hidden...)
			})
		})
	}
}

func TestThePathOfADownloadIsShownInFullAboveTheSteps(t *testing.T) {
	j := readyJob()
	j.Steps = []model.JobStep{{State: model.JobReady, Text: "the last step"}}
	j.File, j.Bytes = "/home/operator/.local/share/zonedeck/downloads/job-9_sd_9.ndjson", 303000
	flow(t, &fakeJobs{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("303.0 KB")
		var b strings.Builder // the detail pane alone, its lines put together again
		for _, l := range strings.Split(s.Screen(), "\n") {
			if i := strings.LastIndex(l, "││"); i >= 0 {
				b.WriteString(strings.Trim(l[i+len("││"):], "│ "))
			}
		}
		path, step := strings.Index(b.String(), "job-9_sd_9.ndjson"), strings.Index(b.String(), "the last step")
		if path < 0 || step < path {
			t.Errorf("the path is cut, or below the steps:\n%s", s.Screen())
		}
	})
}

func TestWithTheContractAloneTheDialogSaysWhatIsNotSentOrPossible(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "documented", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Expect("It is not sent", "! with dialect")
		s.Press("tab", "tab")
		s.Paste("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("1 input from", "cannot ask for progress or result")
		s.Press("ctrl+s", "y")
		if len(f.triggered) != 1 || f.triggered[0].Dataset != "" {
			t.Fatalf("triggered %+v", f.triggered)
		}
		s.ExpectNot("New job")
	})
	flow(t, &fakeJobs{}, "brightdata", 120, 40, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("esc", "up", "up", "ctrl+u")
		s.Press("ctrl+s")
		s.Expect("name the dataset")
	})
}

func TestJobsOfAnotherProfileAreNamedInTheListAndOfferNothing(t *testing.T) {
	own := readyJob()
	flow(t, &fakeJobs{jobs: []model.Job{own}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("d download", "p preview")
		s.ExpectNot("PROFILE")
	})
	other := readyJob()
	other.ID, other.Profile = "job-other", "local"
	flow(t, &fakeJobs{jobs: []model.Job{own, other}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("PROFILE", "local")
		s.Press("G")
		s.ExpectNot("d download", "p preview")
		s.Press("d")
		s.Expect("it belongs to profile local")
	})
}

func TestTheFirstRecordsOfAResultOnAnotherMachineAreShown(t *testing.T) {
	j := readyJob()
	j.State, j.File = model.JobDownloaded, "/data/rows.json"
	flow(t, &fakeJobs{jobs: []model.Job{j}}, "brightdata", 80, 24, func(s *uitest.Screen) { s.Expect("p records") })
	j.Rows.Machine = "b"
	f := &fakeJobs{jobs: []model.Job{j}, records: model.RecordTable{Columns: []model.RecordColumn{{Name: "name"}}, Rows: [][]string{{"lamp"}}, Total: 1}}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("p preview")
		s.Press("p")
		s.Expect("lamp", "enter open · esc back")
		s.Press("enter")
		s.Expect("Record 1 of", " name  lamp", "esc close")
		s.Press("esc")
		s.Expect("Records of")
	})
	j.Snapshot = "" // the service is asked for it no more
	flow(t, &fakeJobs{jobs: []model.Job{j}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.ExpectNot("d download", "p preview", "p records")
		s.Press("p")
		s.Expect("its rows came in the answer and are on machine b")
	})
}

func TestTheNewestStepIsOnTop(t *testing.T) {
	j := readyJob()
	j.Steps = []model.JobStep{
		{At: j.Created, State: model.JobIntent, Text: "written before sending"},
		{At: j.Created, State: model.JobReady, Text: "the last step"},
	}
	flow(t, &fakeJobs{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		screen := s.Screen()
		if last, begin := strings.Index(screen, "the last step"), strings.Index(screen, "written before"); last < 0 || last > begin {
			t.Errorf("the last step is at %d, the first at %d:\n%s", last, begin, screen)
		}
	})
}

func TestWithoutAJobTheFooterOffersNoneOfItsKeys(t *testing.T) {
	flow(t, &fakeJobs{}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("n new")
		s.ExpectNot("d download", "p preview", "c cancel")
		s.Press("d")
		s.Expect("no job is selected")
	})
}

func TestThePaletteFindsTheInboxByItsName(t *testing.T) {
	flow(t, &fakeJobs{jobs: []model.Job{readyJob()}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		for _, word := range []string{"inbox", "webhooks"} {
			s.Press("ctrl+p")
			s.Type(word)
			s.Expect("›inbox", "Show the webhooks that came")
			s.Press("esc")
		}
	})
}

// A job that may bill unseen is counted on every screen, not only in the list of jobs.
func TestTheTabCountsTheJobsThatMayHaveStarted(t *testing.T) {
	ready, may := readyJob(), readyJob()
	may.ID, may.State, may.Snapshot = "job-8", model.JobMayHave, ""
	flow(t, &fakeJobs{jobs: []model.Job{ready, may}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("2")
		s.Expect("1 Jobs (1 may have started)")
	})
	flow(t, &fakeJobs{jobs: []model.Job{ready}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.ExpectNot("1 Jobs (", "1 Jobs !")
	})
}
