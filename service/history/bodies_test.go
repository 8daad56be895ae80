package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
)

func TestAKeptBodyIsAFileOfItsOwn(t *testing.T) {
	home := t.TempDir()
	paths := config.Paths{Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache")}
	s := New(journal.None(), paths, "test", time.Now)
	dir := paths.DownloadsDir()
	res := model.FetchResult{ID: "f_1", ContentType: "text/html; charset=utf-8", Body: model.BodyRef{Bytes: []byte("the page"), Size: 8}}
	file, err := s.KeepBody(t.Context(), res)
	if content, readErr := os.ReadFile(file); err != nil || readErr != nil || string(content) != "the page" || file != filepath.Join(dir, "f_1.html") {
		t.Fatalf("kept as %q: %q, %v, %v", file, content, err, readErr)
	}
	if again, err := s.KeepBody(t.Context(), res); err != nil || again != file {
		t.Errorf("kept again: %q, %v", again, err)
	}
	noerr.Must(t, os.WriteFile(file, []byte("edited"), 0o600))
	second, err := s.KeepBody(t.Context(), res)
	if content, readErr := os.ReadFile(second); err != nil || readErr != nil || string(content) != "the page" || second != filepath.Join(dir, "f_1-2.html") {
		t.Errorf("beside a file that was edited: %q: %q, %v, %v", second, content, err, readErr)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "edited" {
		t.Errorf("the edited file holds %q, %v", content, err)
	}
	res.ID, res.Body = "f_2", model.BodyRef{File: filepath.Join(paths.BodiesDir(), "pruned"), Size: 8}
	if file, err := s.KeepBody(t.Context(), res); err == nil {
		t.Errorf("a body that is gone was kept as %q", file)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files, want 2", len(files))
	}
}
