package drift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// Amendment is a contract with the fewest changes to its lines that let a run pass.
type Amendment struct {
	File  string
	Lines []AmendedLine // in the order of the file; none where it lets the run pass as it is

	before, after []byte
}

// AmendedLine is an entry of the file, without the comment behind it, which stays. Was is empty for one that is added below
// line Number, Becomes for one that goes.
type AmendedLine struct {
	Number       int // from 1, in the file as it is
	Was, Becomes string
}

func (l AmendedLine) String() string {
	switch {
	case l.Was == "":
		return fmt.Sprintf("below line %d: %s", l.Number, l.Becomes)
	case l.Becomes == "":
		return fmt.Sprintf("line %d goes: %s", l.Number, l.Was)
	default:
		return fmt.Sprintf("line %d: %s becomes %s", l.Number, l.Was, l.Becomes)
	}
}

// Errors of an Amendment.
var (
	// ErrNotAmended says that a rule of a contract cannot be changed without touching others.
	ErrNotAmended = errors.New("an entry that has to change has no line of its own: edit the file")
	// ErrAmended says that the file was changed after the change was proposed.
	ErrAmended = errors.New("the contract has been changed meanwhile: look at it first")
)

// Amend proposes the contract that the newest run of a collector fulfils. That run must be seq, unless seq is 0.
// Nothing is written.
func (m *Monitor) Amend(ctx context.Context, c Collector, seq int64) (Amendment, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Amendment{}, err
	}
	r, err := newest(ctx, store, c, seq)
	if err != nil {
		return Amendment{}, err
	}
	file, err := m.ContractFile(c.Kind, c.Name)
	if err != nil {
		return Amendment{}, err
	}
	text, err := textfile.ReadBounded(file, textfile.MaxSize)
	if err != nil {
		return Amendment{}, err
	}
	return amend(file, text, r)
}

// WriteAmendment writes a contract as it was proposed. If the file was changed since, it is left alone: ErrAmended.
func (m *Monitor) WriteAmendment(a Amendment) error {
	now, err := textfile.ReadBounded(a.File, textfile.MaxSize)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(now, a.before):
		return fmt.Errorf("%s: %w", a.File, ErrAmended)
	}
	return textfile.Write(a.File, a.after)
}

// newest is the newest run of a collector. It must be seq, unless seq is 0.
func newest(ctx context.Context, store *Store, c Collector, seq int64) (Run, error) {
	runs, err := store.Runs(ctx, c, 1)
	switch {
	case err != nil:
		return Run{}, err
	case len(runs) == 0:
		return Run{}, fmt.Errorf("%s: %w", model.Line(c.Name, 80), ErrUnknown)
	case seq != 0 && seq != runs[0].Seq:
		return Run{}, fmt.Errorf("%s of %s: %w", runs[0].Ref, model.Line(c.Name, 80), ErrNewer)
	}
	return runs[0], nil
}

// amend changes the lines of a contract that a run breaks.
func amend(file string, text []byte, r Run) (Amendment, error) {
	c, err := ParseContract(file, text)
	if err != nil {
		return Amendment{}, err
	}
	var raw contractFile
	doc, err := textfile.Decode(file, text, &raw)
	if err != nil {
		return Amendment{}, err
	}
	e := editor{doc: doc}
	if r.Useful < c.MinRows {
		e.set(textfile.At("min_rows"), strconv.Itoa(r.Useful))
	}
	for i, w := range c.Fields {
		f, known := r.Field(w.Name)
		if r.Form == FormPage && !known || r.Useful == 0 { // of no row nothing is known of any field
			continue
		}
		e.field(i, w, f, r)
	}
	a := Amendment{File: file, before: text}
	a.after, a.Lines = e.text()
	after, err := ParseContract(file, a.after)
	if err != nil || slices.ContainsFunc(left(r, &after), func(f Finding) bool { return f.Contract }) {
		return Amendment{}, fmt.Errorf("%s: %w", file, ErrNotAmended)
	}
	return a, nil
}

// left are the findings that stay drift whatever the earlier runs were: what the contract or the fetch itself asks for.
func left(r Run, c *Contract) []Finding { return Alarms(Judge(r, nil, c).Findings) }

// editor changes entries of a document and leaves every other byte as it is.
type editor struct {
	doc   textfile.Doc
	edits []edit
}

// edit replaces source[from:to].
type edit struct {
	from, to int
	put      string
	line     AmendedLine
}

