package route

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// IDs numbers requests for x-brd-debug: a random word for each start, and a number. The
// identifiers are not secret.
type IDs struct {
	word string
	last atomic.Uint64
}

// NewIDs begins a series.
func NewIDs() *IDs {
	word := make([]byte, 4)
	rand.Read(word) // never fails (crypto/rand)
	return &IDs{word: hex.EncodeToString(word)}
}

// Next returns the next identifier of the series.
func (i *IDs) Next() string {
	b := append(append(make([]byte, 0, 32), i.word...), '_')
	return string(strconv.AppendUint(b, i.last.Add(1), 16))
}
