package keystore

import (
	"errors"
	"strings"
)

var (
	errNoCommand = errors.New("comes a command")
	errOpenQuote = errors.New("a quote is not closed")
)

// SplitArgs splits a command into its words, without a shell: nothing is expanded,
// no variable, no pattern, no pipe. Blanks separate words. Between single quotes
// everything stands for itself; between double quotes too, but \" is a quote and
// \\ a backslash. Outside quotes a backslash is an ordinary character, so that
// Windows paths need no care.
func SplitArgs(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	in := false // inside a word; "" is a word too
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case '\'', '"':
			in = true
			n, err := quoted(&word, s[i+1:], c)
			if err != nil {
				return nil, err
			}
			i += n
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errNoCommand
	}
	return words, nil
}

// quoted copies the text before the closing quote q to w and returns its length in
// s, the quote included.
func quoted(w *strings.Builder, s string, q byte) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == q:
			return i + 1, nil
		case c == '\\' && q == '"' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			w.WriteByte(s[i])
		default:
			w.WriteByte(c)
		}
	}
	return 0, errOpenQuote
}
