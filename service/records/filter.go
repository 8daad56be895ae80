package records

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"zonedeck/service/query"
)

// term is one condition of a filter, made ready for bytes.
type term struct {
	query.Term
	value  []byte
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

// ParseFilter reads a filter, see query.Terms. Its fields are those of the rows:
//
//	word  "two words"      the row says it somewhere, in any case
//	field:value            the field's value contains it, in any case
//	field=value            the value is exactly that: of numbers, 7 and 7.0 are the same
//	field>5 < >= <=        as numbers, or as texts where value is no number
//	has:field              the field has a value that is neither null nor empty
//	-term                  the term does not hold
func ParseFilter(text string) (Filter, error) {
	f := Filter{text: strings.TrimSpace(text)}
	terms, err := query.Terms(text)
	for _, t := range terms {
		f.terms = append(f.terms, ready(t))
	}
	return f, err
}

// String is the filter as it was typed.
func (f Filter) String() string { return f.text }

// Fields are the fields whose values it asks about, each once. has:NAME asks whether there is such a field.
func (f Filter) Fields() (names []string) {
	for _, t := range f.terms {
		if t.Op != query.Says && t.Op != query.Has && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Empty reports whether every row passes.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

// ShownName is a field's name to be read: one of blanks alone, or of nothing, stands in quotes.
func ShownName(name string) string {
	if strings.TrimSpace(name) == "" {
		return query.QuoteText(name)
	}
	return name
}

func ready(q query.Term) term {
	t := term{Term: q, value: []byte(q.Value)}
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
		if t.Op != query.Says {
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
		if t := &m.terms[i]; t.Op == query.Says && m.matchesText(row, t) == t.Not {
			return false
		}
	}
	if m.fields == 0 {
		return true
	}
	clear(m.met)
	left, fits := m.fields, true
	m.layout.eachField(row, func(name []byte, v value) bool {
		for i := range m.terms {
			t := &m.terms[i]
			if t.Op == query.Says || m.met[i] || !m.layout.sameName(name, t.Name) {
				continue
			}
			m.met[i] = true
			left--
			if m.holds(t, v) == t.Not {
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
		if t := &m.terms[i]; t.Op != query.Says && !m.met[i] && !t.Not {
			return false
		}
	}
	return true
}

// matchesText reports whether a row has a text in it, as it is spelled or as it reads.
func (m *matcher) matchesText(row []byte, t *term) bool {
	if m.contains(row, t) {
		return true
	}
	if m.layout.format != CSV && bytes.IndexByte(row, '\\') < 0 || m.layout.format == CSV && bytes.IndexByte(row, '"') < 0 {
		return false
	}
	found := false
	m.layout.eachField(row, func(_ []byte, v value) bool {
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
	switch t.Op {
	case query.Has:
		return v.filled()
	case query.Contains:
		if v.kind == Null || v.kind == Missing {
			return false
		}
		text := v.text()
		if v.kind == Object || v.kind == List {
			text = withoutEscapes(v.raw)
		}
		return m.contains(text, t)
	case query.Equal:
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
	switch t.Op {
	case query.Less:
		return order < 0
	case query.AtMost:
		return order <= 0
	case query.More:
		return order > 0
	default:
		return order >= 0
	}
}
