package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/history"
	"zonedeck/service/journal"
	"zonedeck/ui"
)

func TestABodyOfTheHistoryIsShownOnlyAsItCame(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EDITOR", "true")
	h := history.New(journal.None(), config.Paths{Cache: dir}, "test", time.Now)
	s := bodies{h, terminal{service.Options{Getenv: os.Getenv}}}
	sum := sha256.Sum256([]byte("as it came"))
	b := model.BodyRef{File: filepath.Join(dir, "page.html"), Size: 10, SHA256: hex.EncodeToString(sum[:])}
	for text, want := range map[string]string{"as it came": "", "as it goes": b.File + " has changed since the body was received"} {
		noerr.Must(t, os.WriteFile(b.File, []byte(text), 0o600))
		src, err := s.Open(t.Context(), b)
		cmd, eerr := s.Edit(t.Context(), b, "text/html")
		if want != "" {
			if err == nil || eerr == nil || !strings.Contains(err.Error(), want) || !strings.Contains(eerr.Error(), want) {
				t.Errorf("%q: %v, %v", text, err, eerr)
			}
			continue
		}
		if err != nil || eerr != nil {
			t.Fatal(err, eerr)
		}
		got, err := io.ReadAll(io.NewSectionReader(src.Reader, 0, src.Size))
		copied, cerr := os.ReadFile(cmd.(*editor).copied)
		if err != nil || cerr != nil || string(got) != text || string(copied) != text || src.Close() != nil {
			t.Errorf("%q and %q, %v, %v", got, copied, err, cerr)
		}
		noerr.Want(t, cmd.Run())
	}
	noerr.Must(t, os.Remove(b.File))
	if _, err := s.Open(t.Context(), b); err == nil || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("%v", err)
	}
}

// TestAnEditorHasTheTerminalItself sees to it that an editor of a file gets the terminal, and not the
// console's reader of it: that one would be read on after the editor has ended.
func TestAnEditorHasTheTerminalItself(t *testing.T) {
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "true")
	s := terminal{service.Options{Getenv: os.Getenv}}
	file := filepath.Join(t.TempDir(), "contract.toml")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	in, out, err := os.Pipe() // never written to, and open until the end
	noerr.Must(t, err)
	defer in.Close()
	defer out.Close()
	cmd := s.editFile()(file)
	cmd.SetStdin(newKeyboard(in, func(error) {}))
	if cmd.(*editor).Stdin != io.Reader(in) {
		t.Errorf("it reads from %T", cmd.(*editor).Stdin)
	}
	noerr.Want(t, cmd.Run())
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file does not stay: %v", err)
	}
	t.Setenv("EDITOR", "")
	if s.editFile() != nil {
		t.Error("no editor is set")
	}
}

func TestCodeIsWrittenToTheFileThatIsNamed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	want := filepath.Join(home, "fetch.py")
	for _, c := range []struct {
		name, text string
		replace    bool
		refused    error
	}{
		{"~/fetch.py", "one", false, nil},
		{want, "two", false, fs.ErrExist},
		{"~/fetch.py", "three", true, nil},
	} {
		file, err := writeCode(c.name, c.text, c.replace)
		if !errors.Is(err, c.refused) {
			t.Errorf("%s: %v, want %v", c.name, err, c.refused)
		}
		if c.refused != nil {
			continue
		}
		got, err := os.ReadFile(want)
		if err != nil || file != want || string(got) != c.text {
			t.Errorf("%s: %q in %s, %v", c.name, got, file, err)
		}
	}
}

