package browser

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestTheBrowserEndsWithAKilledEmulator(t *testing.T) {
	needChromium(t)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	noerr.Must(t, err)
	noerr.Must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	if len(running(t, dir)) < 2 {
		t.Fatal("no browser")
	}
	noerr.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	eventually(t, "the browser ended too", func() bool { return len(running(t, dir)) == 0 })
	left, err := filepath.Glob(filepath.Join(dir, "zonedeck-browser-*"))
	if err != nil || len(left) != 1 || folders(t, left[0]) != 1 {
		t.Fatalf("%q %v", left, err)
	}
	// A while later the next one starts, beside one that lives.
	t.Setenv("TMPDIR", dir)
	lives := open(t, Config{})
	use(t, lives)
	old := time.Now().Add(-time.Hour)
	for _, folder := range []string{left[0], lives.dir} {
		noerr.Must(t, os.Chtimes(filepath.Join(folder, ".owner"), old, old))
	}
	use(t, open(t, Config{}))
	if _, err := os.Stat(left[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(lives.dir); err != nil {
		t.Errorf("the folder of one that lives: %v", err)
	}
}

// use begins a call, which is when a pool makes its folder.
func use(t *testing.T, b *Browsers) {
	t.Helper()
	noerr.Must(t, b.begin())
	b.work.Done()
}
