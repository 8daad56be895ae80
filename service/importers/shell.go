package importers

import (
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"zonedeck/model"
)

// In a text that the shell reading gives, an environment variable is its name between two
// noncharacters of Unicode, which no text has.
const markEnv = "\uFDD0"

// script is a pasted text in the words of bash. Nothing of it is run or expanded.
type script struct {
	text  string
	joins string // what joins a line with the next
	out   *Imported

	curl   *syntax.CallExpr // the first
	redirs []*syntax.Redirect
	piped  bool       // it reads what another command prints
	end    syntax.Pos // of the ; or & behind it, if there is one
}

const (
	notClosed   = "a quote or a bracket is not closed"
	notBash     = "bash cannot read it: put what holds brackets or other signs of the shell into quotes, or leave it out"
	blankBehind = "a blank follows the %c at the end, so that the command ends there: take the blank out"
	// maxFrames bounds the calls in calls of the parser: some seven for each bracket in a bracket.
	maxFrames = 4000
)

// readShell finds the curl command of a script and gives its arguments, each with its line.
func readShell(text string, out *Imported) (args []string, lines []uint, err error) {
	if strings.ContainsAny(text, "\x00"+markEnv) || !utf8.ValidString(text) {
		return nil, nil, refuse("it holds control characters, or is not UTF-8")
	}
	text, joins, err := inBash(text)
	if err != nil {
		return nil, nil, err
	}
	s := &script{text: text + "\n", joins: joins, out: out} // a backslash at the end joins nothing
	file, err := s.parse()
	if err == nil {
		err = s.check(file)
	}
	if err == nil {
		file, err = s.parse() // without the prompts
	}
	if err == nil {
		err = s.statements(file.Stmts, false)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case s.curl == nil:
		return nil, nil, refuse("there is no curl command in it")
	case s.piped:
		out.pipedLogin = loginPrinted().MatchString(text)
		out.dropped("what the pipe gives curl was not read")
	}
	return s.arguments()
}

func (s *script) parse() (*syntax.File, error) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(shallow{strings.NewReader(s.text)}, "")
	var malformed syntax.ParseError
	var foreign syntax.LangError
	switch {
	case errors.As(err, &malformed) && malformed.Incomplete:
		err = refuseAt(malformed.Pos, notClosed+", or the text breaks off")
	case errors.As(err, &malformed):
		err = refuseAt(malformed.Pos, notBash)
	case errors.As(err, &foreign):
		err = refuseAt(foreign.Pos, notBash)
	}
	return file, err
}

// check refuses what bash reads otherwise than it was meant, and blanks the prompts that were copied along.
func (s *script) check(file *syntax.File) (err error) {
	text := []byte(s.text)
	syntax.Walk(file, func(n syntax.Node) bool {
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.Stmt:
			command := *n
			command.Semicolon = syntax.Pos{}
			end, at := command.End().Offset(), n.Semicolon.Offset()
			if at > 0 && strings.Trim(s.text[min(end, at):at], "\\\n") == "" && inAddress().MatchString(s.text[at:]) {
				err = refuseAt(n.Semicolon, "the %c outside of quotes ends the command there: put the address into quotes", text[at])
			}
		case *syntax.Comment:
			if strings.HasSuffix(n.Text, "\\\n") {
				err = refuseAt(n.Hash, "a comment ends in a backslash, which joins it with nothing: take the comment out")
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "$" {
				text[n.Args[0].Pos().Offset()] = ' '
			}
		case *syntax.Lit:
			if escapedBlank().MatchString(n.Value) && lineEnd().MatchString(s.text[n.End().Offset():]) {
				err = refuseAt(n.End(), blankBehind, '\\')
			}
		}
		return true
	})
	s.text = string(text)
	return err
}

// shallow ends a script of which too much is nested: the parser calls itself for each bracket in a bracket, and a hundred
// thousand of them would take seconds, and hundreds of megabytes of stack.
type shallow struct{ io.Reader }

