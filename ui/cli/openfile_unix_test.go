//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// fifo is a named pipe in the test's own folder.
func fifo(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noerr.Must(t, syscall.Mkfifo(path, 0o600))
	return path
}

// One interruption ends the reading of a pipe that is open but never written to.
func TestAPipeThatNobodyWritesToEndsWithAnInterruption(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]func(pipe string) []string{
		"urls.txt": func(pipe string) []string {
			return []string{"jobs", "trigger", "gd_pages", "--input", pipe, "--dry-run"}
		},
		"answer":   func(pipe string) []string { return []string{"diagnose", pipe} },
		"curl":     func(pipe string) []string { return []string{"request", "--curl", pipe} },
		"x.har":    func(pipe string) []string { return []string{"request", "--har", pipe} },
		"keys.csv": func(pipe string) []string { return []string{"keys", "import", pipe} },
		"rows":     func(pipe string) []string { return []string{"jobs", "rows", pipe} },
		"rules":    func(pipe string) []string { return []string{"rules", pipe} },
		"body":     func(pipe string) []string { return []string{"export", "--as", "url", "-d", "@" + pipe} },
		"out.json": func(pipe string) []string { return []string{"drift", "check", "gd_pages", "--input", pipe} },
	} {
		t.Run(name, func(t *testing.T) {
			pipe := fifo(t, name)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, stdout, stderr := process(t, nil, args(pipe)...)
			code, held := make(chan int, 1), make(chan *os.File, 1)
			go func() { code <- Main(ctx, p) }()
			go func() {
				w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when the command reads it
				noerr.Want(t, err)
				held <- w
			}()
			hang := time.After(time.Minute)
			select {
			case w := <-held:
				defer w.Close()
				cancel()
			case got := <-code:
				t.Fatalf("exit code %d before it was read; stderr %q", got, stderr)
			case <-hang:
				t.Fatal("it does not read the pipe")
			}
			select {
			case got := <-code:
				if got != ExitInterrupted || stdout.Len() > 0 {
					t.Errorf("exit code %d, stdout %q, stderr %q", got, stdout, stderr)
				}
			case <-hang:
				t.Error("it waits for the pipe")
			}
		})
	}
}

// A pipe that nobody has opened for writing is waited for only until the context ends.
func TestAPipeThatNobodyOpensEndsWithTheContext(t *testing.T) {
	pipe := fifo(t, "pipe")
	ctx, cancel := context.WithCancel(t.Context())
	r, err := (&app{}).open(ctx, pipe)
	noerr.Must(t, err)
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w, err := os.OpenFile(pipe, os.O_RDWR, 0) // what still waits goes on
	noerr.Must(t, err)
	w.Close()
}

// A pipe is read to its end.
func TestAPipeIsReadAsAFileIs(t *testing.T) {
	pipe := fifo(t, "urls.txt")
	go func() { noerr.Want(t, os.WriteFile(pipe, []byte("http://lab.test/1\nhttp://lab.test/2\n"), 0)) }()
	p, stdout, stderr := process(t, nil, "jobs", "trigger", "gd_pages", "--input", pipe, "--dry-run")
	if code := Main(t.Context(), p); code != exitOK || stdout.String() != `{"url":"http://lab.test/1"}`+"\n"+`{"url":"http://lab.test/2"}`+"\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// The .env files of a folder are not in a pipe: it is refused at once.
func TestAPipeIsNoFolder(t *testing.T) {
	p, _, stderr := process(t, nil, "keys", "import", fifo(t, "pipe"), "--from", "env")
	if code := Main(t.Context(), p); code != exitState && code != exitUsage || !bytes.Contains(stderr.Bytes(), []byte("pipe: ")) {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestAConfigurationComesThroughAPipeAndIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"profiles", "list"}, exitOK, "acme (default)  http://127.0.0.1:1"},
		{[]string{"zones", "rates", "--set", "unlocker1=1.5"}, exitState, "unlocker1  $1.5 per 1000"}, // reads it twice
		{[]string{"profiles", "edit", "acme", "--color", "red"}, exitState, "it is a named pipe"},
	} {
		pipe := fifo(t, "config")
		go func() {
			noerr.Want(t, os.WriteFile(pipe, []byte("[profiles.acme]\nbase_url = \"http://127.0.0.1:1\"\n[[profiles.acme.zones]]\nname = \"unlocker1\"\nproduct = \"unlocker\"\n"), 0o600))
		}()
		p, stdout, stderr := process(t, nil, append([]string{"--config", pipe}, c.args...)...)
		if code := Main(t.Context(), p); code != c.code || !strings.Contains(stdout.String()+stderr.String(), c.want) {
			t.Errorf("%v: exit code %d, want %d; stdout %q, stderr %q", c.args, code, c.code, stdout, stderr)
		}
	}
}
