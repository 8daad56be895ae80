package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// house is the part of the repository that is mutated, and the tests that are
// asked about it. Its methods are safe for concurrent use after measure.
type house struct {
	top, scratch   string
	env            []string
	packages       []pkg
	tests          []string                 // import paths of packages with tests
	usual          map[string]time.Duration // a test package's time without a mutant
	reached        map[string]coverage      // by test package
	dirs           map[string]string        // a test package's folder
	skip           string                   // a pattern of tests that are not asked
	onlyItsPackage bool                     // only a mutant's own package is asked
	alone          sync.RWMutex             // held whole while a mutant's tests run alone
}

type pkg struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	EmbedFiles                         []string
}

// newHouse lists model, keystore and service, without the emulator and what only
// tests import.
func newHouse(ctx context.Context, scratch string) (*house, error) {
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	h := &house{
		top: top, scratch: scratch,
		usual: map[string]time.Duration{}, reached: map[string]coverage{}, dirs: map[string]string{},
	}
	if err := h.environment(ctx); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,EmbedFiles",
		"./model/...", "./keystore/...", "./service/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list (run this at the top of the repository): %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		if strings.HasSuffix(p.ImportPath, "test") || strings.Contains(p.ImportPath+"/", "/service/emulator/") {
			continue
		}
		h.dirs[p.ImportPath] = p.Dir
		h.packages = append(h.packages, p)
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			h.tests = append(h.tests, p.ImportPath)
		}
	}
	return h, nil
}

// environment gives the tests a home and a temporary folder of their own: a
// mutant may well remove the wrong folder.
func (h *house) environment(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	words := strings.Split(strings.TrimSpace(string(out)), "\n")
	home := filepath.Join(h.scratch, "home")
	tmp := filepath.Join(h.scratch, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	h.env = append(os.Environ(), "GOCACHE="+words[0], "GOMODCACHE="+words[1], "GOPATH="+words[2], "HOME="+home, "TMPDIR="+tmp, "RAPID_NOFAILFILE=true")
	return nil
}

// mutants lists every mutant of the code and of the tables of every package, in a fixed order.
func (h *house) mutants() (code, rows []mutant, err error) {
	for _, p := range h.packages {
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			rel, err := filepath.Rel(h.top, path)
			if err != nil {
				return nil, nil, err
			}
			rel = filepath.ToSlash(rel)
			if !strings.HasSuffix(name, ".go") {
				if strings.HasSuffix(name, ".tsv") {
					rows = append(rows, findLines(p.ImportPath, rel, src)...)
				}
				continue
			}
			found, err := findMutants(p.ImportPath, rel, src)
			if err != nil {
				return nil, nil, err
			}
			inTables, err := findRows(p.ImportPath, rel, src)
			if err != nil {
				return nil, nil, err
			}
			code, rows = append(code, found...), append(rows, inTables...)
		}
	}
	return code, rows, nil
}

// askOwn leaves every mutant to the tests of its own package.
func (h *house) askOwn(drawn []mutant) {
	h.onlyItsPackage = true
	h.tests = slices.DeleteFunc(h.tests, func(test string) bool {
		return !slices.ContainsFunc(drawn, func(m mutant) bool { return m.pkg == test })
	})
}

// measure runs every test package as it is: its time, and the lines it reaches.
func (h *house) measure(ctx context.Context) error {
	var mutated []string
	for _, p := range h.packages {
		mutated = append(mutated, p.ImportPath)
	}
	for i, test := range h.tests {
		profile := filepath.Join(h.scratch, "cover"+strconv.Itoa(i))
		var out []byte
		err := errors.New("not run yet")
		for range 3 { // a busy machine may fail a test once
			if err == nil || ctx.Err() != nil {
				break
			}
			began := time.Now()
			out, err = h.command(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-exec=sh -c '"+limited+"' sh",
				"-coverpkg="+strings.Join(mutated, ","), "-coverprofile="+profile, test).CombinedOutput()
			h.usual[test] = time.Since(began)
		}
		if err != nil {
			return fmt.Errorf("without a mutant %s fails:\n%s", test, out)
		}
		raw, err := os.ReadFile(profile)
		if err != nil {
			return err
		}
		if h.reached[test], err = readCoverage(raw); err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", test, h.usual[test].Round(time.Second/10))
	}
	return nil
}

