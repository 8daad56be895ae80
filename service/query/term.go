// Package query is the filter that an operator types over a list: in a tab after "/", and with --filter of a
// command. One grammar serves every list; what a list's rows can be asked is its Fields.
//
//	filter = { term }                       all must hold
//	term   = ["-"] ( word | "has:" name | name op value )
//	op     = ":" | "=" | "<" | "<=" | ">" | ">="
//	word   = bare | quoted                  x://… is a word
//	value  = bare | quoted
//	bare   = no blank
//	quoted = '"' … '"'                      \" inside
//
// ":" means that a text contains the value, that a word of a fixed set begins with it, or that a list has it.
// Its values are safe for concurrent use.
package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxFilter bounds a filter as it is typed, in bytes.
const MaxFilter = 4 << 10

// Op is how a term looks at a row.
type Op int

// The operators. Says is a word, anywhere in the row.
const (
	Says Op = iota
	Contains
	Equal
	Less
	AtMost
	More
	AtLeast
	Has
)

// Term is one condition of a filter.
type Term struct {
	Op     Op
	Not    bool // the condition does not hold
	Name   string
	Value  string
	Quoted bool // Value was
}

const (
	operators = ":=<>"
	blanks    = " \t\r\n"
)

// Terms reads a filter. A name or a value with blanks, colons or other signs stands in double quotes, in which \"
// is a quote: "list price (USD)">5, "a/b:c":x. So does a value after = < > <= >= that begins with one of these, and
// one that looks like a part of an expression, as in price>20)(: there are no brackets, and no "and" or "or" between
// terms. The error says what is wrong.
func Terms(text string) ([]Term, error) {
	if len(text) > MaxFilter {
		return nil, fmt.Errorf("a filter has at most %d bytes", MaxFilter)
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("a filter is UTF-8")
	}
	var terms []Term
	for rest := strings.Trim(text, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		t, after, err := parseTerm(rest)
		if err != nil {
			return nil, err
		}
		terms, rest = append(terms, t), after
	}
	return terms, joined(terms)
}

// joined finds a word that is meant to join conditions: it would be looked for in the rows.
func joined(terms []Term) error {
	if !slices.ContainsFunc(terms, func(t Term) bool { return t.Op != Says }) {
		return nil
	}
	for _, t := range terms {
		if t.Op == Says && !t.Quoted && !t.Not && slices.Contains([]string{"and", "or", "not", "&&", "||", "&", "|", "!"}, strings.ToLower(t.Value)) {
			return fmt.Errorf(`%s joins nothing here: every term has to hold, and -term has not to; put it in quotes to look for the word, or write the condition for jq`, t.Value)
		}
	}
	return nil
}

func parseTerm(text string) (t Term, rest string, err error) {
	rest = text
	if len(rest) > 1 && rest[0] == '-' && !strings.ContainsRune(blanks, rune(rest[1])) {
		t.Not, rest = true, rest[1:]
	}
	name, quoted, rest, err := word(rest, operators)
	if err != nil {
		return t, "", err
	}
	sign := signAt(rest)
	if !quoted && name != "has" && strings.HasPrefix(rest, "://") {
		sign = "" // an address, not a field
	}
	if sign == "" {
		if quoted {
			if err := afterQuote(rest); err != nil {
				return t, "", err
			}
		} else {
			more, _, after, err := word(rest, "")
			if err != nil {
				return t, "", err
			}
			name, rest = name+more, after
		}
		if name == "" {
			return t, "", errors.New(`"" says nothing: write what to look for`)
		}
		t.Value, t.Quoted = name, quoted
		return t, rest, nil
	}
	rest = rest[len(sign):]
	value, valueQuoted, rest, err := word(rest, "")
	if err == nil && valueQuoted {
		err = afterQuote(rest)
	}
	if err != nil {
		return t, "", err
	}
	if !quoted && name == "" {
		return t, "", fmt.Errorf("%q has no field before it", sign+value)
	}
	if !quoted && name == "has" && sign == ":" {
		if value == "" && !valueQuoted {
			return t, "", errors.New("has: names no field")
		}
		t.Op, t.Name = Has, value
		return t, rest, nil
	}
	if value == "" && !valueQuoted {
		return t, "", fmt.Errorf(`%s%s has no value: write one, or "" for an empty one`, name, sign)
	}
	if err := slip(name, quoted, sign, value, valueQuoted); err != nil {
		return t, "", err
	}
	t.Name, t.Value, t.Quoted = name, value, valueQuoted
	t.Op = map[string]Op{":": Contains, "=": Equal, "<": Less, "<=": AtMost, ">": More, ">=": AtLeast}[sign]
	return t, rest, nil
}

// afterQuote finds what follows a quote without a blank.
func afterQuote(rest string) error {
	if rest == "" || strings.ContainsRune(blanks, rune(rest[0])) {
		return nil
	}
	more, _, _ := strings.Cut(rest, " ")
	return fmt.Errorf("%s follows a quote: put a blank between them, or all of it in quotes", more)
}

// slip finds a name or a value that is more likely a slip in an expression than meant as it is: it would be compared as
// a text, and no row would match.
func slip(name string, nameQuoted bool, sign, value string, valueQuoted bool) error {
	switch {
	case sign != ":" && !valueQuoted && strings.ContainsRune("<=>", rune(value[0])):
		return fmt.Errorf("%s%s%s: %q is not an operator; a value that begins with %c stands in quotes", name, sign, value, sign+value[:1], value[0])
	case !nameQuoted && (unbalanced(name) || strings.HasPrefix(name, "!") || strings.HasSuffix(name, "!")):
		return fmt.Errorf("%s%s%s: the field %s looks like a part of an expression, and there are no brackets and no !: a field of that name stands in quotes, as in %s%s%s",
			name, sign, value, name, QuoteText(name), sign, value)
	case !valueQuoted && sign != ":" && (unbalanced(value) || strings.ContainsAny(value, "<>")):
		return fmt.Errorf("%s%s%s: the value %s looks like a part of an expression: a text like that stands in quotes, as in %s%s%s",
			name, sign, value, value, QuoteName(name), sign, QuoteText(value))
	}
	return nil
}

// unbalanced reports whether brackets of a text do not close one another.
func unbalanced(s string) bool {
	open := 0
	for _, c := range s {
		switch c {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return true
			}
		}
	}
	return open != 0
}

func signAt(s string) string {
	for _, sign := range []string{"<=", ">=", "<", ">", "=", ":"} {
		if strings.HasPrefix(s, sign) {
			return sign
		}
	}
	return ""
}

// word reads up to a blank or one of the signs, or what stands in quotes.
func word(s, signs string) (w string, quoted bool, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, blanks+signs)
		if i < 0 {
			i = len(s)
		}
		return s[:i], false, s[i:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), true, s[i+1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", false, "", fmt.Errorf("the quote before %s does not end", strconv.Quote(s[1:]))
}

// QuoteName is a field's name as a filter takes it.
func QuoteName(name string) string {
	if name != "" && name != "has" && !strings.ContainsAny(name, " \t\r\n\"\\-!()"+operators) {
		return name
	}
	return QuoteText(name)
}

// FieldName is the name that a field is given by, which may be quoted as in a filter.
func FieldName(given string) string {
	name, ok := strings.CutPrefix(given, `"`)
	if !ok {
		return given
	}
	name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(name, `"`))
	if QuoteText(name) != given {
		return given
	}
	return name
}

// QuoteText is a filter for a text anywhere in a row.
func QuoteText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
