package jobs_test

import (
	"testing"

	"zonedeck/service/catalogue"
	"zonedeck/service/dialect"
	"zonedeck/ui/uitest"
)

// products are the list of data sets with nothing but what is no data set.
func products() catalogue.Listing {
	return catalogue.Listing{Collectors: dialect.Embedded().Products()}
}

func TestADiscoveryIsTypedAndSaysWhatItMayCost(t *testing.T) {
	f := &fakeLedger{listing: products()}
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
		got := f.triggered[0]
		if got.Dataset != "discover" || len(got.Inputs) != 1 || got.Inputs[0].Extra["query"] != `"espresso machine"` || got.Inputs[0].Extra["num_results"] != "5" {
			t.Errorf("%+v", got)
		}
		s.Expect("discover")
		s.Press("c")
		s.Expect("public sources show no way to cancel a job of discover")
	})
}

func TestAProductTakesNoSettingsButALimit(t *testing.T) {
	flow(t, &fakeLedger{listing: products()}, "brightdata", 120, 50, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Expect("query *", "columns", "result_limit")
		s.Press("tab", "tab", "tab", "tab", "tab", "space")
		s.Expect("In all", "Cap, $", "Columns")
		s.ExpectNot("Per input", "Notify", "Endpoint")
	})
}
