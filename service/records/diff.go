package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
)

// Change is what became of a row between two results.
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

// FieldChange is a field that differs. Texts are as a person reads them and bounded; a field that is not there is
// missing.
type FieldChange struct {
	Name     string
	Old, New Cell
}

// Keyed counts a result's rows by their keys.
type Keyed struct {
	Rows       int64
	Repeated   int64 // rows whose key a row before has, too: the first one counts
	Without    int64 // rows without the key, or with null, an empty text, a list or an object for it
	Unreadable int64 // damaged rows, or too long
}

// Compared is the difference of two results.
type Compared struct {
	List *RowList // the new result's rows in its order, then the removed ones
	Key  string
	// Ignored are the fields that were not compared.
	Ignored                 []string
	Added, Removed, Changed int64
	Same                    int64
	Old, New                Keyed
	oldFile                 *File
	OnlyNew                 bool
}

// View is the difference as rows to look at.
func (c Compared) View() View { return View{List: c.List, Old: c.oldFile, Ignore: c.Ignored} }

// How compares.
type How struct {
	// Key is the field that identifies a row.
	Key string
	// Ignore are fields that change without meaning anything, such as a time.
	Ignore []string
	// OnlyNew gives the rows alone whose key the old result does not have.
	OnlyNew bool
}

// Compare compares an old result with this one by a key. Rows are matched by the text of the key, so that the number 7 and the
// text "7" are one; values are compared as they are spelled, the order of fields does not count. Memory does not grow
// with the results: keys are sorted in temporary files.
func (f *File) Compare(ctx context.Context, old *File, how How, on func(Progress)) (out Compared, err error) {
	out = Compared{Key: how.Key, Ignored: how.Ignore, oldFile: old, OnlyNew: how.OnlyNew}
	keys := f.newSorter()
	defer keys.close()
	k := &keyer{how: how, seed: maphash.MakeSeed(), keys: keys}
	if out.Old, err = k.read(ctx, old, 0, on); err != nil {
		return out, err
	}
	if out.New, err = k.read(ctx, f, 1, on); err != nil {
		return out, err
	}
	order := f.newSorter()
	defer order.close()
	if err = out.join(ctx, keys, order); err != nil {
		return out, err
	}
	if out.List, err = newList(f.temp); err != nil {
		return out, err
	}
	err = order.each(ctx, func(_, load []byte) error {
		n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(load[8*i:])) } //nolint:gosec // as join wrote it
		return out.List.add(entry{row: n(0), at: n(1), oldRow: n(2), oldAt: n(3), change: Change(load[32])})
	})
	if err == nil {
		err = out.List.publish()
	}
	if err != nil {
		_ = out.List.Close() // the error before says more
	}
	return out, err
}

// keyer reads the keys of both results.
type keyer struct {
	how  How
	seed maphash.Seed
	keys *sorter
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
		out.Without += got.count.Without
		out.Unreadable += got.count.Unreadable
		if p.Bytes, p.Rows = got.bytes, out.Rows; on != nil {
			on(p)
		}
		return nil
	})
	if err == nil {
		err = f.same()
	}
	return out, err
}

func (k *keyer) part(ctx context.Context, f *File, p part, buf []byte) (keyedPart, error) {
	out := keyedPart{bytes: p.to}
	s := newScanner(f.f, f.layout, p.from, p.to, buf)
	return out, eachRow(ctx, s, func(n int64, row []byte) error {
		out.count.Rows++
		if s.long || !f.layout.valid(row) {
			out.count.Unreadable++
			return nil
		}
		r := keyedRow{row: p.row + n, at: s.at}
		has := false
		f.layout.each(row, func(name []byte, v value) bool {
			if !has && f.layout.named(name, k.how.Key) && v.filled() && v.kind != List && v.kind != Object {
				sum := sha256.Sum256(v.text())
				copy(r.digest[:], sum[:])
				has = true
			}
			if !k.how.OnlyNew {
				r.fields += k.hash(f.layout, name, v)
			}
			return true
		})
		if !has {
			out.count.Without++
			return nil
		}
		out.rows = append(out.rows, r)
		return nil
	})
}

