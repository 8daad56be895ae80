package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOldCopiesOfWebhooksAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[old]") // which is no pattern
	now := time.Now()
	ages := map[string]time.Duration{copyPrefix + "old": 2 * copyAge, copyPrefix + "new": time.Hour, "body": 2 * copyAge}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range ages {
		file, at := filepath.Join(dir, name), now.Add(-age)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	removeOld(dir, now.Add(-copyAge))
	for name := range ages {
		_, err := os.Stat(filepath.Join(dir, name))
		if removed := errors.Is(err, fs.ErrNotExist); removed != (name == copyPrefix+"old") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
