package importers

import (
	"regexp"
	"strings"
)

var (
	promptText = regexp.MustCompile(`^(?:PS )?[A-Za-z]:\\[^>\n]*> ?`)
	cmdText    = regexp.MustCompile(`(?m)(?:^|\s)\^[ \t]*$|(?:^|\s)\^"|\^\\\^"|\{""`)
	// powerShellText is a backtick, a variable, or a quote that says something else in bash.
	powerShellText = regexp.MustCompile("(?m)(?:^|\\s)`[ \\t]*$|[{\\[,:]`\"|\\$env:|(?s:\\bcurl\\.exe\\s.*(?:\\w''\\w|'[^'\"]*\\\\\"))")
	// caretsInQuotes are those of Chrome before 2024, which wrote quotes that cmd.exe does not read as they are meant.
	caretsInQuotes = regexp.MustCompile(`\^\\\^"|%\^[A-Za-z0-9_]`)
	// cmdVariable does not take the escapes of an address for a name, as in %C3%A9x%20.
	cmdVariable = regexp.MustCompile(`^%(?:[G-Z_a-z][A-Za-z0-9_]{2,}|[A-F][G-Z_][A-Z0-9_]+)%`)
)

// inItsShell reads the text as the shell does that it was written for.
func (r *shellReader) inItsShell() error {
	r.text = promptText.ReplaceAllString(r.text, "")
	at := powerShellText.FindStringIndex(r.text)
	r.joins = `backslash (\)`
	switch {
	case strings.Contains(r.text, "\\\n"):
	case cmdText.MatchString(r.text):
		r.windows, r.joins = true, "caret (^)"
		return r.readCmd()
	case at != nil:
		return r.refuseAt(at[1], "it is written for PowerShell, which is not read: copy the command for bash")
	}
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
