package main

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

// retired are the words that one word of the glossary has taken the place of: the tab History, and names of commands.
// Of those, twin and jobs trigger go on working; no page teaches them.
var retired = regexp.MustCompile(`\bActivity\b|zonedeck (?:twin|split|proxy (?:matrix|password)|keys snippet|batch schedule|` +
	`saved delete|emulator reset|jobs (?:trigger|resolve|unit|datasets))\b`)

// Pages are the documents and every screen that a test draws.
func TestThePagesUseTheWordsOfTheGlossary(t *testing.T) {
	pages := 0
	noerr.Must(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path != "README.md" && filepath.Ext(path) != ".golden" && filepath.Dir(path) != "docs" || filepath.Ext(path) == "" {
			return err
		}
		pages++
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if word := retired.FindString(line); word != "" {
				t.Errorf("%s:%d says %q", path, i+1, word)
			}
		}
		return err
	}))
	if pages < 100 {
		t.Error("only", pages, "pages were read")
	}
}

// retiredNames are the parts of names that the glossary has retired: webhook, history, comparison,
// rotate, and other account stand in their place. The emulator speaks the service's words, and net/http has hooks.
var retiredNames = regexp.MustCompile(`(?:^|[^bB])(?:Hook|hook)(?:[^s]|s.|$)|[Aa]ctivit[iy]|[Tt]win|Regenerat|[Ee]lsewhere`)

// vague are names that say nothing of the thing that they name.
var vague = strings.Fields("apart aside beside came elsewhere goes gone heard kept lately left lists lost meant mine most near of " +
	"own others seen shown that these this those told took twice went who whose why")

// vagueNames is how many functions, types and fields still have one: lower it with each that gets its own
// name, and never raise it.
const vagueNames = 3

func TestNoDeclarationGetsAVagueOrRetiredName(t *testing.T) {
	found := 0
	eachGoFile(t, func(path string, raw []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		count := func(names ...*ast.Ident) {
			for _, name := range names {
				if word := retiredNames.FindString(name.Name); word != "" && !strings.HasPrefix(path, "service/emulator") {
					t.Errorf("%s: %s has %q, a retired word", set.Position(name.Pos()), name.Name, word)
				}
				if slices.Contains(vague, strings.ToLower(name.Name)) {
					found++
					t.Logf("%s: %s", set.Position(name.Pos()), name.Name)
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				count(n.Name)
			case *ast.TypeSpec:
				count(n.Name)
			case *ast.StructType:
				for _, field := range n.Fields.List {
					count(field.Names...)
				}
			case *ast.InterfaceType:
				for _, method := range n.Methods.List {
					count(method.Names...)
				}
			}
			return true
		})
	})
	if found > vagueNames {
		t.Errorf("%d declarations have a name that says nothing, %d is the most: name the thing in the words of the field", found, vagueNames)
	}
}
