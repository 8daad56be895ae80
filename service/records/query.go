package records

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxFilter bounds a filter as it is typed, in bytes.
const MaxFilter = 4 << 10

// op is how a term looks at a field.
type op int

const (
	opText     op = iota // anywhere in the row
	opContains           // field:value
	opEqual              // field=value
	opLess               // field<value, and so on
	opMost
	opMore
	opLeast
	opHas // has:field
)

// term is one condition of a filter.
type term struct {
	op     op
	not    bool
	field  string
	value  []byte
	quoted bool   // value is
	folded []byte // value in lower case
	ascii  bool   // folded is
	number float64
	isNum  bool
}

// Filter is a condition on rows: every term must hold.
type Filter struct {
	terms []term
	text  string
}

// ParseFilter reads a filter as an operator types it:
//
//	word  "two words"      the row says it somewhere, in any case
//	field:value            the field's value contains it, in any case
//	field=value            the value is exactly that: of numbers, 7 and 7.0 are the same
//	field>5 < >= <=        as numbers, or as texts where value is no number
//	has:field              the field has a value that is neither null nor empty
//	-term                  the term does not hold
//
// A name or a value with blanks, colons or other signs stands in double quotes, in which \" is a
// quote: "list price (USD)">5, "a/b:c":x. So does a value after = < > <= >= that begins with one of
// these, and one that looks like a part of an expression, as in price>20)(: there are no brackets, and no "and" or "or"
// between terms. The error says what is wrong.
func ParseFilter(text string) (Filter, error) {
	f := Filter{text: strings.Trim(text, blanks)}
	if len(text) > MaxFilter {
		return f, fmt.Errorf("a filter has at most %d bytes", MaxFilter)
	}
	if !utf8.ValidString(text) {
		return f, errors.New("a filter is UTF-8")
	}
	for rest := f.text; rest != ""; rest = strings.TrimLeft(rest, blanks) {
		t, after, err := parseTerm(rest)
		if err != nil {
			return f, err
		}
		f.terms = append(f.terms, t)
		rest = after
	}
	return f, f.joined()
}

// joined finds a word that is meant to join conditions: it would be looked for in the rows.
func (f Filter) joined() error {
	if !slices.ContainsFunc(f.terms, func(t term) bool { return t.op != opText }) {
		return nil
	}
	for _, t := range f.terms {
		if w := string(t.value); t.op == opText && !t.quoted && !t.not && slices.Contains([]string{"and", "or", "not", "&&", "||", "&", "|", "!"}, string(t.folded)) {
			return fmt.Errorf(`%s joins nothing here: every term has to hold, and -term has not to; put it in quotes to look for the word, or write the condition for jq`, w)
		}
	}
	return nil
}

// String is the filter as it was typed.
func (f Filter) String() string { return f.text }

// Fields are the fields that it asks about, each once; negated says that a term is that something does not hold.
func (f Filter) Fields() (names []string, negated bool) {
	for _, t := range f.terms {
		negated = negated || t.not
		if t.op != opText && !slices.Contains(names, t.field) {
			names = append(names, t.field)
		}
	}
	return names, negated
}

// Empty reports whether every row passes.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

const (
	operators = ":=<>"
	blanks    = " \t\r\n"
)

func parseTerm(text string) (t term, rest string, err error) {
	rest = text
	if len(rest) > 1 && rest[0] == '-' && !strings.ContainsRune(blanks, rune(rest[1])) {
		t.not, rest = true, rest[1:]
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
		t.value, t.quoted = []byte(name), quoted
		return t.ready(), rest, nil
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
		t.op, t.field = opHas, value
		return t, rest, nil
	}
	if value == "" && !valueQuoted {
		return t, "", fmt.Errorf(`%s%s has no value: write one, or "" for an empty one`, name, sign)
	}
	if err := slip(name, quoted, sign, value, valueQuoted); err != nil {
		return t, "", err
	}
	t.field, t.value = name, []byte(value)
	t.op = map[string]op{":": opContains, "=": opEqual, "<": opLess, "<=": opMost, ">": opMore, ">=": opLeast}[sign]
	return t.ready(), rest, nil
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
	case !nameQuoted && (odd(name) || strings.HasPrefix(name, "!") || strings.HasSuffix(name, "!")):
		return fmt.Errorf("%s%s%s: the field %s looks like a part of an expression, and there are no brackets and no !: a field of that name stands in quotes, as in %s%s%s",
			name, sign, value, name, QuoteText(name), sign, value)
	case !valueQuoted && sign != ":" && (odd(value) || strings.ContainsAny(value, "<>")):
		return fmt.Errorf("%s%s%s: the value %s looks like a part of an expression: a text like that stands in quotes, as in %s%s%s",
			name, sign, value, value, QuoteName(name), sign, QuoteText(value))
	}
	return nil
}

