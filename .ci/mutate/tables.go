package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// findRows gives the mutants of the tables of a Go source, which are the lists and maps of its top-level variables: one
// without each row, and one with another letter in the row's first text.
func findRows(pkg, file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{pkg: pkg, file: file, src: src, at: fset.File(tree.Pos()), fn: "-"}
	for _, d := range tree.Decls {
		if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
			ast.Inspect(vars, func(n ast.Node) bool {
				_, inside := n.(*ast.FuncLit)
				if list, ok := n.(*ast.CompositeLit); ok {
					f.rows(list)
				}
				return !inside
			})
		}
	}
	return f.found, nil
}

func (f *finder) rows(list *ast.CompositeLit) {
	switch list.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
	default:
		return
	}
	for i, row := range list.Elts {
		end := list.Rbrace
		if i+1 < len(list.Elts) {
			end = list.Elts[i+1].Pos()
		}
		f.add(row.Pos(), end, "")
		if _, word := row.(*ast.BasicLit); word { // another word is no word
			continue
		}
		first := true
		ast.Inspect(row, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && text.Kind == token.STRING && first {
				if said, err := strconv.Unquote(text.Value); err == nil && said != "" {
					f.add(text.Pos(), text.End(), strconv.Quote(misspelt(said)))
					first = false
				}
			}
			return first
		})
	}
}

// findLines gives the mutants of a table of lines with cells between tabs: one without each row, and one for each cell with
// another value. A cell of several texts, with " | " between them, has one that is misspelt.
func findLines(pkg, file string, src []byte) []mutant {
	cells := map[int]map[string]string{} // by column: the value that takes a value's place
	each := func(on func(at int, line string, columns []string)) {
		at := 0
		for line := range strings.Lines(string(src)) {
			if columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(columns) > 1 && !strings.HasPrefix(line, "#") {
				on(at, line, columns)
			}
			at += len(line)
		}
	}
	before := map[int]string{}
	each(func(_ int, _ string, columns []string) {
		for i, cell := range columns {
			if cells[i] == nil {
				cells[i] = map[string]string{}
			}
			if cells[i][cell] == "" && cell != before[i] {
				cells[i][cell], before[i] = before[i], cell
			}
		}
	})
	var found []mutant
	each(func(at int, line string, columns []string) {
		add := func(from, size int, text string) {
			m := mutant{pkg: pkg, file: file, fn: "-", line: bytes.Count(src[:at], []byte("\n")) + 1, col: 1, start: at + from, end: at + from + size, text: text}
			m.before, m.after = squeeze(line), squeeze(line[:from]+text+line[from+size:])
			if m.after == "" {
				m.after = "(dropped)"
			}
			found = append(found, m)
		}
		add(0, len(line), "")
		from := 0
		for i, cell := range columns {
			if texts := strings.Split(cell, " | "); i == len(columns)-1 {
				n := bytes.Count(src[:at], []byte("\n")) % len(texts)
				start := from + len(strings.Join(texts[:n], " | "))
				if n > 0 {
					start += len(" | ")
				}
				add(start, len(texts[n]), misspelt(texts[n]))
			} else if instead := cells[i][cell]; instead != "" {
				add(from, len(cell), instead)
			}
			from += len(cell) + 1
		}
	})
	return found
}

// misspelt is a text with another letter in its middle.
func misspelt(text string) string {
	letters := []rune(text)
	letters[len(letters)/2]++
	return string(letters)
}
