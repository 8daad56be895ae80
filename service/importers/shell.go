package importers

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zonedeck/model"
)

// In a text that the shell reading gives, an environment variable is its name between two
// noncharacters of Unicode, which no text has.
const markEnv = "\uFDD0"

// shellWord is one word of a command, without its quotes.
type shellWord struct {
	at   int // where it begins
	text []byte
	bare []byte // text with "q" for each byte that was quoted or expanded
	err  error  // why a program would get another word
}

// statement is one simple command.
type statement struct {
	words []shellWord
	piped bool // it reads what the statement before it prints
	notes []string
	err   error
}

// shellReader takes a script apart into statements. It knows the quotes of bash, and those of cmd.exe and PowerShell in
// windows.go, and the names of variables; nothing is run or expanded.
type shellReader struct {
	text       string
	windows    bool   // the quotes and braces are not those of bash
	joins      string // what joins a line with the next
	at         int
	statements []statement
	now        statement
	word       shellWord
	inWord     bool
	skip       bool // the next word is the target of a redirection
}

// What a word cannot be, because its value is not known here.
const (
	notRun       = "a command substitution is not run"
	notVariable  = "the expansion of a parameter is more than a variable: write $NAME"
	notClosed    = "a quote or a bracket is not closed"
	severalWords = "braces outside of quotes make several words: put them into quotes"
)

// readShell finds the curl command of a script and gives its arguments.
func readShell(text string, out *Imported) ([]string, error) {
	if strings.ContainsAny(text, "\x00"+markEnv) {
		return nil, refuse("it holds control characters")
	}
	r := &shellReader{text: text}
	if err := r.inItsShell(); err != nil {
		return nil, err
	}
	var found *statement
	for i, s := range r.statements {
		name := s.begin(out)
		switch {
		case len(s.words) == 0 || name == ":" || name == "export":
		case found != nil && strings.HasPrefix(name, "-"):
			return nil, r.refuseAt(s.words[0].at, "it begins with an option, but the command has ended above it: end the line above with a %s, without a blank behind it and without an empty line", r.joins)
		case name != "curl" && name != "curl.exe":
			out.dropped("%s was not read", s.program())
		case found != nil:
			out.dropped("only the first curl command was read; there are more")
		default:
			found = &r.statements[i]
			found.words = s.words
		}
	}
	if found == nil {
		return nil, refuse("there is no curl command in it")
	}
	if found.piped {
		out.pipedLogin = loginPrinted.MatchString(text)
		out.dropped("what the pipe gives curl was not read")
	}
	for _, note := range found.notes {
		out.dropped("%s", note)
	}
	var args []string
	for _, w := range found.words[1:] {
		if w.err != nil {
			return nil, w.err
		}
		if c := w.odd(); c != 0 {
			return nil, r.refuseAt(w.at, "%q (U+%04X) stands outside of quotes, where a shell takes it for a letter: type the quote, hyphen or blank that is meant", c, c)
		}
		args = append(args, string(w.text))
	}
	return args, found.err
}

var (
	assignment  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)
	bracesSplit = regexp.MustCompile(`(?s)\{.*(,|\.\.).*\}`)
)

// begin drops a copied prompt and assignments, which it notes, and names the program.
func (s *statement) begin(out *Imported) string {
	for len(s.words) > 0 {
		word := s.words[0]
		m := assignment.FindSubmatch(word.bare)
		switch {
		case m != nil:
			out.replaced("the value that it gives the variable %s was not read", m[1])
		case string(word.text) == "$" && len(s.words) > 1:
		case string(word.text) == "export":
			for _, w := range s.words[1:] {
				if m := assignment.FindSubmatch(w.bare); m != nil {
					out.replaced("the value that it gives the variable %s was not read", m[1])
				}
			}
			return "export"
		default:
			return path.Base(string(word.text))
		}
		s.words = s.words[1:]
	}
	return ""
}

// program is the name of what a statement runs, if it is a plain word.
func (s *statement) program() string {
	if w := s.words[0]; bytes.Equal(w.text, w.bare) && len(w.text) <= 40 {
		return path.Base(string(w.text))
	}
	return "a command"
}

func (r *shellReader) read() error {
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch c {
		case ' ', '\t':
			r.endWord()
		case '\n', ';', '&', '|':
			if err := r.glued(c); err != nil {
				return err
			}
			r.endStatement(c == '|' && !strings.HasPrefix(r.text[r.at:], "|"))
		case '(', ')':
			if r.inWord {
				r.fail("a pattern of the shell is not expanded")
			} else {
				r.endStatement(false)
			}
		case '<', '>':
			r.redirect(c)
		case '#':
			if r.inWord {
				r.put(c)
			} else if end := strings.IndexByte(r.text[r.at:], '\n'); end >= 0 {
				r.at += end
			} else {
				r.at = len(r.text)
			}
		default:
			if err := r.piece(c); err != nil {
				return err
			}
		}
	}
	r.endStatement(false)
	return nil
}

