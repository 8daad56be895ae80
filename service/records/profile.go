package records

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// The bounds of a profile.
const (
	// MaxColumns is how many columns are told about.
	MaxColumns  = 512
	maxName     = 512     // bytes of a column's name; the rest of a longer one is dropped
	exactUpTo   = 1 << 10 // distinct values that are counted one by one
	sketchPower = 12      // then by 4096 registers, with a standard error of 1.6 %
)

// Profile is what is known of the columns over the whole file.
type Profile struct {
	Done    bool     `json:"done"`
	Rows    int64    `json:"rows"`
	Damaged int64    `json:"damaged"` // rows that cannot be read
	First   int64    `json:"first"`   // of them, when there are any
	Columns []Column `json:"columns"`
	// MoreColumns says that there are further columns than MaxColumns.
	MoreColumns bool `json:"more"`
}

// Column is one column of a file.
type Column struct {
	Name string `json:"name"`
	// Kinds counts the values of each kind; those that are missing are the rest of the rows.
	Kinds  [kinds]int64 `json:"kinds"`
	Filled int64        `json:"filled"` // rows with a value that says something
	// Distinct is how many values there are that differ as they are spelled; About says that it is
	// an estimate, with a standard error of 1.6 %.
	Distinct int64 `json:"distinct"`
	About    bool  `json:"about"`
}

// Lacks reports whether no row has a column of that name. Where not every column is told about, that is
// not known, and in a file without columns nothing lacks.
func (p Profile) Lacks(name string) bool {
	return p.Done && !p.MoreColumns && len(p.Columns) > 0 && !slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Name == shortName(name) })
}

// Unreadable says why no row of the file can be read; it is empty where one can, and for a result without rows.
func (f *File) Unreadable(ctx context.Context) (why string, err error) {
	if err := f.Index(ctx, nil); err != nil {
		return "", err
	}
	f.mu.RLock()
	count, fault := f.x.rows, f.x.fault
	f.mu.RUnlock()
	if count == 0 {
		if f.layout.format == CSV && FormatOf(f.path) != CSV && len(f.layout.header) == 1 {
			return "it is neither JSON nor CSV with rows; only a file that ends in .csv may be one header alone", nil
		}
		return fault, nil
	}
	first, err := f.Detail(View{}, 0)
	if err != nil || first.Damaged == "" {
		return "", err
	}
	p, err := f.Profile(ctx, nil)
	if err != nil || p.Damaged < p.Rows {
		return "", err
	}
	return "row 1: " + first.Damaged, nil
}

// Type is the kinds that were seen, but null: "number", "number+text", or "null".
func (c Column) Type() string {
	var words []string
	for _, k := range []Kind{Number, Text, Bool, Object, List} {
		if c.Kinds[k] > 0 {
			words = append(words, k.String())
		}
	}
	if len(words) == 0 {
		return "null"
	}
	return strings.Join(words, "+")
}

// Fill is the share of the rows with a value, from 0 to 1.
func (c Column) Fill(rows int64) float64 {
	if rows == 0 {
		return 0
	}
	return float64(c.Filled) / float64(rows)
}

// FillWords is the share in per cent: 100 % only where no row is without, 0 % only where every row is.
func (c Column) FillWords(rows int64) string {
	p := int(math.Round(100 * c.Fill(rows)))
	switch {
	case p == 100 && c.Filled < rows:
		p = 99
	case p == 0 && c.Filled > 0:
		return "<1 %"
	}
	return fmt.Sprintf("%d %%", p)
}

// DistinctWords is how many values differ: "17", or of an estimate "about 1200000 (±1.6 %)".
func (c Column) DistinctWords() string {
	if c.About {
		return fmt.Sprintf("about %d (±1.6 %%)", c.Distinct)
	}
	return fmt.Sprint(c.Distinct)
}

// tally is a column while it is counted.
type tally struct {
	name   string
	row    int64 // where it was first seen, and its place there
	place  int
	kinds  [kinds]int64
	filled int64
	exact  map[uint64]struct{}
	sketch []uint8
	last   int64 // the row counted last: a repeated field counts once
}

// see counts a value by its hash.
func (t *tally) see(h uint64) {
	if t.sketch == nil {
		if t.exact == nil {
			t.exact = map[uint64]struct{}{}
		}
		if t.exact[h] = struct{}{}; len(t.exact) > exactUpTo {
			t.toSketch()
		}
		return
	}
	t.register(h)
}

func (t *tally) toSketch() {
	t.sketch = make([]uint8, 1<<sketchPower)
	for h := range t.exact {
		t.register(h)
	}
	t.exact = nil
}

// register is HyperLogLog: each register keeps the longest run of zeros among its hashes.
func (t *tally) register(h uint64) {
	i := h >> (64 - sketchPower)
	run := uint8(bits.LeadingZeros64(h<<sketchPower|1<<(sketchPower-1)) + 1) //nolint:gosec // at most 53
	t.sketch[i] = max(t.sketch[i], run)
}

// distinct estimates as Flajolet and others did in 2007, with linear counting below.
func (t *tally) distinct() (n int64, about bool) {
	if t.sketch == nil {
		return int64(len(t.exact)), false
	}
	const m = 1 << sketchPower
	sum, empty := 0.0, 0
	for _, r := range t.sketch {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/float64(empty))
	}
	return int64(math.Round(estimate)), true
}

