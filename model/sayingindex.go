package model

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// startLength is how many bytes of a text of the table its first place is found by. Each has more.
const startLength = 4

// startOf is the key of a start.
func startOf(text string) uint32 { return binary.LittleEndian.Uint32([]byte(text[:startLength])) }

// sayingPlaces are the places of the texts of the table, by their starts.
type sayingPlaces struct {
	pairs  [1 << 16 / 64]uint64 // a bit for each two bytes that a start begins with: most places of a page have none
	starts map[uint32][]int
}

func (p *sayingPlaces) startingWith(start uint32) []int {
	if p.pairs[start&0xffff/64]&(1<<(start%64)) == 0 {
		return nil
	}
	return p.starts[start]
}

var readPlaces = sync.OnceValue(func() *sayingPlaces {
	p := &sayingPlaces{starts: map[uint32][]int{}}
	for n, s := range readSayings().texts {
		start := startOf(s.text)
		p.pairs[start&0xffff/64] |= 1 << (start % 64)
		p.starts[start] = append(p.starts[start], n)
	}
	return p
})

// within are those of the texts of the table that a text holds, in their order there. It looks at each place of the text
// once: there are a thousand of them.
func (all sayings) within(text string) []saying {
	var found []int
	places := readPlaces()
	for i := range len(text) - startLength {
		for _, n := range places.startingWith(startOf(text[i:])) {
			if strings.HasPrefix(text[i:], all.texts[n].text) {
				found = append(found, n)
			}
		}
	}
	slices.Sort(found)
	var out []saying
	for _, n := range slices.Compact(found) {
		out = append(out, all.texts[n])
	}
	return out
}

// mayHaveCode is a quick check: may codeFirst or codeLast match a text? What stands before the code of the first has no digits.
func mayHaveCode(text string) bool {
	first, last := strings.IndexAny(text, "0123456789"), len(strings.TrimSuffix(text, ")"))-len("404")
	return first >= 0 && (beginsWithCode(text[first:]) || beginsWithCode(text[max(last, 0):]))
}

func beginsWithCode(text string) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return len(text) >= len("404") && (text[0] == '4' || text[0] == '5') && digit(text[1]) && digit(text[2])
}
