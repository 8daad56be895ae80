package drift

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"hash/maphash"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tidwall/gjson"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// The bounds of a profile. It is made in one pass, and does not grow with the result.
const (
	// MaxFields is how many fields are profiled; later ones are ignored.
	MaxFields = 500
	// maxDistinct is how many different values of a field are told apart.
	maxDistinct = 128
	maxDepth    = 4   // of nested fields
	maxElements = 8   // of a list that are looked into
	maxNames    = 50  // of an object, over all rows; with more, its members are data, not fields
	maxPath     = 200 // bytes
	maxMembers  = 2000
)

// Profiler makes a Run from the rows of a result. It is for one goroutine.
type Profiler struct {
	run    Run
	fields map[string]*counting
	// profiled is how many rows the fields are of.
	profiled int
	seed     maphash.Seed
	wanted   map[string]FieldRule // the contract's fields, which are always profiled
	budget   int                  // members of the row that may still be looked at
	row      []opened             // the members of the row, to be looked into
}

// opened is a value to look into.
type opened struct {
	*counting
	kind  string
	value gjson.Result
}

// NewProfiler begins a run. It matches the contract's patterns; c may be nil.
func NewProfiler(c *Contract) *Profiler {
	p := &Profiler{fields: map[string]*counting{}, seed: maphash.MakeSeed(), wanted: map[string]FieldRule{}}
	p.run.Form = FormJSON
	if c != nil {
		for _, f := range c.Fields {
			p.wanted[f.Name] = f
		}
	}
	return p
}

// counting is a field of the run so far.
type counting struct {
	Field

	distinct map[uint64]struct{} // values, at most maxDistinct
	often    map[uint64]int      // Misra and Gries's counters, at most maxDistinct
	missed   int                 // how much each counter may be too low
	row      int                 // the last row where it was present
	filled   int                 // the last row where it was filled
	names    int                 // of its members
	want     *regexp.Regexp
}

// Row adds a row. Error rows are only counted, and so are rows without data beside one with data.
func (p *Profiler) Row(r rows.Row) {
	p.run.Returned++
	if r.Flat {
		p.run.Form = FormCSV
	}
	if r.Error || !r.Data && p.run.Useful > 0 {
		return
	}
	if r.Data {
		if p.run.Useful == 0 {
			p.fields, p.profiled, p.run.Beyond = map[string]*counting{}, 0, false
		}
		p.run.Useful++
	}
	p.profiled++
	p.budget, p.row = maxMembers, p.row[:0]
	r.Each(func(name string, value gjson.Result) bool {
		if r.Flat {
			value = typed(value.Str)
		}
		if c, kind := p.value(segment(name), value); c != nil {
			p.row = append(p.row, opened{c, kind, value})
		}
		return p.budget > 0
	})
	for _, o := range p.row { // a large member does not hide those after it
		p.open(o, 1)
	}
	p.run.Beyond = p.run.Beyond || p.budget <= 0
}

// Blame sets the class and cause of most rows without data.
func (p *Profiler) Blame(class model.Class, cause model.Cause) {
	p.run.Class, p.run.Cause = class, cause
}

