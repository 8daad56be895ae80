package saved

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

const (
	ext = ".toml"
	// maxList bounds a listing.
	maxList = 2000
)

var (
	// ErrExists says that a request of that name is already there.
	ErrExists = errors.New("a request of this name is already saved")
	// ErrNotFound says that there is no request of that name.
	ErrNotFound = errors.New("no request is saved under this name")
)

// Store is the folder of saved requests. See New.
type Store struct{ dir string }

// New is the store in a folder, which is made (0700) when the first request is
// saved.
func New(dir string) *Store { return &Store{dir: dir} }

// File is where the request of a name is saved.
func (s *Store) File(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)+ext) }

// open opens the folder of the requests, which is made with the first that is saved.
func (s *Store) open() (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("opening the saved requests: %w", err)
	}
	return root, nil
}

// openFor opens it for what is there by that name: ErrNotFound where nothing was saved yet.
func (s *Store) openFor(name string) (*os.Root, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return root, err
}

// Entry is one saved request in a listing.
type Entry struct {
	Name    string
	Changed time.Time
	Request model.FetchRequest
	// Problem says why the file cannot be opened, or is empty.
	Problem string
}

// List reads every saved request, by name. A file that cannot be read is listed
// with its problem: it is not hidden, and it does not hide the others.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	out, err := list(ctx, root, "", nil)
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(order(a.Name), order(b.Name)) })
	return out, err
}

// order sorts requests before the folders beside them, whatever the case.
func order(name string) string {
	dir, base := path.Split(strings.ToLower(name))
	return strings.ReplaceAll(dir, "/", "\x02") + "\x01" + base
}

// list adds the requests of a folder ("" or ending with "/") to out.
func list(ctx context.Context, root *os.Root, folder string, out []Entry) ([]Entry, error) {
	files, err := fs.ReadDir(root.FS(), cmp.Or(strings.TrimSuffix(folder, "/"), "."))
	if err != nil {
		return out, fmt.Errorf("listing the saved requests: %w", err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(f.Name(), ext)
		switch {
		case len(out) == maxList:
			return out, nil
		case f.IsDir() && CheckName(folder+f.Name()+"/a") == nil:
			if out, err = list(ctx, root, folder+f.Name()+"/", out); err != nil {
				return out, err
			}
		case ok && !f.IsDir() && CheckName(folder+name) == nil:
			out = append(out, entry(root, f, folder+name))
		}
	}
	return out, nil
}

func entry(root *os.Root, f fs.DirEntry, name string) Entry {
	e := Entry{Name: name}
	if st, err := f.Info(); err == nil {
		e.Changed = st.ModTime()
	}
	r, err := read(root, name)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	e.Request = r
	return e
}

// Load reads one saved request. ErrNotFound, ErrName, or what is wrong with the
// file: its line, and what was expected. Only the zone's name is known here; the
// profile says the rest of it.
func (s *Store) Load(_ context.Context, name string) (model.FetchRequest, error) {
	root, err := s.openFor(name)
	if err != nil {
		return model.FetchRequest{}, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	r, err := read(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return model.FetchRequest{}, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return r, err
}

func read(root *os.Root, name string) (model.FetchRequest, error) {
	name += ext
	if err := textfile.Trusted(filepath.Join(root.Name(), name)); err != nil {
		return model.FetchRequest{}, err
	}
	info, err := root.Stat(name)
	if err != nil {
		return model.FetchRequest{}, fmt.Errorf("reading %s: %w", name, err)
	}
	if err := textfile.Plain(name, info); err != nil { // before it is opened: a pipe would wait
		return model.FetchRequest{}, err
	}
	f, err := root.Open(name)
	if err != nil {
		return model.FetchRequest{}, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	return Decode(name, f)
}

// Save writes a request under a name, as one step: a reader sees the old file or
// the new one. Without replace an existing name is ErrExists. omitted names the
// headers that were left out because they are secrets (see model.SecretName).
func (s *Store) Save(_ context.Context, name string, r model.FetchRequest, replace bool) (omitted []string, err error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	file, omitted, err := encode(r)
	if err != nil {
		return nil, err
	}
	if len(file) > textfile.MaxSize {
		return nil, fmt.Errorf("saving %s: the request is larger than %d MiB", name, textfile.MaxSize>>20)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of saved requests: %w", err)
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	if !replace {
		if _, err := root.Lstat(name + ext); err == nil {
			return nil, fmt.Errorf("%w: %s", ErrExists, name)
		}
	}
	if err := makeFolder(root, name); err != nil {
		return nil, err
	}
	dir, base := path.Split(name)
	folder, err := root.OpenRoot(cmp.Or(strings.TrimSuffix(dir, "/"), "."))
	if err != nil {
		return nil, fmt.Errorf("saving %s: %w", name, err)
	}
	defer func() { _ = folder.Close() }() // what is written is synced
	if err := textfile.WriteIn(folder, base+ext, file); err != nil {
		return nil, fmt.Errorf("saving %s: %w", name, err)
	}
	return omitted, nil
}

// makeFolder makes the folders that a name leads through.
func makeFolder(root *os.Root, name string) error {
	dir, _ := path.Split(name)
	if dir == "" {
		return nil
	}
	if err := root.MkdirAll(strings.TrimSuffix(dir, "/"), 0o700); err != nil {
		return fmt.Errorf("making the folder %s: %w", dir, err)
	}
	return nil
}

// leaveFolder removes the folders of a name that are empty now.
func leaveFolder(root *os.Root, name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil { // something is in it
			return
		}
	}
}

// Rename gives a saved request, or a folder of them, another name. ErrExists if there is
// one of that name already, ErrNotFound if there is none of the old.
func (s *Store) Rename(_ context.Context, from, to string) error {
	if err := errors.Join(CheckName(from), CheckName(to)); err != nil {
		return err
	}
	root, err := s.openFor(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	for _, suffix := range []string{ext, ""} {
		old, err := root.Lstat(from + suffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && suffix == "" && !old.IsDir() {
			continue
		}
		if err != nil {
			return fmt.Errorf("renaming %s: %w", from, err)
		}
		if there, err := root.Lstat(to + suffix); err == nil && !os.SameFile(old, there) {
			return fmt.Errorf("%w: %s", ErrExists, to)
		}
		if err := makeFolder(root, to); err != nil {
			return err
		}
		if err := root.Rename(from+suffix, to+suffix); err != nil {
			leaveFolder(root, to)
			return fmt.Errorf("renaming %s: %w", from, err)
		}
		leaveFolder(root, from)
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotFound, from)
}
