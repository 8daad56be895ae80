package jobs_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
)

// shopListing are data sets as a service lists them.
func shopListing() catalogue.Listing {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where the fake clock starts
	return catalogue.Listing{Read: now.Add(-3 * time.Hour), Datasets: []model.Dataset{
		{ID: "gd_products", Name: "Shop: products", Kind: model.CollectScraper, Domain: "a.test", Methods: []model.CollectMethod{
			{Fields: []model.InputField{{Name: "url", Type: "url", Required: true}}},
			{Discover: "keyword", Fields: []model.InputField{{Name: "keyword", Type: "text", Required: true}, {Name: "pages", Type: "number", Default: "1"}}},
		}},
		{ID: "gd_words", Name: "Words", Kind: model.CollectSearch, Methods: []model.CollectMethod{{Fields: []model.InputField{{Name: "word", Required: true}}}}},
	}}
}

func TestADataSetIsPickedFromTheListAndItsRowsNeedNoURL(t *testing.T) {
	f := &fakeJobs{listing: shopListing(), check: func(r *service.Report) error {
		r.Rows.Folded, r.Rows.Problems = 1, []service.Problem{{Row: 3, Text: "the same as row 1", Warning: true}}
		return nil
	}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Expect("New job: 2 data sets · the service's list, read 3 h ago", "Shop: products  gd_products · scraper · a.test", "Words  gd_words · search")
		s.Type("word")
		s.Press("enter")
		s.Expect("gd_words", "(•) one ( ) pasted", "word *   █ required")
		s.Press("shift+tab", "space", "tab")
		s.Expect("Rows: word required.")
		s.Paste("lamp\ndesk")
		s.Press("ctrl+s")
		s.Expect("2 inputs from what was pasted", "1 repeated row folded", "! row 3: the same as row 1", "launch 2 inputs")
		s.Press("ctrl+s", "y")
		s.Expect("launched job-1")
		if d := f.drafts[0]; d.Dataset != "gd_words" || f.read != "lamp\ndesk" {
			t.Errorf("%+v of %q", d, f.read)
		}
	})
}

func TestAnIdentifierThatIsNotListedSaysSo(t *testing.T) {
	f := &fakeJobs{listing: shopListing()}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("gd_other")
		s.Press("enter")
		s.Expect("Dataset  gd_other", "! not in the service's list, read 3 h ago: the inputs are unknown")
		s.Press("ctrl+o", "enter")
		s.Expect("Dataset  gd_products")
		s.ExpectNot("not in the service's list")
	})
}

func TestTheListOfDataSetsIsAskedForAgain(t *testing.T) {
	f := &fakeJobs{listing: shopListing()}
	f.listing.Problem = "the list of scrapers: HTTP 503"
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("n")
		s.Expect("New job: 2 data sets · the service's list, read 3 h ago", "! the service's list: the list of scrapers: HTTP 503", "ctrl+r ask again")
		f.listing.Datasets = append(f.listing.Datasets, model.Dataset{ID: "gd_new", Name: "New today", Kind: model.CollectScraper})
		f.listing.Read, f.listing.Problem = f.listing.Read.Add(3*time.Hour), ""
		s.Press("ctrl+r")
		s.Expect("New job: 3 data sets · the service's list, read now", "New today")
		s.ExpectNot("HTTP 503")
		if !f.anew {
			t.Error("the service was not asked")
		}
	})
}

func TestAPickedDataSetIsNotLostByEsc(t *testing.T) {
	flow(t, &fakeJobs{listing: shopListing()}, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("words")
		s.Press("enter", "ctrl+o", "enter")
		s.Expect("gd_products", "How")
		s.Press("esc", "esc")
		s.Expect("Discard what you filled in?")
		s.Press("esc")
		s.Expect("New job", "gd_products")
	})
}

