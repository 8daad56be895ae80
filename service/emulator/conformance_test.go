package emulator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

const conformancePage = "../../docs/emulator.md"

// row is one line of the conformance table: item, verdict, shown by.
type row struct {
	line                 int
	item, verdict, shown string
}

// conformance reads the rows of the three-column tables of the page.
func conformance(t *testing.T) []row {
	t.Helper()
	b, err := os.ReadFile(conformancePage)
	noerr.Must(t, err)
	var out []row
	inside := false
	for i, l := range strings.Split(string(b), "\n") {
		if !strings.HasPrefix(l, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(l, "|"), " | ")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch {
		case len(cells) == 3 && cells[1] == "verdict":
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			if len(cells) != 3 {
				t.Fatalf("line %d: %d cells", i+1, len(cells))
			}
			out = append(out, row{i + 1, cells[0], cells[1], cells[2]})
		}
	}
	return out
}

// testsBelow finds the test functions of the module as "package.TestName", the folder's
// name standing for the package.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				found[strings.TrimSuffix(f.Name.Name, "_test")+"."+fn.Name.Name] = true
			}
		}
		return nil
	})
	noerr.Must(t, err)
	return found
}

// TestConformance holds docs/emulator.md against the code: a verdict is one of three,
// what is said to work, or to differ, names a test that exists, and everything that is
// served has a row.
func TestConformance(t *testing.T) {
	rows := conformance(t)
	if len(rows) < 150 {
		t.Fatalf("only %d rows: the table was not read", len(rows))
	}
	tests := testsBelow(t, "../..")
	items := ""
	for _, r := range rows {
		items += r.item + "\n"
	}
	g := start(t, Options{})
	for _, e := range slices.Concat(g.apiEndpoints(), g.controlEndpoints()) {
		if !strings.Contains(items, "`"+e.pattern+"`") {
			t.Errorf("%s is served, and in no row", e.pattern)
		}
	}
	named := regexp.MustCompile("`([a-z0-9]+\\.(?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)(?:/[^`]*)?`")
	for _, r := range rows {
		names := named.FindAllStringSubmatch(r.shown, -1)
		for _, n := range names {
			if !tests[n[1]] {
				t.Errorf("line %d: %s names %s, which does not exist", r.line, r.item, n[1])
			}
		}
		switch {
		case r.verdict == "works", strings.HasPrefix(r.verdict, "differs, because "):
			if len(names) == 0 {
				t.Errorf("line %d: %s names no test", r.line, r.item)
			}
		case r.verdict == "not there", strings.HasPrefix(r.verdict, "not there: "):
			if len(names) > 0 && !strings.Contains(r.verdict, "refused") {
				t.Errorf("line %d: %s is not there, and names a test", r.line, r.item)
			}
		default:
			t.Errorf("line %d: %s: verdict %q is none of works, differs, because …, not there", r.line, r.item, r.verdict)
		}
	}
}
