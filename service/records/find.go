package records

import (
	"context"
	"errors"
	"io"
)

// Find gives the next row of a view that a filter lets through, after row i or, with back, before it; ok
// is false where there is none. on hears how many rows were looked at.
func (f *File) Find(ctx context.Context, view View, i int64, back bool, want Filter, on func(rows int64)) (at int64, ok bool, err error) {
	if view.Rows != nil {
		return f.findInList(ctx, view, i, back, want, on)
	}
	if back {
		return f.findBack(ctx, i, want, on)
	}
	s, err := f.at(i + 1)
	if errors.Is(err, io.EOF) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return firstIn(ctx, s, i+1, want.matcher(f.layout), on)
}

func firstIn(ctx context.Context, s *scanner, from int64, m *matcher, on func(int64)) (at int64, ok bool, err error) {
	err = eachRow(ctx, s, func(n int64, row []byte) error {
		if m.match(row) {
			at, ok = from+n, true
			return errEnough
		}
		if on != nil && n%65536 == 65535 {
			on(n)
		}
		return nil
	})
	return at, ok, err
}

// findBack looks through the parts before row i, the last first.
func (f *File) findBack(ctx context.Context, i int64, want Filter, on func(int64)) (at int64, ok bool, err error) {
	parts := f.parts(scanBuffer)
	m := want.matcher(f.layout)
	seen := int64(0)
	for k := len(parts) - 1; k >= 0 && !ok; k-- {
		p := parts[k]
		if p.row >= i {
			continue
		}
		s := newScanner(f.f, f.layout, p.from, p.to, nil)
		err := eachRow(ctx, s, func(n int64, row []byte) error {
			if p.row+n >= i {
				return errEnough
			}
			if seen++; m.match(row) {
				at, ok = p.row+n, true
			}
			return nil
		})
		if err != nil {
			return 0, false, err
		}
		if on != nil {
			on(seen)
		}
	}
	return at, ok, nil
}

func (f *File) findInList(ctx context.Context, view View, i int64, back bool, want Filter, on func(int64)) (int64, bool, error) {
	step := int64(1)
	if back {
		step = -1
	}
	matchers := map[*File]*matcher{f: want.matcher(f.layout)}
	scanners := map[*File]*scanner{f: newScanner(f.f, f.layout, 0, f.layout.size, make([]byte, 32<<10))}
	if o := view.Old; o != nil {
		matchers[o], scanners[o] = want.matcher(o.layout), newScanner(o.f, o.layout, 0, o.layout.size, make([]byte, 32<<10))
	}
	for n := int64(1); ; n++ {
		var e [1]entry
		at := i + n*step
		if got, err := view.Rows.get(at, e[:]); got == 0 || err != nil {
			return 0, false, err
		}
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		file, from := f, e[0].at
		if e[0].change == Removed {
			file, from = view.Old, e[0].oldAt
		}
		scanners[file].seek(from)
		row, err := scanners[file].next()
		if err != nil {
			return 0, false, err
		}
		if matchers[file].match(row) {
			return at, true, nil
		}
		if on != nil && n%65536 == 0 {
			on(n)
		}
	}
}
