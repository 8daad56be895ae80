package rules

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// File is a file of rules that may change at any time. Its methods are safe for
// concurrent use.
type File struct {
	path string

	mu    sync.Mutex
	text  []byte
	rules []Rule
	err   error
}

// New makes a File. It does no I/O.
func New(path string) *File { return &File{path: path} }

// Path is where the file is looked for.
func (f *File) Path() string { return f.path }

// Rules are the rules of the file as it is now, in the order in which they are tried;
// none where there is no file. Its error is a *textfile.Error or what the file system said;
// then none of the rules is given.
func (f *File) Rules() ([]Rule, error) {
	text, err := textfile.ReadBounded(f.path, maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text == nil || !bytes.Equal(text, f.text) {
		f.rules, f.err = Parse(f.path, text)
		f.text = text
	}
	return f.rules, f.err
}

// For are the rules for a profile; see Rules.
func (f *File) For(profile string) ([]model.UserRule, error) {
	all, err := f.Rules()
	if err != nil {
		return nil, err
	}
	return Select(all, profile), nil
}

// Select are the rules among them for a profile.
func Select(all []Rule, profile string) []model.UserRule {
	var out []model.UserRule
	for _, r := range all {
		if len(r.Profiles) == 0 || slices.Contains(r.Profiles, profile) {
			out = append(out, r.UserRule)
		}
	}
	return out
}
