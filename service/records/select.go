package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"zonedeck/service/filter"
)

// Query says which rows, in which order. A filter lets no damaged row through.
type Query struct {
	Filter Filter
	JQ     *filter.Condition // nil for none
	// Sort is the column to sort by, "" for the file's order; Down puts the largest first. Numbers come
	// before texts, texts are ordered by their bytes, and missing or null values come last either way.
	Sort string
	Down bool
}

// All reports whether the query gives every row in the file's order.
func (q Query) All() bool { return q.Filter.Empty() && q.JQ == nil && q.Sort == "" }

// Selection is what a query gave.
type Selection struct {
	Rows *RowList
	// Failed counts the rows for which jq gave an error, First says which was the first and why.
	Failed int64
	First  string
	// Unread counts rows that are too long to be looked at.
	Unread int64
}

// partResult is what a part came to.
type partResult struct {
	entries []entry
	keys    []byte // with Sort: the length of each key, and the key
	rows    int64
	failed  int64
	first   string
	long    int64
}

// jqPart is how many bytes of rows the bounds of one run of jq hold for.
const jqPart = 256 << 10

// Select finds the rows of a query. on gets the list as soon as there are rows to read; it grows until
// Select returns, in the file's order. Sorted rows are there only at the end. With an error, a list that was
// begun is returned too, for the caller to close: somebody may be reading it.
func (f *File) Select(ctx context.Context, q Query, begun func(*RowList), on func(Progress)) (out Selection, err error) {
	if err := f.Index(ctx, on); err != nil {
		return out, err
	}
	if out.Rows, err = newList(f.temp); err != nil {
		return out, err
	}
	if begun != nil {
		begun(out.Rows)
	}
	var order *sorter
	if q.Sort != "" {
		order = f.newSorter()
		defer order.close()
	}
	size := int64(scanBuffer)
	if q.JQ != nil {
		size = jqPart
	}
	parts := f.parts(size)
	p, n := Progress{Size: f.layout.size}, 0
	err = inParts(ctx, parts, func(p part, buf []byte) (partResult, error) { return f.selectPart(ctx, q, p, buf) }, func(got partResult) error {
		out.Failed += got.failed
		out.Unread += got.long
		if out.First == "" {
			out.First = got.first
		}
		if err := out.addPart(got, order); err != nil {
			return err
		}
		p.Rows += got.rows
		p.Found += int64(len(got.entries))
		if n++; n < len(parts) {
			p.Bytes = parts[n].from
		}
		if on != nil && (n < 8 || n%8 == 0) {
			on(p)
		}
		return nil
	})
	if err == nil {
		err = f.checkUnchanged()
	}
	if err == nil && order != nil {
		err = order.eachSorted(ctx, func(_, load []byte) error { return out.Rows.add(unpacked(load)) })
	}
	if err != nil {
		return out, err
	}
	return out, out.Rows.publish()
}

// addPart takes what a part came to.
func (s *Selection) addPart(got partResult, order *sorter) error {
	if order == nil {
		for _, e := range got.entries {
			if err := s.Rows.add(e); err != nil {
				return err
			}
		}
		return s.Rows.publish()
	}
	keys := got.keys
	for _, e := range got.entries {
		n := binary.LittleEndian.Uint16(keys)
		if err := order.add(keys[2:2+n], packed(e)); err != nil {
			return err
		}
		keys = keys[2+n:]
	}
	return nil
}

// packed is an entry's row for a sorter.
func packed(e entry) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), uint64(e.row)) //nolint:gosec // it comes back as it was
	return binary.LittleEndian.AppendUint64(b, uint64(e.at))                  //nolint:gosec // as above
}

func unpacked(b []byte) entry {
	return entry{row: int64(binary.LittleEndian.Uint64(b)), at: int64(binary.LittleEndian.Uint64(b[8:])), oldRow: -1} //nolint:gosec // as packed wrote it
}

func (f *File) selectPart(ctx context.Context, q Query, p part, buf []byte) (partResult, error) {
	if q.JQ == nil {
		return f.selectRows(ctx, q, p, buf, nil)
	}
	var out partResult
	err := q.JQ.Run(ctx, func(test func([]byte) (bool, error)) error {
		var err error
		out, err = f.selectRows(ctx, q, p, buf, test)
		return err
	})
	if errors.Is(err, filter.ErrTime) || errors.Is(err, filter.ErrMemory) {
		err = fmt.Errorf("jq on the rows from %d on: %w", p.row+1, err)
	}
	return out, err
}

func (f *File) selectRows(ctx context.Context, q Query, p part, buf []byte, test func([]byte) (bool, error)) (partResult, error) {
	var out partResult
	var key, text []byte
	m, filters := q.Filter.matcher(f.layout), !q.Filter.Empty()
	s := newScanner(f.f, f.layout, p.from, p.to, buf)
	err := eachRow(ctx, s, func(n int64, row []byte) error {
		out.rows++
		if s.long {
			out.long++
			return nil
		}
		if !m.match(row) || filters && !f.layout.valid(row) {
			return nil
		}
		if test != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			text = f.layout.appendJSON(text[:0], row, nil)
			ok, err := test(text)
			if err != nil {
				if over := ended(err); over != nil {
					return over
				}
				if out.failed++; out.first == "" {
					out.first = fmt.Sprintf("row %d: %v", p.row+n+1, err)
				}
			}
			if !ok {
				return nil
			}
		}
		out.entries = append(out.entries, entry{row: p.row + n, at: s.at, oldRow: -1})
		if q.Sort != "" {
			key = sortKey(key, f.layout.field(row, q.Sort), q.Down)
			out.keys = append(binary.LittleEndian.AppendUint16(out.keys, uint16(len(key))), key...) //nolint:gosec // at most maxKey and two
		}
		return nil
	})
	return out, err
}

// ended is the error of a run of jq that is over, and nil for one about a row.
func ended(err error) error {
	for _, over := range []error{filter.ErrTime, filter.ErrMemory, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, over) {
			return err
		}
	}
	return nil
}

// field is a row's value in a column; of a field that is repeated the first counts.
func (l layout) field(row []byte, name string) (out value) {
	l.eachField(row, func(spelled []byte, v value) bool {
		if !l.sameName(spelled, name) {
			return true
		}
		out = v
		if v.cell {
			out.raw = append([]byte(nil), v.raw...)
		}
		return false
	})
	return out
}