// limited runs the command behind it with at most 4 GiB of memory: only a mutant
// that does not stop asks for more. The limit is on data, because Chromium
// reserves more addresses than that.
const limited = `ulimit -d 4194304 && exec "$@"`

func (h *house) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = h.env
	cmd.WaitDelay = time.Second
	return cmd
}

// try runs the tests that reach a mutant until a package of them fails twice: a
// busy machine fails a test once.
func (h *house) try(ctx context.Context, m mutant) verdict {
	overlay, err := h.overlay(m)
	if err != nil {
		panic(err) // the scratch folder cannot be written to
	}
	dir := filepath.Dir(overlay)
	defer func() { _ = os.RemoveAll(dir) }() // the scratch folder goes in the end
	binary := filepath.Join(dir, "tests")
	for _, test := range h.testsOf(m) {
		build := h.command(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", binary, test)
		if build.Run() != nil {
			return invalid
		}
		if v := h.ask(ctx, binary, test); v != survived {
			return v
		}
	}
	return survived
}

// ask runs a package's tests, compiled with a mutant. Tests that fail run again
// by themselves; those whose time is over do so while no other mutant runs, and
// with more time. When they do not fail again all tests do, because those behind
// the first failure have not run.
func (h *house) ask(ctx context.Context, binary, test string) verdict {
	first := func() ([]byte, error) {
		h.alone.RLock()
		defer h.alone.RUnlock()
		return h.runTests(ctx, binary, test, 15*time.Second+4*h.usual[test], "")
	}
	out, err := first()
	if err == nil {
		return survived
	}
	late := isLate(out)
	if late {
		h.alone.Lock()
		defer h.alone.Unlock()
	} else {
		h.alone.RLock()
		defer h.alone.RUnlock()
	}
	again := 30*time.Second + 4*h.usual[test]
	if out, err = h.runTests(ctx, binary, test, again, failed(out)); err == nil {
		out, err = h.runTests(ctx, binary, test, again, "")
	}
	switch {
	case err == nil:
		return survived
	case isLate(out):
		return timedOut
	default:
		return killed
	}
}

// runTests runs a test binary as go test does, or those tests of it that match a
// pattern.
func (h *house) runTests(ctx context.Context, binary, test string, timeout time.Duration, pattern string) ([]byte, error) {
	cmd := h.command(ctx, "sh", "-c", limited, "sh", binary, "-test.failfast", "-test.skip="+h.skip, "-test.timeout="+timeout.String(), "-test.run="+pattern)
	cmd.Dir = h.dirs[test]
	return cmd.CombinedOutput()
}

func isLate(out []byte) bool { return bytes.Contains(out, []byte("panic: test timed out after ")) }

var failure = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t\t)(\w+)(?:/\S*)? \([0-9.a-z]+\)$`)

// failed is the pattern of the tests that an output names as failed, or as
// running when time was over; "", which is every test, when it names none.
func failed(out []byte) string {
	var names []string
	for _, found := range failure.FindAllSubmatch(out, -1) {
		if name := string(found[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// overlay writes the mutated file, and says so in the form that go test reads.
func (h *house) overlay(m mutant) (string, error) {
	dir, err := os.MkdirTemp(h.scratch, "mutant-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.top, filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(mutated, slices.Concat(src[:m.start], []byte(m.text), src[m.end:]), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// testsOf lists the test packages that reach a mutant: its own first, then the
// quick ones. A declaration outside of functions is reached by every package that
// reaches something of its package.
func (h *house) testsOf(m mutant) []string {
	var tests []string
	known := false
	for _, test := range h.tests {
		in, reached := h.reached[test].at(m)
		known = known || in
		if reached {
			tests = append(tests, test)
		}
	}
	if !known {
		for _, test := range h.tests {
			if test == m.pkg || h.reached[test].touches(m.pkg) {
				tests = append(tests, test)
			}
		}
	}
	if h.onlyItsPackage {
		return slices.DeleteFunc(tests, func(test string) bool { return test != m.pkg })
	}
	slices.SortStableFunc(tests, func(a, b string) int {
		if (a == m.pkg) != (b == m.pkg) {
			if a == m.pkg {
				return -1
			}
			return 1
		}
		return int(h.usual[a] - h.usual[b])
	})
	return tests
}
