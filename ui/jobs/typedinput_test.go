package jobs_test

import (
	"testing"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/ui/uitest"
)

func typedListing() catalogue.Listing {
	return catalogue.Listing{Collectors: []model.Collector{{ID: "gd_t", Name: "Shelf", Kind: model.CollectScraper, Names: []string{"shelf_of_old"}, Methods: []model.CollectMethod{
		{Fields: []model.InputField{
			{Name: "url", Type: "url", Required: true, Description: "the page.", Example: `"http://a.test/1"`},
			{Name: "pages", Type: "number", Default: "2"},
			{Name: "all", Type: "boolean"},
		}},
		{Discover: "upc", Fields: []model.InputField{{Name: "upc"}, {Name: "pages", Type: "number"}}},
	}}}}
}

func TestAnInputIsTypedByItsFields(t *testing.T) {
	f := &fakeLedger{listing: typedListing()}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("of_old") // a name of another client, which is not shown
		s.Press("enter")
		s.Expect("(•) one ( ) pasted ( ) from a file", "url *    required, e.g. http://a.test/1", "The page.", "pages    2", "all      (•) not said ( ) yes ( ) no")
		s.Press("ctrl+s")
		s.Expect("the data set requires it")
		s.Type("nonsense")
		s.Press("tab")
		s.Type("x")
		s.Press("ctrl+s")
		s.Expect("✗ \"2x\" is not a number", "1 row of the form cannot be used")
		s.Press("backspace", "ctrl+s")
		s.Expect("write an absolute address")
		s.Press("ctrl+u")
		s.Type("http://a.test/9")
		s.Press("ctrl+s")
		s.Expect("1 input from the form")
		s.Press("tab", "tab", "space", "ctrl+s")
		s.Expect("1 input from the form")
		s.Press("ctrl+s", "y")
		s.Expect("launched job-1")
		in := f.triggered[0].Inputs
		if len(in) != 1 || in[0].URL != "http://a.test/9" || in[0].Extra["pages"] != "2" || in[0].Extra["all"] != "true" {
			t.Errorf("%+v", in)
		}
	})
}

func TestTheListFindsAKind(t *testing.T) {
	l := typedListing()
	l.Collectors = append(l.Collectors, model.Collector{ID: "gd_s", Name: "Words of a search", Kind: model.CollectSearch, Methods: []model.CollectMethod{
		{Discover: "keyword", Fields: []model.InputField{{Name: "keyword", Required: true}}},
	}}, model.Collector{ID: "discover", Name: "Discover", Kind: model.CollectDiscover, Description: "a search of the web"})
	flow(t, &fakeLedger{listing: l}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("search")
		s.Expect("Words of a search", "Discover")
		s.ExpectNot("Shelf")
		s.Press("ctrl+u")
		s.Type("kind:search")
		s.Expect("Words of a search")
		s.ExpectNot("Shelf", "Discover")
		s.Press("enter")
		s.Expect("discover by keyword", "›keyword *  required")
	})
}

func TestTheServiceDescribesFieldsInAnyWords(t *testing.T) {
	l := typedListing()
	l.Collectors[0].Methods[0].Fields[0].Description = "."
	l.Collectors[0].Methods[0].Fields[1].Description = "état de la page"
	f := &fakeLedger{listing: l}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("of_old")
		s.Press("enter")
		s.Expect("url *    required")
		s.Press("tab")
		s.Expect("État de la page; type number.")
	})
}

func TestAnotherMethodHasOtherFieldsAndSaysWhatItCosts(t *testing.T) {
	flow(t, &fakeLedger{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "enter", "tab")
		s.Type("7")
		s.Press("esc", "up", "up", "up", "enter")
		s.Type("upc")
		s.Press("enter")
		s.ExpectNot("url *", "all  ")
		s.Expect("upc      optional", "pages    27", "! discover by upc costs: no field is required: even an empty input")
	})
}
