package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"zonedeck/service/query"
	"zonedeck/service/rows"
)

// Change says how a row differs between two results.
type Change byte

// The changes. The zero Change is of a list that is no difference.
const (
	Unchanged Change = iota
	Added
	Removed
	Changed
)

// String is the change in a word, "" for none.
func (c Change) String() string { return [...]string{"", "added", "removed", "changed"}[c] }

// FieldChange is a field that differs. Its texts are bounded and as a person reads them; a field that is not there is
// missing.
type FieldChange struct {
	Name     string
	Old, New Cell
}

// Keyed counts a result's rows by their keys.
type Keyed struct {
	Rows        int64
	RepeatedIDs int64 // rows whose key a row before has, too: the first one counts
	WithoutID   int64 // rows without the key, or with null, an empty text, a list or an object for it
	Unreadable  int64 // damaged rows, or too long
	Errors      int64 // rows that tell an error: they are no records
}

// Compared is the difference of two results.
type Compared struct {
	Rows *RowList // the new result's rows in its order, then the removed ones
	Key  string
	// Ignored are the fields that were not compared, the key with them.
	Ignored                 []string
	Added, Removed, Changed int64
	Unchanged               int64
	Old, New                Keyed
	oldFile                 *File
	OnlyNew                 bool
}

// KeyError says that no row of one of the results has a key, so that nothing can be compared by it.
type KeyError struct{ Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("no row of one of the results has a field %s with a value", query.QuoteName(e.Key))
}

// keyless reports whether all readable records of a result lack the key.
func (k Keyed) keyless() bool { return k.WithoutID > 0 && k.WithoutID+k.Unreadable == k.Rows-k.Errors }

// View is the difference as rows to look at.
func (c Compared) View() View { return View{Rows: c.Rows, Old: c.oldFile, Ignore: c.Ignored} }

// CompareOptions compares.
type CompareOptions struct {
	// Key is the field that identifies a row; see FieldName.
	Key string
	// Ignore are fields that change without meaning anything, such as a time.
	Ignore []string
	// OnlyNew yields only the rows whose key the old result does not have.
	OnlyNew bool
}

// Compare compares an old result with this one by a key. Rows are matched by the text of the key, so that the number 7 and the
// text "7" are one; values are compared by their kind and as they are spelled, but for white space in lists and objects. The
// order of fields does not count, and of a repeated one the first does. A table has texts alone: beside one the number 7
// and the text "7" are the same, as are an empty text and a field that is missing, and the apostrophe of a cell that was
// defused does not count. Rows that tell an error are not compared. Memory does not grow with the results: keys are
// sorted in temporary files.
//
// Errors: a *KeyError, those of the files.
func (f *File) Compare(ctx context.Context, old *File, how CompareOptions, on func(Progress)) (out Compared, err error) {
	how.Key = query.FieldName(how.Key)
	how.Ignore = append(slices.Clip(how.Ignore), how.Key) // by which they are one
	out = Compared{Key: how.Key, Ignored: how.Ignore, oldFile: old, OnlyNew: how.OnlyNew}
	keys := f.newSorter()
	defer keys.close()
	k := &keyer{how: how, seed: maphash.MakeSeed(), keys: keys, flat: isFlat(f, old)}
	if out.Old, err = k.read(ctx, old, 0, on); err != nil {
		return out, err
	}
	if out.New, err = k.read(ctx, f, 1, on); err != nil {
		return out, err
	}
	if out.Old.keyless() || out.New.keyless() {
		return out, &KeyError{how.Key}
	}
	order := f.newSorter()
	defer order.close()
	if err = out.join(ctx, keys, order); err != nil {
		return out, err
	}
	if out.Rows, err = newList(f.temp); err != nil {
		return out, err
	}
	err = order.eachSorted(ctx, func(_, load []byte) error {
		n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(load[8*i:])) } //nolint:gosec // as join wrote it
		return out.Rows.add(entry{row: n(0), at: n(1), oldRow: n(2), oldAt: n(3), change: Change(load[32])})
	})
	if err == nil {
		err = out.Rows.publish()
	}
	if err != nil {
		_ = out.Rows.Close() // the error before says more
	}
	return out, err
}

// keyer reads the keys of both results.
type keyer struct {
	how  CompareOptions
	seed maphash.Seed
	keys *sorter
	flat bool // one of the results is a table
}