func TestACopyToTmuxIsSeenInItsPasteBuffer(t *testing.T) {
	socket, tmux := tmuxServer(t)
	s := inTmux(socket)
	for _, c := range []struct {
		clipboard, passthrough string
		passes                 bool
	}{
		{"external", "off", true}, {"on", "off", true}, {"off", "off", false}, {"off", "on", true}, {"external", "on", true},
	} {
		text := "hunter2\nwith " + c.clipboard + c.passthrough
		tmux("", "set-option", "-g", "set-clipboard", c.clipboard)
		tmux("", "set-option", "-g", "allow-passthrough", c.passthrough)
		want := ui.TmuxCopy{Verified: true, Passes: c.passes, Known: true}
		if done := s.pasteBuffers().Copy(t.Context(), text); done != want {
			t.Errorf("%+v: %+v, want %+v", c, done, want)
		}
		if got := tmux("", "save-buffer", "-"); got != text {
			t.Errorf("%+v: the paste buffer holds %q", c, got)
		}
	}
	if n := strings.Count(tmux("", "list-buffers"), "\n"); n != 5 {
		t.Errorf("%d paste buffers, want 5", n)
	}
	if done := inTmux(socket+"-none").pasteBuffers().Copy(t.Context(), "x"); done != (ui.TmuxCopy{}) {
		t.Errorf("without a server: %+v", done)
	}
	if (terminal{service.Options{Getenv: func(string) string { return "" }}}).pasteBuffers() != nil {
		t.Error("there is something to copy to without tmux")
	}
}

func TestATmuxThatKeepsNothingIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for script, want := range map[string]ui.TmuxCopy{
		"display-message) echo external 0;; save-buffer) echo other;;":                              {Known: true, Passes: true},
		"display-message) echo external 0;; load-buffer) exit 1;;":                                  {Known: true},
		"display-message) echo external 2;; load-buffer) exit 1;;":                                  {Known: true, Passes: true},
		"display-message) echo on off;; load-buffer) exit 1;;":                                      {Known: true, Passes: true},
		"display-message) echo external off;; load-buffer) [ $2 = - ];; save-buffer) printf text;;": {Known: true, Verified: true},
		"display-message) echo external;; save-buffer) printf text;;":                               {Verified: true},
		"display-message) echo;; load-buffer) exit 1;;":                                             {},
		"*) exit 1;;": {},
	} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\ncase $1 in "+script+" esac\n"), 0o700))
		if done := inTmux("/tmp/t").pasteBuffers().Copy(t.Context(), "text"); done != want {
			t.Errorf("%s: %+v, want %+v", script, done, want)
		}
	}
}

// inTmux is a terminal in the tmux with that socket.
func inTmux(socket string) terminal {
	return terminal{service.Options{Getenv: func(name string) string { return map[string]string{"TMUX": socket + ",1,0"}[name] }}}
}

// tmuxServer starts a tmux, and runs commands of it with some standard input.
func tmuxServer(t *testing.T) (socket string, tmux func(in string, args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing; install tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path has to be short
	noerr.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	tmux = func(in string, args ...string) string {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Stdin, cmd.Env = strings.NewReader(in), append(os.Environ(), "TMUX=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("", "new-session", "-d", "cat")
	t.Cleanup(func() { tmux("", "kill-server") })
	return socket, tmux
}

func TestTmuxForgetsAPasteBuffer(t *testing.T) {
	socket, tmux := tmuxServer(t)
	const secret = "hunter2-of-the-zone\nwith a line"
	for _, text := range []string{secret, "a shopping list", secret, secret + " and more"} {
		tmux(text, "load-buffer", "-")
	}
	s := inTmux(socket)
	forget := s.pasteBuffers().Forget
	if n, err := forget(t.Context(), sha256.Sum256([]byte(secret))); n != 2 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if left := tmux("", "list-buffers", "-F", "#{buffer_sample}"); strings.Count(left, "\n") != 2 || !strings.Contains(left, "shopping") || !strings.Contains(left, "and more") {
		t.Errorf("left:\n%s", left)
	}
	s = inTmux(socket + "-none")
	if _, err := s.pasteBuffers().Forget(t.Context(), [sha256.Size]byte{}); err == nil {
		t.Error("a server that does not answer is no error")
	}
	if s := (terminal{service.Options{Getenv: func(string) string { return "" }}}); s.pasteBuffers() != nil {
		t.Error("there is something to ask without tmux")
	}
}