// piece reads a quote, an expansion or a plain byte of a word.
func (r *shellReader) piece(c byte) error {
	switch c {
	case '\\':
		if r.at == len(r.text) {
			return nil
		}
		if err := r.joinsNothing(); err != nil {
			return err
		}
		if r.text[r.at] != '\n' { // which joins two lines
			r.quoted(r.text[r.at : r.at+1])
		}
		r.at++
	case '\'':
		end := strings.IndexByte(r.text[r.at:], '\'')
		if end < 0 {
			return refuse(notClosed)
		}
		r.quoted(r.text[r.at : r.at+end])
		r.at += end + 1
	case '"':
		return r.doubleQuoted()
	case '$', '`':
		return r.expansion(c, false)
	default:
		r.put(c)
	}
	return nil
}

func (r *shellReader) doubleQuoted() error {
	r.quoted("")
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch c {
		case '"':
			return nil
		case '\\':
			switch next := r.text[r.at:min(r.at+1, len(r.text))]; {
			case next == "\n":
				r.at++
			case next != "" && strings.Contains("$`\"\\", next):
				r.quoted(next)
				r.at++
			default:
				r.quoted(`\`)
			}
		case '$', '`':
			if err := r.expansion(c, true); err != nil {
				return err
			}
		default:
			r.quoted(string([]byte{c}))
		}
	}
	return refuse(notClosed)
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	// bracedName allows what leaves the variable's own value alone if it has one.
	bracedName = regexp.MustCompile(`(?s)^\{([A-Za-z_][A-Za-z0-9_]*)(?::?[-?][^}]*)?\}`)
)

// expansion reads what follows a "$" or a backquote.
func (r *shellReader) expansion(c byte, inQuotes bool) error {
	rest := r.text[r.at:]
	switch {
	case c == '`':
		end := strings.IndexByte(rest, '`')
		if end < 0 {
			return refuse(notClosed)
		}
		r.at += end + 1
		r.fail(notRun)
	case strings.HasPrefix(rest, "("):
		if strings.HasPrefix(rest, "((") {
			r.fail("arithmetic of the shell is not evaluated")
		}
		r.fail(notRun)
		return r.skipBrackets()
	case strings.HasPrefix(rest, "'") && !inQuotes:
		r.at++
		return r.ansiQuoted()
	case strings.HasPrefix(rest, `"`) && !inQuotes: // of another language
	case strings.HasPrefix(rest, "{"):
		m := bracedName.FindStringSubmatch(rest)
		if m == nil || !envName(m[1]) {
			r.fail(notVariable)
			r.at++
			return nil
		}
		r.variable(m[1])
		r.at += len(m[0])
	default:
		name := variableName.FindString(rest)
		switch {
		case envName(name):
			r.variable(name)
			r.at += len(name)
		case name != "" || rest != "" && strings.ContainsAny(rest[:1], "0123456789?$!#*@-"):
			r.fail(notVariable)
		default:
			r.put('$')
		}
	}
	return nil
}

// skipBrackets goes on behind the bracket that closes a substitution.
func (r *shellReader) skipBrackets() error {
	depth := 0
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch c {
		case '\\':
			r.at++
		case '\'', '"':
			for r.at < len(r.text) && r.text[r.at] != c {
				if r.text[r.at] == '\\' && c == '"' {
					r.at++
				}
				r.at++
			}
			r.at++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return nil
			}
		}
	}
	return refuse(notClosed)
}

// ansiEscapes are those of $'…' that stand for one byte.
const ansiEscapes = "a\ab\be\x1bE\x1bf\fn\nr\rt\tv\v\\\\''\"\"??"

// ansiQuoted reads the rest of $'…'.
func (r *shellReader) ansiQuoted() error {
	r.quoted("")
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch {
		case c == '\'':
			return nil
		case c != '\\' || r.at == len(r.text):
			r.quoted(string([]byte{c}))
		default:
			r.ansiEscape()
		}
	}
	return refuse(notClosed)
}

