package importers

import (
	"regexp"
	"strings"
)

// What tells a command for the shells of Windows from one for bash.
var (
	promptText     = regexp.MustCompile(`^(?:PS )?[A-Za-z]:\\[^>\n]*> ?`)
	cmdText        = regexp.MustCompile(`(?m)(?:^|\s)\^[ \t]*$|(?:^|\s)\^"|\^\\\^"`)
	powerShellText = regexp.MustCompile("(?m)(?:^|\\s)`[ \\t]*$|[{\\[,:]`\"|\\$env:|^[ \\t]*&? ?curl\\.exe\\s")
	bashText       = regexp.MustCompile(`\\\n|'\\''`)
	// caretsInQuotes are those of Chrome before 2024, which wrote quotes that cmd.exe does not read as they are meant.
	caretsInQuotes = regexp.MustCompile(`\^\\\^"|%\^[A-Za-z0-9_]`)
	// cmdVariable does not take the escapes of an address for a name, as in %C3%A9x%20.
	cmdVariable        = regexp.MustCompile(`^%(?:[G-Z_a-z][A-Za-z0-9_]{2,}|[A-F][G-Z_][A-Z0-9_]+)%`)
	powerShellVariable = regexp.MustCompile(`^(?:\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|(?:env:)?([A-Za-z_][A-Za-z0-9_]*))`)
)

// inItsShell reads the text as the shell does that it was written for.
func (r *shellReader) inItsShell() error {
	r.text = promptText.ReplaceAllString(r.text, "")
	bash := bashText.MatchString(r.text)
	switch {
	case bash:
	case cmdText.MatchString(r.text):
		r.windows, r.joins = true, "caret (^)"
		return r.readCmd()
	case powerShellText.MatchString(r.text):
		r.windows, r.joins = true, "backtick (`)"
		return r.readPowerShell()
	case strings.Contains(r.text, `{""`): // both double the quotes
		r.windows, r.joins = true, "caret (^)"
		return r.readCmd()
	}
	r.joins = `backslash (\)`
	return r.read()
}

// readCmd reads the text as cmd.exe does, which takes carets, operators and variables. What is left is a command line, which
// the program takes apart itself.
func (r *shellReader) readCmd() error {
	everywhere := caretsInQuotes.MatchString(r.text)
	quotes := false
	var line []byte
	var from []int // where each byte of the line stands in the text
	add := func(s string) {
		line = append(line, s...)
		for range len(s) {
			from = append(from, r.at)
		}
	}
	words := func() error {
		err := r.programWords(line, from)
		line, from, quotes = line[:0], from[:0], false
		return err
	}
	for r.at < len(r.text) {
		c, name := r.text[r.at], cmdVariable.FindString(r.text[r.at:])
		r.at++
		var err error
		switch {
		case name != "":
			add(markEnv + name[1:len(name)-1] + markEnv)
			r.at += len(name) - 1
		case c == '^' && (everywhere || !quotes) && r.at < len(r.text):
			err = r.joinsNothing()
			if r.text[r.at] == '\n' { // the lines are one, and what follows is a letter like any other
				r.at++
			}
			add(r.text[r.at:min(r.at+1, len(r.text))])
			r.at++
		case c == '"':
			quotes = !quotes
			add(`"`)
		case c == '\n', !quotes && (c == '&' || c == '|'):
			r.inWord = len(line) > 0 && line[len(line)-1] != ' '
			glued := r.glued(c)
			r.inWord = false
			if err = words(); glued != nil {
				err = glued
			}
			r.endStatement(c == '|')
		case !quotes && (c == '<' || c == '>'):
			err = words()
			r.redirect(c)
		default:
			add(string([]byte{c}))
		}
		if err != nil {
			return err
		}
	}
	err := words()
	r.endStatement(false)
	return err
}

