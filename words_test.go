package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// retired are the words that one word of the glossary has taken the place of: the tab History, the commands
// compare, diagnose URL, jobs launch and jobs settle. The old commands go on working; no page teaches them.
var retired = regexp.MustCompile(`\bActivity\b|zonedeck (?:twin|split|proxy matrix|jobs (?:trigger|resolve))\b`)

func TestThePagesUseTheWordsOfTheGlossary(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		noerr.Must(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if word := retired.FindString(line); word != "" {
				t.Errorf("%s:%d says %q", page, i+1, word)
			}
		}
	}
}

// vague are names that say nothing of the thing that they name.
var vague = strings.Fields("apart gone kept left lists lost mine of own others seen shown told took who whose why")

// vagueNames is how many functions, types and fields still have one: lower it with each that gets its own
// name, and never raise it.
const vagueNames = 6

func TestNoDeclarationGetsAVagueName(t *testing.T) {
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
			}
			return true
		})
	})
	if found > vagueNames {
		t.Errorf("%d declarations have a name that says nothing, %d is the most: name the thing in the words of the field", found, vagueNames)
	}
}