func (r shallow) Read(p []byte) (int, error) {
	if runtime.Callers(maxFrames, make([]uintptr, 1)) > 0 {
		return 0, refuse(notClosed + ", or too many stand in one another")
	}
	return r.Reader.Read(p)
}

// inAddress is an operator that stands in the middle of what was meant as an address if it follows a word at once.
var inAddress = model.Pattern(`^(?:&[^ \t\n]|;[A-Za-z0-9_.%~-]+=)`)

// statements looks for the curl command, and notes what else would be run; piped says that they read what another prints.
func (s *script) statements(list []*syntax.Stmt, piped bool) error {
	for _, stmt := range list {
		var err error
		first := s.curl == nil
		switch c := stmt.Cmd.(type) {
		case *syntax.CallExpr:
			s.assigned(c.Assigns)
			if len(c.Args) > 0 {
				err = s.call(c, stmt.Redirs, piped)
			}
		case *syntax.DeclClause:
			s.assigned(c.Args)
		case *syntax.BinaryCmd:
			if err = s.statements([]*syntax.Stmt{c.X}, piped); err == nil {
				err = s.statements([]*syntax.Stmt{c.Y}, piped || c.Op == syntax.Pipe || c.Op == syntax.PipeAll)
			}
		case *syntax.Subshell:
			err = s.statements(c.Stmts, piped)
		case *syntax.Block:
			err = s.statements(c.Stmts, piped)
		case nil:
		default:
			s.out.dropped("a command was not read")
		}
		if err != nil {
			return err
		}
		if first && s.curl != nil && stmt.Semicolon.IsValid() {
			s.end = stmt.Semicolon
		}
	}
	return nil
}

func (s *script) assigned(list []*syntax.Assign) {
	for _, a := range list {
		if !a.Naked {
			s.out.replaced("the value that it gives the variable %s was not read", a.Name.Value)
		}
	}
}

// call keeps the first curl command, and names another.
func (s *script) call(c *syntax.CallExpr, redirs []*syntax.Redirect, piped bool) error {
	word := readArgument(c.Args[0])
	first := word.text.String()
	switch name := path.Base(first); {
	case name == ":":
	case s.end.IsValid() && strings.HasPrefix(first, "-"):
		return refuseAt(s.end, "the %c outside of quotes ends the command there, before its options: put it into quotes, or leave it out", s.text[s.end.Offset()])
	case s.curl != nil && strings.HasPrefix(first, "-"):
		return refuseAt(c.Args[0].Pos(), "it begins with an option, but the command has ended above it: end the line above with a %s, without a blank behind it and without an empty line", s.joins)
	case name != "curl" && name != "curl.exe":
		if first != word.bare.String() || len(first) > 40 {
			name = "a command"
		}
		s.out.dropped("%s was not read", name)
	case s.curl != nil:
		s.out.dropped("only the first curl command was read; there are more")
	default:
		s.curl, s.redirs, s.piped = c, redirs, piped
	}
	return nil
}

// arguments gives the words of the curl command, and their lines.
func (s *script) arguments() (args []string, lines []uint, err error) {
	for _, r := range s.redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			return nil, nil, refuseAt(r.Pos(), "a here-document is not read: put the data into quotes")
		case syntax.WordHdoc:
			s.out.dropped("what the shell gives curl on standard input was not read")
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			s.out.dropped("the file on standard input was not read")
		default:
			s.out.dropped("where the shell writes the output was not read")
		}
	}
	for _, word := range s.curl.Args[1:] {
		a := readArgument(word)
		if a.reason != "" {
			return nil, nil, refuseAt(word.Pos(), "%s", a.reason)
		}
		if c := a.odd(); c != 0 {
			return nil, nil, refuseAt(word.Pos(), "%q (U+%04X) stands outside of quotes, where a shell takes it for a letter: type the quote, hyphen or blank that is meant", c, c)
		}
		args, lines = append(args, a.text.String()), append(lines, word.Pos().Line())
	}
	return args, lines, nil
}

