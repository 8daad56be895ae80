package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	result "zonedeck/service/records"
	"zonedeck/ui/uitest"
)

// results are the files of a test's folder, which is the working folder while it runs.
type results struct {
	home, dir string // the package's folder, and the test's
	opened    atomic.Int32
	hold      chan struct{} // holds what is opened, and then its index, until it gives something; nil for not at all
	saving    chan struct{} // holds what is written, likewise
}

func (r *results) open(_ context.Context, name string) (*result.File, error) {
	if r.hold != nil {
		<-r.hold
	}
	r.opened.Add(1)
	if name == "job-1" {
		name = "rows.ndjson"
	}
	return result.Open(name, result.Options{Temp: "temp", Keep: func(path string, b []byte) error {
		if r.hold != nil {
			<-r.hold
		}
		return os.WriteFile(path, b, 0o600)
	}})
}

// looks compares a screen with its file, which lies in the package's folder.
func (r *results) looks(t *testing.T, s *uitest.Screen, name string) {
	t.Helper()
	t.Chdir(r.home)
	s.Looks("records-" + name)
	t.Chdir(r.dir)
}

func (r *results) save(path string, fill func(io.Writer) error) (string, error) {
	if r.saving != nil {
		<-r.saving
	}
	if _, err := os.Stat(path); err == nil {
		return "", fmt.Errorf("%s is there already: choose another name", path)
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(fill(f), f.Close())
}

// shopRows are n rows; every fifth has no price, every seventh a text for it.
func shopRows(n int) string {
	var b strings.Builder
	for i := range n {
		price := fmt.Sprintf("%d.%02d", i%50, i%100)
		switch {
		case i%5 == 4:
			price = "null"
		case i%7 == 6:
			price = `"on request"`
		}
		fmt.Fprintf(&b, `{"id":%d,"list price (USD)":%s,"a/b:c":"x %d","title":"Product %d \u001b[31mof the shop","tags":["a",%d],"in stock":%t,"brand":"brand %d"}`+"\n", i, price, i%3, i, i, i%2 == 0, i%11)
	}
	return b.String()
}

// openRecords opens the page on a result with the given rows.
func openRecords(t *testing.T, r *results, content string, w, h int) *uitest.Screen {
	t.Helper()
	var err error
	if r.home, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	r.dir = t.TempDir()
	t.Chdir(r.dir)
	for name, text := range map[string]string{"rows.ndjson": content, "old.ndjson": oldRows()} {
		noerr.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	f := &fakeJobs{jobs: []model.Job{{
		ID: "job-1", Profile: "acme", Dataset: "gd_shop", State: model.JobDownloaded, Snapshot: "sd_1", Inputs: 3, Records: 300, Done: -1,
		File: "rows.ndjson", Created: time.Now(), KeyName: "etl",
	}}}
	f.results = r
	s := start(t, f, "brightdata", w, h)
	s.Press("p")
	return s
}

// flowRecords runs a test on the page of a result with the given rows.
func flowRecords(t *testing.T, content string, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(openRecords(t, &results{}, content, w, h)) })
}

// A result whose file is gone is downloaded again from its page.
func TestAResultWhoseFileIsGoneIsDownloadedAgain(t *testing.T) {
	flowRecords(t, shopRows(3), 120, 40, func(s *uitest.Screen) {
		s.Expect("Records of job-1", "3 rows")
		noerr.Must(t, os.Remove("rows.ndjson"))
		s.Press("r")
		s.Expect("The file of the result is no longer there", "d downloads it again")
		s.Press("d")
		s.Expect("Download job-1")
	})
}

// oldRows are an older result: one row is not there any more, one is new, one differs.
func oldRows() string {
	all := strings.SplitAfter(shopRows(300), "\n")
	all[3] = strings.Replace(all[3], "brand 3", "brand X", 1)
	all[5] = `{"id":1000,"brand":"gone"}` + "\n"
	return strings.Join(all, "")
}

func TestGoldenRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &results{}
		s := openRecords(t, r, shopRows(300)+"{\"id\":\x1b[2J oops}\n", 80, 24)
		looks := func(state string) {
			t.Helper()
			r.looks(t, s, state)
		}
		looks("table")
		s.Press("G")
		looks("damaged")
		s.Press("enter")
		looks("damaged-row")
		s.Press("esc", "g", "right", "right", "right", "right", "right")
		looks("sideways")
		s.Press("left", "left", "left", "left", "s")
		looks("sorted")
		s.Press("s")
		looks("sorted-down")
		s.Press("s", "f")
		s.Type(`"list price (USD)">`)
		looks("filter-typed")
		s.Press("enter")
		looks("filter-wrong")
		s.Type(`45 has:title`)
		s.Press("enter")
		looks("filter")
		s.Press("x")
		looks("export")
		s.Press("esc", "y")
		looks("copy")
		s.Press("esc", "f")
		s.Type(" nowhere")
		s.Press("enter")
		looks("no-match")
		s.Press("esc", "|")
		s.Type(`.id > 250 and .["a/b:c"] == "x 1"`)
		s.Press("enter")
		looks("jq")
		s.Press("enter")
		looks("row")
		s.Press("esc", "esc", "/")
		s.Type("product 123")
		s.Press("enter")
		looks("search")
		s.Press("n")
		looks("search-over")
		s.Press("home", "left", "left", "left", "left", "left", "c")
		looks("compare")
		s.Type("old.ndjson")
		s.Press("ctrl+s")
		looks("difference")
		s.Press("enter")
		looks("difference-row")
		s.Press("esc", "x")
		looks("difference-export")
	})
}

func TestGoldenRecordsWhileTheyAreIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &results{hold: make(chan struct{})}
		release := sync.OnceFunc(func() { close(r.hold) })
		s := openRecords(t, r, shopRows(300), 80, 24)
		looks := func(state string) {
			t.Helper()
			r.looks(t, s, state)
		}
		t.Cleanup(release) // before the screen ends
		looks("opening")
		r.hold <- struct{}{}
		s.Settle()
		looks("indexing")
		s.Press("G")
		s.Expect("Product 299")
		s.Press("f")
		s.Expect("the rows are being indexed")
		release()
		s.Settle()
		s.ExpectNot("indexing")
	})
}

func TestTheRowsOfADownloadedResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &results{}
		s := openRecords(t, r, shopRows(5000), 120, 40)
		s.Expect("5 000 rows", "list price (USD)", "› ")
		s.ExpectNot("\x1b[31m")

		// Far away rows are there, and the row's tree follows.
		s.Press("G")
		s.Expect("Product 4999", "Row 5 000")
		s.Press("g")
		s.Expect("Row 1 ")

		// A filter, then what is filtered in a new file; none is replaced.
		s.Press("f")
		s.Type("\"a/b:c\"=\"x 1\" id<10")
		s.Press("enter")
		s.Expect("3 of 5 000 rows", "Row 2 ")
		s.Press("x")
		s.Press("ctrl+s")
		s.Expect("wrote 3 rows to rows-rows.ndjson")
		got, err := os.ReadFile("rows-rows.ndjson")
		if err != nil || strings.Count(string(got), "\n") != 3 || !strings.Contains(string(got), `"id":7,`) {
			t.Errorf("%q, %v", got, err)
		}
		s.Press("x", "ctrl+s")
		s.Expect("rows-rows.ndjson is there already")
		s.Press("esc", "esc")
		s.Expect("5 000 rows")

		// A field that no row has is told while it is asked about.
		s.Press("f")
		s.Type("nosuch>5")
		s.Press("enter")
		s.Expect("0 of 5 000 rows", "! no row has a field nosuch")
		s.Press("esc")
		s.Expect("5 000 rows")
		s.ExpectNot("no row has a field")

		// A search begins with the row under the cursor, and goes on at the other end.
		s.Press("/")
		s.Type("Product 4321")
		s.Press("enter")
		s.Expect("Row 4 322 ", "/ Product 4321 ")
		s.ExpectNot("wrapped")
		s.Press("N")
		s.Expect("Row 4 322 ", "/ Product 4321 (wrapped past the first row)")
		s.Press("/", "ctrl+u")
		s.Type("Product 432")
		s.Press("enter")
		s.Expect("Row 4 322 ")
		s.Press("n", "n", "n", "n", "n", "n", "n", "n")
		s.Expect("Row 4 330 ")
		s.Press("n")
		s.Expect("Row 433 ", "/ Product 432 (wrapped past the last row)")
		s.Press("/", "ctrl+u")
		s.Type("no such product")
		s.Press("enter")
		s.Expect("Row 433 ", "/ no such product (not found)")

		// The new rows alone.
		s.Press("c")
		s.Type("old.ndjson")
		s.Press("tab", "tab", "right", "ctrl+s")
		s.Expect("4 700 of 5 000 rows", "by id: 4 700 new, 300 known")

		// By a key that no row has nothing was compared.
		s.Press("c")
		s.Type("old.ndjson")
		s.Press("tab", "ctrl+u")
		s.Type("nokey")
		s.Press("ctrl+s")
		s.Expect("Compare with an older result", "›Key           nokey", "✗ no row of one of the results has a field nokey with a")
		s.ExpectNot("nothing differs")
		s.Press("ctrl+u")
		s.Type(`"id"`)
		s.Press("ctrl+s")
		s.Expect("by id: 4 700 added, 2 changed, 0 removed")

		// What differs is written with what it was.
		s.Press("x")
		s.Expect("Export the difference, 4 702 rows")
		s.Press("ctrl+s")
		s.Expect("wrote 4702 rows to rows-changes.ndjson")
		got, err = os.ReadFile("rows-changes.ndjson")
		if err != nil || !strings.HasPrefix(string(got), `{"change":"changed","fields":[{"name":"brand","old":"brand X","old_type":"text","new":"brand 3","new_type":"text"}],"row":{"id":3,`) || !strings.Contains(string(got), `{"name":"brand","old":"gone","old_type":"text","new":"brand 10",`) {
			t.Errorf("%.300s, %v", got, err)
		}

		// Another job brings the page back to the jobs.
		s.Press("esc", "esc")
		s.Expect("gd_shop", "Jobs (1)")
		s.Press("p")
		s.Expect("5 000 rows")
		if n := r.opened.Load(); n != 5 {
			t.Errorf("%d results were opened, want 5", n)
		}
	})
}

