package ui_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// keyWord is a key that a sentence names: a chord, or a letter that does something.
var keyWord = regexp.MustCompile(`(ctrl|alt)\+[a-z0-9]|(^|[ (;:,·])([b-zA-Z@/?:|]|[fF]\d+) (again |then |and |to |in [A-Z][a-z]+ )?[a-z]+s\b|\bwith [b-zA-Z@]( |$)|\b[Pp]ress [a-zA-Z@/?] |, then [a-z]\b`)

// fixedKeys are sentences that look as if they named a key that may be rebound, and do not: keys of menus and of
// forms are the same for everybody, and others are words.
var fixedKeys = []string{
	", then e", ", then e)", ", then e, corrects it and launches it again.", // a line of the menu
	"End editing: letters and digits are keys then, until enter or i edits again.",
	"E expires · R rotation due", // the legend of the calendar
}

// TestSentencesTakeTheirKeysFromActions reads the sentences of the console: an operator may rebind the key that one
// names, so that it has to come from Theme.Key.
func TestSentencesTakeTheirKeysFromActions(t *testing.T) {
	used := map[string]bool{}
	noerr.Must(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"cli", "mcp", "uitest", "whole"}, path):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			sentence, _ := strconv.Unquote(lit.Value)
			switch key := keyWord.FindString(sentence); {
			case key == "" || !strings.Contains(sentence, " "):
			case slices.Contains(fixedKeys, sentence):
				used[sentence] = true
			default:
				t.Errorf("%s: %q names the key %q: take it from Theme.Key by the name of its action", files.Position(lit.Pos()), sentence, strings.TrimSpace(key))
			}
			return true
		})
		return nil
	}))
	for _, s := range fixedKeys {
		if !used[s] {
			t.Errorf("no sentence is %q any more", s)
		}
	}
}
