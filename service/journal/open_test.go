package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"zonedeck/model"
)

func TestADamagedFileIsKeptAndANewOneBegun(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		jobs   int
	}{
		{"garbage in place of the file", func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("not a database "), 1000))
		}, 0},
		{"the header is overwritten", func(t *testing.T, path string) {
			raw := read(t, path)
			copy(raw, "oops")
			write(t, path, raw)
		}, 0},
		{"the tables' page is overwritten", func(t *testing.T, path string) {
			raw := read(t, path)
			copy(raw[100:], bytes.Repeat([]byte{0xee}, 900))
			write(t, path, raw)
		}, 0},
		{"a page of the history is overwritten and was met", func(t *testing.T, path string) {
			spoilPageWith(t, path, "needle-of-the-history")
			write(t, suspectPath(path), nil)
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			fill(t, path)
			c.damage(t, path)
			j, notice, err := open(t.Context(), path, clock(), quick())
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if notice.Kept == "" || !strings.Contains(notice.Text, notice.Kept) || !strings.Contains(notice.Text, "damaged") {
				t.Errorf("notice %+v", notice)
			}
			if _, err := os.Stat(notice.Kept); err != nil {
				t.Errorf("the damaged file: %v", err)
			}
			if base := filepath.Base(notice.Kept); !strings.HasPrefix(base, "journal.db.corrupt-2026") {
				t.Errorf("kept as %s", base)
			}
			jobs, err := j.Jobs(t.Context())
			if err != nil || len(jobs) != c.jobs {
				t.Errorf("%d jobs were carried over, want %d (%v)", len(jobs), c.jobs, err)
			}
			if c.jobs > 0 && jobs[0].Snapshot != "sd_3" {
				t.Errorf("carried over: %+v", jobs[0])
			}
			if _, err := j.BeginJob(t.Context(), model.Job{}, ""); err != nil {
				t.Errorf("the new one: %v", err)
			}
			if err := j.PutFetch(t.Context(), "p", sampleFetch("x")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDamageThatIsMetIsRememberedForTheNextOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	fill(t, path)
	spoilPageWith(t, path, "needle-of-the-history")
	j, notice, err := open(t.Context(), path, clock(), quick())
	if err != nil || notice.Text != "" {
		t.Fatalf("%+v, %v: the damage is not at the front", notice, err)
	}
	if _, err := j.Activity(t.Context(), model.ActivityFilter{Words: []string{"needle"}, Limit: maxPage}); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("reading the damage: %v", err)
	}
	_ = j.Close()
	j, notice, err = open(t.Context(), path, clock(), quick())
	if err != nil || notice.Kept == "" {
		t.Fatalf("%+v, %v", notice, err)
	}
	_ = j.Close()
}

func TestASoundFileUnderSuspicionIsUsedOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	fill(t, path)
	write(t, suspectPath(path), nil)
	j := openTest(t, path)
	if jobs, err := j.Jobs(t.Context()); err != nil || len(jobs) != 3 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	if _, err := os.Stat(suspectPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the suspicion was not lifted: %v", err)
	}
}

func TestALockedFileIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	other := openTest(t, path)
	tx, err := j.w.BeginTx(t.Context(), nil) // immediate: the write lock
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.BeginJob(t.Context(), model.Job{}, ""); !errors.Is(err, ErrLocked) {
		t.Errorf("writing beside a writer: %v", err)
	}
	if _, err := other.Jobs(t.Context()); err != nil {
		t.Errorf("reading beside a writer: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.BeginJob(t.Context(), model.Job{}, ""); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestHistoryOutlivesALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	other := openTest(t, path)
	tx, err := j.w.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.PutFetch(t.Context(), "p", sampleFetch("f1")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Fetch(t.Context(), "f1"); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is locked: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Fetch(t.Context(), "f1"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAFileHeldExclusivelyIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	fill(t, path)
	db, err := connect(path, quick(), "_pragma", "locking_mode(EXCLUSIVE)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "UPDATE jobs SET wire = ''"); err != nil {
		t.Fatal(err)
	}
	if j, _, err := open(t.Context(), path, clock(), quick()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
		_ = j.Close()
	}
}

func TestAFolderThatCannotBeWrittenIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "journal.db")
	switch {
	case os.Getuid() > 0:
		if err := os.Mkdir(filepath.Dir(path), 0o500); err != nil {
			t.Fatal(err)
		}
	case runtime.GOOS == "linux":
		path = "/sys/zonedeck/journal.db" // nobody writes there, the superuser neither
	default:
		t.Skip("needs a folder that cannot be written: run it as an ordinary user")
	}
	j, _, err := Open(t.Context(), path, clock())
	if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if j != nil {
		_ = j.Close()
	}
}

func TestAFileOfALaterVersionIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, _, err := open(t.Context(), path, clock(), quick())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.w.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version=%d", len(migrations)+1)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(t.Context(), path, clock(), quick()); !errors.Is(err, ErrTooNew) {
		t.Errorf("%v", err)
	}
}

