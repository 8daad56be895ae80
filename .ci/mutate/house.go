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
	"slices"
	"strconv"
	"strings"
	"time"
)

// house is the part of the repository that is mutated, and the tests that are
// asked about it. Its methods are safe for concurrent use after measure.
type house struct {
	top, scratch string
	env          []string
	packages     []pkg
	tests        []string                 // import paths of packages with tests
	usual        map[string]time.Duration // a test package's time without a mutant
	reached      map[string]coverage      // by test package
	own          bool                     // only a mutant's own package is asked
}

type pkg struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// newHouse lists model, keystore and service, without the emulator.
func newHouse(ctx context.Context, scratch string) (*house, error) {
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	h := &house{top: top, scratch: scratch, usual: map[string]time.Duration{}, reached: map[string]coverage{}}
	if err := h.environment(ctx); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles",
		"./model/...", "./keystore/...", "./service/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list (run this at the top of the repository): %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		if strings.HasSuffix(p.ImportPath, "/service/emulator") || strings.Contains(p.ImportPath, "/service/emulator/") {
			continue
		}
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

// mutants lists every mutant of every package, in a fixed order.
func (h *house) mutants() ([]mutant, error) {
	var all []mutant
	for _, p := range h.packages {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(h.top, path)
			if err != nil {
				return nil, err
			}
			found, err := findMutants(p.ImportPath, filepath.ToSlash(rel), src)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// askOwn leaves every mutant to the tests of its own package.
func (h *house) askOwn(drawn []mutant) {
	h.own = true
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
			out, err = h.goTest(ctx, "-count=1", "-coverpkg="+strings.Join(mutated, ","), "-coverprofile="+profile, test)
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

func (h *house) goTest(ctx context.Context, args ...string) (out []byte, err error) {
	// Only a mutant that does not stop asks for more than 4 GiB. The limit is on data,
	// because Chromium reserves more addresses than that.
	limit := `-exec=sh -c 'ulimit -d 4194304 && exec "$@"' sh`
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-failfast", limit}, args...)...)
	cmd.Env = h.env
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// try runs the tests that reach a mutant until one fails.
func (h *house) try(ctx context.Context, m mutant) verdict {
	overlay, err := h.overlay(m)
	if err != nil {
		panic(err) // the scratch folder cannot be written to
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(overlay)) }() // the scratch folder goes in the end
	for _, test := range h.testsOf(m) {
		timeout := 30*time.Second + 4*h.usual[test]
		out, err := h.goTest(ctx, "-overlay="+overlay, "-timeout="+timeout.String(), test)
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return invalid
		default:
			return killed
		}
	}
	return survived
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
	if h.own {
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
