package jobs_test

import (
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
)

// leaving offers to leave out the first inputs, which job-9 has, and then takes a sample of what is left.
func leaving(inputs, sample int, unknown ...model.Job) func(*service.Report) error {
	return func(r *service.Report) error {
		if len(r.Request.Inputs) < inputs+sample {
			return nil
		}
		left := service.Checked{Report: *r}
		left.Request.Inputs = r.Request.Inputs[inputs : inputs+sample]
		left.LeftOut = service.LeftOut{Inputs: inputs, Good: len(r.Request.Inputs), Jobs: []service.Overlap{{Job: readyJob(), Inputs: inputs}}, Unknown: unknown}
		left.Estimate.Dollars, r.Estimate.Dollars = 0.5*float64(sample), 0.5*float64(len(r.Request.Inputs))
		r.Unlaunched = &left
		return nil
	}
}

func TestWhatASampleLaunchedIsLeftOutByChoice(t *testing.T) {
	f := &fakeJobs{check: leaving(2, 1)}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/3\nhttps://a.test/2")
		s.ExpectNot("Leave out")
		s.Press("ctrl+s")
		s.Expect("[ ] 2 inputs of the last hour: saves about $1.00", "! 2 of 3 inputs were launched as job-9 (ready).", "✓ 3 inputs from what was pasted", "launch 3 inputs")
		s.Press("down", "down", "space")
		s.Expect("[x] 2 inputs of the last hour", "✓ 1 input from what was pasted", "· 2 left out", "launch 1 input")
		s.ExpectNot("a sample of")
		s.Press("space")
		s.Expect("✓ 3 inputs from what was pasted", "launch 3 inputs")
		s.Press("space", "ctrl+s")
		s.Expect("Launch 1 input?")
		s.Press("y")
		if len(f.triggered) != 1 || len(f.triggered[0].Inputs) != 1 || f.triggered[0].Inputs[0].URL != "https://a.test/2" {
			t.Errorf("triggered %+v", f.triggered)
		}
		fillDialog(s, "https://a.test/1") // other rows have nothing to leave out
		s.Press("ctrl+s")
		s.Expect("1 input from what was pasted")
		s.ExpectNot("Leave out", "left out")
	})
}

func TestAJobAboveItsCapComesWithinItByLeavingOut(t *testing.T) {
	unknown := []model.Job{{ID: "job-7", State: model.JobRunning}, {ID: "job-5", State: model.JobReady}}
	f := &fakeJobs{check: func(r *service.Report) error {
		_ = leaving(1, 2, unknown...)(r)
		r.Unlaunched.Estimate.Dollars = -1
		return model.BadField("max_cost", "more than its cap")
	}}
	flow(t, f, "brightdata", 120, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\nhttps://a.test/4")
		s.Press("ctrl+s")
		s.Expect("✗ max_cost: more than its cap", "[ ] 1 input of the last hour: how much it saves is unknown",
			"1 of 4 inputs was launched as job-9 (ready). The inputs of job-", "7 (running), job-5 (ready) are not known: any of these may be", "among them.")
		s.Press("down", "down", "space")
		s.Expect("[x]", "✓ 2 inputs from what was pasted", "· 1 left out · a sample of 3", "launch 2 inputs")
		s.ExpectNot("more than its cap")
	})
}

func TestTheNewestJobsWithSomeOfTheInputsAreNamedFirst(t *testing.T) {
	q := ask.Question{Kind: ask.SharedInputs}
	for _, id := range []string{"job-9", "job-8", "job-7", "job-6", "job-5"} {
		q.Facts = append(q.Facts, ask.Fact{Text: "1 of 2 inputs was launched", Job: model.Job{ID: id, State: model.JobReady}})
	}
	q.Facts = append(q.Facts, ask.Fact{Text: "the inputs of job-1 are not known", Outcome: "any of these is billed a second time"})
	flow(t, &fakeJobs{check: asking(q)}, "brightdata", 120, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2")
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("Launch 2 inputs?", "Some of the inputs are in 2 more jobs of the last hour.", "The inputs of job-1 are not known. Any of these")
		question := s.Screen()
		question = question[strings.Index(question, "Launch 2 inputs?"):]
		nine, eight, seven, more := strings.Index(question, "(job-9"), strings.Index(question, "(job-8"), strings.Index(question, "(job-7"), strings.Index(question, "2 more jobs")
		if nine < 0 || eight < nine || seven < eight || more < seven || strings.Contains(question, "(job-6") {
			t.Error(question)
		}
	})
}
