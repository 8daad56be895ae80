package main

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/service/dialect"
)

// importGraph maps each package of the module to its direct imports, without those
// of its tests.
func importGraph(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	graph := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		graph[words[0]] = words[1:]
	}
	return graph
}

func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

// useCase reports whether a package is what an operator can do, on the upper floor of the service.
func useCase(pkg string) bool {
	return slices.Contains([]string{"zonedeck/service/keys", "zonedeck/service/profiles", "zonedeck/service/local", "zonedeck/service/inbox", "zonedeck/service/history", "zonedeck/service/batch"}, pkg)
}

// wires reports whether a package is no view: the command line, the wiring of the screen, the tests of the whole.
func wires(pkg string) bool {
	return within(pkg, "zonedeck/ui/cli") || within(pkg, "zonedeck/ui/console")
}

func TestImportRules(t *testing.T) {
	graph := importGraph(t)
	rules := []struct {
		name   string
		from   func(pkg string) bool
		forbid func(imported string) bool
	}{
		{
			"model imports the standard library only",
			func(p string) bool { return p == "zonedeck/model" },
			func(i string) bool { return strings.Contains(i, ".") || within(i, "zonedeck") },
		},
		{
			"service and keystore import neither a terminal library nor a view",
			func(p string) bool { return within(p, "zonedeck/service") || within(p, "zonedeck/keystore") },
			func(i string) bool {
				return strings.HasPrefix(i, "charm.land/") || strings.HasPrefix(i, "github.com/charmbracelet/") || within(i, "zonedeck/ui")
			},
		},
		{
			"questions know the domain and secrets alone",
			func(p string) bool { return p == "zonedeck/service/ask" },
			func(i string) bool {
				return within(i, "zonedeck") && i != "zonedeck/model" && i != "zonedeck/keystore"
			},
		},
		{
			"keystore does not import the service",
			func(p string) bool { return within(p, "zonedeck/keystore") },
			func(i string) bool { return within(i, "zonedeck/service") },
		},
		{
			"the emulator imports nothing else of the module",
			func(p string) bool { return within(p, "zonedeck/service/emulator") },
			func(i string) bool {
				return within(i, "zonedeck") && !within(i, "zonedeck/service/emulator") && !within(i, "zonedeck/internal")
			},
		},
		{
			"only service/local imports the emulator",
			func(p string) bool {
				return p != "zonedeck/service/local" && !within(p, "zonedeck/service/emulator") && p != "zonedeck/service/servicetest"
			},
			func(i string) bool { return within(i, "zonedeck/service/emulator") },
		},
		{
			"nothing below the faces imports the root of the service",
			func(p string) bool { return within(p, "zonedeck/service") && p != "zonedeck/service" },
			func(i string) bool { return i == "zonedeck/service" },
		},
		{
			"views get use cases, not the root of the service",
			func(p string) bool { return within(p, "zonedeck/ui") && !wires(p) && p != "zonedeck/ui/mcp" },
			func(i string) bool { return i == "zonedeck/service" },
		},
		{
			"views get use cases, not machinery",
			func(p string) bool {
				return within(p, "zonedeck/ui") && !wires(p) && !within(p, "zonedeck/ui/kit") && p != "zonedeck/ui/whole"
			},
			func(i string) bool {
				return within(i, "zonedeck/service") && i != "zonedeck/service" && !useCase(i) && !slices.Contains([]string{"zonedeck/service/fetch", "zonedeck/service/jobs", "zonedeck/service/ask", "zonedeck/service/query", "zonedeck/service/view"}, i)
			},
		},
		{
			"machinery imports no use case",
			func(p string) bool {
				return within(p, "zonedeck/service") && p != "zonedeck/service" && p != "zonedeck/service/servicetest" && p != "zonedeck/service/jobs" && p != "zonedeck/service/view" && !useCase(p)
			},
			useCase,
		},
		{
			"rows, files of batches, dialects and exports import no client",
			func(p string) bool {
				return slices.Contains([]string{"zonedeck/service/rows", "zonedeck/service/records", "zonedeck/service/batch/files", "zonedeck/service/dialect", "zonedeck/service/export", "zonedeck/service/importers"}, p)
			},
			func(i string) bool {
				return i == "zonedeck/service" || within(i, "zonedeck/service/exchange") || within(i, "zonedeck/service/fetch") ||
					within(i, "zonedeck/service/jobs") || within(i, "zonedeck/service/journal") ||
					within(i, "zonedeck/service/ledger") || within(i, "zonedeck/service/database")
			},
		},
		{
			"fetch and jobs do not import each other, and exchange imports neither",
			func(p string) bool {
				return slices.Contains([]string{"zonedeck/service/exchange", "zonedeck/service/fetch", "zonedeck/service/jobs"}, p)
			},
			func(i string) bool {
				return i == "zonedeck/service" || i == "zonedeck/service/fetch" || i == "zonedeck/service/jobs"
			},
		},
		{
			"only tests use what is made for tests",
			func(p string) bool { return !strings.HasSuffix(p, "test") },
			func(i string) bool {
				return i == "zonedeck/service/servicetest" || i == "zonedeck/service/work/worktest" || i == "zonedeck/model/modeltest" ||
					within(i, "zonedeck/internal") || i == "zonedeck/service/database/postgrestest"
			},
		},
		{
			"the driver of PostgreSQL is known to databases and to the queue of work alone",
			func(p string) bool {
				return !slices.Contains([]string{"zonedeck/service/database", "zonedeck/service/database/postgrestest", "zonedeck/service/work"}, p)
			},
			func(i string) bool {
				return strings.HasPrefix(i, "github.com/jackc/") || strings.HasSuffix(i, "/riverpgxv5")
			},
		},
		{
			"views do no I/O of their own",
			func(p string) bool { return within(p, "zonedeck/ui") && !wires(p) },
			func(i string) bool { return slices.Contains([]string{"net/http", "database/sql", "os/exec"}, i) },
		},
		{
			"views do not import each other",
			func(p string) bool {
				return within(p, "zonedeck/ui") && p != "zonedeck/ui" && !wires(p)
			},
			func(i string) bool {
				return within(i, "zonedeck/ui") && !within(i, "zonedeck/ui/kit") && !within(i, "zonedeck/ui/uitest") &&
					i != "zonedeck/ui/compare" && i != "zonedeck/ui/keys/rotation" && i != "zonedeck/ui/jobs/records" && i != "zonedeck/ui/jobs/drift" && i != "zonedeck/ui/jobs/batches"
			},
		},
		{
			"the page of a comparison is imported by the two tabs that hold it",
			func(p string) bool {
				return within(p, "zonedeck/ui") && p != "zonedeck/ui/sandbox" && p != "zonedeck/ui/proxy" && !wires(p)
			},
			func(i string) bool { return i == "zonedeck/ui/compare" },
		},
		{
			"the page of a rotation is imported by the Keys tab",
			func(p string) bool {
				return within(p, "zonedeck/ui") && p != "zonedeck/ui/keys" && !wires(p)
			},
			func(i string) bool { return i == "zonedeck/ui/keys/rotation" },
		},
		{
			"the page of records is imported by the Jobs tab",
			func(p string) bool {
				return within(p, "zonedeck/ui") && p != "zonedeck/ui/jobs" && !wires(p)
			},
			func(i string) bool { return i == "zonedeck/ui/jobs/records" },
		},
		{
			"the pages of drift and of batches are imported by the Jobs tab",
			func(p string) bool {
				return within(p, "zonedeck/ui") && p != "zonedeck/ui/jobs" && !wires(p)
			},
			func(i string) bool { return i == "zonedeck/ui/jobs/drift" || i == "zonedeck/ui/jobs/batches" },
		},
		{
			"the contract of the views imports nothing that they draw with",
			func(p string) bool { return p == "zonedeck/ui/kit" || p == "zonedeck/ui/kit/text" },
			func(i string) bool { return within(i, "zonedeck/ui") },
		},
		{
			"main imports the command line only",
			func(p string) bool { return p == "zonedeck" },
			func(i string) bool { return within(i, "zonedeck") && i != "zonedeck/ui/cli" },
		},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			seen := false
			for pkg, imports := range graph {
				if !rule.from(pkg) {
					continue
				}
				seen = true
				for _, imported := range imports {
					if rule.forbid(imported) {
						t.Errorf("%s imports %s", pkg, imported)
					}
				}
			}
			if !seen {
				t.Error("the rule matches no package")
			}
		})
	}
}

