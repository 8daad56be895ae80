package dialect

import (
	"encoding/json"
	"net/url"
	"strconv"
)

// minPart is the smallest part of a result, in rows (public documentation), and maxParts
// bounds how many of them an answer may claim.
const (
	minPart  = 1000
	maxParts = 4096
)

// PartRows is how many rows a part of a result has, so that a result of that many records
// (below 0: not known) comes in some dozens of parts; 0 where it is not worth a question or
// the dialect knows no parts.
func (d Dialect) PartRows(dataset string, records int) int {
	if _, is := d.product(dataset); is {
		return 0
	}
	switch {
	case d.paths == nil || records >= 0 && records <= minPart:
		return 0
	case records < 0:
		return 10 * minPart
	}
	const parts = 32
	return (records/parts/minPart + 1) * minPart
}

// ResultQuery asks for a result with one row a line; part is counted from 1, and batch the
// rows of a part, or both are 0 for the whole. A product's result is asked for as it is.
func (d Dialect) ResultQuery(dataset string, batch, part int) url.Values {
	if _, is := d.product(dataset); is {
		return nil
	}
	q := url.Values{"format": {"ndjson"}}
	if batch > 0 {
		q.Set("batch_size", strconv.Itoa(batch))
	}
	if part > 0 {
		q.Set("part", strconv.Itoa(part))
	}
	return q
}

// PartCount reads how many parts a result has; ok is false where the answer does not say.
func (Dialect) PartCount(body []byte) (n int, ok bool) {
	var says struct {
		Parts int `json:"parts"`
	}
	if json.Unmarshal(body, &says) != nil || says.Parts < 1 || says.Parts > maxParts {
		return 0, false
	}
	return says.Parts, true
}
