package jobs_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/uitest"
)

// flow runs a test on the fake clock.
func flow(t *testing.T, f *fakeJobs, dialect string, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for i := range f.jobs { // ages are given relative to the start
			f.jobs[i].Created = now.Add(-time.Duration(i) * time.Hour)
		}
		body(start(t, f, dialect, w, h))
	})
}

// fillDialog opens the dialog and fills it with rows for gd_products.
func fillDialog(s *uitest.Screen, rows string) {
	s.Press("n")
	s.Type("gd_products")
	s.Press("enter")
	s.Expect("New job")
	s.Paste(rows)
}

func readyJob() model.Job {
	return model.Job{ID: "job-9", Snapshot: "sd_9", Profile: "acme", Dataset: "gd_products", KeyName: "etl", State: model.JobReady, Inputs: 20, Done: 20, Records: 20}
}

// asking adds questions to what is checked, refusing refuses it, noting notes something about it.
func asking(questions ...ask.Question) func(*service.Report) error {
	return func(r *service.Report) error {
		r.Questions = append(questions, r.Questions...)
		return nil
	}
}

func refusing(err error) func(*service.Report) error {
	return func(*service.Report) error { return err }
}

func noting(n ask.Note) func(*service.Report) error {
	return func(r *service.Report) error {
		r.Notes = append(r.Notes, n)
		return nil
	}
}

// bad has some rows that cannot be used, with problems.
func bad(rows int, problems ...service.Problem) func(*service.Report) error {
	return func(r *service.Report) error {
		r.Rows.Bad, r.Rows.Problems = rows, problems
		r.Request.Inputs = r.Request.Inputs[:max(0, len(r.Request.Inputs)-rows)]
		r.Rows.Rows = r.Request.Inputs
		if len(r.Request.Inputs) == 0 {
			return model.BadField("inputs", "%w", service.ErrNoGoodRow)
		}
		return asking(ask.Question{Kind: ask.BadRows, Text: "some rows cannot be used"})(r)
	}
}

func TestAnEditAfterTheCheckIsCheckedAgain(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("ctrl+s")
		s.Expect("launch 1 input")
		s.Press("enter")
		s.Paste("\nhttps://a.test/2")
		s.Expect("check the inputs")
		s.Press("ctrl+s")
		s.Expect("launch 2 inputs")
		if len(f.triggered) != 0 {
			t.Fatal("unchecked rows were sent")
		}
	})
}

// The emulator's clock may be ahead: an account does not tell the age of its jobs.
func TestTheSameInputsNeedAConfirmationThatDatesThem(t *testing.T) {
	for profile, want := range map[string]string{"acme": "The same inputs were launched at 00:00:00 (1s) (job-1, ready).", "local": "The same inputs were launched at 2000-01-10 00:00 (job-1,"} {
		created := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		if profile == "local" {
			created = created.AddDate(0, 0, 9)
		}
		same := ask.Question{Kind: ask.SameInputs, About: "job-1", Facts: []ask.Fact{
			{Text: "the same inputs were launched", Job: model.Job{ID: "job-1", Profile: profile, State: model.JobReady, Created: created}, Outcome: "this is a second job"},
		}}
		f := &fakeJobs{check: asking(same)}
		flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
			fillDialog(s, "https://a.test/1")
			s.Press("ctrl+s", "ctrl+s")
			s.Expect("Launch the same inputs again?", want, "This is a second job.", "1 input for dataset gd_products, with key etl: ")
			s.Press("n")
			s.Expect("New job")
			if len(f.triggered) != 0 {
				t.Fatal("it was launched by a no")
			}
			s.Press("ctrl+s", "y")
			s.ExpectNot("New job")
			if len(f.triggered) != 1 || !f.given.To(same).Yes {
				t.Errorf("%d launches, answered %v", len(f.triggered), f.given)
			}
		})
	}
}