// TestUseCasesImportThoseBeforeThem checks their order. What keys are rotated with stands below all of them.
func TestUseCasesImportThoseBeforeThem(t *testing.T) {
	graph := importGraph(t)
	order := []string{"rotate", "keys", "profiles", "local", "fetch", "jobs", "inbox", "history"}
	for i, name := range order {
		for _, imported := range graph["zonedeck/service/"+name] {
			if slices.Contains(order[i+1:], strings.TrimPrefix(imported, "zonedeck/service/")) {
				t.Errorf("service/%s imports %s", name, imported)
			}
		}
	}
}

// TestOnlyDialectsNameADialect checks that other code asks a dialect what it can do
// and decides nothing by its name. The emulator shares no code with the console and
// is left out.
func TestOnlyDialectsNameADialect(t *testing.T) {
	eachGoFile(t, func(path string, raw []byte) {
		if strings.HasSuffix(path, "_test.go") || slices.ContainsFunc([]string{"service/dialect/", "service/emulator/", "service/servicetest/"}, func(room string) bool {
			return strings.HasPrefix(path, room)
		}) {
			return
		}
		eachNode(t, path, raw, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for _, name := range dialect.Names() {
				// The name of the default is an ordinary word too: it counts only
				// where it is quoted or the whole text.
				if text == name || strings.Contains(text, strconv.Quote(name)) || name != dialect.Default().Name() && strings.Contains(strings.ToLower(text), name) {
					t.Errorf("%s names the dialect %s: %s", path, name, literal.Value)
				}
			}
			return true
		})
	})
}

