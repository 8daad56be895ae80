package session

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/export"
)

// maxHAR bounds the fetches of one file that the console writes.
const maxHAR = 1000

// Fetches loads fetches of the history one after the other.
func (s *Session) Fetches(ctx context.Context, ids []string) iter.Seq2[model.FetchResult, error] {
	return func(yield func(model.FetchResult, error) bool) {
		for _, id := range ids {
			r, err := s.Client.LoadFetch(ctx, id)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// oneHAR writes one fetch of the history among the downloads, and names the file.
func (s *Session) oneHAR(ctx context.Context, id string) (file string, err error) {
	file, _, err = s.writeHAR(ctx, id, []string{id})
	return file, err
}

// filteredHAR writes the newest fetches that a filter lets pass, the oldest first.
func (s *Session) filteredHAR(ctx context.Context, f model.ActivityFilter) (file string, n int, err error) {
	f.Kind, f.Limit, f.Before = model.ActivityFetch, maxHAR, 0
	list, err := s.Client.Activity(ctx, f)
	if err != nil {
		return "", 0, err
	}
	var ids []string
	for _, a := range slices.Backward(list) {
		if a.Ref != "" {
			ids = append(ids, a.Ref)
		}
	}
	if len(ids) == 0 {
		return "", 0, nil
	}
	return s.writeHAR(ctx, "fetches-"+s.o.Now().Format("20060102-150405"), ids)
}

func (s *Session) writeHAR(ctx context.Context, name string, ids []string) (file string, n int, err error) {
	dir := s.Paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", 0, err
	}
	file = filepath.Join(dir, name+".har")
	err = textfile.WriteFunc(ctx, file, func(w io.Writer) (err error) {
		n, err = export.HAR(w, s.o.Version, s.Fetches(ctx, ids), exchange.OpenBody)
		return err
	})
	return file, n, err
}
