package saved

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// deletedDir is the folder beside the requests that has the deleted ones: no request
	// can have its name.
	deletedDir = ".deleted"
	// MaxDeleted is how many deleted requests are kept.
	MaxDeleted = 20
)

// DeletedDir is the folder that has the requests that were deleted last.
func (s *Store) DeletedDir() string { return filepath.Join(s.dir, deletedDir) }

// Delete takes a saved request out of the list. It is kept aside, until MaxDeleted more are
// deleted: Restore brings it back.
func (s *Store) Delete(_ context.Context, name string) error {
	root, err := s.openFor(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	info, err := root.Lstat(name + ext)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	case err == nil && info.IsDir():
		return fmt.Errorf("deleting %s: it is a folder", name)
	}
	if err := root.MkdirAll(deletedDir, 0o700); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	kept, err := deleted(root)
	if err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	n := 1
	if len(kept) > 0 {
		n = kept[len(kept)-1].n + 1
	}
	if err := root.Rename(name+ext, deletedRequest{n, name}.file()); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	leaveFolder(root, name)
	for len(kept) >= MaxDeleted {
		if err := root.Remove(kept[0].file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("making room among the deleted requests: %w", err)
		}
		kept = kept[1:]
	}
	return nil
}

// Restore brings the request of a name back that was deleted last. ErrExists if another has
// its name by now, ErrNotFound if none of it is kept.
func (s *Store) Restore(_ context.Context, name string) error {
	root, err := s.openFor(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	kept, err := deleted(root)
	if err != nil {
		return fmt.Errorf("restoring %s: %w", name, err)
	}
	for _, a := range slices.Backward(kept) {
		if a.name != name {
			continue
		}
		if _, err := root.Lstat(name + ext); err == nil {
			return fmt.Errorf("%w: %s", ErrExists, name)
		}
		if err := makeFolder(root, name); err != nil {
			return err
		}
		if err := root.Rename(a.file(), name+ext); err != nil {
			return fmt.Errorf("restoring %s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotFound, name)
}

// ErrNoneDeleted says that no request is kept that could be brought back.
var ErrNoneDeleted = errors.New("no removed request is kept")

// Deleted are the requests that were deleted and are kept, the last one first.
func (s *Store) Deleted(ctx context.Context) ([]Entry, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	kept, err := deleted(root)
	if err != nil {
		return nil, fmt.Errorf("listing the deleted requests: %w", err)
	}
	var out []Entry
	for _, a := range slices.Backward(kept) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := Entry{Name: a.name}
		if info, err := root.Lstat(a.file()); err == nil {
			e.Changed = info.ModTime()
		}
		if e.Request, err = read(root, strings.TrimSuffix(a.file(), ext)); err != nil {
			e.Problem = err.Error()
		}
		out = append(out, e)
	}
	return out, nil
}

// LastDeleted names the request that was deleted last and whose name is free, "" if there is none.
func (s *Store) LastDeleted(_ context.Context) (string, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	kept, err := deleted(root)
	if err != nil {
		return "", fmt.Errorf("listing the deleted requests: %w", err)
	}
	for _, a := range slices.Backward(kept) {
		if _, err := root.Lstat(a.name + ext); errors.Is(err, fs.ErrNotExist) {
			return a.name, nil
		}
	}
	return "", nil
}

// RestoreLast brings back the request of LastDeleted, and names it. ErrNoneDeleted if there is
// none.
func (s *Store) RestoreLast(ctx context.Context) (string, error) {
	name, err := s.LastDeleted(ctx)
	if err == nil && name == "" {
		err = ErrNoneDeleted
	}
	if err != nil {
		return "", err
	}
	return name, s.Restore(ctx, name)
}

// deletedRequest is a request that was deleted as the n-th.
type deletedRequest struct {
	n    int
	name string
}

// file is its place: no name holds a "~".
func (a deletedRequest) file() string {
	return deletedDir + "/" + strconv.Itoa(a.n) + "~" + strings.ReplaceAll(a.name, "/", "~") + ext
}

// deleted lists what is kept aside, the oldest first.
func deleted(root *os.Root) ([]deletedRequest, error) {
	files, err := fs.ReadDir(root.FS(), deletedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []deletedRequest
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ext)
		number, name, is := strings.Cut(name, "~")
		n, err := strconv.Atoi(number)
		name = strings.ReplaceAll(name, "~", "/")
		if ok && is && err == nil && n > 0 && CheckName(name) == nil {
			out = append(out, deletedRequest{n, name})
		}
	}
	slices.SortFunc(out, func(a, b deletedRequest) int { return a.n - b.n })
	return out, nil
}
