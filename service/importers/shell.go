package importers

import (
	"encoding/base64"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// In a text that the shell reading gives, an environment variable is its name between two
// noncharacters of Unicode, which no text has. What stands between two variables of the name
// "base64 " is written in base64: that is how a login stands in a header.
const (
	markEnv    = "\uFDD0"
	markBase64 = markEnv + "base64 " + markEnv
)

// command is one curl command as a shell runs it.
type command struct {
	args []string
	// stdin is what it reads on its standard input, where that can be known.
	stdin    string
	hasStdin bool
}

// reading is a script while it is read.
type reading struct{ out *Imported }

// config is how words are expanded; one that is in use cannot be used for what stands in it.
func (r *reading) config() *expand.Config {
	return &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			if name == "IFS" {
				return ""
			}
			return markEnv + name + markEnv
		}),
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			if len(c.Stmts) != 1 {
				return refuse("a command substitution is not run")
			}
			text, err := r.printed(c.Stmts[0])
			if err == nil {
				_, err = io.WriteString(w, text)
			}
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", refuse("a process substitution is not run") },
	}
}

// readShell finds the curl command of a script. Nothing is run: variables stay names, and
// command substitutions are refused, but for those that only print and encode.
func readShell(text string, out *Imported) (command, error) {
	if strings.ContainsAny(text, "\x00"+markEnv) {
		return command{}, refuse("it holds control characters")
	}
	if deep(text) {
		return command{}, refuse("it is nested too deeply")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return command{}, refuse("%s", shellFault(err))
	}
	r := reading{out: out}
	var found *command
	for _, stmt := range file.Stmts {
		c, is, err := r.statement(stmt)
		switch {
		case err != nil:
			return command{}, err
		case !is:
		case found != nil:
			out.left("only the first curl command was read; there are more")
		default:
			found = &c
		}
	}
	if found == nil {
		return command{}, refuse("there is no curl command in it")
	}
	return *found, nil
}

// maxDepth bounds the nesting of what the shell's parser reads, which it does by recursion.
const maxDepth = 200

// deep reports whether a text may be nested deeper than a shell command of a person is.
func deep(text string) bool {
	n := strings.Count(text, "$(") + strings.Count(text, "`") + strings.Count(text, "${") + strings.Count(text, "<(")
	if n > maxDepth {
		return true
	}
	// Outside of words parentheses and braces open a level each; inside of them they cost nothing.
	run := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '!':
			if run++; run > maxDepth {
				return true
			}
		case ' ', '\t', '\n', ';':
		default:
			run = 0
		}
	}
	return false
}

// shellFault is why a shell cannot read it, without the text itself.
func shellFault(err error) string {
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		if pe.Incomplete {
			return "a quote or a bracket is not closed"
		}
		return "a shell could not read it at " + pe.Pos.String()
	}
	return "a shell could not read it"
}

// statement gives the curl command of a statement, if it has one.
func (r *reading) statement(s *syntax.Stmt) (command, bool, error) {
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(x.Args) == 0 {
			r.assigned(x.Assigns)
			return command{}, false, nil
		}
		return r.call(s, x)
	case *syntax.DeclClause:
		r.assigned(x.Args)
		return command{}, false, nil
	case *syntax.BinaryCmd:
		return r.binary(x)
	case *syntax.TimeClause:
		if x.Stmt != nil {
			return r.statement(x.Stmt)
		}
	case *syntax.Block:
		if len(x.Stmts) == 1 {
			return r.statement(x.Stmts[0])
		}
	case *syntax.Subshell:
		if len(x.Stmts) == 1 {
			return r.statement(x.Stmts[0])
		}
	}
	r.out.left("a statement of the shell was not read")
	return command{}, false, nil
}

func (r *reading) assigned(as []*syntax.Assign) {
	for _, a := range as {
		if a.Name != nil && a.Value != nil {
			r.out.replaced("the value that it gives the variable %s was not read", a.Name.Value)
		}
	}
}