func TestAResultThatCannotBeShownSaysWhy(t *testing.T) {
	flowRecords(t, "\x1f\x8b", 80, 24, func(s *uitest.Screen) {
		s.Expect("it is compressed (gzip): unpack it")
		s.Press("esc")
		s.Expect("Jobs (1)")
	})
}

func TestAResultThatChangesIsOpenedAgain(t *testing.T) {
	flowRecords(t, shopRows(10), 80, 24, func(s *uitest.Screen) {
		noerr.Must(t, os.WriteFile("rows.ndjson", []byte(shopRows(12)), 0o600))
		s.AllowError("has changed since it was opened")
		s.Press("s")
		s.Press("esc", "r")
		s.Expect("12 rows")
	})
}

// While rows are written, nothing that would take their list away can be done.
func TestTheRowsOfAnExportStayUntilItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &results{saving: make(chan struct{})}
		release := sync.OnceFunc(func() { close(r.saving) })
		s := openRecords(t, r, shopRows(100), 120, 40)
		t.Cleanup(release) // before the screen ends
		s.Press("f")
		s.Type("brand:1")
		s.Press("enter")
		s.Expect("of 100 rows")
		s.Press("x", "ctrl+s")
		for _, key := range []string{"s", "c", "x", "r"} {
			s.Press(key)

			s.Expect("the rows are being written: esc stops that")
		}
		release()
		s.Settle()
		s.Expect("wrote 18 rows to rows-rows.ndjson")
		s.Press("s")
		s.Expect("of 100 rows")
	})
}

// The ending of a name and the format are one choice: no file says that it is CSV and holds NDJSON.
func TestTheFormatOfAnExportFollowsTheEndingOfItsName(t *testing.T) {
	flowRecords(t, shopRows(3), 80, 24, func(s *uitest.Screen) {
		s.Press("x", "ctrl+u")
		s.Type("three.csv")
		s.Expect("( ) NDJSON ( ) JSON (•) CSV")
		s.Press("enter", "left")
		s.Expect("three.json ", "( ) NDJSON (•) JSON ( ) CSV")
		s.Press("right", "ctrl+s")
		s.Expect("wrote 3 rows to three.csv")
		if got, err := os.ReadFile("three.csv"); err != nil || !strings.HasPrefix(string(got), "id,list price (USD),") {
			t.Errorf("%.60q, %v", got, err)
		}
	})
}