// eachNode walks through the syntax of a file.
func eachNode(t *testing.T, path string, raw []byte, visit func(n ast.Node) bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	ast.Inspect(f, visit)
}

// TestOutputGoesThroughOneFile checks that nothing else writes to standard output or standard error: what is for people is
// sanitised there, and what is for programs is encoded.
func TestOutputGoesThroughOneFile(t *testing.T) {
	mayUseStreams := map[string]string{ // and why
		"ui/cli/output.go tell":          "writes",
		"ui/cli/output.go printText":     "writes",
		"ui/cli/output.go encode":        "writes",
		"ui/cli/output.go oneRow":        "asks for its width",
		"ui/cli/process.go OS":           "has them from the system",
		"ui/cli/process.go Main":         "lets a write to them be given up",
		"ui/cli/root.go execute":         "hands them to cobra, for the help",
		"ui/cli/destination.go stdout":   "writes bodies: byte by byte, or visible on a terminal",
		"ui/cli/destination.go isStdout": "compares",
		"ui/cli/console.go consoleOnce":  "hands the terminal to Bubble Tea",
		"ui/cli/jobsnotify.go notifier":  "writes the sequences of the package alert",
		"ui/cli/mcp.go serveMCP":         "hands standard output to ui/mcp, which escapes each message",
	}
	prints := []string{"OutOrStdout", "OutOrStderr", "ErrOrStderr", "Print", "Println", "Printf", "PrintErr", "PrintErrln", "PrintErrf"}
	used := map[string]bool{}
	eachGoFile(t, func(path string, raw []byte) {
		room, _, _ := strings.Cut(path, "/")
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, ".") || strings.Contains(path, "testdata/") || room == "internal" {
			return
		}
		place, end := path, token.NoPos
		eachNode(t, path, raw, func(n ast.Node) bool {
			writer := ""
			if n != nil && n.Pos() >= end {
				place = path
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				place, end = path+" "+n.Name.Name, n.End()
			case *ast.SelectorExpr:
				pkg, _ := n.X.(*ast.Ident)
				in := func(name string) bool { return pkg != nil && pkg.Name == name }
				stream, cli := n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr", strings.HasPrefix(path, "ui/cli/")
				if stream && (in("os") || cli) || slices.Contains(prints, n.Sel.Name) && (in("fmt") || in("log") || in("cmd") || cli) || in("log") && strings.HasPrefix(n.Sel.Name, "Fatal") {
					writer = n.Sel.Name
				}
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
					writer = name.Name
				}
			}
			if used[place] = used[place] || writer != ""; writer != "" && mayUseStreams[place] == "" {
				t.Errorf("%s uses %s: write by ui/cli/output.go", place, writer)
			}
			return true
		})
	})
	for place := range mayUseStreams {
		if !used[place] {
			t.Errorf("%s does not use the streams any more", place)
		}
	}
}

// eachGoFile calls f with every Go file of the repository, by its slash path.
func eachGoFile(t *testing.T, f func(path string, raw []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			f(filepath.ToSlash(path), raw)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoGoFileIsOverSevenHundredLines(t *testing.T) {
	eachGoFile(t, func(path string, raw []byte) {
		lines := 0
		for sc := bufio.NewScanner(bytes.NewReader(raw)); sc.Scan(); {
			lines++
		}
		if lines > 700 {
			t.Errorf("%s has %d lines: split it by what it is about", path, lines)
		}
	})
}

func TestTheTopFolderHoldsNothingElse(t *testing.T) {
	want := []string{
		"LICENSE", "README.md", "docs", "go.mod", "go.sum", "internal", "keystore", "main.go", "model", "service", "testdata", "ui",
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "_test.go") || name == "zonedeck" || name == "zonedeck.exe" {
			continue
		}
		if !slices.Contains(want, name) {
			t.Errorf("%s is at the top of the repository; move it below one of %v", name, want)
		}
	}
}
