package jobs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
)

// saveList keeps a list as a launch does.
func saveList(l InputLists, name string, inputs ...model.JobInput) error {
	_, err := l.keep(Report{draft: Draft{SaveList: name}, Rows: Inputs{Rows: inputs}}, &Launched{})
	if name == "" && err == nil {
		_, err = l.Paths.ListFile(name)
	}
	return err
}

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

func TestASavedListIsReadAsItWasSaved(t *testing.T) {
	s := InputLists{Paths: config.Paths{Data: filepath.Join(t.TempDir(), "[old]")}} // which is no pattern
	noerr.Must(t, saveList(s, "mine", model.JobInput{URL: "http://lab.test/1"}, model.JobInput{Extra: map[string]string{"keyword": `"a"`}}))
	f := noerr.Try(s.Open("mine")).Must(t)
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "{\"url\":\"http://lab.test/1\"}\n{\"keyword\":\"a\"}\n" {
		t.Errorf("%s, %v", b, err)
	}
	noerr.Must(t, saveList(s, "more.of-it"))
	for name, want := range map[string]string{
		"none": `there is no saved list "none"; saved are mine, more.of-it`,
		"":     `"" cannot name a saved list: use letters, digits, dots, - and _; saved are mine, more.of-it`,
	} {
		if _, err := s.Open(name); err == nil || err.Error() != want || name != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	empty := InputLists{Paths: config.Paths{Data: t.TempDir()}}
	if _, err := empty.Open("x"); err == nil || err.Error() != `there is no saved list "x"; none is saved in `+empty.Paths.ListsDir() {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"", "../x", ".x", "a b"} {
		if err := saveList(s, name); err == nil {
			t.Errorf("%q names a list", name)
		}
		if err := s.check(Report{draft: Draft{SaveList: name}}); name != "" && !errors.Is(err, model.ErrRequest) {
			t.Errorf("%q is found only when the job has begun: %v", name, err)
		}
	}
}

func TestRejectedRowsReplaceNoFile(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := InputLists{Paths: config.Paths{Data: t.TempDir()}, Clock: fixedClock(at)}
	in := Inputs{Rejected: []byte("a,b\n1\n"), RejectedKind: "csv"}
	for _, want := range []string{"rejected-20260102-030405.csv", "rejected-20260102-030405-2.csv"} {
		path, err := s.keepRejects("", in)
		if b, rerr := os.ReadFile(path); err != nil || rerr != nil || filepath.Base(path) != want || string(b) != "a,b\n1\n" {
			t.Errorf("%s: %s, %v, %v", path, b, err, rerr)
		}
	}
	own := filepath.Join(t.TempDir(), "mine.csv")
	noerr.Must(t, os.WriteFile(own, []byte("mine"), 0o600))
	if _, err := s.keepRejects(own, in); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}
