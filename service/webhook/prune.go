package webhook

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/service/database"
)

// A receiver cleans up every pruneEvery, and sooner when the inbox is full, but not within pruneRest.
const (
	pruneEvery = time.Hour
	pruneRest  = lookEvery
)

// Retention says how much an inbox keeps; 0 stands for the default. Bookmarked and unprocessed webhooks
// are always kept, but count.
type Retention struct {
	Count int
	Age   time.Duration
	Bytes int64
}

// defaultRetention is how much an inbox keeps by default.
func defaultRetention() Retention {
	return Retention{Count: 10_000, Age: 30 * 24 * time.Hour, Bytes: 5 << 30}
}

func (k Retention) orDefault() Retention {
	def := defaultRetention()
	return Retention{cmp.Or(k.Count, def.Count), cmp.Or(k.Age, def.Age), cmp.Or(k.Bytes, def.Bytes)}
}

// clean cleans up every hour, and soon after the inbox exceeds its bytes.
func (r *Receiver) clean(ctx context.Context) {
	rest := time.NewTicker(r.conf.retryPause)
	defer rest.Stop()
	hour := time.NewTicker(pruneEvery)
	defer hour.Stop()
	for {
		freed, err := r.inbox.Prune(ctx, r.settings.Load().Keep)
		if r.bufferedBytes.Add(-freed); err != nil && ctx.Err() == nil {
			r.conf.Log.Error("the inbox could not be cleaned up", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-hour.C:
		case <-r.full:
		}
	}
}

// retained is what cleaning up asks of a webhook.
type retained struct {
	n, size, last  int64
	marked, worked bool
}

// eachRetained calls take for the webhooks whose bodies are on this machine, newest first.
func (in *Inbox) eachRetained(ctx context.Context, take func(retained)) error {
	err := database.Each(ctx, in.db, "SELECT n, size, last, marked, worked, file FROM deliveries ORDER BY n DESC", nil, func(s database.Scanner) error {
		var k retained
		var file string
		err := s.Scan(&k.n, &k.size, &k.last, &k.marked, &k.worked, &file)
		if _, ok := in.here(file); ok && err == nil {
			take(k)
		}
		return err
	})
	return in.db.Fault("looking for webhooks to clean up", err)
}

// bytes is the size of the bodies on this machine.
func (in *Inbox) bytes(ctx context.Context) (n int64, err error) {
	err = in.eachRetained(ctx, func(k retained) { n += k.size })
	return n, err
}

// Prune removes what exceeds keep on this machine: the oldest webhooks, with their bodies, and bodies that were put aside.
// freed is the size of the removed webhooks in bytes.
func (in *Inbox) Prune(ctx context.Context, keep Retention) (freed int64, err error) {
	keep = keep.orDefault()
	var drop []int64
	var count int
	var bytes int64
	before := database.Micros(in.clock.Now().Add(-keep.Age))
	err = in.eachRetained(ctx, func(k retained) {
		count++
		bytes += k.size
		if !k.marked && k.worked && (count > keep.Count || bytes > keep.Bytes || k.last < before) {
			drop = append(drop, k.n)
		}
	})
	if err != nil {
		return 0, err
	}
	if len(drop) > 0 {
		freed, err = in.drop(ctx, drop)
	}
	return freed, errors.Join(err, in.pruneAside(keep, bytes-freed))
}

// The names of folders with bodies put aside: aside, then a time in the format asideAt.
const (
	aside   = "unlisted-"
	asideAt = "20060102T150405Z"
)

// pruneAside removes folders of bodies put aside that are older than keep.Age, or exceed keep.Bytes together
// with the webhooks, whose size is bytes.
func (in *Inbox) pruneAside(keep Retention, bytes int64) error {
	entries, err := os.ReadDir(in.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range slices.Backward(entries) { // the newest first
		name, ok := strings.CutPrefix(e.Name(), aside)
		at, err := time.Parse(asideAt, name)
		if !ok || err != nil || !e.IsDir() {
			continue
		}
		dir := filepath.Join(in.dir, e.Name())
		size, err := sizeOf(dir)
		if bytes += size; at.Before(in.clock.Now().Add(-keep.Age)) || bytes > keep.Bytes {
			err = os.RemoveAll(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sizeOf is the size of the files in a folder.
func sizeOf(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n, err
}

// drop removes webhooks, except those that are now bookmarked or to be processed again.
func (in *Inbox) drop(ctx context.Context, list []int64) (freed int64, err error) {
	var files []string
	err = in.write(ctx, "cleaning up the inbox", func(ctx context.Context, tx *sql.Tx) error {
		for _, n := range list {
			var file string
			var size int64
			err := tx.QueryRowContext(ctx, "DELETE FROM deliveries WHERE n = $1 AND marked = 0 AND worked = 1 RETURNING file, size", n).Scan(&file, &size)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				continue
			case err != nil:
				return err
			}
			files, freed = append(files, file), freed+size
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, f := range files {
		if err := os.Remove(filepath.Join(in.dir, filepath.Base(f))); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return freed, errors.Join(errs...)
}

// sweepBodies removes bodies without a row, left by a killed receiver. If this inbox never took a webhook,
// they belong to one that was damaged or removed: then they are put aside, and put is their folder. Only
// the receiving process does this, before it begins.
func (in *Inbox) sweepBodies(ctx context.Context) (put string, err error) {
	if err := textfile.Sweep(in.dir); err != nil {
		return "", err
	}
	const doing = "looking for bodies that nothing needs"
	var taken int64
	if err := in.db.QueryRowContext(ctx, "SELECT number FROM inbox_marks").Scan(&taken); err != nil {
		return "", in.db.Fault(doing, err)
	}
	known := map[string]bool{}
	err = database.Each(ctx, in.db, "SELECT file FROM deliveries", nil, func(s database.Scanner) error {
		var name string
		err := s.Scan(&name)
		known[path.Base(name)] = true
		return err
	})
	if err != nil {
		return "", in.db.Fault(doing, err)
	}
	entries, err := os.ReadDir(in.dir)
	if err != nil {
		return "", err
	}
	away := os.Remove
	if taken == 0 {
		away = func(path string) error {
			if put == "" {
				put = filepath.Join(in.dir, aside+in.clock.Now().UTC().Format(asideAt))
				if err := os.MkdirAll(put, 0o700); err != nil {
					return err
				}
			}
			return os.Rename(path, filepath.Join(put, filepath.Base(path)))
		}
	}
	var errs []error
	for _, e := range entries {
		switch file := filepath.Join(in.dir, e.Name()); {
		case strings.HasPrefix(e.Name(), "body-") && !known[e.Name()]:
			errs = append(errs, away(file))
		case strings.HasPrefix(e.Name(), "edited-"): // a copy for an editor, made by an earlier zonedeck
			errs = append(errs, os.Remove(file))
		}
	}
	return put, errors.Join(errs...)
}