// What was launched with the same inputs since the check is asked about anew.
func TestANewerJobIsAskedAboutAnew(t *testing.T) {
	newer := ask.Question{Kind: ask.SameInputs, About: "job-2", Facts: []ask.Fact{{Text: "the same inputs were launched", Job: model.Job{ID: "job-2", State: model.JobRunning}}}}
	f := &fakeJobs{}
	f.launch = func(j model.Job) (model.Job, error) {
		if !f.given.To(newer).Yes {
			return j, &ask.Unanswered{Questions: []ask.Question{newer}}
		}
		return j, nil
	}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("Launch the same inputs again?", "(job-2, running).")
		s.Press("y")
		s.ExpectNot("New job")
		s.Expect("launched job-2")
	})
}

func TestRecordsUpToABadOneAreShown(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob()}, recordsErr: errors.New("record 2 is not JSON"), records: model.RecordTable{
		Columns: []model.RecordColumn{{Name: "title", Type: "text", Filled: 1}}, Rows: [][]string{{"A chair"}}, Total: -1,
	}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("p")
		s.Expect("A chair", "! the rest cannot be shown: record 2 is not JSON")
	})
}

func TestAKeyWithoutThePermissionIsRefusedBeforeAnythingIsSent(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.Press("esc", "down", "enter")
		s.Type("billing")
		s.Expect("FINANCE has no proxy and API use")
		s.Press("enter")
		s.Expect("billing", "FINANCE")
		if len(f.triggered) != 0 {
			t.Fatal("it was sent")
		}
	})
}

func TestInputsFromAFile(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "")
		s.Press("shift+tab", "space", "tab")
		s.Type("missing.csv")
		s.Press("ctrl+s")
		s.Expect("open missing.csv: no such file", "Nothing was sent")
		s.Press("ctrl+u")
		s.Type("urls.txt")
		s.Press("ctrl+s")
		s.Expect("2 inputs from urls.txt")
		if f.opens != 1 || f.closes != 1 {
			t.Errorf("the file was opened %d times and closed %d times, want 1 and 1", f.opens, f.closes)
		}
		s.Press("ctrl+s", "y")
		if len(f.triggered) != 1 {
			t.Fatalf("triggered %+v", f.triggered)
		}
	})
}

func TestAJobThatMayHaveStartedSaysWhatToDo(t *testing.T) {
	f := &fakeJobs{launch: func(j model.Job) (model.Job, error) {
		j.State, j.Snapshot, j.Detail = model.JobMayHave, "", "connection reset after 412 bytes were sent"
		return j, nil
	}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.AllowError("may have started")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("! may have started", "never sent again automatically", "connection reset after 412 bytes")
		if len(f.triggered) != 1 || f.follows() != 0 {
			t.Fatalf("%d triggers, %d watches, want 1 and 0", len(f.triggered), f.follows())
		}
	})
}

func TestCancelNamesTheJobAndTheConsequence(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{{ID: "job-1", Snapshot: "sd_1", Profile: "acme", Dataset: "gd_products", State: model.JobRunning, Inputs: 40, Done: 3, Records: 3}}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("X")
		s.Expect("job-1 on dataset gd_products, 40 inputs", "may be billed")
		s.Press("n")
		if len(f.canceled) != 0 {
			t.Fatal("cancelled after no")
		}
		s.Press("X", "y")
		if len(f.canceled) != 1 {
			t.Fatal("not cancelled after yes")
		}
		s.Expect("- cancelled")
		s.Press("X")
		s.Expect("the job was cancelled")
	})
}

func TestDownloadAndPreview(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob()}, records: model.RecordTable{
		Columns: []model.RecordColumn{{Name: "title", Type: "text", Filled: 2}, {Name: "price", Type: "number", Filled: 1}},
		Rows:    [][]string{{"A \x1b[31mred\x1b[0m chair", "12.5"}, {"A table", ""}},
		Total:   20,
	}}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("p")
		s.Expect("Records of job-9", "first 2 of 20", "title text 100 %", "! price number 50 %", "A ␛[31mred", "A table")
		t.Log(s.Screen())
		s.Press("l")
		s.ExpectNot("A table", "│ title")
		s.Expect("│ price")
		s.Press("esc", "d")
		s.Expect("NDJSON")
		s.Press("right", "j", "k") // they choose and move
		if len(f.formats) > 0 {
			t.Fatalf("a motion key downloaded %v", f.formats)
		}
		s.Press("ctrl+s")
		if len(f.formats) != 1 || f.formats[0] != "ndjson" {
			t.Fatalf("formats %v", f.formats)
		}
		s.Expect("downloaded 18.2 KB to /tmp/downloads/job-9.json")
	})
}