func TestADiscoveryAndItsLimitsAreFieldsOfTheForm(t *testing.T) {
	f := &fakeJobs{listing: shopListing(), check: func(r *service.Report) error {
		r.Rows.Rows = r.Request.Inputs[:2]
		r.Request.Inputs, r.Rows.Columns = r.Request.Inputs[:1], []service.Column{{Name: "Term", Field: "keyword"}, {Name: "note"}}
		return nil
	}}
	flow(t, f, "brightdata", 120, 44, func(s *uitest.Screen) {
		s.Press("n", "enter", "shift+tab", "shift+tab", "enter")
		s.Type("keyword")
		s.Press("enter")
		s.Expect("discover by keyword", "each input may find any number of records")
		s.Press("space", "tab")
		s.Paste("Term;note\nlamp;x\ndesk;y")
		s.Press("tab", "tab", "space")
		s.Expect("Per input", "In all", "Cap, $", "Sample", "Columns", "Notify", "Endpoint")
		s.Press("tab")
		s.Type("5")
		s.Press("tab", "tab")
		s.Type("2.5")
		s.Press("tab")
		s.Type("1")
		s.Press("tab")
		s.Type("lamps")
		s.Press("tab")
		s.Type("Term=keyword, note=")
		s.Press("tab")
		s.Type("https://a.test/n")
		s.Press("ctrl+s")
		s.Expect("1 input from what was pasted", "a sample of 2", "columns Term=keyword", "launch 1 input")
		got, settings := f.drafts[0], model.JobSettings{Discover: "keyword", LimitPerInput: 5, Notify: "https://a.test/n"}
		columns := got.From.(service.Rows).Map
		if got.Settings != settings || got.MaxCost != 2.5 || got.Sample != 1 || got.SaveList != "lamps" || !maps.Equal(columns, map[string]string{"Term": "keyword", "note": ""}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheGoodRowsAreLaunchedAndTheBadOnesKept(t *testing.T) {
	f := &fakeJobs{check: bad(1)}
	flow(t, f, "brightdata", 110, 34, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1\nhttps://a.test/2\nnonsense")
		s.Press("ctrl+s")
		s.Expect("1 row of what was pasted cannot be used", "bad rows are kept in a", "launch the 2 good rows")
		s.Press("ctrl+s")
		s.Expect("Launch the 2 good rows?", "Some rows cannot be used. Bad rows are saved")
		s.Press("y")
		s.Expect("1 bad row kept in")
	})
}

func TestALineEndInTheRowsIsNoLaunch(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "")
		for _, line := range []string{"https://a.test/1", "https://a.test/2", "https://a.test/3"} {
			s.Type(line)
			s.Press("ctrl+j")
		}
		s.Expect("https://a.test/3", "Nothing is launched yet")
		s.Press("ctrl+s")
		s.Expect("3 inputs from what was pasted")
	})
}

func TestTheReasonsOfBadRowsAreSeenOnASmallScreen(t *testing.T) {
	problems := []service.Problem{{Row: 8, Text: "repeated", Warning: true}}
	for row := 2; row < 8; row++ {
		problems = append(problems, service.Problem{Row: row, Text: "no address"})
	}
	flow(t, &fakeJobs{listing: shopListing(), check: bad(6, problems...)}, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("n", "enter", "shift+tab", "space", "tab")
		s.Paste(strings.Repeat("x\n", 7))
		s.Press("esc", "tab", "tab", "space") // all of its fields
		s.Press("ctrl+s")
		s.Expect("6 rows of what was pasted cannot be used", "pgup, pgdn scroll", "launch the 1 good row")
		s.Press("pgdown")
		s.Expect("✗ row 2: no address")
		s.Press("pgdown", "pgdown")
		s.Expect("✗ row 7: no address", "… and 1 more", "Dataset    gd_products")
	})
}

