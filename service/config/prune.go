package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The bounds on the folder of bodies. A body that the history still lists may be gone;
// a viewer says so.
const (
	BodiesAge   = 14 * 24 * time.Hour
	BodiesBytes = 2 << 30
	// bodiesFresh protects what another process may be writing or reading.
	bodiesFresh = time.Hour
)

// PruneBodies deletes old files from a folder of bodies: all that are older than
// BodiesAge, then the oldest until the rest is at most BodiesBytes. Files of the
// last hour always stay, and so does everything that is not a regular
// file. A missing folder is fine. freed is in bytes. Several processes may prune
// at once.
func PruneBodies(ctx context.Context, dir string, now time.Time) (freed int64, err error) {
	return pruneBodies(ctx, dir, now, BodiesBytes)
}

func pruneBodies(ctx context.Context, dir string, now time.Time, limit int64) (freed int64, err error) {
	files, total, err := bodyFiles(dir)
	if err != nil {
		return 0, fmt.Errorf("pruning %s: %w", dir, err)
	}
	var errs []error
	for _, f := range files {
		age := now.Sub(f.ModTime())
		if ctx.Err() != nil || age < bodiesFresh || (age <= BodiesAge && total <= limit) {
			break
		}
		switch err := os.Remove(filepath.Join(dir, f.Name())); {
		case err == nil:
			freed += f.Size()
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
		total -= f.Size() // no other file goes in place of one that cannot be removed
	}
	return freed, errors.Join(errs...)
}

// bodyFiles lists the regular files, the oldest first, and adds up their sizes.
func bodyFiles(dir string) (files []fs.FileInfo, total int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		f, err := e.Info()
		if err != nil || !f.Mode().IsRegular() {
			continue // gone meanwhile, or none of ours
		}
		files, total = append(files, f), total+f.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	return files, total, nil
}
