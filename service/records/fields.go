package records

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// Kind is what a value is.
type Kind uint8

// The kinds of values. In CSV a cell is what it looks like, and an empty one is missing.
const (
	Missing Kind = iota
	Null
	Number
	Text
	Bool
	Object
	List
	kinds
)

// String is the kind in a word.
func (k Kind) String() string {
	return [...]string{"missing", "null", "number", "text", "bool", "object", "list"}[k]
}

// value is a field's value as the file spells it: JSON, or the text of a cell.
type value struct {
	kind Kind
	raw  []byte
	cell bool // raw is a text already
}

// onlyColumn is the name of the one column of rows that are no objects.
const onlyColumn = "value"

// eachField gives the fields of a JSON row, names as the row spells them between their quotes. It ends when
// on says so. A row that is no object has one field. ok is false where the row is no JSON as far as
// this was looked at.
func eachField(row []byte, on func(name []byte, v value) bool) (ok bool) {
	i := skipBlank(row, 0)
	if i == len(row) {
		return false
	}
	if row[i] != '{' {
		v, next := valueAt(row, i)
		if next < 0 || skipBlank(row, next) != len(row) {
			return false
		}
		on([]byte(onlyColumn), v)
		return true
	}
	i = skipBlank(row, i+1)
	if i < len(row) && row[i] == '}' {
		return skipBlank(row, i+1) == len(row)
	}
	for i < len(row) && row[i] == '"' {
		after, _ := closeText(row, i+1)
		if after < 0 {
			return false
		}
		name := row[i+1 : after-1]
		if i = skipBlank(row, after); i == len(row) || row[i] != ':' {
			return false
		}
		v, next := valueAt(row, skipBlank(row, i+1))
		if next < 0 {
			return false
		}
		if !on(name, v) {
			return true
		}
		if i = skipBlank(row, next); i == len(row) {
			return false
		}
		if row[i] == '}' {
			return skipBlank(row, i+1) == len(row)
		}
		if row[i] != ',' {
			return false
		}
		i = skipBlank(row, i+1)
	}
	return false
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && classOf[b[i]] == blank {
		i++
	}
	return i
}

// valueAt is the value at row[i:] and the place after it, -1 where there is none.
func valueAt(row []byte, i int) (v value, next int) {
	if i >= len(row) {
		return v, -1
	}
	switch c := row[i]; c {
	case '"':
		after, _ := closeText(row, i+1)
		if after < 0 {
			return v, -1
		}
		return value{kind: Text, raw: row[i:after]}, after
	case '{', '[':
		s := splitter{format: Values}
		end, next, _, found := s.end(row[i:], 0, false)
		if !found {
			return v, -1
		}
		kind := Object
		if c == '[' {
			kind = List
		}
		return value{kind: kind, raw: row[i : i+end]}, i + next
	}
	end := i
	for end < len(row) && classOf[row[end]] == plain {
		end++
	}
	raw := row[i:end]
	switch string(raw) {
	case "null":
		return value{kind: Null, raw: raw}, end
	case "true", "false":
		return value{kind: Bool, raw: raw}, end
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return v, -1
	}
	return value{kind: Number, raw: raw}, end
}

// eachCell gives the cells of a CSV row without their quotes, as encoding/csv reads them with
// LazyQuotes. A cell is valid until on returns.
func eachCell(row []byte, comma byte, on func(i int, cell []byte) bool) {
	for i, n := 0, 0; ; n++ {
		if i == len(row) || row[i] != '"' {
			end := bytes.IndexByte(row[i:], comma)
			if end < 0 {
				on(n, row[i:])
				return
			}
			if !on(n, row[i:i+end]) {
				return
			}
			i += end + 1
			continue
		}
		cell, next := quotedCell(row, i+1, comma)
		if !on(n, cell) || next > len(row) {
			return
		}
		i = next
	}
}

// commaOf is what parts the cells of a table that begins with head: a comma, a semicolon or a tab. It stands outside of quotes,
// in the first row as often as in the second, where it can be.
func commaOf(head []byte) byte {
	candidates := []byte{',', ';', '\t'}
	var counts [2][3]int
	row, quoted, begun := 0, false, false
	for _, c := range head {
		switch {
		case c == '"':
			quoted, begun = !quoted, true
		case quoted:
		case c == '\n' && begun:
			row, begun = row+1, false
		case c != '\r' && c != '\n':
			begun = true
			if i := bytes.IndexByte(candidates, c); i >= 0 {
				counts[row][i]++
			}
		}
		if row == len(counts) {
			break
		}
	}
	best := 0
	even := func(i int) bool { return counts[0][i] > 0 && counts[0][i] == counts[1][i] }
	for i := range candidates {
		if even(i) && !even(best) || even(i) == even(best) && counts[0][i] > counts[0][best] {
			best = i
		}
	}
	return candidates[best]
}