// keyedRow is a row by the digest of its key, and the hash of its fields.
type keyedRow struct {
	digest [16]byte
	fields uint64
	row    int64
	at     int64
}

type keyedPart struct {
	rows  []keyedRow
	count Keyed
	bytes int64
}

func (k *keyer) read(ctx context.Context, f *File, side byte, on func(Progress)) (out Keyed, err error) {
	if err := f.Index(ctx, on); err != nil {
		return out, err
	}
	p := Progress{Size: f.layout.size}
	key, load := make([]byte, 25), make([]byte, 16)
	err = inParts(ctx, f.parts(scanBuffer), func(p part, buf []byte) (keyedPart, error) { return k.part(ctx, f, p, buf) }, func(got keyedPart) error {
		for _, r := range got.rows {
			copy(key, r.digest[:])
			key[16] = side
			binary.BigEndian.PutUint64(key[17:], uint64(r.row)) //nolint:gosec // not negative
			binary.LittleEndian.PutUint64(load, uint64(r.at))   //nolint:gosec // not negative
			binary.LittleEndian.PutUint64(load[8:], r.fields)
			if err := k.keys.add(key, load); err != nil {
				return err
			}
		}
		out.Rows += got.count.Rows
		out.WithoutID += got.count.WithoutID
		out.Unreadable += got.count.Unreadable
		out.Errors += got.count.Errors
		if p.Bytes, p.Rows = got.bytes, out.Rows; on != nil {
			on(p)
		}
		return nil
	})
	if err == nil {
		err = f.checkUnchanged()
	}
	return out, err
}

func (k *keyer) part(ctx context.Context, f *File, p part, buf []byte) (keyedPart, error) {
	out := keyedPart{bytes: p.to}
	s := newScanner(f.f, f.layout, p.from, p.to, buf)
	seen := newNames(f.layout)
	var last []int64 // by name: the row that had it last
	return out, eachRow(ctx, s, func(n int64, row []byte) error {
		out.count.Rows++
		if s.long || !f.layout.valid(row) {
			out.count.Unreadable++
			return nil
		}
		r := keyedRow{row: p.row + n, at: s.at}
		has, isError, at := false, false, -1
		f.layout.eachField(row, func(name []byte, v value) bool {
			if at = seen.place(name, at+1); at < 0 {
				at = seen.add(f.layout.name(name))
				last = append(last, -1)
			}
			if last[at] == n {
				return true
			}
			last[at] = n
			if isError = rows.TellsError(seen.names[at], v.raw, v.cell); isError {
				return false
			}
			if seen.names[at] == k.how.Key && v.filled() && v.kind != List && v.kind != Object {
				r.digest, has = k.digest(v), true
			}
			if !k.how.OnlyNew {
				r.fields += k.hash(seen.names[at], v)
			}
			return true
		})
		switch {
		case isError:
			out.count.Errors++
		case !has:
			out.count.WithoutID++
		default:
			out.rows = append(out.rows, r)
		}
		return nil
	})
}

// digest is the digest of a key's text.
func (k *keyer) digest(v value) (out [16]byte) {
	sum := sha256.Sum256(v.plain())
	copy(out[:], sum[:])
	return out
}

