package jobs_test

import (
	"strings"
	"testing"

	"zonedeck/ui/uitest"
)

const threeRows = "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\n"

func TestPastedRowsBecomeTheInputsWhereverTheFocusIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		reach []string // from the first field of the one input, which is edited
		typed string
		said  string
	}{
		{"in the field of one address", nil, "", "pasted 3 lines as the job's inputs"},
		{"in place of what was typed", nil, "https://a.test/typed", "pasted 3 lines as the job's inputs, in place of the typed one"},
		{"on a choice that is not edited", []string{"shift+tab"}, "", "pasted 3 lines as the job's inputs"},
		{"on a toggle", []string{"tab", "tab", "tab", "tab"}, "", "pasted 3 lines as the job's inputs"},
		{"on an open list", []string{"tab", "tab", "tab", "enter"}, "", "pasted 3 lines as the job's inputs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeJobs{listing: typedListing()}
			flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Press("n", "enter")
				s.Expect("(•) one")
				if c.typed != "" {
					s.Type(c.typed)
				}
				s.Press(c.reach...)
				s.Paste(threeRows)
				s.Expect(c.said, "(•) pasted", "https://a.test/3", "✓ 3 inputs from what was pasted", "launch 3 inputs")
				if f.read != strings.TrimSpace(threeRows) {
					t.Errorf("read %q", f.read)
				}
			})
		})
	}
}

func TestARowThatIsPastedAddsToThoseThatAreThere(t *testing.T) {
	flow(t, &fakeJobs{}, "brightdata", 120, 40, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("esc")
		s.Paste("https://a.test/2\nhttps://a.test/3\n")
		s.Expect("added 2 lines to the job's inputs", "launch 3 inputs")
		s.Press("up") // Inputs
		s.Paste("https://a.test/4")
		s.Expect("added 1 line to the job's inputs", "launch 4 inputs")
		s.Press("esc", "esc")
		s.Expect("Discard what you filled in?")
	})
}

func TestALineGoesIntoTheFieldWithTheFocus(t *testing.T) {
	flow(t, &fakeJobs{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "enter")
		s.Type("https:")
		s.Press("esc")
		s.Paste("//a.test/9")
		s.Expect("url *    https://a.test/9", "(•) one")
		s.Press("tab", "tab", "tab", "tab")
		s.Expect("›More")
		s.Paste("https://a.test/8")
		s.Expect("More takes no pasted text")
		s.Paste("\n")
		s.Expect("nothing was pasted: the text is empty")
	})
}

func TestWhatIsTooLongForTheFormIsRefused(t *testing.T) {
	flow(t, &fakeJobs{}, "brightdata", 120, 40, func(s *uitest.Screen) {
		fillDialog(s, strings.Repeat("https://a.test/1\n", 10_001))
		s.Expect("nothing was pasted: the form holds 10 000 lines of 1.0 MB, and these are 10 001 of")
		s.ExpectNot("https://a.test/1")
		s.Press("tab", "tab")
		s.Paste(strings.Repeat("https://a.test/1\n", 10_001))
		s.Expect("nothing was pasted")
		s.ExpectNot("https://a.test/1")
	})
}

func TestLinesPastedIntoTheListOfDataSetsAreTheInputsOfTheJob(t *testing.T) {
	f := &fakeJobs{listing: typedListing()}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Paste(threeRows)
		s.Expect("3 pasted lines kept as the job's inputs · now pick the data set", "type to filter")
		s.Paste("https://a.test/4\nhttps://a.test/5\n")
		s.Press("enter")
		s.Expect("(•) pasted", "https://a.test/1", "https://a.test/5")
		s.Press("ctrl+s")
		s.Expect("launch 5 inputs")
		s.Press("ctrl+o")
		s.Paste(threeRows)
		s.Expect("nothing was pasted: this is 3 lines of inputs, not an identifier; esc goes back to the form", "type to filter")
		s.Press("esc")
		s.Expect("launch 5 inputs")
	})
}