// binary reads "a | b", "a && b" and "a || b".
func (r *reading) binary(x *syntax.BinaryCmd) (command, bool, error) {
	pipe := x.Op == syntax.Pipe || x.Op == syntax.PipeAll
	right, is, err := r.statement(x.Y)
	if err != nil {
		return command{}, false, err
	}
	if is && pipe && !right.hasStdin {
		if right.stdin, err = r.printed(x.X); err != nil {
			r.out.left("what the pipe gives curl is not known: %s is not run", program(x.X))
		}
		right.hasStdin = err == nil
		return right, true, nil
	}
	left, isLeft, err := r.statement(x.X)
	switch {
	case err != nil:
		return command{}, false, err
	case isLeft && is:
		r.out.left("only the first curl command was read; there are more")
	case isLeft:
		r.out.left("%s after the command was not read", program(x.Y))
	case is:
		return right, true, nil
	}
	return left, isLeft, nil
}

// program is the name of what a statement runs, if it is a plain word.
func program(s *syntax.Stmt) string {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		if name := c.Args[0].Lit(); name != "" && len(name) <= 40 {
			return path.Base(name)
		}
	}
	return "a command"
}

// call reads a simple command.
func (r *reading) call(s *syntax.Stmt, x *syntax.CallExpr) (command, bool, error) {
	name := path.Base(x.Args[0].Lit())
	if name == "$" && len(x.Args) > 1 { // the prompt was copied, too
		x = &syntax.CallExpr{Assigns: x.Assigns, Args: x.Args[1:]}
		name = path.Base(x.Args[0].Lit())
	}
	if name == ":" { // it does nothing
		return command{}, false, nil
	}
	if name != "curl" && name != "curl.exe" {
		r.out.left("%s was not read", program(s))
		return command{}, false, nil
	}
	r.assigned(x.Assigns)
	var c command
	for _, w := range x.Args[1:] {
		if err := plain(w, nil); err != nil {
			return command{}, false, err
		}
	}
	args, err := expand.Fields(r.config(), x.Args[1:]...)
	if err != nil {
		return command{}, false, expansion(err)
	}
	c.args = args
	for _, red := range s.Redirs {
		if err := r.redirected(red, &c); err != nil {
			return command{}, false, err
		}
	}
	return c, true, nil
}

// redirected reads a redirection: a here-string or a here-document is standard input.
func (r *reading) redirected(red *syntax.Redirect, c *command) error {
	var err error
	switch red.Op {
	case syntax.WordHdoc:
		if err = plain(red.Word, red.Word); err != nil {
			return err
		}
		c.stdin, err = expand.Literal(r.config(), red.Word)
		c.stdin, c.hasStdin = c.stdin+"\n", true
	case syntax.Hdoc, syntax.DashHdoc:
		if red.Hdoc == nil {
			c.hasStdin = true
			return nil
		}
		if err = plain(red.Hdoc, red.Hdoc); err != nil {
			return err
		}
		c.stdin, err = r.document(red)
		c.hasStdin = true
	case syntax.RdrIn:
		r.out.left("the file on standard input was not read")
	default:
		r.out.left("where the shell writes the output was not read")
	}
	if err != nil {
		return expansion(err)
	}
	return nil
}

