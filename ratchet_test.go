package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// functionFields is how many struct fields hold functions, outside the emulator and the contract of the
// views. A dependency is an interface that is handed over, not a function that climbs back to its owner:
// lower the figure with every field that goes, and never raise it.
const functionFields = 134

func TestNoStructGainsAFieldOfFunctionType(t *testing.T) {
	named := map[string]bool{} // types of the module that are functions
	var structs []*ast.StructType
	eachGoFile(t, func(path string, raw []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		counted := !strings.HasPrefix(path, "service/emulator/") && !strings.HasPrefix(path, "ui/kit/")
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, ok := spec.Type.(*ast.FuncType); ok {
				named[spec.Name.Name] = true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && counted {
				structs = append(structs, s)
			}
			return true
		})
	})
	found := 0
	for _, s := range structs {
		for _, field := range s.Fields.List {
			if holdsFunctions(field.Type, named) {
				found += max(1, len(field.Names))
			}
		}
	}
	if found > functionFields {
		t.Errorf("%d fields hold functions, %d is the most: declare a small interface instead", found, functionFields)
	}
	t.Logf("%d fields hold functions", found)
}

// holdsFunctions reports whether a field of this type holds a function, a slice or a map of them.
func holdsFunctions(field ast.Expr, named map[string]bool) bool {
	switch field := field.(type) {
	case *ast.FuncType:
		return true
	case *ast.ArrayType:
		return holdsFunctions(field.Elt, named)
	case *ast.MapType:
		return holdsFunctions(field.Value, named)
	case *ast.StarExpr:
		return holdsFunctions(field.X, named)
	case *ast.Ident:
		return named[field.Name]
	case *ast.SelectorExpr:
		return named[field.Sel.Name]
	default:
		return false
	}
}
