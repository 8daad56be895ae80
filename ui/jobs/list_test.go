package jobs_test

import (
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

func TestSearchGoesFromJobToJob(t *testing.T) {
	jobs := []model.Job{readyJob(), readyJob(), readyJob()}
	for i, d := range []string{"gd_pages", "gd_reviews", "gd_pages"} {
		jobs[i].ID, jobs[i].Snapshot, jobs[i].Dataset = "job-"+string(rune('0'+i)), "sd_"+string(rune('0'+i)), d
	}
	f := &fakeLedger{jobs: jobs}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("/")
		s.Type("pages")
		s.Expect("1 of 2", "job-0 · gd_pages")
		s.Press("enter", "n")
		s.Expect("2 of 2 · n next", "job-2 · gd_pages")
		s.Press("n")
		s.Expect("1 of 2", "job-0 · gd_pages")
		s.ExpectNot("New job")
		s.Press("esc", "/")
		s.Type("sd_1") // the service's identifier is found, too
		s.Expect("1 of 1", "job-1 · gd_reviews")
		s.Press("esc", "n")
		s.Expect("New job") // n launches again
	})
}

func TestAJobThatMayHaveStartedPromisesNoWebhook(t *testing.T) {
	j := readyJob()
	j.State, j.Snapshot, j.Detail = model.JobMayHave, "", "connection reset"
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("! may have started", "jobs adopt", "with n.")
		if strings.Contains(strings.ToLower(s.Screen()), "webhook") {
			t.Errorf("it speaks of a webhook, which nothing receives yet:\n%s", s.Screen())
		}
	})
}

func TestThePathOfADownloadIsShownInFullAboveTheSteps(t *testing.T) {
	j := readyJob()
	j.Steps = []model.JobStep{{State: model.JobReady, Text: "the last step"}}
	j.File, j.Bytes = "/home/operator/.local/share/zonedeck/downloads/job-9_sd_9.ndjson", 303000
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
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

func TestACancelledJobIsNotShownAsRunning(t *testing.T) {
	j := readyJob()
	j.State, j.Wire = model.JobCanceled, "running"
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("- cancelled (the service last said running)")
	})
}

func TestWithTheContractAloneTheDialogSaysWhatIsNotSentOrPossible(t *testing.T) {
	f := &fakeLedger{}
	flow(t, f, "documented", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Expect("It is not sent", "! with dialect")
		s.Press("tab", "tab")
		s.Paste("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("1 input from", "cannot ask for progress or result")
		s.Press("ctrl+s")
		if len(f.triggered) != 1 || f.triggered[0].Dataset != "" {
			t.Fatalf("triggered %+v", f.triggered)
		}
		s.ExpectNot("New job")
	})
	flow(t, &fakeLedger{}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "tab", "tab")
		s.Paste("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("name the dataset")
	})
}

func TestInputsWithoutARecordAreCounted(t *testing.T) {
	j := readyJob()
	j.Inputs, j.Done, j.Records = 40, 40, 12
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("12 records from 40 inputs")
	})
}

func TestJobsOfAnotherProfileAreNamedInTheListAndOfferNothing(t *testing.T) {
	own := readyJob()
	flow(t, &fakeLedger{jobs: []model.Job{own}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("d download", "p preview")
		s.ExpectNot("PROFILE")
	})
	other := readyJob()
	other.ID, other.Profile = "job-other", "local"
	flow(t, &fakeLedger{jobs: []model.Job{own, other}}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("PROFILE", "local")
		s.Press("G")
		s.ExpectNot("d download", "p preview")
		s.Press("d")
		s.Expect("it belongs to profile local")
	})
}

func TestTheNewestStepIsOnTop(t *testing.T) {
	j := readyJob()
	j.Steps = []model.JobStep{
		{At: j.Created, State: model.JobIntent, Text: "written before sending"},
		{At: j.Created, State: model.JobReady, Text: "the last step"},
	}
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		screen := s.Screen()
		if last, begin := strings.Index(screen, "the last step"), strings.Index(screen, "written before"); last < 0 || last > begin {
			t.Errorf("the last step is at %d, the first at %d:\n%s", last, begin, screen)
		}
	})
}

func TestWithoutAJobTheFooterOffersNoneOfItsKeys(t *testing.T) {
	flow(t, &fakeLedger{}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("n new")
		s.ExpectNot("d download", "p preview", "c cancel")
		s.Press("d")
		s.Expect("no job is selected")
	})
}