// field lets the run's field pass the i-th of the contract.
func (e *editor) field(i int, w Wanted, f Field, r Run) {
	at := func(name string) string { return textfile.At("fields", i, name) }
	if w.Coverage > f.Coverage(r.Useful) {
		low := math.Floor(wilsonLow(f.Filled, r.Useful, 3)*100) / 100
		_, said := e.doc.Entry(at("coverage"))
		switch {
		case f.Filled == 0 || low <= 0:
			e.set(at("required"), "false")
			e.remove(at("coverage"))
		case said:
			e.set(at("coverage"), fmt.Sprint(low))
		default:
			e.below(at("required"), "coverage = "+fmt.Sprint(low))
		}
	}
	if w.others(f, r) > 0 {
		if t := f.Type(); f.Types[t] == f.Filled {
			e.set(at("type"), textfile.Quote(t))
		} else {
			e.remove(at("type"))
		}
	}
	if w.Pattern != nil && f.Pattern == w.Pattern.String() && f.Misses > 0 {
		e.remove(at("pattern"))
	}
}

// set gives an entry another value. It changes nothing if the entry is missing or its value has several lines, which
// amend notices. The same goes for below and remove.
func (e *editor) set(at, value string) {
	source := string(e.doc.Source())
	n, ok := e.doc.Entry(at)
	if !ok || strings.Contains(source[n.Key:n.End], "\n") {
		return
	}
	e.edits = append(e.edits, edit{n.Value, n.End, value, AmendedLine{lineOf(source, n.Key), source[n.Key:n.End], source[n.Key:n.Value] + value}})
}

// below adds a line below that of an entry.
func (e *editor) below(at, text string) {
	l, ok := e.alone(at)
	if !ok {
		return
	}
	source := string(e.doc.Source())
	put, end := l.indent+text, "\n"
	if strings.HasSuffix(source[:l.to], "\r\n") || l.last && strings.Contains(source, "\r\n") {
		end = "\r\n"
	}
	if l.last {
		put = end + put
	} else {
		put += end
	}
	e.edits = append(e.edits, edit{l.to, l.to, put, AmendedLine{Number: lineOf(source, l.from), Becomes: text}})
}

// remove removes the line of an entry, except the comment after the entry.
func (e *editor) remove(at string) {
	l, ok := e.alone(at)
	if !ok {
		return
	}
	source := string(e.doc.Source())
	gone := edit{l.from, l.to, "", AmendedLine{Number: lineOf(source, l.from), Was: source[l.Key:l.End]}}
	if l.comment > 0 {
		gone.from, gone.to = l.Key, l.comment
	}
	e.edits = append(e.edits, gone)
}

// ownLine is the line of an entry that stands alone on it: source[from:to], with the line's end.
type ownLine struct {
	textfile.Entry

	from, to int
	indent   string
	comment  int  // where the comment behind the entry begins; 0 without one
	last     bool // nothing ends it but the document
}

// alone finds the line of an entry, if there is nothing else on it but a comment.
func (e *editor) alone(at string) (l ownLine, ok bool) {
	source := string(e.doc.Source())
	if l.Entry, ok = e.doc.Entry(at); !ok {
		return l, false
	}
	l.from = strings.LastIndexByte(source[:l.Key], '\n') + 1
	rest, _, ended := strings.Cut(source[l.End:], "\n")
	l.to, l.last, l.indent = l.End+len(rest), !ended, source[l.from:l.Key]
	if ended {
		l.to++
	}
	blanks := len(rest) - len(strings.TrimLeft(rest, " \t"))
	if strings.HasPrefix(rest[blanks:], "#") {
		l.comment = l.End + blanks
	}
	return l, strings.TrimSpace(l.indent) == "" && (l.comment > 0 || strings.TrimSpace(rest) == "") && !strings.Contains(source[l.Key:l.End], "\n")
}

// lineOf is the number of the line at a place of a text, from 1.
func lineOf(source string, at int) int { return strings.Count(source[:at], "\n") + 1 }

// text is the document with its edits, and the lines that they change.
func (e *editor) text() (after []byte, changed []AmendedLine) {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	source, done := e.doc.Source(), 0
	for _, c := range e.edits {
		after = append(append(after, source[done:c.from]...), c.put...)
		done, changed = c.to, append(changed, c.line)
	}
	return append(after, source[done:]...), changed
}
