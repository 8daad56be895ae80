package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/service/config"
)

// A copy is as old as the machine says: the emulator's clock may be months ahead.
func TestOldCopiesOfWebhooksAreRemoved(t *testing.T) {
	now := time.Now()
	o := options(t, nil)
	o.Now = func() time.Time { return now }
	s := &Session{o: o, Paths: config.Paths{Data: filepath.Join(t.TempDir(), "[old]")}} // which is no pattern
	s.embedded = newEmbedded(o, s.Paths)
	s.embedded.ahead.Store(int64(30 * copyAge))
	dir := s.Paths.InboxDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ages := map[string]time.Duration{copyPrefix + "old": 2 * copyAge, copyPrefix + "new": time.Hour, "body": 2 * copyAge}
	for name, age := range ages {
		file, at := filepath.Join(dir, name), now.Add(-age)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	(&hookStore{Session: s}).removeOld()
	for name := range ages {
		_, err := os.Stat(filepath.Join(dir, name))
		if removed := errors.Is(err, fs.ErrNotExist); removed != (name == copyPrefix+"old") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
