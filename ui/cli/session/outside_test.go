package session

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

	"zonedeck/model"
	"zonedeck/service/profile"
)

func TestABodyOfTheHistoryIsShownOnlyAsItCame(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EDITOR", "true")
	s := &Session{o: Options{Getenv: os.Getenv}, Paths: profile.Paths{Cache: dir}}
	edit := s.editBody()
	sum := sha256.Sum256([]byte("as it came"))
	b := model.BodyRef{File: filepath.Join(dir, "page.html"), Size: 10, SHA256: hex.EncodeToString(sum[:])}
	for text, want := range map[string]string{"as it came": "", "as it goes": b.File + " has changed since the body was received"} {
		if err := os.WriteFile(b.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := s.openBody(t.Context(), b)
		cmd, eerr := edit(t.Context(), b, "text/html")
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
		copied, cerr := os.ReadFile(cmd.(*editor).file)
		if err != nil || cerr != nil || string(got) != text || string(copied) != text || src.Close() != nil {
			t.Errorf("%q and %q, %v, %v", got, copied, err, cerr)
		}
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(b.File); err != nil {
		t.Fatal(err)
	}
	if _, err := s.openBody(t.Context(), b); err == nil || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("%v", err)
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

func TestTmuxIsAskedWhetherItPassesACopyOn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for answer, want := range map[string][2]bool{
		"echo on 0": {true, true}, "echo external 1": {true, true}, "echo external 2": {true, true}, "echo off all": {true, true},
		"echo external 0": {false, true}, "echo off off": {false, true}, "echo": {}, "exit 1": {}, "echo '%1'": {},
	} {
		if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\n"+answer+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		s := &Session{o: Options{Getenv: func(name string) string { return map[string]string{"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%0"}[name] }}}
		if passes, known := s.tmuxPasses(t.Context()); passes != want[0] || known != want[1] {
			t.Errorf("%s: %v, %v", answer, passes, known)
		}
	}
	s := &Session{o: Options{Getenv: func(string) string { return "" }}}
	if _, known := s.tmuxPasses(t.Context()); known {
		t.Error("it is known without tmux")
	}
}

func TestTmuxForgetsAPasteBuffer(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing; install tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	tmux := func(in string, args ...string) string {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Stdin, cmd.Env = strings.NewReader(in), append(os.Environ(), "TMUX=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const secret = "hunter2-of-the-zone\nwith a line"
	tmux("", "new-session", "-d", "cat")
	t.Cleanup(func() { tmux("", "kill-server") })
	for _, text := range []string{secret, "a shopping list", secret, secret + " and more"} {
		tmux(text, "load-buffer", "-")
	}
	s := &Session{o: Options{Getenv: func(name string) string { return map[string]string{"TMUX": socket + ",1,0"}[name] }}}
	forget := s.forgetCopy()
	if n, err := forget(t.Context(), sha256.Sum256([]byte(secret))); n != 2 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if left := tmux("", "list-buffers", "-F", "#{buffer_sample}"); strings.Count(left, "\n") != 2 || !strings.Contains(left, "shopping") || !strings.Contains(left, "and more") {
		t.Errorf("left:\n%s", left)
	}
	s = &Session{o: Options{Getenv: func(name string) string { return map[string]string{"TMUX": socket + "-none,1,0"}[name] }}}
	if _, err := s.forgetCopy()(t.Context(), [sha256.Size]byte{}); err == nil {
		t.Error("a server that does not answer is no error")
	}
	if s := (&Session{o: Options{Getenv: func(string) string { return "" }}}); s.forgetCopy() != nil {
		t.Error("there is something to ask without tmux")
	}
}