func TestPastedAddressesOpenTheDialog(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Paste("https://a.test/1\nhttps://a.test/2\n")
		s.Expect("New job: reading the list of data sets")
		s.Type("gd_products")
		s.Press("enter")
		s.Expect("https://a.test/1", "https://a.test/2")
		s.Press("ctrl+s")
		s.Expect("2 inputs from what was pasted")
		s.Press("esc", "esc")
		s.Expect("Discard what you filled in?", "discard it")
		s.After(time.Second)
		s.Press("enter")
		s.Expect("New job", "gd_products")
		s.Press("esc")
		s.After(time.Second)
		s.Press("y")
		s.ExpectNot("New job")
		s.Paste("hello there")
		s.Expect("not a list of addresses")
	})
}

func TestWhatADiscardedFormReadIsNotLaunchedByTheNext(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		read, write := io.Pipe()
		f.held = read
		s.Press("n")
		s.Type("gd_products")
		s.Press("enter")
		s.Press("shift+tab", "space", "tab")
		s.Type("of-the-first.txt")
		s.Press("ctrl+s")
		s.Press("esc", "esc")
		s.After(time.Second)
		s.Press("y")
		s.ExpectNot("New job")
		fillDialog(s, "")
		_, _ = io.WriteString(write, "https://a.test/of-the-first\n")
		_ = write.Close()
		s.After(time.Second)
		s.ExpectNot("1 input")
	})
}

func TestAnotherTabOpensAJob(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob(), {ID: "b", Snapshot: "sd_b", Dataset: "gd_reviews", State: model.JobFailed, Detail: "dead pages"}}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Send(kit.Goto{View: kit.Jobs, Msg: kit.OpenJob{ID: "b"}})
		s.Expect("b · gd_reviews", "dead pages")
		s.Send(kit.Goto{View: kit.Jobs, Msg: kit.OpenJob{ID: "zz"}})
		s.Expect("job zz is not in the ledger")
	})
}

func TestALedgerThatCannotBeReadSaysSoAndRecovers(t *testing.T) {
	f := &fakeJobs{ledgerErr: errors.New("database is locked")}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("The ledger cannot be read: database is locked", "r reads it again")
		f.ledgerErr = nil
		f.jobs = []model.Job{readyJob()}
		s.Press("r")
		s.Expect("✓ ready")
		f.ledgerErr = errors.New("disk gone")
		s.AllowError("disk gone")
		s.Press("r")
		s.Expect("✓ ready")
	})
}

func TestTheListBehindTheDialogSaysThatAJobIsBeingSent(t *testing.T) {
	for _, earlier := range [][]model.Job{nil, {readyJob()}} {
		flow(t, &fakeJobs{slow: 10 * time.Second, jobs: earlier}, "brightdata", 120, 40, func(s *uitest.Screen) {
			fillDialog(s, "https://a.test/1")
			s.ExpectNot("being sent")
			s.Press("ctrl+s", "ctrl+s", "y")
			s.Expect("a job is being sent")
			s.ExpectNot("no jobs yet")
			s.Press("ctrl+c") // it asks before it quits
			s.Expect("in flight")
			s.Press("esc")
			s.After(12 * time.Second)
			s.ExpectNot("being sent")
		})
	}
}

