package drift

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// The bounds of a contract.
const (
	maxWanted  = 500
	maxPattern = 1000 // bytes, and steps of the compiled pattern
)

// Contract is what an operator asks of a collector. It is exact and makes no allowance for chance.
type Contract struct {
	// File is where it was read from.
	File    string
	Kind    Kind
	Name    string
	MinRows int // least number of useful rows of a run
	Fields  []FieldRule

	line int // that names the collector, from 1; 0 if unknown
}

// FieldRule is what a contract asks of a field.
type FieldRule struct {
	Name     string
	Coverage float64 // least share of useful rows where it is filled, 0 to 1; 0 asks for none
	Type     string  // one of types, or empty
	Pattern  *regexp.Regexp
}

type contractFile struct {
	Dataset string          `toml:"dataset"`
	Target  string          `toml:"target"`
	MinRows int             `toml:"min_rows"`
	Fields  []contractField `toml:"fields"`
}

type contractField struct {
	Name     string   `toml:"name"`
	Required bool     `toml:"required"`
	Coverage *float64 `toml:"coverage"`
	Type     string   `toml:"type"`
	Pattern  string   `toml:"pattern"`
}

// ParseContract reads the text of a contract; file is its name in errors. Errors are *textfile.Error, with the line,
// what is wrong there, and what was expected. With an error, the contract has only its file and, if the text names
// one, its collector.
func ParseContract(file string, text []byte) (Contract, error) {
	var f contractFile
	doc, err := textfile.Decode(file, text, &f)
	c := Contract{File: file, Kind: Dataset, Name: f.Dataset}
	if f.Target != "" {
		c.Kind, c.Name = Target, f.Target
	}
	unnamed := (f.Dataset == "") == (f.Target == "")
	if unnamed {
		c.Kind, c.Name = "", ""
	}
	switch {
	case err != nil:
		return c, err
	case unnamed:
		return c, doc.Fault(textfile.At("dataset"), "the contract names no collector, or two", "dataset or target, one of the two")
	case f.MinRows < 0:
		return c, doc.Fault(textfile.At("min_rows"), fmt.Sprintf("a number of rows cannot be %d", f.MinRows), "0 or more")
	case len(f.Fields) > maxWanted:
		return c, doc.Fault(textfile.At("fields", maxWanted), "the contract has too many fields", "at most "+strconv.Itoa(maxWanted))
	}
	fields, fault := f.fieldRules(doc)
	if fault != nil {
		return c, fault
	}
	c.MinRows, c.Fields = f.MinRows, fields
	c.line = doc.Fault(textfile.At(string(c.Kind)), "", "").Line
	return c, nil
}

// fieldRules checks the fields.
func (f contractFile) fieldRules(doc textfile.Doc) ([]FieldRule, *textfile.Error) {
	var out []FieldRule
	for i, raw := range f.Fields {
		w, at, msg, expected := raw.wanted()
		if msg == "" && slices.ContainsFunc(out, func(o FieldRule) bool { return o.Name == w.Name }) {
			at, msg, expected = "name", fmt.Sprintf("a second field is named %q", w.Name), "one entry for each field"
		}
		if msg != "" {
			return nil, doc.Fault(textfile.At("fields", i, at), msg, expected)
		}
		out = append(out, w)
	}
	return out, nil
}

// wanted checks a field. msg says what is wrong with the key at, or is empty.
func (f contractField) wanted() (w FieldRule, at, msg, expected string) {
	w = FieldRule{Name: f.Name, Type: f.Type}
	if f.Name == "" || len(f.Name) > maxPath {
		return w, "name", "the name of the field is missing or too long", "a name as 'zonedeck drift show' prints it"
	}
	if f.Required {
		w.Coverage = 1
	}
	if f.Coverage != nil {
		w.Coverage = *f.Coverage
		switch {
		case !f.Required:
			return w, "coverage", "coverage is set for a field that is not required", "required = true as well"
		case !(w.Coverage > 0 && w.Coverage <= 1):
			return w, "coverage", fmt.Sprintf("a coverage cannot be %v", w.Coverage), "a share above 0 and up to 1, such as 0.95"
		}
	}
	if f.Type != "" && !slices.Contains(types(), f.Type) {
		return w, "type", fmt.Sprintf("%q is not a type", f.Type), "one of " + strings.Join(types(), ", ")
	}
	if f.Pattern == "" {
		return w, "", "", ""
	}
	var problem string
	if w.Pattern, problem = pattern(f.Pattern); problem != "" {
		return w, "pattern", problem, "a regular expression in RE2 syntax"
	}
	return w, "", "", ""
}

