package jobs_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestAYesHoldsForOneLaunch(t *testing.T) {
	f := &fakeJobs{launch: func(model.Job) (model.Job, error) { return model.Job{}, errors.New("the disk is full") }}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.AllowError("the disk is full")
		fillDialog(s, "https://a.test/1")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("New job", "✗ the disk is full")
		s.Press("ctrl+s")
		s.Expect("Launch 1 input?")
		if len(f.triggered) != 1 {
			t.Errorf("it was sent %d times with one yes", len(f.triggered))
		}
	})
}

func TestWhatWasCheckedForAnotherKeyIsCheckedAgain(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("Launch 1 input?", "with key etl")
		keys := testKeys()
		session := kit.Session{ProfileName: "acme", Profile: f.profile(), Ready: true, Keys: keys, Key: keys[0]}
		s.Send(kit.SessionChanged{Session: session}) // it says nothing else
		s.Press("esc")
		s.Expect("launch 1 input")
		s.Press("ctrl+s")
		session.Keys[0].Level = model.LevelAdmin
		session.Key = session.Keys[0]
		s.Send(kit.SessionChanged{Session: session})
		s.Press("y")
		s.Expect("why it must be this key")
		s.ExpectNot("Launch 1 input?")
		if len(f.triggered) != 0 {
			t.Error("it was sent with a key that nobody was asked about")
		}
	})
}

func TestAListThatComesLateHasTheFormCheckedAgain(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("gd_t")
		s.Press("enter")
		s.Paste("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("launch 1 input")
		listing := catalogue.Listing{Datasets: []model.Dataset{{ID: "gd_t", Name: "Shelf", Methods: []model.CollectMethod{
			{Discover: "upc", Fields: []model.InputField{{Name: "upc", Required: true}}},
		}}}}
		f.mu.Lock()
		f.listing = listing
		f.mu.Unlock()
		s.Press("ctrl+o")
		s.Press("esc")
		s.Expect("discover by upc", "check the inputs")
		s.ExpectNot("launch 1 input")
	})
}

// inboxAt is an inbox that receives.
func inboxAt(warning string, err error) func() (string, string, error) {
	var made atomic.Int32
	return func() (string, string, error) {
		return model.WebhookAddress("http://127.0.0.1:8787", fmt.Sprintf("abcdefghijklmnop%d", made.Add(1))), warning, err
	}
}

func TestAnInboxThatReceivesIsFilledIn(t *testing.T) {
	f := &fakeJobs{inbox: inboxAt("", nil)}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Expect("Notify   inbox", "✓ the inbox, which receives: http://127.0.0.1:8787/zonedeck/…")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		if got := f.drafts[0].Settings.Notify; got != model.InboxEndpoint {
			t.Errorf("%q is called", got)
		}
		// Nobody is called where it is taken out, nor for a job of a product.
		fillDialog(s, "https://a.test/2")
		s.Press("tab", "tab", "tab", "ctrl+u")
		s.ExpectNot("the inbox, which receives")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-2")
		if got := f.triggered[1].Settings.Notify; got != "" {
			t.Errorf("%q is called", got)
		}
		s.Press("n")
		s.Type("deep_lookup")
		s.Press("enter")
		s.Expect("New job")
		s.ExpectNot("Notify")
	})
}

func TestAnInboxThatDoesNotReceiveIsNotFilledIn(t *testing.T) {
	for name, inbox := range map[string]func() (string, string, error){
		"nobody receives":             inboxAt("", errors.New("no zonedeck receives webhooks")),
		"the service cannot reach it": inboxAt("the service cannot reach it", nil),
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeJobs{inbox: inbox}
			flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
				fillDialog(s, "https://a.test/1")
				s.ExpectNot("Notify", "inbox")
				s.Press("ctrl+s", "ctrl+s", "y")
				s.Expect("launched job-1")
				if got := f.triggered[0].Settings.Notify; got != "" {
					t.Errorf("%q is called", got)
				}
			})
		})
	}
}