// hash is one field's part of the sum over a row, which does not depend on their order.
func (k *keyer) hash(name string, v value) uint64 {
	form := v.form(k.flat)
	if len(form) == 0 || slices.Contains(k.how.Ignore, name) {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(k.seed)
	_, _ = h.WriteString(name) // it cannot fail
	_ = h.WriteByte(0)
	_, _ = h.Write(form)
	return h.Sum64()
}

// join goes through the keys of both results side by side.
func (c *Compared) join(ctx context.Context, keys, order *sorter) error {
	type side struct {
		matched bool
		row, at int64
		fields  uint64
	}
	var now [16]byte
	var sides [2]side
	var key, load []byte
	flush := func() error {
		old, fresh := sides[0], sides[1]
		change := Unchanged
		switch {
		case fresh.matched && !old.matched:
			change = Added
			c.Added++
		case old.matched && !fresh.matched:
			change = Removed
			c.Removed++
		case old.matched && fresh.fields != old.fields && !c.OnlyNew:
			change = Changed
			c.Changed++
		case old.matched:
			c.Unchanged++
		}
		sides = [2]side{}
		if change == Unchanged || c.OnlyNew && change == Removed {
			return nil
		}
		last, row := byte(0), fresh.row
		if change == Removed {
			last, row = 1, old.row
		}
		key = binary.BigEndian.AppendUint64(append(key[:0], last), uint64(row)) //nolint:gosec // not negative
		load = load[:0]
		for _, n := range []int64{fresh.row, fresh.at, old.row, old.at} {
			load = binary.LittleEndian.AppendUint64(load, uint64(n)) //nolint:gosec // it comes back as it was
		}
		return order.add(key, append(load, byte(change)))
	}
	counts := [2]*Keyed{&c.Old, &c.New}
	err := keys.eachSorted(ctx, func(k, v []byte) error {
		if !bytes.Equal(now[:], k[:16]) {
			if err := flush(); err != nil {
				return err
			}
			copy(now[:], k)
		}
		n := k[16]
		if sides[n].matched {
			counts[n].RepeatedIDs++
			return nil
		}
		sides[n] = side{
			matched: true, row: int64(binary.BigEndian.Uint64(k[17:])), at: int64(binary.LittleEndian.Uint64(v)), //nolint:gosec // as read wrote it
			fields: binary.LittleEndian.Uint64(v[8:]),
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}

// changes are the fields in which a row differs from the one in the old result, those of the new row first.
func (f *File) changes(old *File, e entry, ignore []string) ([]FieldChange, error) {
	before, err := old.fieldsAt(e.oldAt)
	if err != nil {
		return nil, err
	}
	after, err := f.fieldsAt(e.at)
	if err != nil {
		return nil, err
	}
	var out []FieldChange
	flat := isFlat(f, old)
	differ := func(name string) {
		a, b := before.at[name], after.at[name]
		if !slices.Contains(ignore, name) && !bytes.Equal(a.form(flat), b.form(flat)) {
			out = append(out, FieldChange{Name: name, Old: a.tableCell(), New: b.tableCell()})
		}
	}
	for _, name := range after.names {
		differ(name)
	}
	for _, name := range before.names {
		if _, ok := after.at[name]; !ok {
			differ(name)
		}
	}
	return out, nil
}

// rowFields are the fields of a row.
type rowFields struct {
	names []string // in their order
	at    map[string]value
}

func (f *File) fieldsAt(at int64) (rowFields, error) {
	out := rowFields{at: map[string]value{}}
	s := newScanner(f.f, f.layout, at, f.layout.size, make([]byte, 16<<10))
	row, err := s.next()
	if err != nil {
		return out, fmt.Errorf("%s: %w", f.name, err)
	}
	f.layout.eachField(row, func(spelled []byte, v value) bool {
		name := f.layout.name(spelled)
		if _, twice := out.at[name]; !twice {
			v.raw = bytes.Clone(v.raw)
			out.at[name] = v
			out.names = append(out.names, name)
		}
		return len(out.names) < maxSheet
	})
	return out, nil
}

// EachChange gives the rows of a difference: what became of each, as JSON, and for a changed one the fields. What on
// gets is valid within the call.
func (c Compared) EachChange(ctx context.Context, f *File, on func(change Change, row []byte, fields []FieldChange) error) error {
	var buf []byte
	return f.eachOf(ctx, c.View(), func(_ int64, file *File, e entry, row []byte) error {
		var fields []FieldChange
		if e.change == Changed {
			var err error
			if fields, err = f.changes(c.oldFile, e, c.Ignored); err != nil {
				return err
			}
		}
		buf = file.layout.appendJSON(buf[:0], row, nil)
		return on(e.change, buf, fields)
	})
}

// Counts says what a person should know about the keys, what is missing and what is repeated, one line each.
func (c Compared) Counts() []string {
	var out []string
	for _, s := range []struct {
		name string
		Keyed
	}{{"old", c.Old}, {"new", c.New}} {
		say := func(n int64, words string) {
			if n > 0 {
				out = append(out, fmt.Sprintf("the %s result: %d of %d rows %s", s.name, n, s.Rows, words))
			}
		}
		say(s.WithoutID, "not compared, without "+query.QuoteName(c.Key))
		say(s.RepeatedIDs, "repeat a key, of which the first counts")
		say(s.Errors, "not compared, as they tell an error")
		say(s.Unreadable, "cannot be read")
	}
	return out
}
