package textfile

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
)

func TestASignOfLife(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "signs")
	s, err := NewSign(dir)
	noerr.Must(t, err)
	if runtime.GOOS != "windows" {
		mode(t, dir, 0o700)
		mode(t, filepath.Join(dir, s.Name()), 0o600)
	}
	if !Alive(dir, s.Name()) || Alive(dir, "nobody") || Alive(dir, "") || Alive(dir, "../signs") {
		t.Error("the living and nobody are mixed up")
	}
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "killed"), nil, 0o600))
	noerr.Must(t, os.Mkdir(filepath.Join(dir, "doubtful"), 0o700))
	other, err := NewSign(dir)
	noerr.Must(t, err)
	if got := filesOf(t, dir); len(got) != 3 {
		t.Errorf("a killed one's sign is left: %q", got)
	}
	if !Alive(dir, s.Name()) || !Alive(dir, other.Name()) || !Alive(dir, "doubtful") {
		t.Error("a living one counts as dead")
	}
	s.Release()
	if Alive(dir, s.Name()) || !Alive(dir, other.Name()) {
		t.Error("what was given up is alive, or another one not")
	}
	other.Release()
	if got := filesOf(t, dir); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
}

// TestManyGiveSignsAtOnce makes signs while others remove those of the dead.
func TestManyGiveSignsAtOnce(t *testing.T) {
	dir := t.TempDir()
	signs := make([]*Sign, 200)
	var all sync.WaitGroup
	for i := range signs {
		all.Go(func() {
			s, err := NewSign(dir)
			if err != nil {
				t.Error(err)
				return
			}
			signs[i] = s
		})
	}
	all.Wait()
	if got := filesOf(t, dir); len(got) != len(signs) {
		t.Errorf("%d of %d are there", len(got), len(signs))
	}
	for _, s := range signs {
		if s != nil {
			s.Release()
		}
	}
}
