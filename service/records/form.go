package records

import "zonedeck/service/rows"

// isFlat reports whether one of two results is a table, which has texts alone.
func isFlat(a, b *File) bool { return a.layout.format == CSV || b.layout.format == CSV }

// plain is a value's text as two results are compared by it: the same in a table and outside of one.
func (v value) plain() []byte {
	text := v.text()
	if v.cell && len(text) > 0 && text[0] == '\'' {
		text = []byte(rows.Fused(string(text)))
	}
	return lineEnds(text)
}

// form is what a value is compared by: with flat its text, else its kind before that. Null and missing have none.
func (v value) form(flat bool) []byte {
	if v.kind == Null || v.kind == Missing {
		return nil
	}
	text := v.plain()
	if nested := v.kind == Object || v.kind == List; nested || flat && looksNested(text) {
		text = withoutBlanks(text)
	}
	if flat {
		return text
	}
	return append([]byte{byte(v.kind)}, text...)
}

// looksNested reports whether a text is a list or an object as JSON.
func looksNested(text []byte) bool {
	return len(text) > 0 && (text[0] == '[' || text[0] == '{') && rows.Valid(text)
}

// withoutBlanks is JSON without white space between its parts.
func withoutBlanks(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch classOf[raw[i]] {
		case blank:
			i++
		case quote:
			after, _ := closeText(raw, i+1)
			if after < 0 {
				return append(out, raw[i:]...)
			}
			out = append(out, raw[i:after]...)
			i = after
		default:
			out = append(out, raw[i])
			i++
		}
	}
	return out
}

// tableCell is a value for a table.
func (v value) tableCell() Cell { return Cell{Kind: v.kind, Text: cut(v.text())} }