// refuseAt refuses a script for what stands at a place of it.
func refuseAt(at syntax.Pos, format string, args ...any) error {
	return refuse("line %d: %s", at.Line(), fmt.Sprintf(format, args...))
}

// argument is a word of a command.
type argument struct {
	text   strings.Builder // as a program gets it
	bare   strings.Builder // what of it stands outside of quotes; "q" stands for the rest
	reason string          // why a program would get another word
}

func readArgument(w *syntax.Word) *argument {
	a := &argument{}
	a.add(w.Parts, false)
	if a.reason == "" && bracesSplit().MatchString(a.bare.String()) {
		a.reason = "braces outside of quotes make several words: put them into quotes"
	}
	return a
}

var (
	escaped         = model.Pattern(`(?s)\\(?:\n|(.))`)
	escapedInQuotes = model.Pattern("\\\\(?:\n|([$`\"\\\\]))")
	escapedBlank    = model.Pattern(`\\[ \t]$`)
	lineEnd         = model.Pattern(`^[ \t]*\n`)
	bracesSplit     = model.Pattern(`(?s)\{.*(,|\.\.).*\}`)
)

// add adds the parts of a word, or of what stands in double quotes.
func (a *argument) add(parts []syntax.WordPart, quotes bool) {
	for _, part := range parts {
		text, bare, reason := "", "", ""
		switch part := part.(type) {
		case *syntax.Lit:
			text = escapedInQuotes().ReplaceAllString(part.Value, "$1")
			if !quotes {
				text, bare = escaped().ReplaceAllString(part.Value, "$1"), escaped().ReplaceAllString(part.Value, "q")
			}
		case *syntax.SglQuoted:
			if text = part.Value; part.Dollar {
				text, _, _ = expand.Format(&expand.Config{}, text, nil) // without arguments it decodes the escapes alone
			}
			if strings.Contains(text, "\x00") {
				reason = "a word of the shell cannot hold a zero byte"
			}
		case *syntax.DblQuoted:
			a.add(part.Parts, true)
		case *syntax.ParamExp:
			name := part.Param.Value
			if text = markEnv + name + markEnv; !envName(name) || !keepsValue(part) {
				reason = "the expansion of a parameter is more than a variable: write $NAME"
			}
		case *syntax.CmdSubst:
			reason = "a command substitution is not run"
		case *syntax.ProcSubst:
			reason = "a process substitution is not run"
		case *syntax.ArithmExp:
			reason = "arithmetic of the shell is not evaluated"
		default:
			reason = "a pattern of the shell is not expanded"
		}
		if bare == "" && text != "" {
			bare = "q"
		}
		a.text.WriteString(text)
		a.bare.WriteString(bare)
		if a.reason == "" {
			a.reason = reason
		}
	}
}

// keepsValue reports whether an expansion leaves the variable's own value alone if it has one.
func keepsValue(p *syntax.ParamExp) bool {
	whole := !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil
	return whole && (p.Exp == nil || slices.Contains([]syntax.ParExpOperator{
		syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
	}, p.Exp.Op))
}

// loginPrinted is what an exported command gives curl through a pipe.
var loginPrinted = model.Pattern(`(?m)printf '(?:Proxy-)?Authorization: [^|]*\|`)

// odd is a character that a person, or a word processor, has put in place of a quote, a hyphen or a blank; 0 for none.
func (a *argument) odd() rune {
	bare := a.bare.String()
	begins := true // the word, or the value behind an option's letter
	for i, c := range bare {
		switch {
		case begins && (unicode.In(c, unicode.Pd, unicode.Pi, unicode.Pf) && c != '-' || strings.ContainsRune("„‚´′″−＂＇", c)):
			return c
		case c >= 0x80 && unicode.IsSpace(c), model.IsMark(c):
			return c
		}
		begins = i == 0 && c == '-' || i == 1 && bare[0] == '-' && c != '-'
	}
	return 0
}

// envName reports whether a parameter is a variable of the environment.
func envName(s string) bool { return s != "IFS" && syntax.ValidName(s) }
