package jobs_test

import (
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

func launchedOf(urls ...string) (out []model.JobInput) {
	for _, u := range urls {
		out = append(out, model.JobInput{URL: u})
	}
	return out
}

func TestWhatASampleLaunchedIsLeftOutByChoice(t *testing.T) {
	f := &fakeLedger{perInput: 0.5, launched: launchedOf("https://a.test/1", "https://a.test/3")}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3")
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
		s.ExpectNot("billed a second time")
		s.Press("y")
		if len(f.triggered) != 1 || len(f.triggered[0].Inputs) != 1 || f.triggered[0].Inputs[0].URL != "https://a.test/2" {
			t.Errorf("triggered %+v", f.triggered)
		}
	})
}

func TestAJobAboveItsCapComesWithinItByLeavingOut(t *testing.T) {
	f := &fakeLedger{perInput: 0.5, maxInputs: 2, launched: launchedOf("https://a.test/1")}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3")
		s.Press("ctrl+s")
		s.Expect("✗ max_cost: more than its cap", "[ ] 1 input of the last hour: saves about $0.5000")
		s.Press("down", "down", "space")
		s.Expect("[x]", "✓ 2 inputs from what was pasted", "launch 2 inputs")
		s.ExpectNot("more than its cap")
	})
}

func TestAJobWhoseInputsAreNotKnownIsNamedBeforeALaunch(t *testing.T) {
	unknown := []model.Job{{ID: "job-7", State: model.JobRunning}, {ID: "job-5", State: model.JobReady}}
	f := &fakeLedger{local: true, perInput: 0.5, launched: launchedOf("https://a.test/1"), unknown: unknown}
	flow(t, f, "brightdata", 120, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2")
		s.Press("ctrl+s")
		s.Expect("1 of 2 inputs was launched as job-9 (ready). The inputs of job-", "7 (running), job-5 (ready) are not known: any of these may be", "among them.")
		s.Press("down", "down", "space", "ctrl+s")
		s.Expect("Launch 1 input?", "The inputs of these jobs of the last hour are not known: job-7", "(running), job-5 (ready). Any of these among them is billed a")
	})
}

func TestTheNewestJobsWithSomeOfTheInputsAreNamedFirst(t *testing.T) {
	f := &fakeLedger{local: true, perInput: 0.5, launched: launchedOf("https://a.test/1")}
	for _, id := range []string{"job-8", "job-7", "job-6", "job-5"} {
		f.launchedToo = append(f.launchedToo, model.Job{ID: id, State: model.JobReady})
	}
	flow(t, f, "brightdata", 120, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2")
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("Launch 2 inputs?", "2 more jobs of the last hour have some of the inputs.")
		question := s.Screen()
		question = question[strings.Index(question, "Launch 2 inputs?"):]
		nine, eight, seven, more := strings.Index(question, "(job-9"), strings.Index(question, "(job-8"), strings.Index(question, "(job-7"), strings.Index(question, "2 more jobs")
		if nine < 0 || eight < nine || seven < eight || more < seven || strings.Contains(question, "(job-6") {
			t.Error(question)
		}
	})
}

// sampled fills the form with five rows and a sample of so many, and checks them; the focus is on Sample.
func sampled(s *uitest.Screen, n string) {
	fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\nhttps://a.test/4\nhttps://a.test/5")
	for !strings.Contains(s.Screen(), "›More") {
		s.Press("tab")
	}
	s.Press("space")
	for !strings.Contains(s.Screen(), "›Sample") {
		s.Press("tab")
	}
	s.Type(n)
	s.Press("ctrl+s")
}

func TestASampleIsTakenOfWhatIsLeft(t *testing.T) {
	f := &fakeLedger{perInput: 0.5, launched: launchedOf("https://a.test/1", "https://a.test/2")}
	flow(t, f, "brightdata", 120, 50, func(s *uitest.Screen) {
		sampled(s, "2")
		s.Expect("[ ] 2 inputs of the last hour: the estimate stays the same", "! 2 of 5 inputs were launched as job-9 (ready).", "✓ 2 inputs from what was pasted", "· a sample of 5", "launch 2 inputs")
		s.ExpectNot("2 left out")
		for !strings.Contains(s.Screen(), "›Leave out") {
			s.Press("shift+tab")
		}
		s.Press("space")
		s.Expect("[x] 2 inputs of the last hour", "✓ 2 inputs from what was pasted", "· 2 left out · a sample of 3", "launch 2 inputs")
		s.Press("ctrl+s")
		s.Expect("Launch 2 inputs?")
		s.ExpectNot("billed a second time")
		s.Press("y")
		if got := f.triggered[0].Inputs; len(got) != 2 || got[0].URL != "https://a.test/3" || got[1].URL != "https://a.test/4" {
			t.Errorf("%+v", got)
		}
	})
}

func TestWhatWasLeftOutOfOtherRowsIsForgotten(t *testing.T) {
	f := &fakeLedger{launched: launchedOf("https://a.test/1")}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2")
		s.Press("ctrl+s", "down", "down", "space")
		s.Expect("1 input of the last hour: what that saves is not known", "· 1 left out")
		s.Press("up", "up", "enter", "ctrl+u") // other rows are checked anew
		s.ExpectNot("Leave out")
		s.Press("backspace", "ctrl+u", "ctrl+u")
		s.Type("https://a.test/7")
		s.Press("ctrl+s")
		s.Expect("input", "from what was pasted")
		s.ExpectNot("0 left out", "-1 left out")
	})
}