// pattern compiles a pattern after checking its size.
func pattern(text string) (compiled *regexp.Regexp, problem string) {
	if len(text) > maxPattern {
		return nil, fmt.Sprintf("the pattern is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err.Error()
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err.Error()
	}
	if len(program.Inst) > maxPattern {
		return nil, fmt.Sprintf("the pattern is too large: %d steps, at most %d", len(program.Inst), maxPattern)
	}
	compiled, err = regexp.Compile(text)
	if err != nil {
		return nil, err.Error()
	}
	return compiled, ""
}

// check compares a run with the contract. said reports whether drift of a field is reported already.
func (c *Contract) check(r Run, said func(field string) bool) (out []Finding) {
	add := func(w Change, field, format string, args ...any) {
		out = append(out, Finding{Field: field, Word: w, Contract: true, Text: fmt.Sprintf(format, args...)})
	}
	out = c.rows(r)
	for _, w := range c.Fields {
		f, known := r.Field(w.Name)
		if r.Form == FormPage && !known {
			continue // this fetch did not look for it
		}
		if w.Coverage > 0 && f.Coverage(r.Useful) < w.Coverage && !said(w.Name) {
			word := Coverage
			switch {
			case f.Present == 0:
				word = Missing
			case f.Filled == 0:
				word = Emptied
			}
			add(word, w.Name, "%s filled in %d of %s (%s); the contract wants at least %s", w.Name, f.Filled, rowsText(r.Useful), percent(share{f.Filled, r.Useful}), exactly(w.Coverage))
		}
		if other := w.otherTypes(f, r); other > 0 {
			add(TypeChanged, w.Name, "%s is not %s in %d of %s; the contract wants %s", w.Name, w.Type, other, rowsText(f.Filled), w.Type)
		}
		if w.Pattern != nil && f.Pattern == w.Pattern.String() && f.Misses > 0 {
			add(OffPattern, w.Name, "%s does not match %s in %d of %s; the contract wants it in all of them", w.Name, w.Pattern, f.Misses, rowsText(f.Filled))
		}
	}
	return out
}

// otherTypes counts the filled values of a field that have another type. In a CSV file and on a page everything is
// text, so any value has the type text.
func (w FieldRule) otherTypes(f Field, r Run) int {
	if w.Type == "" || w.Type == typeText && r.Form != FormJSON {
		return 0
	}
	return f.Filled - f.Types[w.Type]
}

// rowsField stands for the rows of a run.
const rowsField = "rows"

// rows reports too few useful rows, as a finding for rowsField.
func (c *Contract) rows(r Run) []Finding {
	if r.Useful >= c.MinRows {
		return nil
	}
	return []Finding{{Field: rowsField, Word: Missing, Contract: true, Text: fmt.Sprintf("%d of %s useful; the contract wants at least %d", r.Useful, rowsText(r.Returned), c.MinRows)}}
}

// exactly is a share in percent, as it was written in the contract.
func exactly(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e4, 'f', -1, 64) + " %" }

// folder is what the folder of contracts contained when it was read.
type folder struct {
	contracts []Contract
	broken    []damaged
}

// damaged is a file that is not a valid contract. The collector is empty if the file names none.
type damaged struct {
	kind Kind
	name string
	err  *textfile.Error
}

// folder reads every *.toml file of the folder. The text of each names its collector.
func (m *Monitor) folder() folder {
	if m.cfg.ContractsDir == "" {
		return folder{}
	}
	entries, err := os.ReadDir(m.cfg.ContractsDir)
	var out folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		out.broken = append(out.broken, damaged{err: unreadable(m.cfg.ContractsDir, err)})
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".toml" || strings.HasPrefix(e.Name(), ".") { // a temporary file of an editor
			continue
		}
		file := filepath.Join(m.cfg.ContractsDir, e.Name())
		c, err := ReadContract(file)
		if err != nil {
			out.broken = append(out.broken, damaged{c.Kind, c.Name, unreadable(file, err)})
			continue
		}
		out.contracts = append(out.contracts, c)
	}
	return out
}