func TestALineOfJSONPastedIntoTheListOfDataSetsIsTheInputsOfTheJob(t *testing.T) {
	flow(t, &fakeJobs{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Paste(`[{"url":"https://a.test/1"},{"url":"https://a.test/2"}]`)
		s.Expect("1 pasted line kept as the job's inputs · now pick the data set", "type to filter")
		s.Press("enter")
		s.Expect("(•) pasted")
		s.Press("ctrl+s")
		s.Expect("launch 1 input")
	})
}

func TestALinePastedIntoTheListOfDataSetsFilters(t *testing.T) {
	flow(t, &fakeJobs{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n")
		s.Paste("gd_none\n")
		s.Expect("› gd_none", "enter takes it as an identifier")
		s.Press("ctrl+u")
		s.Paste(strings.Repeat("https://a.test/1\n", 10_001))
		s.Expect("nothing was pasted: the form holds 10 000 lines", "type to filter")
	})
}

func TestALineOfJSONIsTheInputsWhereverItCannotBeAValue(t *testing.T) {
	const more = "https://a.test/2"
	for _, c := range []struct {
		name, pasted string
		reach        []string // from the first field of the one input, which is edited
	}{
		{"an array", `[{"url":"https://a.test/1"},{"url":"` + more + `","pages":3}]`, nil},
		{"an array of addresses", `["https://a.test/1","` + more + `"]`, nil},
		{"an object", `{"url":"https://a.test/1"}` + "\n", nil},
		{"an object around an array", `{"input":[{"url":"https://a.test/1"},{"url":"` + more + `"}]}`, nil},
		{"in a field of a number", `[{"url":"https://a.test/1"}]`, []string{"tab"}},
		{"on a toggle", `[{"url":"https://a.test/1"}]`, []string{"tab", "tab", "tab", "tab"}},
		{"in the data set", `[{"url":"https://a.test/1"}]`, []string{"shift+tab", "shift+tab", "shift+tab", "enter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeJobs{listing: typedListing()}
			flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Press("n", "enter")
				s.Expect("(•) one")
				s.Press(c.reach...)
				s.Paste(c.pasted)
				s.Expect("pasted 1 line as the job's inputs", "(•) pasted", "from what was pasted", "launch 1 input")
				if f.read != strings.TrimSpace(c.pasted) {
					t.Errorf("read %q", f.read)
				}
			})
		})
	}
}

func TestALineThatIsNoRowsGoesIntoItsField(t *testing.T) {
	for _, pasted := range []string{"https://a.test/1,2,3", "url,pages", `{"url":"https://a.test/1"`, "[]", "{}"} {
		flow(t, &fakeJobs{listing: typedListing()}, "brightdata", 120, 40, func(s *uitest.Screen) {
			s.Press("n", "enter")
			s.Paste(pasted)
			s.Expect("(•) one", "url *    "+pasted)
		})
	}
}

func TestJSONThatAFieldTakesGoesIntoIt(t *testing.T) {
	for _, c := range []struct{ dataset, field, pasted, shown string }{
		{"deep", "columns", `[{"name":"price","description":"in dollars","type":"enrichment"}]`, `"description":"in dollars","type":"enrichment"}]`},
		{"deep", "columns", "[\n  {\"name\": \"price\",\n   \"type\": \"enrichment\"}\n]\n", `columns       [{"name":"price","type":"enrichment"}]`},
		{"pages of the web", "filter_keywords", `["review","test"]`, `filter_keywords    ["review","test"]`},
	} {
		flow(t, &fakeJobs{listing: products()}, "brightdata", 120, 50, func(s *uitest.Screen) {
			s.Press("n")
			s.Type(c.dataset)
			s.Press("enter")
			s.Expect("query *")
			for !strings.Contains(s.Screen(), "›"+c.field) {
				s.Press("tab")
			}
			s.Paste(c.pasted)
			s.Expect("(•) one", c.shown)
			s.ExpectNot("pasted line")
			s.Press("ctrl+u")
			s.Paste(`[{"query":"lamps"}]`)
			s.Expect("pasted 1 line as the job's inputs", "✓ 1 input from what was pasted")
		})
	}
}