func TestAnOldLibraryIsRefused(t *testing.T) {
	set := quick()
	set.minLib = "99.0"
	if _, _, err := open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), clock(), set); !errors.Is(err, ErrLibrary) {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		have, want string
		older      bool
	}{{"3.51.3", "3.51.3", false}, {"3.51.2", "3.51.3", true}, {"3.9.9", "3.51.3", true}, {"3.53", "3.51.3", false}, {"4", "3.51.3", false}} {
		if olderThan(c.have, c.want) != c.older {
			t.Errorf("%s older than %s: %v", c.have, c.want, !c.older)
		}
	}
}

func TestAPathMayHoldAnything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=memory;ü")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b#d%20e&mode=memory;ü")
	}
	path := filepath.Join(dir, "journal.db")
	fill(t, path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "journal.db") {
			t.Errorf("a stray file %q", e.Name())
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// fill makes a journal with three jobs and enough history for several pages,
// one of which holds a needle.
func fill(t *testing.T, path string) {
	t.Helper()
	j, _, err := open(t.Context(), path, clock(), quick())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		job, err := j.BeginJob(t.Context(), model.Job{Dataset: "gd_products"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.ChangeJob(t.Context(), job.ID, accept(fmt.Sprintf("sd_%d", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		text := strings.Repeat("filler ", 40)
		if i == 100 {
			text = "needle-of-the-history"
		}
		if err := j.PutActivity(t.Context(), model.Activity{Kind: model.ActivityFetch, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// spoilPageWith overwrites the head of the 4 KiB page that holds the text.
func spoilPageWith(t *testing.T, path, text string) {
	t.Helper()
	raw := read(t, path)
	i := bytes.Index(raw, []byte(text))
	if i < 8192 {
		t.Fatalf("%q is at %d", text, i)
	}
	copy(raw[i/4096*4096:], bytes.Repeat([]byte{0xee}, 64))
	write(t, path, raw)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVersionsAreComparedByNumber(t *testing.T) {
	for _, c := range []struct {
		have, want string
		older      bool
	}{
		{"3.51.3", "3.51.3", false},
		{"3.51.2", "3.51.3", true},
		{"3.51.10", "3.51.9", false},
		{"3.9.9", "3.51.3", true},
		{"4", "3.51.3", false},
		{"3.51", "3.51.3", true},
		{"3.51.3.1", "3.51.3", false},
		{"3.51.3", "3.51.3.1", true},
		{"x", "0.1", true},
		{"x", "0", false},
	} {
		if got := olderThan(c.have, c.want); got != c.older {
			t.Errorf("%s older than %s: %t", c.have, c.want, got)
		}
	}
}

func TestADamagedFileThatCannotBeSetAsideIsAnError(t *testing.T) {
	// Its name is so long that no name beside it is left.
	path := filepath.Join(t.TempDir(), strings.Repeat("j", 240))
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := setAside(path, testTime); err == nil || kept != "" {
		t.Errorf("kept as %q, %v", kept, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "damaged" {
		t.Errorf("the file became %q, %v", b, err)
	}
}

func TestASuspicionThatStaysIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	write(t, path, []byte("damaged"))
	// A folder that is not empty cannot be removed like a file.
	if err := os.MkdirAll(filepath.Join(suspectPath(path), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if kept, err := setAside(path, testTime); kept != "" || err == nil || !strings.HasPrefix(err.Error(), "putting the damaged journal aside: ") {
		t.Errorf("kept as %q, %v", kept, err)
	}
}

func TestEveryDamagedFileIsKeptUnderANameOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	base := path + ".corrupt-20261121T120000Z"
	for _, want := range []string{base, base + "-2", base + "-3"} {
		for _, tail := range []string{"", "-wal", "-shm", ".suspect"} {
			if err := os.WriteFile(path+tail, []byte(want+tail), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := setAside(path, testTime)
		if err != nil || kept != want {
			t.Fatalf("kept as %q, %v; want %q", kept, err, want)
		}
		for _, tail := range []string{"", "-wal", "-shm"} {
			if b, err := os.ReadFile(kept + tail); err != nil || string(b) != want+tail {
				t.Errorf("%s holds %q, %v", kept+tail, b, err)
			}
		}
		if _, err := os.Stat(suspectPath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the suspicion stays: %v", err)
		}
	}
}
