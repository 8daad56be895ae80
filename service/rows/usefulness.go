package rows

import "bytes"

// usefulness looks once at a row, which stands without blanks around it: valid says that it is JSON, and useful that it
// certainly has data and no error, as is said of nearly every row so. A row with no more than asked filled fields may hold
// what was asked for, and nothing else.
func usefulness(raw []byte, asked int) (useful, valid bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return false, Valid(raw)
	}
	var fields [8][]byte // names of what is filled
	n := 0
	var inputs [2][]byte
	plain := true
	end := membersEnd(raw, 0, maxDepth, func(name, value []byte) {
		switch string(name) {
		case "input", "discovery_input":
			i := 0
			if name[0] == 'd' {
				i = 1
			}
			plain = plain && inputs[i] == nil
			inputs[i] = value
		case "error", "error_code":
			plain = plain && (string(value) == "null" || string(value) == "false" || string(value) == `""`)
		case "timestamp", "warning", "warning_code":
		default:
			plain = plain && bytes.IndexByte(name, '\\') < 0
			if isFilled(value) {
				if n < len(fields) {
					fields[n] = name
				}
				n++
			}
		}
	})
	if end != len(raw) || !plain || n <= asked {
		return false, end == len(raw)
	}
	for _, name := range fields[:min(n, len(fields))] {
		if lacks(inputs[0], name) && lacks(inputs[1], name) {
			return true, true
		}
	}
	return false, true
}

// isFilled reports whether a value, which is valid JSON, is filled.
func isFilled(value []byte) bool {
	switch value[0] {
	case 'n':
		return false
	case '"':
		return len(value) > 2
	case '{', '[':
		return value[blanks(value, 1)] != value[0]+2
	}
	return true
}

// lacks reports whether an input, which is valid JSON, has no field of that name, as far as that is seen at once.
func lacks(input, name []byte) bool {
	if input == nil || input[0] != '{' {
		return true
	}
	without := true
	membersEnd(input, 0, maxDepth, func(other, _ []byte) {
		without = without && !bytes.Equal(other, name) && bytes.IndexByte(other, '\\') < 0
	})
	return without
}
