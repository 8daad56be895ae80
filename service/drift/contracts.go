package drift

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// folder is what the folder of contracts contained when it was read.
type folder struct {
	contracts []Contract
	broken    []damaged
}

// damaged is a file that is not a valid contract. Its collector is empty if it cannot be told.
type damaged struct {
	kind Kind
	name string
	err  *textfile.Error
}

// folder reads every file *.toml of the folder. The text of each says which collector it is for.
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
		if filepath.Ext(e.Name()) != ".toml" || strings.HasPrefix(e.Name(), ".") { // an editor's own
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

// unreadable is an error of the file system about a file, as a fault of that file.
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

// certainly reports whether the file is meant for a collector, by what can be read of it or by its name.
func (b damaged) certainly(kind Kind, name, file string) bool {
	if b.name == "" {
		return b.err.File == file
	}
	return Contract{Kind: b.kind, Name: b.name}.Is(kind, name)
}

// find finds the contract of a collector, nil if there is none. file is the name that is looked for first. A second contract
// is an error, and so is a broken file that may be the contract.
func (f folder) find(kind Kind, name, file string) (*Contract, error) {
	var found *Contract
	var misnamed error
	for i, c := range f.contracts {
		switch {
		case !c.Is(kind, name) && c.File == file:
			misnamed = &textfile.Error{
				File: file, Line: c.line, Column: 1, Msg: fmt.Sprintf("the contract is of %s %q", c.Kind, model.Line(c.Name, 80)),
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
		Msg: fmt.Sprintf("a second contract of %s %q: the first is %s", c.Kind, model.Line(c.Name, 80), first.File), Expected: "one file for each collector",
	}
}

// wrong is everything that is wrong in the folder, joined *textfile.Errors, or nil.
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
	return m.folder().find(kind, name, m.named(kind, name))
}

// Contracts are all valid contracts of the folder. The error says what is wrong with others: joined *textfile.Errors.
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

// ContractFile is the file for the contract of a collector, which need not exist. If a file of the folder has to be
// mended or removed first, the error says so: a *textfile.Error.
func (m *Monitor) ContractFile(kind Kind, name string) (string, error) {
	file := m.named(kind, name)
	c, err := m.folder().find(kind, name, file)
	if c != nil {
		file = c.File
	}
	return file, err
}

// named is the file for a contract if there is none yet.
func (m *Monitor) named(kind Kind, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			return r
		}
		return '_'
	}, name)
	if plain != name || plain != strings.ToLower(plain) || len(plain) > 80 { // another name may come to the same
		plain = fmt.Sprintf("%s-%08x", model.Cut(plain, 60), uint32(keyOf(name))) //nolint:gosec // the low half will do
	}
	return filepath.Join(m.cfg.ContractsDir, string(kind)+"-"+plain+".toml")
}
