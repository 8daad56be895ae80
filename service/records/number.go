package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
)

// exactDigits is how long a number may be spelled so that as a float64 it is still different from every other one.
const exactDigits = 15

// isShort reports whether a number is known by its float64.
func isShort(text []byte) bool {
	return len(text) <= exactDigits && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0
}

// compareNumbers compares numbers that numberOf took, as it read them and as they are spelled.
func compareNumbers(a, b float64, spelledA, spelledB []byte) int {
	if a != b || isShort(spelledA) && isShort(spelledB) {
		return cmp.Compare(a, b)
	}
	return decimalOf(spelledA).compare(decimalOf(spelledB))
}

// decimal is 0.digits times ten to the power, as it is spelled. Its digits neither begin nor end with a zero; 0 has none.
type decimal struct {
	minus  bool
	digits []byte
	power  int
}

// decimalOf reads a number that numberOf took.
func decimalOf(text []byte) (d decimal) {
	if text[0] == '-' || text[0] == '+' {
		d.minus, text = text[0] == '-', text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		n, _ := strconv.Atoi(string(text[i+1:])) // the largest number, if it has more digits
		d.power, text = min(max(n, -1<<24), 1<<24), text[:i]
	}
	whole, part, _ := bytes.Cut(text, []byte("."))
	d.power += len(whole)
	d.digits = append(append(make([]byte, 0, len(text)), whole...), part...)
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		d.power--
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

func (d decimal) compare(o decimal) int {
	sign := func(d decimal) int {
		switch {
		case len(d.digits) == 0:
			return 0
		case d.minus:
			return -1
		default:
			return 1
		}
	}
	s := sign(d)
	if c := cmp.Compare(s, sign(o)); c != 0 {
		return c
	}
	return s * cmp.Or(cmp.Compare(d.power, o.power), bytes.Compare(d.digits, o.digits))
}

// numberKey appends a number so that the order of bytes is that of numbers: its float64, and what it is more or less than
// that, as it is spelled.
func numberKey(b []byte, n float64, text []byte) []byte {
	if n == 0 {
		n = 0 // -0 is 0
	}
	word := math.Float64bits(n)
	if word>>63 == 1 {
		word = ^word
	} else {
		word |= 1 << 63
	}
	b = binary.BigEndian.AppendUint64(b, word)
	if isShort(text) {
		return append(b, 1)
	}
	d := decimalOf(text)
	rest := d.compare(decimalOf(strconv.AppendFloat(nil, n, 'e', -1, 64)))
	b = append(b, byte(rest+1)) //nolint:gosec // 0, 1 or 2
	if rest == 0 {
		return b
	}
	from := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(d.power+1<<30)) //nolint:gosec // bounded by decimalOf
	b = append(append(b, d.digits...), 0)
	if d.minus {
		for i := range b[from:] {
			b[from+i] = ^b[from+i]
		}
	}
	return b
}