// programWords takes a command line apart as the programs of Windows do, and at apostrophes, which they take for letters: who
// writes them means quotes.
func (r *shellReader) programWords(line []byte, from []int) error {
	end, quotes := r.at, false
	for i := 0; i < len(line); i++ {
		r.at = from[i]
		c, next := line[i], byte(0)
		slashes := 0
		for ; i+slashes < len(line) && line[i+slashes] == '\\'; slashes++ {
		}
		if i+max(slashes, 1) < len(line) {
			next = line[i+max(slashes, 1)]
		}
		switch {
		case slashes > 0 && next == '"': // half of them, and a quote that is a letter if one is left over
			r.quoted(strings.Repeat(`\`, slashes/2) + strings.Repeat(`"`, slashes%2))
			i += slashes - 1 + slashes%2
		case c == '"' && quotes && next == '"':
			r.quoted(`"`)
			i++
		case c == '"':
			quotes = !quotes
			r.quoted("")
		case quotes:
			r.quoted(string([]byte{c}))
		case c == ' ', c == '\t', c == '\n':
			r.endWord()
		case c == '\'' && !r.inWord:
			for i++; i < len(line) && line[i] != '\''; i++ {
				r.quoted(string(line[i : i+1]))
			}
			quotes = i == len(line)
			r.quoted("")
		default:
			r.put(c)
		}
	}
	if quotes {
		return refuse(notClosed)
	}
	r.endWord()
	r.at = end
	return nil
}

// readPowerShell reads the text as PowerShell does. A backslash before a quote is the program's, which PowerShell's own
// quotes do not know: who writes it means a quote in the text.
func (r *shellReader) readPowerShell() error {
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		var err error
		switch rest := r.text[r.at:]; {
		case c == ' ', c == '\t':
			r.endWord()
		case c == '&' && !r.inWord && len(r.now.words) == 0: // calls what follows
		case c == '\n', c == ';', c == '|', c == '&':
			err = r.glued(c)
			r.endStatement(c == '|')
		case c == '`' && rest != "":
			if err = r.joinsNothing(); rest[0] == '\n' {
				r.at++
			} else {
				r.backtick()
			}
		case c == '\'':
			err = r.singleQuoted()
		case c == '"':
			err = r.expandable()
		case c == '$':
			r.powerShellVariable()
		case c == '(', c == '@' && !r.inWord && rest != "" && strings.Contains(`'"({`, rest[:1]):
			err = r.refuseAt(r.at, "an expression or a here-string of PowerShell is not evaluated: put the text itself into quotes")
		case c == '<', c == '>':
			r.redirect(c)
		case c == '#' && !r.inWord:
			r.at += strings.IndexByte(rest+"\n", '\n')
		default:
			r.put(c)
		}
		if err != nil {
			return err
		}
	}
	r.endStatement(false)
	return nil
}

// singleQuoted reads the rest of '…', in which two of them stand for one.
func (r *shellReader) singleQuoted() error {
	rest, text := r.text[r.at:], ""
	for {
		before, after, ok := strings.Cut(rest, "'")
		if !ok {
			return refuse(notClosed)
		}
		text, rest = text+before, after
		if !strings.HasPrefix(rest, "'") {
			break
		}
		text, rest = text+"'", rest[1:]
	}
	if bare := strings.ReplaceAll(text, `\"`, ""); !strings.Contains(bare, `"`) {
		text = strings.ReplaceAll(text, `\"`, `"`)
	}
	r.quoted(text)
	r.at = len(r.text) - len(rest)
	return nil
}

// expandable reads the rest of "…".
func (r *shellReader) expandable() error {
	r.quoted("")
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		next := r.text[r.at:min(r.at+1, len(r.text))]
		switch {
		case (c == '"' || c == '\\') && next == `"`:
			r.quoted(`"`)
			r.at++
		case c == '"':
			return nil
		case c == '`' && next != "":
			r.backtick()
		case c == '$':
			r.powerShellVariable()
		default:
			r.quoted(string([]byte{c}))
		}
	}
	return refuse(notClosed)
}

// backtick reads what a backtick makes of the letter behind it.
func (r *shellReader) backtick() {
	c := r.text[r.at : r.at+1]
	r.at++
	if i := strings.Index("abefnrtv", c); i >= 0 {
		c = "\a\b\x1b\f\n\r\t\v"[i : i+1]
	}
	if c == "0" || c == "u" {
		r.fail("`" + c + " of PowerShell is not read: write the character itself")
	}
	r.quoted(c)
}

// powerShellVariable reads what follows a "$".
func (r *shellReader) powerShellVariable() {
	rest := r.text[r.at:]
	m := powerShellVariable.FindStringSubmatch(rest)
	switch {
	case m != nil:
		r.variable(m[1] + m[2])
		r.at += len(m[0])
	case strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "{"):
		r.fail(notRun)
	default:
		r.quoted("$")
	}
}
