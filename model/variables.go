package model

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A text of a request may hold variables, written {{name}}. One pair of braces more on
// both sides writes the braces themselves: {{{{name}}}} is the text {{name}}.
var variable = Pattern(`(\{{2,})([A-Za-z_][A-Za-z0-9_]*)(\}{2,})`)

// Variables are the names of the variables of a text, in their order, each once.
func Variables(text string) []string {
	var names []string
	ExpandVariables(text, func(name string) string {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return ""
	})
	return names
}

// ExpandVariables puts value(name) in the place of each variable of a text.
func ExpandVariables(text string, value func(name string) string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return variable().ReplaceAllStringFunc(text, func(found string) string {
		open, name, closing := braced(found)
		if min(open, closing)/2 > 1 {
			return found[2 : len(found)-2]
		}
		return found[2:open] + value(name) + found[open+len(name)+2:]
	})
}

// braced takes what variable matches apart: how many braces are before the name, and behind it.
func braced(found string) (open int, name string, closing int) {
	name = strings.TrimLeft(found, "{")
	open = len(found) - len(name)
	name = strings.TrimRight(name, "}")
	return open, name, len(found) - open - len(name)
}

// WithoutVariables is the text that ExpandVariables makes the given text of, whatever the
// values: what looks like a variable in it is none.
func WithoutVariables(text string) string {
	return variable().ReplaceAllString(text, "{{${1}${2}${3}}}")
}

// VariableName reports whether a variable can have this name.
func VariableName(s string) bool {
	return slices.Equal(Variables("{{"+s+"}}"), []string{s})
}

// OnlyVariable reports whether the value of a header is a variable, perhaps after the word
// for its scheme: "Bearer {{token}}".
func OnlyVariable(value string) bool {
	if scheme, rest, ok := strings.Cut(value, " "); ok && len(scheme) <= 12 && ValidToken(scheme) {
		value = rest
	}
	inner, begins := strings.CutPrefix(value, "{{")
	inner, ends := strings.CutSuffix(inner, "}}")
	return begins && ends && VariableName(inner)
}

// MapTexts is the request with f applied to each of its texts that may hold variables. The
// first argument of f is the field as FieldProblem names it.
func (r FetchRequest) MapTexts(f func(field, text string) string) FetchRequest {
	r.Zone.Name = ZoneName(f("zone", string(r.Zone.Name)))
	r.URL, r.Method, r.Body = f("url", r.URL), f("method", r.Method), f("body", r.Body)
	r.Country, r.Session = f("country", r.Country), f("session", r.Session)
	r.Tool, r.Args = f("tool", r.Tool), f("args", r.Args)
	for _, o := range options {
		at := r.Options.at(o.Name)
		*at = f(o.Name, *at)
	}
	if r.Header == nil {
		return r
	}
	header := make(http.Header, len(r.Header))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		values := slices.Clone(r.Header[name])
		for i := range values {
			values[i] = f("headers", values[i])
		}
		header[name] = values
	}
	r.Header = header
	return r
}

// Variables are the names of the variables of a request whose texts may hold some.
func (r FetchRequest) Variables() []string {
	var all []string
	r.MapTexts(func(_, text string) string {
		for _, name := range Variables(text) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		return text
	})
	return all
}

// Variable is what a variable stands for: a value, or a reference to one that is a secret.
type Variable struct {
	Value string
	// Ref is a reference to a secret ("env:NAME", "keyring:…"); Value is empty then.
	Ref string
	// Refused says why it is not put in; it has neither Value nor Ref then.
	Refused string
}

// Resolve puts the values of variables into a request whose texts may hold some. Secrets are
// not put in: they stay variables, and Secrets has their references, which are resolved when
// the request is written. The problems name the fields with variables that find does not
// know, or with a secret where none can stand: one goes into URL, headers and body alone.
func (r FetchRequest) Resolve(find func(name string) (Variable, bool)) (FetchRequest, []FieldProblem) {
	var ps problems
	secrets := map[string]string{}
	seen := map[[2]string]bool{}
	r.MapTexts(func(field, text string) string {
		for _, name := range Variables(text) {
			v, ok := find(name)
			key := [2]string{field, name}
			switch {
			case seen[key]:
			case !ok:
				ps.add(field, &UnknownVariableError{Name: name})
			case v.Refused != "":
				ps.add(field, fmt.Errorf("{{%s}}: %s", name, v.Refused))
			case v.Ref != "" && !slices.Contains([]string{"url", "headers", "body"}, field):
				ps.add(field, &secretVariableError{Name: name})
			case v.Ref != "":
				secrets[name] = v.Ref
			}
			seen[key] = true
		}
		return text
	})
	keep := func(text string) string { return text }
	if len(secrets) > 0 { // the texts stay such that hold variables
		keep = WithoutVariables
	}
	out := r.MapTexts(func(_, text string) string {
		if len(secrets) > 0 {
			text = raised(text)
		}
		return ExpandVariables(text, func(name string) string {
			v, ok := find(name)
			if !ok || v.Ref != "" || v.Refused != "" {
				return "{{" + name + "}}"
			}
			return keep(v.Value)
		})
	})
	out.Secrets = nil
	if len(secrets) > 0 {
		out.Secrets = secrets
	}
	return out, ps
}

// raised is a text whose written braces survive one ExpandVariables.
func raised(text string) string {
	return variable().ReplaceAllStringFunc(text, func(found string) string {
		if open, _, closing := braced(found); min(open, closing)/2 > 1 {
			return "{{" + found + "}}"
		}
		return found
	})
}

// Reveal is a request as it is written: value gives the secrets for its variables.
func (r FetchRequest) Reveal(value func(name string) string) FetchRequest {
	if len(r.Secrets) == 0 {
		return r
	}
	r = r.MapTexts(func(_, text string) string { return ExpandVariables(text, value) })
	r.Secrets = nil
	return r
}

// VariableField is the field that a variable stands in, as FieldProblem names it.
func (r FetchRequest) VariableField(name string) string {
	found := "url"
	r.MapTexts(func(field, text string) string {
		if slices.Contains(Variables(text), name) {
			found = field
		}
		return text
	})
	return found
}

// Template is the request as text with variables: one that holds none is written such that
// nothing in it is taken for one.
func (r FetchRequest) Template() FetchRequest {
	if len(r.Secrets) > 0 {
		return r
	}
	return r.MapTexts(func(_, text string) string { return WithoutVariables(text) })
}

// UnknownVariableError says that a variable has no value.
type UnknownVariableError struct{ Name string }

func (e *UnknownVariableError) Error() string { return "{{" + e.Name + "}} has no value" }

// secretVariableError says that a variable holds a secret where none can stand.
type secretVariableError struct{ Name string }

func (e *secretVariableError) Error() string {
	return "{{" + e.Name + "}} holds a secret, which can stand in the URL, in headers and in the body alone"
}
