package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
)

func TestALogThatDidNotComeOntoTheDiskTakesNoMore(t *testing.T) {
	for name, file := range map[string]func(l *Log) *os.File{
		"lines":           func(l *Log) *os.File { return l.lines.File },
		"segment":         func(l *Log) *os.File { return l.segment },
		"earlier segment": func(l *Log) *os.File { return l.full[0] },
	} {
		l := noerr.Try(OpenLog(t.TempDir(), "w1")).Must(t)
		l.segmentLimit = recordHead + 1
		for _, body := range []string{"a", "b"} {
			noerr.Must(t, l.Append(&Line{}, []byte(body)))
		}
		noerr.Must(t, file(l).Close()) // so that it cannot be synced
		at, err := l.Sync()
		if !errors.Is(err, os.ErrClosed) || at != (Length{}) {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
		if again := l.Append(&Line{}, nil); !errors.Is(again, err) {
			t.Errorf("%s: %v", name, again)
		}
		_ = l.Close() // one of them is closed already
	}
}

func TestASegmentIsNeverWrittenOver(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	defer l.Close()
	path := filepath.Join(dir, segmentName("w1", 1))
	noerr.Must(t, os.WriteFile(path, []byte("x"), 0o600))
	if err := l.Append(&Line{}, []byte("a")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	noerr.Must(t, l.Append(&Line{N: 1}, nil))
	if b := noerr.Try(os.ReadFile(path)).Must(t); string(b) != "x" {
		t.Errorf("%q", b)
	}
}

func TestALineThatIsTooLongLeavesNoBody(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	wantError(t, l.Append(&Line{N: 3, Summary: string(make([]byte, MaxLine))}, []byte("a")), ": at most 1048576")
	line := Line{N: 4}
	noerr.Must(t, l.Append(&line, []byte("a")))
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	if got := collect(t, dir, map[string]Length{"w1": at}, false); len(got) != 1 || *got[0].BodyAt != (BodyAt{"w1", 1, 0, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestALogWhoseLastLineIsCutIsRecoveredFirst(t *testing.T) {
	dir := t.TempDir()
	_, before, at := three(t, dir)
	noerr.Must(t, os.Truncate(filepath.Join(dir, resultsName("w1")), at.Lines-1))
	_, err := OpenLog(dir, "w1")
	wantError(t, err, "opening results-w1.ndjson: its last line is cut short: recover what the worker left first")
	if _, length, err := tail(dir, "w1", Length{}); err != nil || length != before {
		t.Errorf("%+v, %v", length, err)
	}
	noerr.Must(t, noerr.Try(OpenLog(dir, "w1")).Must(t).Close())
}

func TestWhatIsNoFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, bodiesFolder)
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	for name, err := range map[string]error{
		"NewSpool":        noerr.From(NewSpool(filepath.Join(file, "b1"))),
		"OpenItems":       noerr.From(OpenItems(file)),
		"OpenLog":         noerr.From(OpenLog(dir, "w1")),
		"OpenLog's place": noerr.From(OpenLog(file, "w1")),
		"OpenBody":        noerr.From(OpenBody(dir, BodyAt{"w1", 1, 0, 1})),
		"Sweep":           Sweep(file, nil),
		"Unpack":          noerr.From(Unpack(t.Context(), dir, Results(dir, nil, false), file, nil)),
	} {
		if err == nil {
			t.Error(name)
		}
	}
	if _, _, err := tail(dir, "w1", Length{}); err == nil {
		t.Error("Tail")
	}
}

func TestKeysThatCannotBeReadAgainAreAnError(t *testing.T) {
	s := noerr.Try(NewSpool(filepath.Join(t.TempDir(), "b1"))).Must(t)
	for range 200 {
		noerr.Must(t, s.Add([]byte("a"), Key{}))
	}
	noerr.Must(t, s.keys[0].file.Close())
	if _, err := s.Finish(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	noerr.Must(t, s.Discard())
	if names := noerr.Try(filepath.Glob(filepath.Join(filepath.Dir(s.dir), "*b1"))).Must(t); len(names) != 0 {
		t.Errorf("%q", names)
	}
}
