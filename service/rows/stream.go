package rows

import (
	"encoding/json"
	"io"
	"math"
)

// Record is one row of a source that is read as a stream.
type Record struct {
	// Number and Line are where it stands, as in [Problem].
	Number, Line int
	// Values are its fields by name, as JSON. Of a table without a mapping, a column that looks like one of addresses is
	// there by the name url, too; a line that is one value is the url.
	Values map[string]json.RawMessage
}

// Taker takes the rows of a [Stream].
type Taker interface {
	// Take takes a row. Its error ends the stream.
	Take(row Record) error
	// Reject takes one that cannot be read.
	Reject(p Problem)
}

// Stream gives every row of a source to a taker, whatever their number; no more than one is held. kind is as for [Read].
// column names the one with the addresses, "" for the one that looks like URLs; names are others that are wanted. An
// error is the taker's, or says that from some point on the source cannot be read as its kind. notes are remarks on all
// of it.
func Stream(r io.Reader, kind, column string, names []string, to Taker) (notes []Problem, err error) {
	in := &inputReader{shape: Shape{Free: true, Names: names}, taker: to}
	if column != "" {
		in.shape.Map = map[string]string{column: urlField}
	}
	if _, err := in.read(&meter{r: r, remaining: math.MaxInt64}, kind); err != nil {
		return nil, err
	}
	in.sayBlank()
	in.sayMarked()
	return in.out.Problems, nil
}
