package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// changes lists what findMutants makes of a function body.
func changes(t *testing.T, src string) []string {
	t.Helper()
	found, err := findMutants("p", "p/f.go", []byte("package p\n"+src))
	noerr.Must(t, err)
	var out []string
	for _, m := range found {
		out = append(out, m.fn+": "+m.after)
	}
	slices.Sort(out)
	return out
}

func TestMistakesOfEachKind(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"a comparison": {"var x = a < b", []string{"-: var x = a <= b", "-: var x = a >= b"}},
		"a sum":        {"var x = a + b", []string{"-: var x = a - b"}},
		"joined text":  {`var x = "a" + b + c`, nil},
		"and":          {"var x = a && !b", []string{"-: var x = a && b", "-: var x = a || !b"}},
		"a number":     {"var x = 7", []string{"-: var x = 6", "-: var x = 8"}},
		"a choice": {"var x, y, z = 1<<20, 5*time.Second, make([]int, n, 16) + 1500", []string{
			"-: var x, y, z = 1<<20, 5*time.Second, make([]int, n, 16) - 1500",
		}},
		"a condition": {"func f() { if g() { } else { h() } }", []string{
			"f: func f() { if !(g()) { } else { h() } }",
			"f: func f() { if false && (g()) { } else { h() } }",
			"f: func f() { if g() { } else { } }",
			"f: func f() { if g() { } }",
		}},
		"statements": {"func (t *T) f() {\n\tdefer g()\n\tx = 1\n\ty := x\n}", []string{
			"T.f: (dropped)", "T.f: (dropped)", "T.f: x = 0", "T.f: x = 2",
		}},
		"results": {"func f() (n int, ok bool, err error) { return g(), true, h() }", []string{
			"f: func f() (n int, ok bool, err error) { return 0, true, h() }",
			"f: func f() (n int, ok bool, err error) { return g(), false, h() }",
			"f: func f() (n int, ok bool, err error) { return g(), true, nil }",
		}},
		"values beside an error": {"func f() (int, bool, error) { return 0, false, err }", []string{
			"f: func f() (int, bool, error) { return 0, false, nil }",
		}},
		"results of a function inside": {"func f() error { g = func() string { return s }; return nil }", []string{
			`f: func f() error { ; return nil }`,
			`f: func f() error { g = func() string { return "" }; return nil }`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changes(t, c.src); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestTheSameSeedDrawsTheSameMutantsOfTheFoldersAskedFor(t *testing.T) {
	all := []mutant{{file: "a/x.go", line: 1}, {file: "b/x.go"}, {file: "a/x.go", line: 2}, {file: "a/b/x.go"}, {file: "ab/x.go"}}
	first, second := draw(all, "a/b,b", 7), draw(all, "a/b,b", 7)
	if !slices.Equal(first, second) {
		t.Errorf("drawn %v, then %v", first, second)
	}
	files := map[string]bool{}
	for _, m := range first {
		files[m.file] = true
	}
	if len(first) != 2 || !files["a/b/x.go"] || !files["b/x.go"] {
		t.Errorf("drew %v", first)
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		orders[fmt.Sprint(draw(all, "", seed))] = true
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds draw %d orders", len(orders))
	}
}

func TestAMutantIsReachedWhereItsBlockRan(t *testing.T) {
	c, err := readCoverage([]byte("mode: set\np/f.go:3.10,5.2 2 1\np/f.go:7.1,7.20 1 0\n"))
	noerr.Must(t, err)
	for name, want := range map[mutant][2]bool{
		{pkg: "p", file: "p/f.go", line: 4, col: 1}:  {true, true},
		{pkg: "p", file: "p/f.go", line: 3, col: 9}:  {false, false},
		{pkg: "p", file: "p/f.go", line: 7, col: 5}:  {true, false},
		{pkg: "p", file: "p/f.go", line: 20, col: 1}: {false, false},
	} {
		if in, ran := c.at(name); [2]bool{in, ran} != want {
			t.Errorf("line %d: in a block %v, which ran %v; want %v", name.line, in, ran, want)
		}
	}
	if !c.touches("p") || c.touches("q") {
		t.Error("touched packages are mistaken")
	}
	if _, err := readCoverage([]byte("p/f.go:3,5\n")); err == nil {
		t.Error("a broken profile was read")
	}
}

func TestWhatFailedIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		out, want string
		late      bool
	}{
		"tests and subtests": {out: "--- FAIL: TestA (0.02s)\n    --- FAIL: TestA/b_c (0.01s)\n        x.go:1: no\n--- FAIL: TestD (1.00s)\nFAIL\n", want: "^(TestA|TestD)$"},
		"time is over": {
			out:  "panic: test timed out after 20s\n\trunning tests:\n\t\tTestA (20s)\n\t\tTestA/b_c (19.9s)\n\t\tTestD (1m0s)\n\ngoroutine 1 [running]:\n\tmain.f(0x1)\n\t\t/x/y.go:3 +0x1\n",
			want: "^(TestA|TestD)$", late: true,
		},
		"a panic that names none": {out: "panic: no\n\ngoroutine 7 [running]:\nmain.f()\n\t/x/y.go:3 +0x1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failed([]byte(c.out)); got != c.want || isLate([]byte(c.out)) != c.late {
				t.Errorf("asks %q, late %v", got, !c.late)
			}
		})
	}
}

func TestTestsBehindAFailureByChanceAreAsked(t *testing.T) {
	dir := t.TempDir()
	tests := filepath.Join(dir, "tests")
	script := `#!/bin/sh
case "$*" in
*TestA*) exit 0 ;;
esac
if [ -e failed ]; then echo '--- FAIL: TestB (0.00s)'; else touch failed; echo '--- FAIL: TestA (0.00s)'; fi
exit 1
`
	if err := os.WriteFile(tests, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	h := &house{usual: map[string]time.Duration{}, dirs: map[string]string{"p": dir}}
	if v := h.ask(t.Context(), tests, "p"); v != killed {
		t.Errorf("verdict %d, want %d", v, killed)
	}
}

func TestMistakesInTables(t *testing.T) {
	const src = "package p\n\nvar a = []string{\"x\", \"y\"}\n\nvar b = map[int]T{1: {n: \"ab\", m: \"c\"}}\n\nvar f = func() any { return []int{1} }\n\nvar c = T{\"d\"}\n"
	found := noerr.Try(findRows("p", "p/f.go", []byte(src))).Must(t)
	var got []string
	for _, m := range found {
		got = append(got, m.after)
	}
	want := []string{`var a = []string{"y"}`, `var a = []string{"x", }`, "var b = map[int]T{}", `var b = map[int]T{1: {n: "ac", m: "c"}}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got = nil
	for _, m := range findLines("p", "p/t.tsv", []byte("# x\ty\na\te\tone | two\nb\te\tsix\n")) {
		got = append(got, fmt.Sprint(m.line, " ", m.after))
	}
	want = []string{"2 (dropped)", "2 a e one | txo", "3 (dropped)", "3 a e six", "3 b e sjx"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
