package jobs_test

import (
	"errors"
	"testing"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/catalogue"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/uitest"
)

// What a check refuses is corrected by typing on: the field is edited as soon as it was refused. What no field is to
// blame for stands below the form.
func TestARefusedFieldIsEditedAtOnce(t *testing.T) {
	byUPC := typedListing()
	byUPC.Datasets[0].Methods = byUPC.Datasets[0].Methods[1:]
	capped := askedFor("etl", "https://a.test/1")
	capped.MaxCost = 0.5
	for name, c := range map[string]struct {
		f    *fakeJobs
		want []string
		hide string
	}{
		"rows": {&fakeJobs{check: bad(1, service.Problem{Row: 1, Text: "nonsense"})}, []string{"›Rows", "typing goes into Rows", "✗ 1 row of what was pasted cannot be used; nothing was sent", "✗ row 1: nonsense"}, ""},
		"a source that ends early": {&fakeJobs{check: func(r *service.Report) error {
			r.Request.Inputs = nil
			return model.BadField("inputs", "it ends early")
		}}, []string{"›Rows", "✗ it ends early", "Nothing was sent"}, ""},
		"a data set":                 {&fakeJobs{check: refusing(&catalogue.UnknownError{Name: "gd_u"})}, []string{"›Dataset  gd_products", "esc end typing", "✗ no data set is called \"gd_u\""}, ""},
		"columns that are missing":   {&fakeJobs{check: refusing(model.BadField("columns", "%w", &rows.ColumnError{Missing: []string{"url"}}))}, []string{"›Columns", "as COLUMN=url"}, ""},
		"a list that cannot be kept": {&fakeJobs{check: refusing(&service.KeepError{IsList: true, Err: errors.New("it is there")})}, []string{"›Save as", "the list could not be saved, so nothing was sent: it is there"}, ""},
		"a deaf inbox":               {&fakeJobs{check: noting(ask.Note{About: "notify", Text: "nobody receives", Warn: true})}, []string{"›Notify", "✗ nobody receives"}, ""},
		"a cap of the profile":       {&fakeJobs{check: refusing(model.BadField("max_cost", "it may cost $2"))}, []string{"✗ max_cost: it may cost $2"}, "Cap, $"},
		"a cost that is not known":   {&fakeJobs{listing: byUPC, check: refusing(model.BadField("max_cost", "set a limit"))}, []string{"›Per input", "✗ set a limit"}, ""},
		"a cap of the form":          {&fakeJobs{jobs: []model.Job{readyJob()}, asked: capped, check: refusing(model.BadField("max_cost", "it may cost $2"))}, []string{"›Cap, $     0.5", "✗ it may cost $2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.f
			flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
				switch {
				case len(f.jobs) > 0:
					s.Press("a", "e")
				case len(f.listing.Datasets) > 0:
					s.Press("n", "enter")
					s.Type("1")
				default:
					fillDialog(s, "https://a.test/1")
				}
				s.Press("ctrl+s")
				s.Expect(c.want...)
				if c.hide != "" {
					s.ExpectNot(c.hide)
				}
			})
		})
	}
}

func TestTheKeyOfARefusedLaunchIsPickedAtOnce(t *testing.T) {
	f := &fakeJobs{check: asking(ask.Question{Kind: ask.AdminReason, Want: ask.Reason, Text: "a job never uses ADMIN"})}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("tab", "enter")
		s.Type("boss")
		s.Press("enter", "ctrl+s", "ctrl+s")
		s.Expect("›Why ADMIN", "never uses ADMIN")
		s.Type("because")
		s.Expect("Why ADMIN  because")
	})
}

// The inbox's own check is proposed where webhooks come to it alone, and can be taken out.
func TestWhatTheInboxChecksIsProposed(t *testing.T) {
	f := &fakeJobs{inbox: inboxAt("", nil), authorization: "env:HOOK"}
	flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Expect("Notify   inbox", "Auth     env:HOOK")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		fillDialog(s, "https://a.test/2")
		s.Press("tab", "tab", "tab", "tab")
		s.Expect("›Auth", "Authorization header that these addresses get.")
		s.Press("ctrl+u")
		s.Type("s3cret-itself")
		s.Press("ctrl+s")
		s.Expect("›Auth", "✗ not a secret reference: write env:NAME")
		s.Press("ctrl+u", "ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-2")
		if a, b := f.drafts[0].Settings.Auth, f.drafts[1].Settings.Auth; a != "env:HOOK" || b != "" {
			t.Errorf("%q and %q are sent along", a, b)
		}
	})
	// Another address is not told what the inbox checks; what a person writes is kept when it is launched again.
	f = &fakeJobs{inbox: inboxAt("", errors.New("nobody receives")), authorization: "env:HOOK", jobs: []model.Job{readyJob()}}
	f.asked = askedFor("etl", "https://a.test/1")
	f.asked.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: "keyring:hooks/in"}
	flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
		s.Press("a", "e")
		s.Expect("Endpoint   https://hooks.test/in", "Auth       keyring:hooks/in")
		s.ExpectNot("env:HOOK")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		if got := f.triggered[0].Settings.Auth; got != "keyring:hooks/in" {
			t.Errorf("%q is sent along", got)
		}
	})
}
