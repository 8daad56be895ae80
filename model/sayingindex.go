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

// sayingStarts are the places of the texts of the table, by their starts.
var sayingStarts = sync.OnceValue(func() map[uint32][]int {
	starts := map[uint32][]int{}
	for n, s := range readSayings().texts {
		starts[startOf(s.text)] = append(starts[startOf(s.text)], n)
	}
	return starts
})

// within are those of the texts of the table that a text holds, in their order there. It looks at each place of the text
// once: there are a thousand of them.
func (all sayings) within(text string) []saying {
	var found []int
	for i := range len(text) - startLength {
		for _, n := range sayingStarts()[startOf(text[i:])] {
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
