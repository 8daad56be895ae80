package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/model"
)

// killed ends a journal as the end of its process does: nothing is written, and the lock goes.
func killed(t *testing.T, j *Journal) {
	t.Helper()
	j.flights.mu.Lock()
	j.flights.sign.Release()
	_ = j.flights.file.Close()
	j.flights.file, j.flights.sign, j.flights.err = nil, nil, ErrClosed
	j.flights.mu.Unlock()
}

// depart is a call that is about to be sent.
func depart(t testing.TB, j *Journal, id, url string) (landed func()) {
	t.Helper()
	landed, err := j.Depart(id, model.Activity{Kind: model.ActivityFetch, Profile: "acme", Zone: "z", URL: url, Via: model.ViaAPI, Key: "etl"})
	if err != nil {
		t.Fatal(err)
	}
	return landed
}

func lines(t *testing.T, j *Journal) (out []string) {
	t.Helper()
	list, err := j.Activity(t.Context(), model.ActivityFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		out = append(out, a.URL+" "+a.Text)
	}
	return out
}

func TestACallOfAKilledProcessIsToldOfOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	over := depart(t, j, "f_1", "http://a.test/over")
	depart(t, j, "f_2", "http://user:pw-of-user@a.test/open")
	if err := j.PutActivity(t.Context(), model.Activity{Kind: model.ActivityFetch, URL: "http://a.test/over", Text: "ok"}); err != nil {
		t.Fatal(err)
	}
	over()
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := openTest(t, path) // while the first one lives
	if got := lines(t, other); len(got) != 1 {
		t.Errorf("before it is killed: %q", got)
	}
	killed(t, j)
	for range 2 {
		next := openTest(t, path)
		got := lines(t, next)
		if len(got) != 2 || got[0] != "http://user:xxxxx@a.test/open "+unseenEnd {
			t.Errorf("%q", got)
		}
	}
}

func TestACallThatLandedLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, _, err := Open(t.Context(), path, clock())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		depart(t, j, fmt.Sprintf("f_%d", i), "http://a.test/")()
	}
	file := j.flights.file.Name()
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
}

func BenchmarkDepart(b *testing.B) {
	j := openTest(b, filepath.Join(b.TempDir(), "journal.db"))
	for b.Loop() {
		depart(b, j, "f_1", "http://a.test/products/1?page=2")()
	}
}