// ansiEscape reads what follows a backslash in $'…'.
func (r *shellReader) ansiEscape() {
	c := r.text[r.at]
	for i := 0; i < len(ansiEscapes); i += 2 {
		if ansiEscapes[i] == c {
			r.quoted(ansiEscapes[i+1 : i+2])
			r.at++
			return
		}
	}
	digits, base, most := "01234567", 8, 3
	switch c {
	case 'x':
		digits, base, most = "0123456789abcdefABCDEF", 16, 2
	case 'u':
		digits, base, most = "0123456789abcdefABCDEF", 16, 4
	case 'U':
		digits, base, most = "0123456789abcdefABCDEF", 16, 8
	}
	from := r.at
	if base == 16 {
		from++
	}
	end := from
	for end < len(r.text) && end-from < most && strings.IndexByte(digits, r.text[end]) >= 0 {
		end++
	}
	n, err := strconv.ParseUint(r.text[from:end], base, 32)
	switch {
	case err != nil: // no escape
		r.quoted(`\` + string([]byte{c}))
		r.at++
		return
	case c == 'u' || c == 'U':
		r.quoted(string(utf8.AppendRune(nil, rune(n)))) //nolint:gosec // what is no character becomes U+FFFD
	case byte(n) == 0: //nolint:gosec // the shell takes the low byte
		r.fail("a word of the shell cannot hold a zero byte")
	default:
		r.quoted(string([]byte{byte(n)})) //nolint:gosec // the shell takes the low byte
	}
	r.at = end
}

// redirect reads an operator that redirects; the word after it is no argument.
func (r *shellReader) redirect(c byte) {
	if r.inWord && len(bytes.Trim(r.word.bare, "0123456789")) == 0 { // the number of a stream
		r.word, r.inWord = shellWord{}, false
	}
	r.endWord()
	rest := r.text[r.at:]
	operator := rest[:len(rest)-len(strings.TrimLeft(rest, "<>&|-"))]
	r.at += len(operator)
	note := "where the shell writes the output was not read"
	switch {
	case strings.HasPrefix(rest, "("):
		r.now.err = refuse("a process substitution is not run")
	case c == '<' && operator == "<<":
		note = "what the shell gives curl on standard input was not read"
	case c == '<' && strings.HasPrefix(operator, "<"):
		r.now.err = refuse("a here-document is not read: put the data into quotes")
	case c == '<':
		note = "the file on standard input was not read"
	}
	if !slices.Contains(r.now.notes, note) {
		r.now.notes = append(r.now.notes, note)
	}
	r.skip = true
}

// begin begins a word, if none has begun.
func (r *shellReader) begin() {
	if !r.inWord {
		r.inWord, r.word.at = true, r.at
	}
}

func (r *shellReader) put(c byte) {
	r.begin()
	r.word.text = append(r.word.text, c)
	r.word.bare = append(r.word.bare, c)
}

func (r *shellReader) quoted(s string) {
	r.begin()
	r.word.text = append(r.word.text, s...)
	for range len(s) {
		r.word.bare = append(r.word.bare, 'q')
	}
}

func (r *shellReader) variable(name string) { r.quoted(markEnv + name + markEnv) }

func (r *shellReader) fail(why string) {
	r.begin()
	if r.word.err == nil {
		r.word.err = refuse("%s", why)
	}
}

func (r *shellReader) endWord() {
	if !r.inWord {
		return
	}
	if r.word.err == nil && !r.windows && bracesSplit.Match(r.word.bare) {
		r.word.err = refuse(severalWords)
	}
	if r.skip {
		r.skip = false
	} else {
		r.now.words = append(r.now.words, r.word)
	}
	r.word, r.inWord = shellWord{}, false
}

// endStatement ends a statement; pipe says that the next one reads what this one prints.
func (r *shellReader) endStatement(pipe bool) {
	r.endWord()
	blank := len(r.now.words) == 0
	if !blank || r.now.err != nil {
		r.statements = append(r.statements, r.now)
	}
	r.now = statement{piped: pipe || blank && r.now.piped}
	r.skip = false
}

// refuseAt refuses the text for what stands at a place of it.
func (r *shellReader) refuseAt(at int, format string, args ...any) error {
	return refuse("line %d: %s", 1+strings.Count(r.text[:min(at, len(r.text))], "\n"), fmt.Sprintf(format, args...))
}

// glued refuses a character that ends the command in the middle of what was meant as an address.
func (r *shellReader) glued(c byte) error {
	rest := r.text[r.at:]
	if r.inWord && (c == '&' && rest != "" && !strings.ContainsAny(rest[:1], "&> \t\n") || c == ';' && pathParameter.MatchString(rest)) {
		return r.refuseAt(r.at, "the %c outside of quotes ends the command there: put the address into quotes", c)
	}
	return nil
}

// joinsNothing refuses a character that would join two lines if no blank stood between it and the line's end.
func (r *shellReader) joinsNothing() error {
	if rest := r.text[r.at:]; rest[:1] != "\n" && strings.HasPrefix(strings.TrimLeft(rest, " \t"), "\n") {
		return r.refuseAt(r.at, "a blank follows the %c at the end, so that the command ends there: take the blank out", r.text[r.at-1])
	}
	return nil
}

// loginPrinted is what an exported command gives curl through a pipe.
var loginPrinted = regexp.MustCompile(`(?m)printf '(?:Proxy-)?Authorization: [^|]*\|`)

var pathParameter = regexp.MustCompile(`^[A-Za-z0-9_.%~-]+=`)

// odd is a character that a person, or a word processor, has put in place of a quote, a hyphen or a blank; 0 for none.
func (w shellWord) odd() rune {
	begins := true // the word, or the value behind an option's letter
	for i, c := range string(w.bare) {
		switch {
		case strings.ContainsRune(markEnv, c):
		case begins && (unicode.In(c, unicode.Pd, unicode.Pi, unicode.Pf) && c != '-' || strings.ContainsRune("„‚´′″−＂＇", c)):
			return c
		case c >= 0x80 && unicode.IsSpace(c), model.IsMark(c):
			return c
		}
		begins = i == 0 && c == '-' || i == 1 && w.bare[0] == '-' && c != '-'
	}
	return 0
}

// envName reports whether a parameter is a variable of the environment.
func envName(s string) bool { return s != "" && s != "IFS" && variableName.FindString(s) == s }
