package main

import (
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

var (
	// namedTest is `package.TestName` of a page.
	namedTest = regexp.MustCompile("`([a-z]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
	// runTests is a command of a page that runs some tests of one package: everything
	// that selects them, and the package.
	runTests = regexp.MustCompile("go test ([^`\n]*?) ?(\\./[\\w/]+)([^`\n]*)")
	selects  = regexp.MustCompile(`-(?:run|fuzz|bench) +'?([^' ]+)`)
	// sameWith is a line of a table that has another line's command with another test.
	sameWith = regexp.MustCompile("the same with `(\\w+)`, `(\\./[\\w/]+)`")

	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// TestTheTestsThatThePagesNameExist: what a page says anyone can run, runs.
func TestTheTestsThatThePagesNameExist(t *testing.T) {
	tests := map[string][]string{} // by folder
	eachGoFile(t, func(path string, raw []byte) {
		folder := filepath.ToSlash(filepath.Dir(path))
		for _, m := range testFunc.FindAllSubmatch(raw, -1) {
			tests[folder] = append(tests[folder], string(m[1]))
		}
	})
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	named := 0
	for _, page := range append(pages, "README.md") {
		b, err := os.ReadFile(page)
		noerr.Must(t, err)
		for _, m := range namedTest.FindAllStringSubmatch(string(b), -1) {
			named++
			found := false
			for folder, names := range tests {
				found = found || filepath.Base(folder) == m[1] && slices.Contains(names, m[2])
			}
			if !found {
				t.Errorf("%s names %s.%s, which does not exist", page, m[1], m[2])
			}
		}
		inFolder := func(folder, pattern string) {
			named++
			runs, err := regexp.Compile(strings.Split(pattern, "/")[0])
			if err != nil || !slices.ContainsFunc(tests[strings.TrimPrefix(folder, "./")], runs.MatchString) {
				t.Errorf("%s: %s has no test that %s selects: %v", page, folder, pattern, err)
			}
		}
		for _, m := range runTests.FindAllStringSubmatch(string(b), -1) {
			for _, s := range selects.FindAllStringSubmatch(m[1]+" "+m[3], -1) {
				if s[1] != "^$" && s[1] != "." {
					inFolder(m[2], s[1])
				}
			}
		}
		for _, m := range sameWith.FindAllStringSubmatch(string(b), -1) {
			inFolder(m[2], m[1])
		}
	}
	if named < 30 {
		t.Errorf("the pages name %d tests: they are written in another way", named)
	}
}

// TestEveryRuleIsOnThePage: a verdict names its rule, and the page on diagnosis says what each means. The page's own test
// has those of the order.
func TestEveryRuleIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("docs/diagnosis.md")
	noerr.Must(t, err)
	rules := 0
	eachGoFile(t, func(path string, raw []byte) {
		if strings.HasSuffix(path, "_test.go") || !strings.HasPrefix(path, "model/") && !strings.HasPrefix(path, "service/") {
			return
		}
		named := func(where string, value ast.Expr) {
			rule, literal := value.(*ast.BasicLit)
			if !literal || !strings.HasPrefix(where, "Rule") {
				return
			}
			if rules++; !bytes.Contains(page, []byte("`"+strings.Trim(rule.Value, `"`)+"`")) {
				t.Errorf("%s has the rule %s, which docs/diagnosis.md does not name", path, rule.Value)
			}
		}
		eachNode(t, path, raw, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if field, ok := n.Key.(*ast.Ident); ok {
					named(field.Name, n.Value)
				}
			case *ast.AssignStmt:
				if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok {
					named(field.Sel.Name, n.Rhs[0])
				}
			case *ast.ValueSpec:
				if len(n.Values) > 0 {
					named(n.Names[0].Name, n.Values[0])
				}
			}
			return true
		})
	})
	if rules < 13 {
		t.Errorf("%d rules were found: they are named in another way", rules)
	}
}

// TestSystemdTakesTheUnits: each unit of docs/installing.md, with this test's program in
// the place of the installed one.
func TestSystemdTakesTheUnits(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze: install systemd")
	}
	page, err := os.ReadFile("docs/installing.md")
	noerr.Must(t, err)
	program, err := os.Executable()
	noerr.Must(t, err)
	units := regexp.MustCompile("(?s)```ini\n# (\\S+)\n(.*?)```").FindAllSubmatch(page, -1)
	if len(units) != 2 {
		t.Fatalf("%d units", len(units))
	}
	for _, u := range units {
		file := filepath.Join(t.TempDir(), filepath.Base(string(u[1])))
		noerr.Must(t, os.WriteFile(file, bytes.ReplaceAll(u[2], []byte("/usr/bin/zonedeck"), []byte(program)), 0o600))
		if said, err := exec.CommandContext(t.Context(), verify, "verify", file).CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s: %v\n%s", u[1], err, said)
		}
	}
}