// odd reports whether brackets of a text do not close one another.
func odd(s string) bool {
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

// ShownName is a field's name to be read: one of blanks alone, or of nothing, stands in quotes.
func ShownName(name string) string {
	if strings.TrimSpace(name) == "" {
		return QuoteText(name)
	}
	return name
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

func (t term) ready() term {
	t.folded = bytes.ToLower(t.value)
	t.ascii = isASCII(t.folded)
	t.number, t.isNum = numberOf(t.value)
	return t
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// matcher holds a filter against rows. Each goroutine has its own.
type matcher struct {
	layout  layout
	terms   []term
	scratch []byte
	met     []bool // by term, for the fields of the row
	fields  int    // terms about a field
}

func (f Filter) matcher(l layout) *matcher {
	m := &matcher{layout: l, terms: f.terms, met: make([]bool, len(f.terms))}
	for _, t := range f.terms {
		if t.op != opText {
			m.fields++
		}
	}
	return m
}

// match reports whether every term holds. If a field is repeated, the first one counts.
func (m *matcher) match(row []byte) bool {
	if row == nil {
		return false
	}
	for i := range m.terms {
		if t := &m.terms[i]; t.op == opText && m.says(row, t) == t.not {
			return false
		}
	}
	if m.fields == 0 {
		return true
	}
	clear(m.met)
	left, fits := m.fields, true
	m.layout.each(row, func(name []byte, v value) bool {
		for i := range m.terms {
			t := &m.terms[i]
			if t.op == opText || m.met[i] || !m.layout.named(name, t.field) {
				continue
			}
			m.met[i] = true
			left--
			if m.holds(t, v) == t.not {
				fits = false
				return false
			}
		}
		return left > 0
	})
	if !fits || left == 0 {
		return fits
	}
	for i := range m.terms { // a field that is not there
		if t := &m.terms[i]; t.op != opText && !m.met[i] && !t.not {
			return false
		}
	}
	return true
}

// says reports whether a row has a text in it, as it is spelled or as it reads.
func (m *matcher) says(row []byte, t *term) bool {
	if m.contains(row, t) {
		return true
	}
	if m.layout.format != CSV && bytes.IndexByte(row, '\\') < 0 || m.layout.format == CSV && bytes.IndexByte(row, '"') < 0 {
		return false
	}
	found := false
	m.layout.each(row, func(_ []byte, v value) bool {
		text := v.text()
		if v.kind == Object || v.kind == List {
			text = withoutEscapes(v.raw)
		}
		found = m.contains(text, t)
		return !found
	})
	return found
}

// withoutEscapes is JSON with each text in it as it reads.
func withoutEscapes(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out = append(out, raw[i])
			i++
			continue
		}
		after, _ := closeText(raw, i+1)
		if after < 0 {
			return append(out, raw[i:]...)
		}
		out = append(append(append(out, '"'), unquoted(raw[i:after])...), '"')
		i = after
	}
	return out
}

func (m *matcher) contains(b []byte, t *term) bool {
	if len(b) < len(t.folded) && t.ascii {
		return false
	}
	if !t.ascii {
		return bytes.Contains(bytes.ToLower(b), t.folded)
	}
	if cap(m.scratch) < len(b) {
		m.scratch = make([]byte, len(b)+len(b)/4)
	}
	low := m.scratch[:len(b)]
	for i, c := range b {
		low[i] = lowered[c]
	}
	return bytes.Contains(low, t.folded)
}

var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i) //nolint:gosec // below 256
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

func (m *matcher) holds(t *term, v value) bool {
	switch t.op {
	case opHas:
		return v.filled()
	case opContains:
		if v.kind == Null || v.kind == Missing {
			return false
		}
		text := v.text()
		if v.kind == Object || v.kind == List {
			text = withoutEscapes(v.raw)
		}
		return m.contains(text, t)
	case opEqual:
		if v.kind == Missing || v.kind == Null {
			return v.kind == Missing && len(t.value) == 0
		}
		if t.isNum && v.kind == Number {
			n, ok := numberOf(v.raw)
			return ok && compareNumbers(n, t.number, v.raw, t.value) == 0
		}
		return bytes.Equal(v.text(), t.value)
	}
	if v.kind == Null || v.kind == Missing || v.kind == Object || v.kind == List {
		return false
	}
	text := v.text()
	order := bytes.Compare(text, t.value)
	if t.isNum {
		n, ok := numberOf(text)
		if !ok {
			return false
		}
		order = compareNumbers(n, t.number, text, t.value)
	}
	switch t.op {
	case opLess:
		return order < 0
	case opMost:
		return order <= 0
	case opMore:
		return order > 0
	default:
		return order >= 0
	}
}