func TestLayouts(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 16}, {200, 60}} {
		f := &fakeJobs{jobs: []model.Job{readyJob(), {ID: "b", Dataset: "gd_reviews", State: model.JobMayHave, Inputs: 50, Done: -1, Records: -1, KeyName: "etl", Profile: "acme"}}}
		flow(t, f, "brightdata", size[0], size[1], func(s *uitest.Screen) {
			s.Expect("✓ ready", "! may have started", "Jobs (1 may have started)")
			s.Press("j", "tab")
			s.Expect("▌")
			t.Log("\n" + s.Screen())
			s.Press("z", "n", "esc", "esc")
			s.Resize(70, 20)
			s.Expect("may have started")
		})
	}
}

func TestAnAdminKeyLaunchesOnlyForAReasonThatIsRecorded(t *testing.T) {
	reason := ask.Question{Kind: ask.AdminReason, About: "boss", Want: ask.Reason, Text: "a job is automation, which never uses ADMIN"}
	f := &fakeJobs{check: asking(reason), launch: func(model.Job) (model.Job, error) { return model.Job{}, errors.New("no history is kept in this run") }}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.ExpectNot("Why ADMIN")
		s.Press("esc", "down", "enter")
		s.Type("boss")
		s.Press("enter")
		s.Expect("Why ADMIN", "ADMIN is used for batch job")
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("›Why ADMIN", "a job is automation, which never uses ADMIN")
		s.Type("the others are being rotated")
		s.AllowError("no history is kept")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("✗ no history is kept in this run")
		if got := f.given.To(reason).Text; got != "the others are being rotated" {
			t.Errorf("the reason is %q", got)
		}
	})
}

func TestAnAdminKeyByAnotherNameIsAskedForItsReason(t *testing.T) {
	reason := ask.Question{Kind: ask.AdminReason, About: "etl", Want: ask.Reason, Text: "a job is automation, which never uses ADMIN"}
	f := &fakeJobs{}
	f.check = func(r *service.Report) error {
		if r.Request.Key != "etl" {
			return nil
		}
		return asking(reason)(r)
	}
	flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
		fillDialog(s, "https://a.test/1")
		s.ExpectNot("Why ADMIN")
		s.Press("ctrl+s")
		s.Expect("Why ADMIN", "launch 1 input")
		s.Press("ctrl+s")
		s.Expect("›Why ADMIN", "a job is automation, which never uses ADMIN")
		s.Type("the others are being rotated")
		s.Press("ctrl+s", "ctrl+s", "y")
		s.Expect("launched job-1")
		if got := f.given.To(reason).Text; got != "the others are being rotated" {
			t.Errorf("the reason is %q", got)
		}
		// Another key has its own judgement.
		fillDialog(s, "https://a.test/2")
		s.Press("ctrl+s")
		s.Expect("Why ADMIN")
		s.Press("tab")
		for _, key := range []string{"boss", "etl"} {
			s.Press("enter")
			s.Type(key)
			s.Press("enter", "shift+tab")
		}
		s.ExpectNot("Why ADMIN")
	})
}

func TestAReadOnlyProfileOffersNoLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, &fakeJobs{}, "brightdata", 100, 30)
		s.Send(kit.SessionChanged{Session: kit.Session{
			ProfileName: "prod", Ready: true, Keys: testKeys(), Key: testKeys()[0], Profile: model.Profile{Name: "prod", ReadOnly: true},
		}})
		s.Press("n")
		s.Expect("profile prod is read-only: it does not launch jobs")
		s.ExpectNot("New job")
		s.Paste("https://a.test/1\nhttps://a.test/2\n")
		s.ExpectNot("New job")
	})
}

func TestAClickPicksTheJobAndThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		jobs := []model.Job{readyJob(), readyJob(), readyJob()}
		for i := range jobs {
			jobs[i].ID, jobs[i].Snapshot = "job-"+string(rune('a'+i)), "sd_"+string(rune('a'+i))
		}
		flow(t, &fakeJobs{jobs: jobs}, "brightdata", size[0], size[1], func(s *uitest.Screen) {
			s.Expect("job-a · gd_products")
			s.Click("job-c")
			s.Expect("job-c · gd_products", "▌Jobs")
			s.Click("profile")
			s.Expect("▌job-c · gd_products")
			s.Send(tea.MouseWheelMsg{X: 5, Y: 4, Button: tea.MouseWheelUp})
			s.Expect("▌job-a · gd_products") // the list scrolls under the pointer, the focus stays
		})
	}
}