// Run is the profile of the rows so far.
func (p *Profiler) Run(of Subject, ref string, at time.Time) Run {
	out := p.run
	out.Subject, out.Ref, out.At = of, ref, at
	out.Fields = make([]Field, 0, len(p.fields))
	for _, c := range p.fields {
		f := c.Field
		f.Distinct = len(c.distinct)
		for _, n := range c.often {
			f.Top = max(f.Top, n)
		}
		f.Top = min(f.Top+c.missed, f.Filled)
		out.Fields = append(out.Fields, f)
	}
	slices.SortFunc(out.Fields, func(a, b Field) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// segment is a name as a part of a path, its dots and backslashes escaped.
func segment(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(name, "�"), `\`, `\\`), ".", `\.`)
}

// typed reads the cell of a CSV file as a value.
func typed(cell string) gjson.Result {
	switch cell {
	case "":
		return gjson.Result{Type: gjson.Null}
	case "true", "false":
		return gjson.Parse(cell)
	}
	if c := cell[0]; (c == '-' || c >= '0' && c <= '9' || c == '{' || c == '[') && json.Valid([]byte(cell)) {
		return gjson.Parse(cell)
	}
	return gjson.Result{Type: gjson.String, Str: cell}
}

// value counts one value of the row; nil if its field is not profiled.
func (p *Profiler) value(path string, v gjson.Result) (c *counting, kind string) {
	p.budget--
	c = p.field(path)
	if c == nil {
		return nil, ""
	}
	if c.row != p.profiled {
		c.row = p.profiled
		c.Present++
	}
	kind, filled := measure(v)
	if filled && c.filled != p.profiled { // a list's elements count once
		c.filled = p.profiled
		c.count(kind, v, p.seed)
	}
	return c, kind
}

// open looks into an object or a list.
func (p *Profiler) open(o opened, depth int) {
	switch {
	case depth >= maxDepth || p.budget <= 0:
	case o.kind == typeObject:
		p.members(o.counting, o.Path+".", o.value, depth)
	case o.kind == typeList:
		n := 0
		o.value.ForEach(func(_, element gjson.Result) bool {
			n++
			if element.IsObject() {
				p.members(o.counting, o.Path+"[].", element, depth)
			}
			return n < maxElements && p.budget > 0
		})
	}
}

// members profiles the members of an object. Names that are data, such as dates or article numbers, are not fields: a
// name with digits and no letter is "*", and an object with more than maxNames names is folded.
func (p *Profiler) members(of *counting, prefix string, v gjson.Result, depth int) {
	v.ForEach(func(name, member gjson.Result) bool {
		path := prefix + segment(name.Str)
		_, wanted := p.wanted[path]
		if !wanted {
			if strings.ContainsAny(name.Str, "0123456789") && !strings.ContainsFunc(name.Str, unicode.IsLetter) {
				path = prefix + "*"
			}
			if p.fields[path] == nil {
				of.names++
			}
			if of.names > maxNames {
				p.fold(of, prefix)
				return true
			}
		}
		if c, kind := p.value(path, member); c != nil {
			p.open(opened{c, kind, member}, depth+1)
		}
		return p.budget > 0
	})
}

// fold drops an object's members, except the contract's fields.
func (p *Profiler) fold(of *counting, prefix string) {
	if of.Map {
		return
	}
	of.Map = true
	maps.DeleteFunc(p.fields, func(path string, _ *counting) bool {
		_, wanted := p.wanted[path]
		return !wanted && strings.HasPrefix(path, prefix)
	})
}

// field returns or begins a field; nil if there are too many or the path is too long.
func (p *Profiler) field(path string) *counting {
	c := p.fields[path]
	if c == nil {
		want, wanted := p.wanted[path]
		if len(p.fields) >= MaxFields && !wanted || len(path) > maxPath {
			p.run.Beyond = true
			return nil
		}
		c = &counting{distinct: map[uint64]struct{}{}, often: map[uint64]int{}, want: want.Pattern}
		c.Path, c.Types = path, map[string]int{}
		if c.want != nil {
			c.Pattern = c.want.String()
		}
		p.fields[path] = c
	}
	return c
}

// measure is a value's type, and whether it is filled.
func measure(v gjson.Result) (kind string, filled bool) {
	switch v.Type {
	case gjson.Null:
		return "", false
	case gjson.String:
		return typeText, strings.TrimSpace(v.Str) != ""
	case gjson.Number:
		return typeNumber, !math.IsInf(v.Num, 0) && !math.IsNaN(v.Num)
	case gjson.True, gjson.False:
		return typeBoolean, true
	}
	filled = false
	v.ForEach(func(_, _ gjson.Result) bool { filled = true; return false })
	if v.IsArray() {
		return typeList, filled
	}
	return typeObject, filled
}

// count adds a filled value.
func (c *counting) count(kind string, v gjson.Result, seed maphash.Seed) {
	c.Filled++
	c.Types[kind]++
	text := v.Raw
	switch v.Type {
	case gjson.Number:
		text = strconv.FormatFloat(v.Num, 'g', -1, 64)
	case gjson.String:
		text = v.Str
	}
	if c.want != nil && !c.want.MatchString(v.String()) {
		c.Misses++
	}
	h := maphash.String(seed, text)
	if len(c.distinct) < maxDistinct {
		c.distinct[h] = struct{}{}
	}
	if _, known := c.often[h]; known || len(c.often) < maxDistinct {
		c.often[h]++
		return
	}
	c.missed++
	for h, n := range c.often {
		if n == 1 {
			delete(c.often, h)
		} else {
			c.often[h] = n - 1
		}
	}
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// keyOf hashes a collector's name for the name of its contract file.
func keyOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum64()
}
