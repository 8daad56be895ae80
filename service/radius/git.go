package radius

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// worktrees are the files that git tracks, as absolute paths, and the folders above them.
type worktrees struct {
	files, folders map[string]bool
}

func (w *worktrees) tracks(file string) bool  { return w.files[file] }
func (w *worktrees) below(folder string) bool { return w.folders[folder] }

// inWorktree reports whether a folder, or one above it, has a .git.
func inWorktree(folder string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(folder)
		if up == folder {
			return false
		}
		folder = up
	}
}

// add asks git which files it tracks in a folder. Nothing of the work tree's own configuration
// that names a program is used.
func (w *worktrees) add(ctx context.Context, folder string) error {
	cmd := exec.CommandContext(ctx, "git", "-C", folder, "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull, "ls-files", "-z", "--cached")
	cmd.Env = append(withoutGit(os.Environ()), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
			return fmt.Errorf("git: %s", line)
		}
		return err
	}
	if w.files == nil {
		w.files, w.folders = map[string]bool{}, map[string]bool{}
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(name))
		w.files[file] = true
		for up := filepath.Dir(file); len(up) > len(folder) && !w.folders[up]; up = filepath.Dir(up) {
			w.folders[up] = true
		}
	}
	return nil
}

// withoutGit drops the variables that would point git to another repository.
func withoutGit(env []string) []string {
	out := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "GIT_") {
			out = append(out, e)
		}
	}
	return out
}