func TestAJobOfAnotherProcessComesIntoTheListByItself(t *testing.T) {
	f := &fakeJobs{}
	flow(t, f, "documented", 120, 40, func(s *uitest.Screen) {
		s.Expect("no jobs yet")
		change := func(state model.JobState) {
			j := readyJob()
			j.State, j.Created, j.Updated = state, time.Now(), time.Now()
			f.mu.Lock()
			f.jobs = []model.Job{j}
			f.mu.Unlock()
			s.After(12 * time.Second)
		}
		change(model.JobRunning)
		s.Expect("job-9", "running")
		change(model.JobReady)
		s.Expect("job-9", "✓ ready")
		f.mu.Lock()
		reads := f.reads
		f.mu.Unlock()
		s.After(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if more := f.reads - reads; more != 0 {
			t.Errorf("the whole list was read %d times although nothing had changed", more)
		}
	})
}

// sequence is one whose end is a bell, or another.
var sequence = regexp.MustCompile("\x1b\\][^\a\x1b]*(\a|\x1b\\\\)")

func windows(name string) string { return map[string]string{"WT_SESSION": "x"}[name] }

func TestTheTerminalIsToldOfJobsWhereThatIsWished(t *testing.T) {
	for _, c := range []struct {
		name   string
		notify bool
		keys   []string
		told   bool
	}{{"as configured", true, nil, true}, {"not by itself", false, nil, false}, {"by a key", false, []string{"N"}, true}, {"no longer", true, []string{"N"}, false}} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeJobs{terminal: alert.Detect(windows), notify: c.notify}
			flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Press(c.keys...)
				fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\nhttps://a.test/4")
				s.Press("ctrl+s", "ctrl+s", "y")
				s.After(5 * time.Second)
				s.Expect("2 of 4")
				half := strings.Contains(s.Written(), "\x1b]9;4;1;50\a")
				s.After(5 * time.Second)
				s.Expect("✓ ready")
				got := s.Written()
				if half != c.told {
					t.Errorf("half way told: %v, want %v", half, c.told)
				}
				if last := strings.LastIndex(got, "\x1b]9;4;"); c.told && !strings.HasPrefix(got[last:], "\x1b]9;4;0\a") || !c.told && last >= 0 {
					t.Errorf("the progress that is left: %q", got[max(last, 0):min(max(last, 0)+12, len(got))])
				}
				if bell := strings.Contains(sequence.ReplaceAllString(got, ""), "\a"); bell != c.told {
					t.Errorf("a bell: %v, want %v", bell, c.told)
				}
			})
		})
	}
}

func TestPanesGrowWithTheFocus(t *testing.T) {
	jobs := make([]model.Job, 30)
	for i := range jobs {
		jobs[i] = readyJob()
		jobs[i].ID = fmt.Sprintf("job-%d", 40-i)
	}
	flow(t, &fakeJobs{jobs: jobs}, "brightdata", 80, 24, func(s *uitest.Screen) {
		at := func(words string) int { return strings.Count(strings.SplitN(s.Screen(), words, 2)[0], "\n") }
		low := at("╭ job-40")
		s.Press("tab")
		high := at("╭▌job-40")
		s.Send(tea.MouseClickMsg{X: 10, Y: 3, Button: tea.MouseLeft})
		s.Expect("▌Jobs")
		back := at("╭ job-")
		s.Send(tea.MouseClickMsg{X: 10, Y: back + 1, Button: tea.MouseLeft})
		if clicked := at("╭▌job-"); low < high+4 || back != low || clicked != high {
			t.Errorf("the job is at line %d beside the list, at %d with the focus; by clicks at %d and %d", low, high, back, clicked)
		}
	})
}
