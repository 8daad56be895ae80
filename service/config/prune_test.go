package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestPruneBodiesKeepsTheFolderInBounds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{
		"ancient.body": 15 * day, "oldest.body": 3 * day, "old.body": 2 * day, "recent.body": day, "now.body": time.Minute,
	} {
		path := filepath.Join(dir, name)
		noerr.Must(t, os.WriteFile(path, make([]byte, 100), 0o600))
		noerr.Must(t, os.Chtimes(path, now, now.Add(-age)))
	}
	noerr.Must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	check := func(limit, wantFreed int64, want ...string) {
		t.Helper()
		freed, err := pruneBodies(t.Context(), dir, now, limit)
		if err != nil || freed != wantFreed {
			t.Fatalf("freed %d, %v; want %d", freed, err, wantFreed)
		}
		var left []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if want = append(want, "folder"); !slices.Equal(left, sorted(want)) {
			t.Fatalf("left %v, want %v", left, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if freed, err := PruneBodies(ctx, dir, now); freed != 0 || err != nil {
		t.Errorf("cancelled before it began: %d, %v", freed, err)
	}
	check(1000, 100, "oldest.body", "old.body", "recent.body", "now.body")
	check(300, 100, "old.body", "recent.body", "now.body")
	check(0, 200, "now.body") // files of the last hour stay whatever the bound is
	if freed, err := PruneBodies(t.Context(), filepath.Join(dir, "missing"), now); freed != 0 || err != nil {
		t.Errorf("a missing folder: %d, %v", freed, err)
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func TestAFolderOfBodiesThatIsNotOneIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	if freed, err := PruneBodies(t.Context(), file, time.Now()); freed != 0 || err == nil {
		t.Errorf("%d, %v", freed, err)
	}
}