// hash is one field's part of the sum over a row, which does not depend on their order.
func (k *keyer) hash(l layout, name []byte, v value) uint64 {
	for _, ignored := range k.how.Ignore {
		if l.named(name, ignored) {
			return 0
		}
	}
	if !v.filled() && (v.kind == Missing || v.kind == Null) {
		return 0 // null and missing are one
	}
	var h maphash.Hash
	h.SetSeed(k.seed)
	_, _ = h.WriteString(l.name(name)) // it cannot fail
	_ = h.WriteByte(0)
	_, _ = h.Write(v.text())
	return h.Sum64()
}

// join goes through the keys of both results side by side.
func (c *Compared) join(ctx context.Context, keys, order *sorter) error {
	type side struct {
		seen    bool
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
		case fresh.seen && !old.seen:
			change = Added
			c.Added++
		case old.seen && !fresh.seen:
			change = Removed
			c.Removed++
		case old.seen && fresh.fields != old.fields && !c.OnlyNew:
			change = Changed
			c.Changed++
		case old.seen:
			c.Same++
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
	err := keys.each(ctx, func(k, v []byte) error {
		if !bytes.Equal(now[:], k[:16]) {
			if err := flush(); err != nil {
				return err
			}
			copy(now[:], k)
		}
		n := k[16]
		if sides[n].seen {
			counts[n].Repeated++
			return nil
		}
		sides[n] = side{
			seen: true, row: int64(binary.BigEndian.Uint64(k[17:])), at: int64(binary.LittleEndian.Uint64(v)), //nolint:gosec // as read wrote it
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
	differ := func(name string) {
		if slices.Contains(ignore, name) {
			return
		}
		a, b := before.of(name), after.of(name)
		if a.says() != b.says() {
			out = append(out, FieldChange{Name: name, Old: a.cell(), New: b.cell()})
		}
	}
	for _, x := range after {
		differ(x.name)
	}
	for _, x := range before {
		if !slices.ContainsFunc(after, func(y namedValue) bool { return y.name == x.name }) {
			differ(x.name)
		}
	}
	return out, nil
}

// namedValue is a field of a row.
type namedValue struct {
	name string
	kind Kind
	text string
}

// says is what two values are compared by: null is as missing.
func (v namedValue) says() string {
	if v.kind == Null || v.kind == Missing {
		return ""
	}
	return "=" + v.text
}

func (v namedValue) cell() Cell { return Cell{Kind: v.kind, Text: cut([]byte(v.text))} }

type rowFields []namedValue

func (r rowFields) of(name string) namedValue {
	for _, x := range r {
		if x.name == name {
			return x
		}
	}
	return namedValue{}
}

func (f *File) fieldsAt(at int64) (rowFields, error) {
	s := newScanner(f.f, f.layout, at, f.layout.size, make([]byte, 16<<10))
	row, err := s.next()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	var out rowFields
	f.layout.each(row, func(name []byte, v value) bool {
		n := namedValue{name: f.layout.name(name), kind: v.kind, text: string(v.text())}
		if !slices.ContainsFunc(out, func(x namedValue) bool { return x.name == n.name }) {
			out = append(out, n)
		}
		return len(out) < MaxColumns
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

// Counts says what a person should know of the keys: what is missing and what is repeated, a line each.
func (c Compared) Counts() []string {
	var out []string
	for _, s := range []struct {
		name string
		Keyed
	}{{"old", c.Old}, {"new", c.New}} {
		say := func(n int64, words string) {
			if n > 0 {
				out = append(out, fmt.Sprintf("the %s result: rows %s: %d of %d", s.name, words, n, s.Rows))
			}
		}
		say(s.Without, fmt.Sprintf("without the field %q, which are not compared", c.Key))
		say(s.Repeated, "that repeat a key, of which the first counts")
		say(s.Unreadable, "that cannot be read")
	}
	return out
}
