package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutant is one mistake: bytes start to end of a file replaced by text.
type mutant struct {
	pkg, file  string // import path; path from the top of the repository
	fn         string // the function it is in; "-" outside of any
	line, col  int
	start, end int
	text       string
	// The line before and after, for people and for equivalent.txt.
	before, after string
}

// String is the mutant in the form of equivalent.txt.
func (m mutant) String() string {
	return fmt.Sprintf("%s %s\n- %s\n+ %s", m.file, m.fn, m.before, m.after)
}

// other maps an operator to those that take its place.
var other = map[token.Token][]token.Token{
	token.LSS:  {token.LEQ, token.GEQ},
	token.LEQ:  {token.LSS, token.GTR},
	token.GTR:  {token.GEQ, token.LEQ},
	token.GEQ:  {token.GTR, token.LSS},
	token.EQL:  {token.NEQ},
	token.NEQ:  {token.EQL},
	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},
	token.ADD:  {token.SUB},
	token.SUB:  {token.ADD},
	token.MUL:  {token.QUO},
	token.QUO:  {token.MUL},
}

// finder collects the mutants of a file.
type finder struct {
	pkg, file string
	src       []byte
	at        *token.File
	found     []mutant
	fn        string
	results   []*ast.FuncType // of the functions around, the innermost last
	choices   map[ast.Node]bool
}

// findMutants gives every mutant of a source, in the order of its text.
func findMutants(pkg, file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{pkg: pkg, file: file, src: src, at: fset.File(tree.Pos()), choices: map[ast.Node]bool{}}
	for _, d := range tree.Decls {
		f.fn = "-"
		if fd, ok := d.(*ast.FuncDecl); ok {
			f.fn = nameOf(fd)
		}
		if gd, ok := d.(*ast.GenDecl); ok && gd.Tok == token.IMPORT {
			continue
		}
		f.walk(d)
	}
	return f.found, nil
}

// nameOf is Type.Method or Func.
func nameOf(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 {
		return fd.Name.Name
	}
	t := fd.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fd.Name.Name
	}
	return fd.Name.Name
}

// walk visits a node and what is in it.
func (f *finder) walk(root ast.Node) {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			if isFunc(stack[len(stack)-1]) {
				f.results = f.results[:len(f.results)-1]
			}
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.results = append(f.results, n.Type)
		case *ast.FuncLit:
			f.results = append(f.results, n.Type)
		}
		f.visit(n)
		return true
	})
}

func isFunc(n ast.Node) bool {
	switch n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n.Pos(), n.X.Pos(), "")
		}
	case *ast.BasicLit:
		f.number(n)
	case *ast.CallExpr:
		// A capacity is a choice.
		if isIdent(n.Fun, "make") && len(n.Args) == 3 {
			f.choice(n.Args[2])
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
		if n.Else != nil {
			f.add(n.Body.End(), n.Else.End(), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.add(n.Cond.Pos(), n.Cond.End(), "false && ("+f.text(n.Cond)+")")
		}
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.ReturnStmt:
		f.result(n)
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if n.Op == token.SHL || isDuration(n.X) || isDuration(n.Y) {
		f.choice(n)
		return
	}
	if n.Op == token.ADD && (isText(n.X) || isText(n.Y)) {
		return
	}
	for _, op := range other[n.Op] {
		f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
	}
}

func isDuration(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

func isText(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(x.X) || isText(x.Y)
	}
	return false
}

// choice marks the numbers of an expression as not to be mutated.
func (f *finder) choice(x ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			f.choices[lit] = true
		}
		return true
	})
}

func (f *finder) number(lit *ast.BasicLit) {
	if lit.Kind != token.INT || f.choices[lit] {
		return
	}
	v, err := strconv.ParseInt(lit.Value, 0, 64)
	if err != nil || v >= 1000 {
		return
	}
	f.add(lit.Pos(), lit.End(), strconv.FormatInt(v+1, 10))
	if v > 0 {
		f.add(lit.Pos(), lit.End(), strconv.FormatInt(v-1, 10))
	}
}

// condition negates a condition, and makes one that never holds.
func (f *finder) condition(x ast.Expr) {
	if b, ok := x.(*ast.BinaryExpr); !ok || b.Op != token.EQL && b.Op != token.NEQ {
		// Else the other operator says the same.
		f.add(x.Pos(), x.End(), "!("+f.text(x)+")")
	}
	f.add(x.Pos(), x.End(), "false && ("+f.text(x)+")")
}

// statements drops each statement that can be dropped.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.BranchStmt:
			f.add(s.Pos(), s.End(), "")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.add(s.Pos(), s.End(), "")
			}
		}
	}
}

// result changes one result of a return.
func (f *finder) result(n *ast.ReturnStmt) {
	fields := f.results[len(f.results)-1].Results
	if fields == nil || fields.NumFields() != len(n.Results) {
		return
	}
	failed := isIdent(fields.List[len(fields.List)-1].Type, "error") && !isIdent(n.Results[len(n.Results)-1], "nil")
	i := 0
	for _, field := range fields.List {
		for range max(len(field.Names), 1) {
			x := n.Results[i]
			i++
			if failed && isPlaceholder(x) {
				f.choice(x)
				continue
			}
			if text, ok := otherResult(field.Type, f.text(x)); ok {
				f.add(x.Pos(), x.End(), text)
			}
		}
	}
}

// isPlaceholder says whether x is what a function returns beside an error.
func isPlaceholder(x ast.Expr) bool {
	_, literal := x.(*ast.BasicLit)
	return literal || isIdent(x, "false")
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// otherResult is what is returned instead of was.
func otherResult(t ast.Expr, was string) (text string, ok bool) {
	switch t := t.(type) {
	case *ast.Ident:
		switch t.Name {
		case "bool":
			switch was {
			case "true":
				return "false", true
			case "false":
				return "true", true
			}
			return "!(" + was + ")", true
		case "error":
			return "nil", was != "nil"
		case "string":
			return `""`, was != `""`
		case "int", "int64":
			return "0", was != "0"
		}
	case *ast.StarExpr, *ast.ArrayType, *ast.MapType, *ast.FuncType:
		return "nil", was != "nil"
	}
	return "", false
}

func (f *finder) text(n ast.Node) string {
	return string(f.src[f.at.Offset(n.Pos()):f.at.Offset(n.End())])
}

// add notes the mutant in which from to to reads text.
func (f *finder) add(from, to token.Pos, text string) {
	m := mutant{pkg: f.pkg, file: f.file, fn: f.fn, start: f.at.Offset(from), end: f.at.Offset(to), text: text}
	p := f.at.Position(from)
	m.line, m.col = p.Line, p.Column
	first := strings.LastIndexByte(string(f.src[:m.start]), '\n') + 1
	last := len(f.src)
	if i := strings.IndexByte(string(f.src[m.end:]), '\n'); i >= 0 {
		last = m.end + i
	}
	m.before = squeeze(string(f.src[first:last]))
	m.after = squeeze(string(f.src[first:m.start]) + text + string(f.src[m.end:last]))
	if m.after == "" {
		m.after = "(dropped)"
	}
	f.found = append(f.found, m)
}

// squeeze writes a text of one or more lines as one.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
