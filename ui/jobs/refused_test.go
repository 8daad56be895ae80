package jobs_test

import (
	"errors"
	"testing"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/ui/uitest"
)

// What a check refuses is corrected by typing on: the field is edited as soon as it was refused.
func TestARefusedFieldIsEditedAtOnce(t *testing.T) {
	flow(t, &fakeLedger{}, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "nonsense\n")
		s.Press("ctrl+s")
		s.Expect("›Rows", "✗ 1 row of what was pasted cannot be used; nothing was sent", "✗ row 1: \"nonsense\"")
		s.Press("backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace")
		s.Type("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("1 input from what was pasted")
	})
	flow(t, &fakeLedger{}, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "[1")
		s.Press("ctrl+s")
		s.Expect("›Rows", "✗ the end of the array: it ends early")
		s.Type("]")
		s.Press("ctrl+s")
		s.Expect("stop typing into Rows", "1 row of what was pasted cannot be used")
	})
	flow(t, &fakeLedger{hooks: inboxAt("", errors.New("no zonedeck receives webhooks"))}, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("tab", "tab", "space", "tab", "tab", "tab", "tab", "tab", "tab", "tab")
		s.Expect("›Notify")
		s.Type("inbox")
		s.Press("shift+tab", "shift+tab", "shift+tab", "ctrl+s")
		s.Expect("›Notify     inbox", "stop typing into Notify", "✗ no zonedeck receives webhooks")
	})
}

func TestARefusalOfTheDataSetIsAtItsField(t *testing.T) {
	f := &fakeLedger{listing: typedListing(), refused: &catalogue.UnknownError{Name: "gd_u"}}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("gd_u")
		s.Press("enter")
		s.Paste("https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("›Dataset  gd_u", "stop typing into Dataset", "✗ no data set is called \"gd_u\"")
	})
}

// Columns that no field is filled by are named where the form takes them.
func TestAHeaderWithoutTheColumnIsMendedByColumns(t *testing.T) {
	flow(t, &fakeLedger{listing: shopListing()}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("gd_products")
		s.Press("enter", "shift+tab", "right", "right", "tab")
		s.Type("shop.csv")
		s.Press("ctrl+s")
		s.Expect("›Columns", "the header has no url column", "as COLUMN=url")
		s.Type("shop page=url, n=")
		s.Press("ctrl+s")
		s.Expect("✓ 2 inputs from shop.csv · key etl USER · 1 repeated row folded", "✗ 3 rows of shop.csv cannot be used", "launch the 2 good rows")
	})
}

// A field behind More is shown when it is refused; what no field is to blame for stands below the form.
func TestARefusedSettingIsShown(t *testing.T) {
	r := askedFor("etl", "https://a.test/1")
	r.MaxCost = 0.5
	f := &fakeLedger{jobs: []model.Job{readyJob()}, checkErr: model.BadField("max_cost", "it may cost $2")}
	f.rest.Request = r
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		s.Press("a", "e")
		s.Expect("Cap, $     0.5")
		s.Press("ctrl+s")
		s.Expect("›Cap, $     0.5", "✗ max_cost: it may cost $2")
		s.Type("7")
		s.Expect("›Cap, $     0.57")
	})
	f = &fakeLedger{checkErr: model.BadField("max_cost", "it may cost $2 (max_job_cost of profile acme)")}
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("ctrl+s")
		s.ExpectNot("Cap, $")
		s.Expect("✗ max_cost: it may cost $2")
	})
}

// A job above the profile's cap is brought within it by a limit, where one helps.
func TestALimitIsAskedForWhereTheCostIsNotKnown(t *testing.T) {
	f := &fakeLedger{listing: typedListing(), checkErr: model.BadField("max_cost", "cost unknown; set a limit")}
	f.listing.Datasets[0].Methods = f.listing.Datasets[0].Methods[1:] // by upc
	flow(t, f, "brightdata", 100, 36, func(s *uitest.Screen) {
		s.Press("n", "enter")
		s.Type("1")
		s.Press("ctrl+s")
		s.Expect("›Per input", "✗ max_cost: cost unknown; set a limit")
		s.Type("9")
		s.Expect("›Per input  9")
	})
}

func TestTheKeyOfARefusedLaunchIsPickedAtOnce(t *testing.T) {
	flow(t, &fakeLedger{}, "brightdata", 100, 36, func(s *uitest.Screen) {
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
	f := &fakeLedger{hooks: inboxAt("", nil), hookAuth: "env:HOOK"}
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
		if a, b := f.triggered[0].Settings.Auth, f.triggered[1].Settings.Auth; a != "env:HOOK" || b != "" {
			t.Errorf("%q and %q are sent along", a, b)
		}
	})
	// Another address is not told what the inbox checks; what a person writes is kept when it is launched again.
	f = &fakeLedger{hooks: inboxAt("", errors.New("nobody receives")), hookAuth: "env:HOOK", jobs: []model.Job{readyJob()}}
	f.rest.Request = askedFor("etl", "https://a.test/1")
	f.rest.Request.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: "keyring:hooks/in"}
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