// add adds what another reader counted.
func (t *tally) add(o *tally) {
	if o.row < t.row || o.row == t.row && o.place < t.place {
		t.row, t.place = o.row, o.place
	}
	for k := range t.kinds {
		t.kinds[k] += o.kinds[k]
	}
	t.filled += o.filled
	if o.sketch == nil {
		for h := range o.exact {
			t.see(h)
		}
		return
	}
	if t.sketch == nil {
		t.toSketch()
	}
	for i, r := range o.sketch {
		t.sketch[i] = max(t.sketch[i], r)
	}
}

// counter counts the columns of a part of the file.
type counter struct {
	layout      layout
	seed        maphash.Seed
	columns     map[string]*tally
	order       []*tally // as the row before had them: most rows have the same fields in the same order
	rows        int64
	damaged     int64
	first       int64
	moreColumns bool
}

func newCounter(l layout, seed maphash.Seed) *counter {
	c := &counter{layout: l, seed: seed, columns: map[string]*tally{}}
	for i, name := range l.header[:min(len(l.header), MaxColumns)] {
		if name = shortName(name); c.columns[name] == nil {
			c.columns[name] = &tally{name: name, place: i, last: -1}
		}
		c.order = append(c.order, c.columns[name])
	}
	c.moreColumns = len(l.header) > MaxColumns
	return c
}

func (c *counter) row(n int64, row []byte, long bool) {
	c.rows++
	if long || !c.layout.valid(row) {
		if c.damaged == 0 {
			c.first = n
		}
		c.damaged++
		return
	}
	place := 0
	c.layout.eachField(row, func(name []byte, v value) bool {
		t := c.column(n, place, name)
		place++
		if t == nil || t.last == n {
			return true
		}
		t.last = n
		t.kinds[v.kind]++
		if v.filled() {
			t.filled++
			t.see(maphash.Bytes(c.seed, v.raw))
		}
		return true
	})
}

// column is the tally of a name.
func (c *counter) column(n int64, place int, name []byte) *tally {
	if place < len(c.order) && c.order[place].name == string(name) {
		return c.order[place]
	}
	word := shortName(c.layout.name(name))
	t := c.columns[word]
	if t == nil {
		if len(c.columns) >= MaxColumns {
			c.moreColumns = true
			return nil
		}
		t = &tally{name: word, row: n, place: place, last: -1}
		c.columns[word] = t
	}
	if place == len(c.order) {
		c.order = append(c.order, t)
	} else if place < len(c.order) {
		c.order[place] = t
	}
	return t
}

// profile is what was counted.
func (c *counter) profile() Profile {
	p := Profile{Rows: c.rows, Damaged: c.damaged, First: c.first, MoreColumns: c.moreColumns}
	for _, t := range slices.SortedFunc(maps.Values(c.columns), func(a, b *tally) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	}) {
		col := Column{Name: t.name, Kinds: t.kinds, Filled: t.filled}
		col.Distinct, col.About = t.distinct()
		col.Distinct = min(col.Distinct, col.Filled)
		p.Columns = append(p.Columns, col)
	}
	return p
}

func (c *counter) add(o *counter) {
	if o.damaged > 0 && (c.damaged == 0 || o.first < c.first) {
		c.first = o.first
	}
	c.rows += o.rows
	c.damaged += o.damaged
	c.moreColumns = c.moreColumns || o.moreColumns
	for name, t := range o.columns {
		have := c.columns[name]
		if have == nil && len(c.columns) >= MaxColumns {
			c.moreColumns = true
			continue
		}
		if have == nil {
			c.columns[name] = t
			continue
		}
		have.add(t)
	}
}

// Profile counts the columns over the whole file, in one pass, unless that was done; the figures lie in
// the index. on gets what is known so far.
func (f *File) Profile(ctx context.Context, on func(Profile)) (Profile, error) {
	if err := f.Index(ctx, nil); err != nil {
		return Profile{}, err
	}
	f.mu.RLock()
	known := f.profile
	f.mu.RUnlock()
	if known.Done {
		return known, nil
	}
	seed := maphash.MakeSeed()
	sum := newCounter(f.layout, seed)
	parts, done := f.parts(4<<20), 0
	err := inParts(ctx, parts, func(p part, buf []byte) (*counter, error) {
		c := newCounter(f.layout, seed)
		s := newScanner(f.f, f.layout, p.from, p.to, buf)
		return c, eachRow(ctx, s, func(n int64, row []byte) error {
			c.row(p.row+n, row, s.long)
			return nil
		})
	}, func(c *counter) error {
		sum.add(c)
		if done++; on != nil && (done < 4 || done%16 == 0) {
			on(sum.profile())
		}
		return nil
	})
	if err == nil {
		err = f.checkUnchanged()
	}
	if err != nil {
		return Profile{}, err
	}
	p := sum.profile()
	p.Done = true
	f.mu.Lock()
	f.profile = p
	f.mu.Unlock()
	f.save()
	return p, nil
}

// Known is the profile as far as it is known without a pass: empty, or whole.
func (f *File) Known() Profile {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.profile
}

// Head are the columns of the first rows, for a table before the profile is there.
func (f *File) Head(ctx context.Context) (Profile, error) {
	c := newCounter(f.layout, maphash.MakeSeed())
	s, err := f.at(0)
	if err == nil {
		err = eachRow(ctx, s, func(n int64, row []byte) error {
			c.row(n, row, s.long)
			if n == 199 || s.pos() > 4<<20 {
				return errEnough
			}
			return nil
		})
	}
	if err != nil && !isEnd(err) {
		return Profile{}, err
	}
	return c.profile(), nil
}

// spelled is a name as JSON.
func spelled(name string) []byte {
	var b bytes.Buffer
	writeText(&b, name)
	return b.Bytes()
}
