package rows

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// maxDepth is how deep objects and arrays may be nested, so that encoding/json reads a row in an array, too. A row is
// remote, and 64 MiB of brackets are more than a stack.
const maxDepth = 9_999

// Valid reports whether raw is one JSON value, with white space around it or not. As encoding/json it does not
// look at what is UTF-8; it takes one level less.
func Valid(raw []byte) bool {
	end := valueEnd(raw, blanks(raw, 0), maxDepth)
	return end >= 0 && blanks(raw, end) == len(raw)
}

// blanks is where white space ends that b[i:] may begin with.
func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// valueEnd is where the value ends that b[i:] begins with, or -1 where that is no JSON or is nested deeper than depth.
func valueEnd(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return textEnd(b, i+1)
	case '{':
		return membersEnd(b, i, depth, nil)
	case '[':
		return elementsEnd(b, i, depth)
	case 't':
		return wordEnd(b, i, "true")
	case 'f':
		return wordEnd(b, i, "false")
	case 'n':
		return wordEnd(b, i, "null")
	default:
		return numberEnd(b, i)
	}
}

// membersEnd is valueEnd of an object. on gets its members: names without their quotes, values as they stand.
func membersEnd(b []byte, i, depth int, on func(name, value []byte)) int {
	if depth == 0 {
		return -1
	}
	if i = blanks(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i < len(b) && b[i] == '"' {
		after := textEnd(b, i+1)
		if after < 0 {
			return -1
		}
		name := b[i+1 : after-1]
		if i = blanks(b, after); i == len(b) || b[i] != ':' {
			return -1
		}
		i = blanks(b, i+1)
		end := valueEnd(b, i, depth-1)
		if end < 0 {
			return -1
		}
		if on != nil {
			on(name, b[i:end])
		}
		if i = blanks(b, end); i == len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = blanks(b, i+1)
	}
	return -1
}

func elementsEnd(b []byte, i, depth int) int {
	if depth == 0 {
		return -1
	}
	if i = blanks(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = valueEnd(b, i, depth-1); i < 0 {
			return -1
		}
		if i = blanks(b, i); i == len(b) {
			return -1
		}
		if b[i] == ']' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = blanks(b, i+1)
	}
}

// Eight bytes at once, for textEnd.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// textEnd is where a text ends, after its quote, that b[i:] is the inside of.
func textEnd(b []byte, i int) int {
	for {
		for ; len(b)-i >= 8; i += 8 {
			// The lowest bit of odd is right: a quote, a backslash, or what is below a blank.
			w := binary.LittleEndian.Uint64(b[i : i+8])
			quotes, escapes := w^(ones*'"'), w^(ones*'\\')
			if odd := ((quotes-ones)&^quotes | (escapes-ones)&^escapes | (w-ones*' ')&^w) & highs; odd != 0 {
				i += bits.TrailingZeros64(odd) / 8
				break
			}
		}
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = escapeEnd(b, i+1); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		default:
			i++
		}
	}
}

// escapeEnd is where an escape ends, of which b[i:] is what follows the backslash.
func escapeEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'f') {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

func wordEnd(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	end := digitsEnd(b, i)
	if end < 0 || end > i+1 && b[i] == '0' {
		return -1
	}
	if end < len(b) && b[end] == '.' {
		if end = digitsEnd(b, end+1); end < 0 {
			return -1
		}
	}
	if end < len(b) && b[end]|' ' == 'e' {
		end++
		if end < len(b) && (b[end] == '+' || b[end] == '-') {
			end++
		}
		return digitsEnd(b, end)
	}
	return end
}

// digitsEnd is where digits end, of which there is one at least.
func digitsEnd(b []byte, i int) int {
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// validText reports whether every part of a row is UTF-8.
func validText(parts []string) bool {
	return !slices.ContainsFunc(parts, func(s string) bool { return !utf8.ValidString(s) })
}