// What is pasted is said in the words of the data set, which need not be addresses.
func TestThePasteFieldNamesTheInputOfTheDataSet(t *testing.T) {
	flow(t, &fakeJobs{listing: shopListing()}, "brightdata", 120, 44, func(s *uitest.Screen) {
		s.Press("n", "enter", "shift+tab", "shift+tab", "enter")
		s.Type("keyword")
		s.Press("enter", "space")
		s.Expect("discover by keyword", "one keyword per line, or CSV, JSON, NDJSON with keyword")
		s.ExpectNot("one URL per line")
	})
}

func typedListing() catalogue.Listing {
	return catalogue.Listing{Datasets: []model.Dataset{{ID: "gd_t", Name: "Shelf", Kind: model.CollectScraper, Names: []string{"shelf_of_old"}, Methods: []model.CollectMethod{
		{Fields: []model.InputField{
			{Name: "url", Type: "url", Required: true, Description: "the page.", Example: `"http://a.test/1"`},
			{Name: "pages", Type: "number", Default: "2"},
			{Name: "all", Type: "boolean"},
		}},
		{Discover: "upc", Fields: []model.InputField{{Name: "upc"}, {Name: "pages", Type: "number"}}},
	}}}}
}

func TestAnInputIsTypedByItsFields(t *testing.T) {
	f := &fakeJobs{listing: typedListing(), check: bad(1, service.Problem{Row: 1, Column: "pages", Field: "pages", Text: "2x is not a number"})}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("of_old") // a name of another client, which is not shown
		s.Press("enter")
		s.Expect("(•) one ( ) pasted ( ) from a file", "url *    █ required, e.g. http://a.test/1", "The page.", "pages    2", "all      (•) not said ( ) yes ( ) no")
		s.Press("ctrl+s")
		s.Expect("the data set requires it")
		s.Type("http://a.test/9")
		s.Press("tab")
		s.Type("x")
		s.Press("ctrl+s")
		s.Expect("✗ 2x is not a number", "1 row of the form cannot be used")
		f.check = nil
		s.Press("backspace", "tab", "space", "ctrl+s")
		s.Expect("1 input from the form")
		s.Press("ctrl+s", "y")
		s.Expect("launched job-1")
		if want := `{"all":"true","pages":"2","url":"http://a.test/9"}`; f.read != want {
			t.Errorf("read %s, want %s", f.read, want)
		}
	})
}

func TestTheListFindsAKind(t *testing.T) {
	l := typedListing()
	l.Datasets = append(l.Datasets, model.Dataset{ID: "gd_s", Name: "Words of a search", Kind: model.CollectSearch, Methods: []model.CollectMethod{
		{Discover: "keyword", Fields: []model.InputField{{Name: "keyword", Required: true}}},
	}}, model.Dataset{ID: "discover", Name: "Discover", Kind: model.CollectDiscover, Description: "a search of the web"})
	flow(t, &fakeJobs{listing: l}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("search")
		s.Expect("Words of a search", "Discover")
		s.ExpectNot("Shelf")
		s.Press("ctrl+u")
		s.Type("kind:search")
		s.Expect("Words of a search")
		s.ExpectNot("Shelf", "Discover")
		s.Press("enter")
		s.Expect("discover by keyword", "›keyword *  █ required")
	})
}

func TestTheServiceDescribesFieldsInAnyWords(t *testing.T) {
	l := typedListing()
	l.Datasets[0].Methods[0].Fields[0].Description = "."
	l.Datasets[0].Methods[0].Fields[1].Description = "état de la page"
	f := &fakeJobs{listing: l}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("of_old")
		s.Press("enter")
		s.Expect("url *    █ required")
		s.Press("tab")
		s.Expect("État de la page; type number.")
	})
}

func TestAnotherMethodHasOtherFieldsAndSaysWhatItCosts(t *testing.T) {
	flow(t, &fakeJobs{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "enter", "tab")
		s.Type("7")
		s.Press("esc", "up", "up", "up", "enter")
		s.Type("upc")
		s.Press("enter")
		s.ExpectNot("url *", "all  ")
		s.Expect("upc      optional", "pages    27", "! discover by upc costs: no field is required: even an empty input")
	})
}