// What was typed stays, and the field that is wrong says why.
func TestADialogOfTheRecordsThatIsRefusedStays(t *testing.T) {
	flowRecords(t, shopRows(3), 80, 24, func(s *uitest.Screen) {
		s.Press("x", "ctrl+u")
		s.Type("nowhere/three.csv")
		s.Press("ctrl+s")
		s.Expect("›File      nowhere/three.csv", "✗ open nowhere/three.csv: no such file or directory")
		s.Press("ctrl+u")
		s.Type("three.csv")
		s.Press("ctrl+s")
		s.Expect("wrote 3 rows to three.csv")
		s.Press("c")
		s.Type("job-9")
		s.Press("ctrl+s")
		s.Expect("›Old result    job-9", "✗ open job-9: no such file or directory", "Key           id")
		s.Press("ctrl+u")
		s.Type("old.ndjson")
		s.Press("ctrl+s")
		s.Expect("by id: ")
	})
}

func TestAnExportThatIsStoppedSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &results{saving: make(chan struct{})}
		release := sync.OnceFunc(func() { close(r.saving) })
		s := openRecords(t, r, shopRows(100), 80, 24)
		t.Cleanup(release) // before the screen ends
		s.Press("x", "ctrl+s")
		s.Expect("writing… 0 rows · esc stops")
		s.Press("esc")
		release()
		s.Settle()
		s.Expect("stopped: nothing was written")
	})
}

func TestARowThatTellsAnErrorIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := strings.Repeat("w", 30)
		content := `{"id":1,"title":"` + wide + `","brand":"` + wide + `","maker":"` + wide + `"}
{"error":"the page \u001b[31mis dead","error_code":"dead_page"}
{"id":3,"error":"crawl failed"}
{"id":4,"title":"x","error":null,"error_code":""}
`
		s := openRecords(t, &results{}, content, 80, 24)
		s.Expect("  2! the page", "is dead", "  3!          3", "  4           4 x")
		s.ExpectNot("error_code", "crawl failed")
	})
}

// The title says that there are columns out of sight, on either side.
func TestColumnsOutOfSightAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := `"` + strings.Repeat("w", 30) + `"`
		content := `{"a":` + wide + `,"b":` + wide + `,"c":` + wide + `,"d":` + wide + "}\n"
		s := openRecords(t, &results{}, content, 80, 24)
		s.Expect("1 row · columns 1–3 of 4")
		s.Press("right", "right", "right")
		s.Expect("columns 2–4 of 4")
		openRecords(t, &results{}, `{"a":1}`+"\n", 80, 24).ExpectNot("columns")
	})
}

func TestAColumnWhoseNameShowsNothingIsNamedInQuotes(t *testing.T) {
	flowRecords(t, `{"":"blank","  ":"spaces"}`+"\n", 80, 24, func(s *uitest.Screen) {
		s.Expect(`"" `, `"  " `, `"" · text · 100 % filled`)
		s.Press("s")
		s.Expect("sort: this column has no name to sort by")
		s.Press("right", "s")
		s.Expect(`"  " · text · 100 % filled`, `sorted by "  " ▲`)
		s.Press("w")
		s.Expect("1 of 1 row", `filter has:"  "`)
		s.Press("enter")
		s.Expect(`"": "blank"`, `"  ": "spaces"`)
	})
}

// The size of a row that is too long to be read is not known.
func TestARowThatIsTooLongShowsNoSize(t *testing.T) {
	flowRecords(t, `{"id":1}`+"\n"+`{"id":"`+strings.Repeat("x", 65<<20)+`"}`+"\n", 120, 40, func(s *uitest.Screen) {
		s.Press("G")
		s.Expect("╭ Row 2 ─", "! it is larger than 64 MiB")
	})
}

func TestAColumnIsFoundByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		for row := range 3 {
			b.WriteString(`{"id":` + fmt.Sprint(row))
			for i := range 100 {
				fmt.Fprintf(&b, `,"field %d/x:y":"v%d"`, i, i*row)
			}
			b.WriteString("}\n")
		}
		s := openRecords(t, &results{}, b.String(), 80, 24)
		s.Press("i")
		s.Expect("101 columns", "id  number 100 % · 3 distinct", "field 1/x:y  text 100 % · 3 distinct")
		s.Type("field 77")
		s.Press("enter")
		s.Expect("field 77/x:y", "field 77/x:y · text · 100 % filled · 3 distinct", "v154")
		s.Press("i")
		s.Type("id")
		s.Press("enter")
		s.Expect("id · number · 100 % filled · 3 distinct", "field 1/x:y")
	})
}
