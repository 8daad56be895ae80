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

// Amendment is a contract with the least changes of its lines that let a run pass.
type Amendment struct {
	File  string
	Lines []AmendedLine // in the order of the file; none where it lets the run pass as it is

	before, after []byte
}

// AmendedLine is a line of the file. Was is empty for one that is added below line Number, Becomes for one that goes.
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
	// ErrNotAmended says that a contract has its rules in lines that cannot be changed one by one.
	ErrNotAmended = errors.New("its lines cannot be changed one by one")
	// ErrAmended says that the file is not as it was when the change was proposed.
	ErrAmended = errors.New("the contract has been changed meanwhile: look at it first")
)

// Amend proposes the contract that the newest run of a collector, which has to be seq where that is not 0, keeps.
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

// WriteAmendment writes a contract as it was proposed. Where the file has been changed since, it stays so: ErrAmended.
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

// newest is the newest run of a collector, which has to be seq where that is not 0.
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
	e := lineEditor{doc: doc, lines: strings.SplitAfter(string(text), "\n"), changed: map[int][]string{}}
	if r.Useful < c.MinRows {
		e.set(textfile.At("min_rows"), "min_rows", strconv.Itoa(r.Useful))
	}
	for i, w := range c.Fields {
		f, known := r.Field(w.Name)
		if r.Form == FormPage && !known || r.Useful == 0 { // of no row nothing is known of any field
			continue
		}
		e.field(i, w, f, r)
	}
	a := Amendment{File: file, before: text, after: e.text(), Lines: e.amended()}
	after, err := ParseContract(file, a.after)
	if err != nil || slices.ContainsFunc(left(r, &after), func(f Finding) bool { return f.Contract }) {
		return Amendment{}, fmt.Errorf("%s: %w", file, ErrNotAmended)
	}
	return a, nil
}

// left is what stays drift of a run whatever runs were before it: what the contract asks for, or the fetch itself.
func left(r Run, c *Contract) []Finding { return Alarms(Judge(r, nil, c).Findings) }

// lineEditor changes whole lines of a document.
type lineEditor struct {
	doc     textfile.Doc
	lines   []string         // with their ends
	changed map[int][]string // by index: the lines in its place, without ends
}

// field lets the run's field pass the i-th of the contract.
func (e *lineEditor) field(i int, w Wanted, f Field, r Run) {
	has := e.doc.Fields(textfile.At("fields", i))
	at := func(name string) string { return textfile.At("fields", i, name) }
	remove := func(name string) {
		if _, ok := has[name]; ok {
			e.replace(at(name), name)
		}
	}
	if w.Coverage > f.Coverage(r.Useful) {
		low := math.Floor(wilsonLow(f.Filled, r.Useful, 3)*100) / 100
		_, said := has["coverage"]
		switch {
		case f.Filled == 0 || low <= 0:
			e.set(at("required"), "required", "false")
			remove("coverage")
		case said:
			e.set(at("coverage"), "coverage", fmt.Sprint(low))
		default:
			e.replace(at("required"), "required", "required = true", "coverage = "+fmt.Sprint(low))
		}
	}
	if w.others(f, r) > 0 {
		if t := f.Type(); f.Types[t] == f.Filled {
			e.set(at("type"), "type", textfile.Quote(t))
		} else {
			remove("type")
		}
	}
	if w.Pattern != nil && f.Pattern == w.Pattern.String() && f.Misses > 0 {
		remove("pattern")
	}
}

func (e *lineEditor) set(at, name, value string) { e.replace(at, name, name+" = "+value) }

// replace puts lines in place of the one that has the entry called name and nothing else; where there is no such
// line nothing is changed, which amend finds.
func (e *lineEditor) replace(at, name string, lines ...string) {
	i := e.doc.Fault(at, "", "").Line - 1
	if i < 0 || i >= len(e.lines) {
		return
	}
	key, _, _ := strings.Cut(e.lines[i], "=")
	var alone map[string]any
	if _, err := textfile.Decode("", []byte(e.lines[i]), &alone); err != nil || strings.TrimSpace(key) != name {
		return
	}
	e.changed[i] = lines
}

// amended are the lines that differ.
func (e *lineEditor) amended() (out []AmendedLine) {
	for i, line := range e.lines {
		becomes, changed := e.changed[i]
		if !changed {
			continue
		}
		was := strings.TrimSpace(line)
		if len(becomes) == 0 {
			out = append(out, AmendedLine{i + 1, was, ""})
		}
		for n, b := range becomes {
			switch {
			case n > 0:
				out = append(out, AmendedLine{i + 1, "", b})
			case b != was:
				out = append(out, AmendedLine{i + 1, was, b})
			}
		}
	}
	return out
}

func (e *lineEditor) text() []byte {
	var out strings.Builder
	for i, line := range e.lines {
		becomes, changed := e.changed[i]
		if !changed {
			out.WriteString(line)
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		end := "\n"
		if strings.HasSuffix(line, "\r\n") {
			end = "\r\n"
		}
		for _, b := range becomes {
			out.WriteString(indent + b + end)
		}
	}
	return []byte(out.String())
}