// quotedCell reads a cell after its first quote; next is where the one after it begins, beyond the row for none.
func quotedCell(row []byte, from int, comma byte) (cell []byte, next int) {
	var held []byte // with what was joined; nil as long as the cell is a part of the row
	for i := from; ; {
		j := bytes.IndexByte(row[i:], '"')
		if j < 0 {
			return lineEnds(append(held, row[i:]...)), len(row) + 1
		}
		i += j
		switch {
		case i+1 < len(row) && row[i+1] == '"':
			held = append(held, row[from:i+1]...)
			i += 2
			from = i
		case i+1 == len(row) || row[i+1] == comma:
			cell = row[from:i]
			if held != nil {
				cell = append(held, cell...)
			}
			return lineEnds(cell), i + 2
		default: // a quote inside, which nothing doubles
			held = append(held, row[from:i+1]...)
			i++
			from = i
		}
	}
}

// lineEnds are a cell's line ends as encoding/csv gives them.
func lineEnds(cell []byte) []byte {
	if bytes.IndexByte(cell, '\r') < 0 {
		return cell
	}
	return bytes.ReplaceAll(cell, []byte("\r\n"), []byte("\n"))
}

// cellValue is a cell as a value.
func cellValue(cell []byte) value { return value{kind: kindOfCell(cell), raw: cell, cell: true} }

func kindOfCell(cell []byte) Kind {
	switch {
	case len(cell) == 0:
		return Missing
	case string(cell) == "true" || string(cell) == "false":
		return Bool
	}
	if _, ok := numberOf(cell); ok {
		return Number
	}
	return Text
}

// numberOf reads a number as a person may write it in a cell. One that begins with a zero too many, as a code does, is none.
func numberOf(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 64 || bytes.IndexByte([]byte("+-.0123456789"), b[0]) < 0 {
		return 0, false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	digits := b
	if b[0] == '-' || b[0] == '+' {
		digits = b[1:]
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0, false
	}
	n, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	return n, err == nil
}

// text is a value as a person reads it: a text without its quotes, anything else as it is spelled.
func (v value) text() []byte {
	if v.cell || v.kind != Text {
		return v.raw
	}
	return unquoted(v.raw)
}

// unquoted is what a JSON text says. Without escapes it is a part of the row.
func unquoted(raw []byte) []byte {
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return inside
	}
	return []byte(s)
}

// filled reports whether a value says anything: not null, and not empty.
func (v value) filled() bool {
	switch v.kind {
	case Missing, Null:
		return false
	case Text:
		return v.cell && len(v.raw) > 0 || len(v.raw) > 2
	case Object, List:
		return skipBlank(v.raw, 1) < len(v.raw)-1
	default:
		return true
	}
}

// isName reports whether a name that a row spells is the given one.
func isName(spelled []byte, name string) bool {
	if bytes.IndexByte(spelled, '\\') < 0 {
		return string(spelled) == name
	}
	return nameOf(spelled) == name
}

// nameOf is a name that a row spells.
func nameOf(spelled []byte) string {
	if bytes.IndexByte(spelled, '\\') < 0 && utf8.Valid(spelled) {
		return string(spelled)
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, spelled...), '"'), &s) != nil {
		return string(bytes.ToValidUTF8(spelled, []byte("�")))
	}
	return s
}

func isObject(b []byte) bool { return len(b) > 0 && b[0] == '{' && rows.Valid(b) }

// valid reports whether a row is what its format asks for.
func (l layout) valid(row []byte) bool {
	if l.format == CSV {
		return utf8.Valid(row)
	}
	return rows.Valid(row)
}

// eachField gives the fields of a row by its format. A row that cannot be read gives none, or those before the damage.
func (l layout) eachField(row []byte, on func(name []byte, v value) bool) {
	if l.format != CSV {
		eachField(row, on)
		return
	}
	eachCell(row, l.comma, func(i int, cell []byte) bool {
		if i >= len(l.header) && len(cell) == 0 {
			return true // a comma too many
		}
		name := l.column(i)
		return on(unsafe.Slice(unsafe.StringData(name), len(name)), cellValue(cell))
	})
}

// column is the name of a column of a table: cells beyond the header have one, too.
func (l layout) column(i int) string {
	if i < len(l.header) {
		return l.header[i]
	}
	return l.beyond + strconv.Itoa(i+1)
}

// shortName is a name as a column has it.
func shortName(name string) string { return model.Cut(name, maxName) }

// isCut reports whether a column's name may be a longer one's beginning.
func isCut(name string) bool { return len(name) >= maxName && strings.HasSuffix(name, "…") }

// sameName reports whether a name that each gave is the given one, or is shortened to it.
func (l layout) sameName(spelled []byte, name string) bool {
	if isCut(name) {
		full := l.name(spelled)
		return full == name || shortName(full) == name
	}
	if l.format == CSV {
		return string(spelled) == name
	}
	return isName(spelled, name)
}

// name is a name that each gave.
func (l layout) name(spelled []byte) string {
	if l.format == CSV {
		return string(bytes.ToValidUTF8(spelled, []byte("�")))
	}
	return nameOf(spelled)
}