// document is the text of a here-document: as it stands if its delimiter is quoted.
func (r *reading) document(red *syntax.Redirect) (string, error) {
	quoted := strings.Contains(red.Word.Lit(), `\`)
	for _, part := range red.Word.Parts {
		if _, bare := part.(*syntax.Lit); !bare {
			quoted = true
		}
	}
	if quoted {
		return red.Hdoc.Lit(), nil
	}
	return expand.Document(r.config(), red.Hdoc)
}

// plain refuses expansions whose value depends on more than the value of one variable. In a
// document braces mean nothing.
func plain(n, document syntax.Node) error {
	var err error
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Word:
			if x != document {
				err = unbraced(x)
			}
		case *syntax.ParamExp:
			name := ""
			if x.Param != nil {
				name = x.Param.Value
			}
			alike := x.Exp == nil || x.Exp.Op == syntax.DefaultUnset || x.Exp.Op == syntax.DefaultUnsetOrNull ||
				x.Exp.Op == syntax.ErrorUnset || x.Exp.Op == syntax.ErrorUnsetOrNull
			if !envName(name) || x.Excl || x.Length || x.Width || x.Index != nil || x.Slice != nil || x.Repl != nil || x.Names != 0 || !alike {
				err = refuse("the expansion of a parameter is more than a variable: write $NAME")
			}
			return false // the word after ${NAME:- is not used
		case *syntax.CmdSubst:
			return false // has its own check
		case *syntax.ArithmExp:
			err = refuse("arithmetic of the shell is not evaluated")
		case *syntax.ExtGlob:
			err = refuse("a pattern of the shell is not expanded")
		}
		return err == nil
	})
	return err
}

// unbraced refuses {a,b} outside of quotes: it makes several words of one, and a few of them
// make more than there is memory.
func unbraced(w *syntax.Word) error {
	n := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	many := n > maxBraces
	if n > 0 && !many {
		split := &syntax.Word{Parts: slices.Clone(w.Parts)}
		syntax.SplitBraces(split)
		many = slices.ContainsFunc(split.Parts, func(part syntax.WordPart) bool {
			_, is := part.(*syntax.BraceExp)
			return is
		})
	}
	if many {
		return refuse("braces outside of quotes make several words: put them into quotes")
	}
	return nil
}

// maxBraces bounds the braces that one word has outside of quotes.
const maxBraces = 40

// envName reports whether a parameter is a variable of the environment.
func envName(s string) bool {
	for i := range len(s) {
		b := s[i]
		letter := b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != "" && s != "IFS"
}

// expansion is the refusal for an expansion that failed, without the text.
func expansion(err error) error {
	if errors.Is(err, ErrImport) {
		return err
	}
	return refuse("an expansion of the shell is not evaluated")
}

// printed is what a statement prints that only prints and encodes: printf, echo, base64 and
// tr -d '\n' in a pipe. Anything else is refused by its name.
func (r *reading) printed(s *syntax.Stmt) (string, error) {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		in, err := r.printed(b.X)
		if err != nil {
			return "", err
		}
		name, args, err := r.words(b.Y)
		switch {
		case err != nil:
			return "", err
		case name == "base64" && (len(args) == 0 || args[0] == "-w0" || args[0] == "-w" || args[0] == "--wrap=0"):
			return encoded(in), nil
		case name == "tr" && len(args) == 2 && args[0] == "-d" && (args[1] == `\n` || args[1] == "\n"):
			return strings.ReplaceAll(in, "\n", ""), nil
		}
		return "", refuse("the command substitution with %s is not run", program(b.Y))
	}
	name, args, err := r.words(s)
	switch {
	case err != nil:
		return "", err
	case name == "echo" && len(args) > 0 && args[0] == "-n":
		return strings.Join(args[1:], " "), nil
	case name == "echo":
		return strings.Join(args, " ") + "\n", nil
	case name == "printf" && len(args) > 0:
		return printf(args[0], args[1:])
	}
	return "", refuse("the command substitution with %s is not run", program(s))
}

// words is a plain command without redirections.
func (r *reading) words(s *syntax.Stmt) (string, []string, error) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(s.Redirs) > 0 || len(c.Assigns) > 0 {
		return "", nil, refuse("a command substitution is not run")
	}
	for _, w := range c.Args {
		if err := plain(w, nil); err != nil {
			return "", nil, err
		}
	}
	all, err := expand.Fields(r.config(), c.Args...)
	if err != nil {
		return "", nil, expansion(err)
	}
	if len(all) == 0 {
		return "", nil, refuse("a command substitution is not run")
	}
	return all[0], all[1:], nil
}

// encoded is a text in base64. With a variable in it, it can be written only later.
func encoded(s string) string {
	if strings.Contains(s, markEnv) {
		return markBase64 + s + markBase64
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

// printf knows of the shell's formats what copied commands use.
func printf(format string, args []string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if next := i + 1; next < len(format) {
			switch format[i : next+1] {
			case "%s":
				if len(args) > 0 {
					b.WriteString(args[0])
					args = args[1:]
				}
				i++
				continue
			case "%%":
				b.WriteByte('%')
				i++
				continue
			case `\n`:
				b.WriteByte('\n')
				i++
				continue
			case `\\`:
				b.WriteByte('\\')
				i++
				continue
			}
		}
		if format[i] == '%' || format[i] == '\\' {
			return "", refuse("a format of printf is not evaluated")
		}
		b.WriteByte(format[i])
	}
	if len(args) > 0 {
		return "", refuse("a format of printf is not evaluated")
	}
	return b.String(), nil
}
