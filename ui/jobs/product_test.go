package jobs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/dialect"
	"zonedeck/ui/uitest"
)

// products are the list of data sets with nothing but what is no data set.
func products() catalogue.Listing {
	return catalogue.Listing{Datasets: dialect.Embedded().Products()}
}

func TestADiscoveryIsTypedAndSaysWhatItMayCost(t *testing.T) {
	f := &fakeJobs{listing: products()}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("pages of the web")
		s.Press("enter")
		s.Expect("query *", "num_results", "! it may find any number of records")
		s.Type("espresso machine")
		s.Press("tab")
		s.Type("comparing prices")
		s.Press("tab")
		s.Type("5")
		s.ExpectNot("any number of records")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		if want := `{"intent":"comparing prices","num_results":"5","query":"espresso machine"}`; f.drafts[0].Dataset != "discover" || f.read != want {
			t.Errorf("%+v of %s", f.drafts[0], f.read)
		}
		s.Expect("discover")
		s.Press("X")
		s.Expect("public sources show no way to cancel a job of discover")
	})
}

func TestAProductTakesNoSettingsButALimit(t *testing.T) {
	flow(t, &fakeJobs{listing: products()}, "brightdata", 120, 50, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Expect("query *", "columns", "result_limit")
		s.Press("tab", "tab", "tab", "tab", "tab", "space")
		s.Expect("In all", "Cap, $", "Columns")
		s.ExpectNot("Per input", "Notify", "Endpoint")
	})
}

func TestAPreviewFillsInTheColumns(t *testing.T) {
	f := &fakeJobs{listing: products(), check: refusing(model.BadField("inputs", "it is required")), preview: dialect.LookupPreview{
		Columns: []dialect.LookupColumn{{Name: "name", Description: "what it is called", Type: "enrichment"}, {Name: "price", Type: "enrichment"}},
		Rows:    []json.RawMessage{json.RawMessage(`{"name":"Lamp\u001b","price":5}`)},
		Note:    "made from the query alone",
	}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Press("ctrl+l", "y")
		s.Expect("it is required")
		f.check = nil
		s.Type("lamps below 20 dollars")
		s.Press("ctrl+l")
		s.Expect("Ask for a preview?", "sources do not show what a preview costs. No job is")
		s.Press("y")
		s.Expect("Preview: take these columns?", "made from the query alone", "name: what it is called", "1 record in the sample:", `{"name":"Lamp`)
		s.Press("y")
		s.Expect("columns       name: what it is called; price")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		if !strings.Contains(f.read, `"columns":"name: what it is called; price"`) || len(f.previewed) != 1 {
			t.Errorf("%s, %d previews", f.read, len(f.previewed))
		}
	})
}

func TestAPreviewThatFailsStaysInTheForm(t *testing.T) {
	f := &fakeJobs{listing: products(), previewErr: errors.New("the service made no preview"), local: true}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Type("lamps")
		s.Press("ctrl+l")
		s.Expect("the service made no preview", "New job")
		s.Press("ctrl+o")
		s.Type("discover")
		s.Press("enter")
		s.ExpectNot("ctrl+l preview")
	})
}

func TestAPreviewSaysWhatItsSampleHolds(t *testing.T) {
	row := json.RawMessage(`{"name":"Lamp"}`)
	for _, c := range []struct {
		rows []json.RawMessage
		want string
	}{
		{nil, "The sample holds no record: nothing was found yet."},
		{[]json.RawMessage{row, row}, "2 records in the sample:"},
		{[]json.RawMessage{row, row, row}, "3 records in the sample, the first 2 of them:"},
	} {
		f := &fakeJobs{listing: products(), local: true, preview: dialect.LookupPreview{Columns: []dialect.LookupColumn{{Name: "name", Type: "enrichment"}}, Rows: c.rows}}
		flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
			s.Press("n")
			s.Type("deep")
			s.Press("enter")
			s.Type("lamps")
			s.Press("ctrl+l")
			s.Expect("Preview: take these columns?", c.want)
			s.Press("n")
			s.Expect("Nothing is launched yet")
			s.ExpectNot("Nothing is sent yet")
		})
	}
}

func TestColumnsThatTheFormCannotHoldAreShown(t *testing.T) {
	f := &fakeJobs{listing: products(), local: true, preview: dialect.LookupPreview{Columns: []dialect.LookupColumn{{Name: "a; b", Type: "enrichment"}}}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Type("lamps")
		s.Press("ctrl+l")
		s.Expect("a; b", "The form cannot hold these columns in one line", "The sample holds no record")
	})
}
