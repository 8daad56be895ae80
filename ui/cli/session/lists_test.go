package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/rows"
)

func TestASavedListIsReadAsItWasSaved(t *testing.T) {
	s := &Session{Paths: config.Paths{Data: filepath.Join(t.TempDir(), "[old]")}} // which is no pattern
	if err := s.SaveList("mine", []model.JobInput{{URL: "http://lab.test/1"}, {Extra: map[string]string{"keyword": `"a"`}}}); err != nil {
		t.Fatal(err)
	}
	f, err := s.openInputs(ListPrefix + "mine")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "{\"url\":\"http://lab.test/1\"}\n{\"keyword\":\"a\"}\n" {
		t.Errorf("%s, %v", b, err)
	}
	if err := s.SaveList("more.of-it", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"none": `there is no saved list "none"; saved are mine, more.of-it`,
		"":     `"" cannot name a saved list: use letters, digits, dots, - and _; saved are mine, more.of-it`,
	} {
		if _, err := s.openInputs(ListPrefix + name); err == nil || err.Error() != want || name != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	empty := &Session{Paths: config.Paths{Data: t.TempDir()}}
	if _, err := empty.OpenList("x"); err == nil || err.Error() != `there is no saved list "x"; none is saved in `+empty.Paths.ListsDir() {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"", "../x", ".x", "a b"} {
		if err := s.SaveList(name, nil); err == nil {
			t.Errorf("%q names a list", name)
		}
	}
}

func TestRejectedRowsReplaceNoFile(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &Session{Paths: config.Paths{Data: t.TempDir()}}
	s.o.Now = func() time.Time { return at }
	in := rows.Inputs{Rejected: []byte("a,b\n1\n"), RejectedKind: "csv"}
	for _, want := range []string{"rejected-20260102-030405.csv", "rejected-20260102-030405-2.csv"} {
		path, err := s.KeepRejects("", in)
		if b, rerr := os.ReadFile(path); err != nil || rerr != nil || filepath.Base(path) != want || string(b) != "a,b\n1\n" {
			t.Errorf("%s: %s, %v, %v", path, b, err, rerr)
		}
	}
	own := filepath.Join(t.TempDir(), "mine.csv")
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.KeepRejects(own, in); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}
