package inbox_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
)

// TestWhatTheServiceSaidSinceIsShown has a job that ends later, which changes nothing in the inbox.
func TestWhatTheServiceSaidSinceIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: some()}
		f.list[0].JobState = model.JobRunning
		s := open(t, f, "")
		s.Expect("the service is asked for the job's state")
		f.mu.Lock()
		f.list[0].JobState = model.JobReady
		f.mu.Unlock()
		s.After(2 * time.Second)
		s.Expect("by now the job is ready")
		f.mu.Lock()
		rows := f.rows
		f.mu.Unlock()
		s.After(5 * time.Second)
		s.Press("enter")
		s.Expect("job-2 · ready")
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.rows != rows {
			t.Errorf("rows were read %d times, and nothing was waited for", f.rows-rows)
		}
	})
}

func TestABodyIsShownWithoutItsGzip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeStore{list: some(), plain: "{\"a\":1}\n{\"a\":2}\n"}, "")
		s.Expect("hook-3")
		s.Press("enter")
		s.Expect("inflated from gzip; ] shows the bytes as they came", `{"a":2}`)
		s.Press("]")
		s.Expect("1f 8b 08")
	})
}

// TestBytesThatCannotBeReadAreSaid has a missing body.
func TestBytesThatCannotBeReadAreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: some()}
		s := open(t, f, "")
		s.Expect("hook-3")
		f.mu.Lock()
		f.broken = errors.New("open body-x: no such file or directory")
		f.mu.Unlock()
		s.Press("enter")
		s.Expect("its bytes cannot be read: open body-x: no such file or directory")
	})
}