// unreadable makes an error about a file a fault of that file.
func unreadable(file string, err error) *textfile.Error {
	var fault *textfile.Error
	if errors.As(err, &fault) {
		return fault
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &textfile.Error{File: file, Msg: "it cannot be read: " + err.Error()}
}

// Is reports whether c is the contract of a collector. A target may be written as an address.
func (c Contract) Is(kind Kind, name string) bool {
	return c.Kind == kind && (c.Name == name || kind == Target && targetName(c.Name) == name)
}

// certainly reports whether the file is for a collector, by its text or, if that names none, by its name.
func (b damaged) certainly(kind Kind, name, file string) bool {
	if b.name == "" {
		return b.err.File == file
	}
	return Contract{Kind: b.kind, Name: b.name}.Is(kind, name)
}

// find finds the contract of a collector, nil if there is none. It is an error if there is a second one, if a broken
// file may be the contract, or if file, its default name, is for another collector.
func (f folder) find(kind Kind, name, file string) (*Contract, error) {
	var found *Contract
	var misnamed error
	for i, c := range f.contracts {
		switch {
		case !c.Is(kind, name) && c.File == file:
			misnamed = &textfile.Error{
				File: file, Line: c.line, Column: 1, Msg: fmt.Sprintf("the contract is for %s %q", c.Kind, model.Line(c.Name, 80)),
				Expected: fmt.Sprintf("%s = %q in this file, or another name for it", kind, name),
			}
		case !c.Is(kind, name):
		case found != nil:
			return nil, second(*found, c)
		default:
			found = &f.contracts[i]
		}
	}
	for _, b := range f.broken {
		if b.certainly(kind, name, file) || b.name == "" && found == nil {
			return nil, b.err
		}
	}
	if found == nil {
		return nil, misnamed
	}
	return found, nil
}

func second(first, c Contract) *textfile.Error {
	return &textfile.Error{
		File: c.File, Line: c.line, Column: 1,
		Msg: fmt.Sprintf("a second contract for %s %q: the first is %s", c.Kind, model.Line(c.Name, 80), first.File), Expected: "one file for each collector",
	}
}

// wrong joins the *textfile.Errors about broken files and second contracts; nil if there are none.
func (f folder) wrong() error {
	var all []error
	for _, b := range f.broken {
		all = append(all, b.err)
	}
	for i, c := range f.contracts {
		name := c.Name
		if c.Kind == Target {
			name = targetName(name)
		}
		if first := slices.IndexFunc(f.contracts[:i], func(o Contract) bool { return o.Is(c.Kind, name) || o.Is(c.Kind, c.Name) }); first >= 0 {
			all = append(all, second(f.contracts[first], c))
		}
	}
	return errors.Join(all...)
}

// Contract finds the contract of a collector, nil if there is none. Its error is a *textfile.Error.
func (m *Monitor) Contract(kind Kind, name string) (*Contract, error) {
	return m.folder().find(kind, name, m.defaultFile(kind, name))
}

// Contracts returns the valid contracts of the folder. The error joins *textfile.Errors about the others.
func (m *Monitor) Contracts() ([]Contract, error) {
	f := m.folder()
	return f.contracts, f.wrong()
}

// ReadContract reads a file with a contract.
func ReadContract(file string) (Contract, error) {
	text, err := textfile.ReadBounded(file, textfile.MaxSize)
	if err != nil {
		return Contract{}, err
	}
	return ParseContract(file, text)
}

// ContractFile names the file of a collector's contract, which need not exist. If a file of the folder must be fixed or
// removed first, the error is a *textfile.Error.
func (m *Monitor) ContractFile(kind Kind, name string) (string, error) {
	file := m.defaultFile(kind, name)
	c, err := m.folder().find(kind, name, file)
	if c != nil {
		file = c.File
	}
	return file, err
}

// defaultFile is the default file for a contract.
func (m *Monitor) defaultFile(kind Kind, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			return r
		}
		return '_'
	}, name)
	if plain != name || plain != strings.ToLower(plain) || len(plain) > 80 { // another name may give the same file
		plain = fmt.Sprintf("%s-%08x", model.Cut(plain, 60), uint32(keyOf(name))) //nolint:gosec // the low half will do
	}
	return filepath.Join(m.cfg.ContractsDir, string(kind)+"-"+plain+".toml")
}
