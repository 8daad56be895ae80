package importers

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"zonedeck/model"
)

var (
	promptText = model.Pattern(`^(?:(?:PS )?[A-Za-z]:\\[^>\n]*> ?)?(?:& )?`)
	cmdText    = model.Pattern(`(?m)(?:^|\s)\^[ \t]*$|(?:^|\s)\^"|\^\\\^"`)
	// bashQuoted is an escaped letter, or a quoted text. Double quotes that touch are one match: what is in the last is its group.
	bashQuoted = model.Pattern(`(?s)\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|("(?:\\.|[^"\\])*")+`)
	expansion  = model.Pattern(`\$[A-Za-z_{(]`)
	// powerShellText is a backtick, a variable, or a quote that says something else in bash.
	powerShellText = model.Pattern("(?m)(?:^|\\s)`[ \\t]*$|[{\\[,:]`\"|\\$env:|(?s:\\bcurl\\.exe\\s.*(?:\\w''\\w|'[^'\"]*\\\\\"))")
	// caretsInQuotes are those of Chrome before 2024, which wrote quotes that cmd.exe does not read as they are meant.
	caretsInQuotes = model.Pattern(`\^\\\^"|%\^[A-Za-z0-9_]`)
	// cmdVariable does not take the escapes of an address for a name, as in %C3%A9x%20: none begins with two hex digits.
	cmdVariable = model.Pattern(`^%(?:[G-Zg-z_][A-Za-z0-9_]{2,}|[A-Fa-f][G-Zg-z_][A-Za-z0-9_]+)%`)
)

// inBash writes a text that is meant for cmd.exe in the words of bash, on the same lines, and says what joins these.
func inBash(text string) (bash, joins string, err error) {
	text = promptText().ReplaceAllString(text, "")
	at, doubled := powerShellText().FindStringIndex(text), doubledQuotes(text)
	switch {
	case strings.Contains(text, "\\\n"):
	case cmdText().MatchString(bashQuoted().ReplaceAllStringFunc(text, outside)):
		bash, err = cmdInBash(text)
		return bash, "caret (^)", err
	case at != nil:
		return "", "", refuse("line %d: it is written for PowerShell, which is not read: copy the command for bash", lineAt(text, at[1]))
	case doubled == nil:
	case expansion().MatchString(text[doubled[0]:doubled[1]]):
		return "", "", refuse("line %d: bash and cmd.exe read doubled quotes with a $ between them differently: put the word into one pair of quotes", lineAt(text, doubled[0]))
	default:
		bash, err = cmdInBash(text)
		return bash, "caret (^)", err
	}
	return text, `backslash (\)`, nil
}

// outside leaves of a quoted text what cmd.exe may mean otherwise than bash.
func outside(quoted string) string {
	if quoted[0] == '\\' || caretsInQuotes().MatchString(quoted) {
		return quoted
	}
	return quoted[:1]
}

// doubledQuotes finds the first word in which double quotes touch: bash drops them, and a program of Windows reads a quote.
func doubledQuotes(text string) []int {
	for _, at := range bashQuoted().FindAllStringSubmatchIndex(text, -1) {
		if at[2] > at[0] {
			return at[:2]
		}
	}
	return nil
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// joined stands behind a blank of a command line for the end of a line that a caret has joined with the next.
const joined = 0

// cmdInBash reads the text as cmd.exe does, which takes carets, operators and variables. What is left is a command line, which
// the program takes apart itself.
func cmdInBash(text string) (string, error) {
	everywhere := caretsInQuotes().MatchString(text)
	var bash strings.Builder
	var line, ends []byte // ends are those that no blank has come behind
	quotes := false
	add := func(s string) {
		if bytes.HasSuffix(line, []byte(" ")) || bytes.HasSuffix(line, []byte("\n")) {
			line, ends = append(line, ends...), nil
		}
		line = append(line, s...)
	}
	end := func(operator string) error {
		words, err := bashWords(append(line, ends...))
		bash.WriteString(words + operator)
		line, ends, quotes = line[:0], nil, false
		return err
	}
	for at := 0; at < len(text); at++ {
		c, rest := text[at], text[at+1:]
		name := cmdVariable().FindString(text[at:])
		switch {
		case name != "":
			add(markEnv + name[1:len(name)-1] + markEnv)
			at += len(name) - 1
		case c == '^' && (everywhere || !quotes) && rest != "":
			if rest[0] != '\n' && lineEnd().MatchString(rest) {
				return "", refuse("line %d: "+blankBehind, lineAt(text, at), c)
			}
			if rest[0] == '\n' { // the lines are one, and what follows is a letter like any other
				ends = append(ends, joined)
				at++
			}
			add(text[at+1 : min(at+2, len(text))])
			at++
		case c == '\n', !quotes && strings.IndexByte("&|<>", c) >= 0:
			if err := end(string(c)); err != nil {
				return "", err
			}
		default:
			quotes = quotes != (c == '"')
			add(text[at : at+1])
		}
	}
	err := end("")
	return bash.String(), err
}

// bashWords takes a command line apart as the programs of Windows do, and at apostrophes, which they take for letters: who
// writes them means quotes.
func bashWords(line []byte) (string, error) {
	var bash strings.Builder
	inWord, quotes := false, false
	put := func(c byte, quoted bool) {
		switch {
		case c == joined:
			bash.WriteString("\\\n")
			return
		case strings.IndexByte(" \t\n", c) >= 0:
			bash.WriteString("'" + string(c) + "'")
		case quoted && utf8.RuneStart(c), strings.IndexByte("!\"#$&'();<=>[\\`{|}", c) >= 0:
			bash.WriteByte('\\')
			fallthrough
		default:
			bash.WriteByte(c)
		}
		inWord = true
	}
	for i := 0; i < len(line); i++ {
		c, next := line[i], byte(0)
		slashes := len(line[i:]) - len(bytes.TrimLeft(line[i:], `\`))
		if i+max(slashes, 1) < len(line) {
			next = line[i+max(slashes, 1)]
		}
		switch {
		case slashes > 0:
			letters := strings.Repeat(`\`, slashes)
			if next == '"' { // half of them, and a quote that is a letter if one is left over
				letters = letters[:slashes/2] + strings.Repeat(`"`, slashes%2)
				i += slashes % 2
			}
			for _, c := range []byte(letters) {
				put(c, true)
			}
			i += slashes - 1
		case c == '"' && quotes && next == '"':
			put('"', true)
			i++
		case c == '"':
			quotes, inWord = !quotes, true
			bash.WriteString("''") // the word, if it has no letter
		case quotes, c == joined:
			put(c, true)
		case c == ' ', c == '\t', c == '\n':
			if bash.WriteByte(' '); c == '\n' {
				put(joined, false)
			}
			inWord = false
		case c == '\'' && !inWord:
			for i++; i < len(line) && line[i] != '\''; i++ {
				put(line[i], true)
			}
			quotes, inWord = i == len(line), true
			bash.WriteString("''")
		default:
			put(c, false)
		}
	}
	if quotes {
		return "", refuse(notClosed)
	}
	return bash.String(), nil
}
