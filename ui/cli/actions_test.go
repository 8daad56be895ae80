package cli

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/ui/kit"
)

// actionsFile is the table of actions that [bindings] is checked against. The walk writes it, too.
var actionsFile = filepath.Join("..", "..", "service", "config", "actions.tsv")

// offered is an action as the walk saw it.
type offered struct {
	keys   []string
	typing bool
	beside map[string]bool // the places whose actions were offered with it
}

// together adds bindings that are offered at the same time.
func (r *reference) together(bindings []kit.Binding) {
	for _, b := range bindings {
		switch same := slices.IndexFunc(bindings, func(o kit.Binding) bool { return o.Name == b.Name }); {
		case len(b.Keys) == 0 || b.Help == "": // a command of the palette, a line of a menu
			continue
		case b.Name == "":
			r.mistakes["the binding "+b.Label+" ("+b.Help+") has no name"] = true
			continue
		case bindings[same].Help != b.Help: // the arrows and the letters of a form are two bindings
			r.mistakes["two bindings at once are named "+b.Name] = true
		}
		a := r.actions[b.Name]
		if a == nil {
			a = &offered{beside: map[string]bool{}}
			r.actions[b.Name] = a
		}
		for _, k := range b.Keys {
			if !slices.Contains(a.keys, k) {
				a.keys = append(a.keys, k)
			}
		}
		a.typing = a.typing || b.WhileTyping
		for _, o := range bindings {
			if place, _, named := strings.Cut(o.Name, "."); named && len(o.Keys) > 0 {
				a.beside[place] = true
			}
		}
	}
}

// table is the file of actions.
func (r *reference) table() string {
	var out strings.Builder
	for _, name := range sorted(r.actions) {
		a, typing := r.actions[name], ""
		if a.typing {
			typing = "typing"
		}
		out.WriteString(strings.Join([]string{name, strings.Join(a.keys, " "), typing, strings.Join(sorted(a.beside), " ")}, "\t") + "\n")
	}
	return out.String()
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// unwalked are actions that the walk does not bring about, each with one that is offered where it is.
var unwalked = []struct {
	name, like string
	keys       []string
}{
	{"account.stop", "account.ask", []string{"esc"}},
	{"launch.preview", "launch.data-sets", []string{"ctrl+l"}},
	{"rotation.uses", "rotation.continue", []string{"enter"}},
	{kit.StepName(model.ActionDialect), "steps.check-network", []string{kit.StepKey(model.ActionDialect)}},
	{kit.StepName(model.ActionFixRequest), "steps.check-zone", []string{kit.StepKey(model.ActionFixRequest)}},
	{kit.StepName(model.ActionTrustCA), "steps.check-login", []string{kit.StepKey(model.ActionTrustCA)}},
}

// checkActions compares the table of actions with what the walk saw, or writes it. A name that
// goes is a mistake even then: operators have it in their config.toml.
func checkActions(t *testing.T, ref *reference) {
	t.Helper()
	for _, u := range unwalked {
		if ref.actions[u.name] != nil || ref.actions[u.like] == nil {
			t.Errorf("%s was seen, or %s was not", u.name, u.like)
			return
		}
		as := *ref.actions[u.like]
		as.keys = u.keys
		ref.actions[u.name] = &as
	}
	for _, m := range sorted(ref.mistakes) {
		t.Error(m)
	}
	was, err := os.ReadFile(actionsFile)
	noerr.Must(t, err)
	for line := range strings.Lines(string(was)) {
		if name, _, _ := strings.Cut(line, "\t"); ref.actions[name] == nil {
			t.Errorf("the action %s is no longer there. Operators may have it in [bindings]: keep the name, or take its line out of %s by hand", name, actionsFile)
		}
	}
	got := ref.table()
	switch {
	case t.Failed():
	case flag.Lookup("update").Value.String() == "true":
		noerr.Must(t, os.WriteFile(actionsFile, []byte(got), 0o644))
	case got != string(was):
		t.Errorf("service/config/actions.tsv is stale; go test ./ui/cli -run TestKeyReference -update writes it anew. %s", firstDifference(string(was), got))
	}
}

// Every name in the source is in the table: the walk has seen each action, and a sentence names
// none that is not there.
func TestEveryNamedActionIsInTheTable(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile(actionsFile)
	noerr.Must(t, err)
	names := 0
	name := func(file string, e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		s, err := strconv.Unquote(lit.Value)
		noerr.Must(t, err)
		if names++; !strings.Contains("\n"+string(table), "\n"+s+"\t") {
			t.Errorf("%s names the action %s, which is not in %s", file, s, actionsFile)
		}
	}
	noerr.Must(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join("..", "cli")) {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		noerr.Must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				named, keys := ast.Expr(nil), false
				for _, el := range n.Elts {
					if kv, ok := el.(*ast.KeyValueExpr); ok {
						field, _ := kv.Key.(*ast.Ident)
						if field != nil && field.Name == "Name" {
							named = kv.Value
						}
						keys = keys || field != nil && field.Name == "Keys"
					}
				}
				if keys && named != nil {
					name(path, named)
				}
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Key" && len(n.Args) == 1 {
					name(path, n.Args[0])
				}
			}
			return true
		})
		return nil
	}))
	if names < 200 {
		t.Errorf("%d names were found in the source", names)
	}
}
