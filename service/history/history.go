package history

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/export"
	"zonedeck/service/journal"
	"zonedeck/service/query"
)

// ErrNoHistory says that this run keeps no history: the journal could not be opened, or none was asked for.
var ErrNoHistory = journal.ErrNoHistory

// History is the history of this machine.
type History struct {
	journal *journal.Journal
	paths   config.Paths
	version string // of the program, as files name their creator
	now     func() time.Time
}

// New makes a History over a journal, which may be journal.None. now is the machine's clock.
func New(j *journal.Journal, paths config.Paths, version string, now func() time.Time) *History {
	return &History{j, paths, version, now}
}

// ParseFilter reads what an operator types to narrow the timeline; see journal.ParseFilter. Without a term about
// profiles the entries are those of one. A profile that is called all is asked for by profile:"all" or, while it is in
// use, as any other.
func ParseFilter(text, profile string, now time.Time) (model.HistoryFilter, error) {
	f, err := journal.ParseFilter(text, now)
	terms, _ := query.Terms(text) // err is about them, too
	switch at := slices.IndexFunc(terms, func(t query.Term) bool { return strings.EqualFold(t.Name, "profile") }); {
	case at < 0:
		f.Profile = profile
	case f.Profile == "all" && !terms[at].Quoted && profile != "all":
		f.Profile = ""
	}
	return f, err
}

// Entries are one page of the timeline, newest first.
func (h *History) Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error) {
	return h.journal.Entries(ctx, f)
}

// URLs are the distinct URLs of a profile's fetches, the most recently used first, at most limit.
func (h *History) URLs(ctx context.Context, profile string, limit int) ([]string, error) {
	return h.journal.URLs(ctx, profile, limit)
}

// LoadComparison loads a comparison by the identifier in the timeline. Its fetches may have been cleaned up since.
func (h *History) LoadComparison(ctx context.Context, id string) (model.Grid, error) {
	return h.journal.Comparison(ctx, id)
}

// NewestComparison is the newest comparison of what a request asks of its target, made
// with a profile and with a run by the request's zone and access method. Without one the error
// wraps database.ErrNotFound.
func (h *History) NewestComparison(ctx context.Context, profile string, r model.FetchRequest) (model.Grid, error) {
	return h.journal.NewestComparison(ctx, profile, r)
}

// KeepBaseline keeps a matrix as the one that later ones of its profile are compared with.
func (h *History) KeepBaseline(ctx context.Context, m model.Baseline) error {
	return h.journal.PutBaseline(ctx, m)
}

// LoadBaseline loads the matrix that is kept for a profile. Without one the error wraps
// database.ErrNotFound.
func (h *History) LoadBaseline(ctx context.Context, profile string) (model.Baseline, error) {
	return h.journal.Baseline(ctx, profile)
}

// BeginCall writes the line of an agent's call that begins (see journal.BeginCall).
func (h *History) BeginCall(ctx context.Context, a model.HistoryEntry, sends bool) error {
	return h.journal.BeginCall(ctx, a, sends)
}

// PutCall writes the line of an agent's call that has ended. It replaces the line with the same Ref.
func (h *History) PutCall(ctx context.Context, a model.HistoryEntry) error {
	return h.journal.PutCall(ctx, a)
}

// LoadFetch loads a fetch by the identifier in its result or in the timeline. A body that was kept on disk may have
// been cleaned up since.
func (h *History) LoadFetch(ctx context.Context, id string) (model.FetchResult, error) {
	return h.journal.Fetch(ctx, id)
}

// Fetches loads fetches one after the other.
func (h *History) Fetches(ctx context.Context, ids []string) iter.Seq2[model.FetchResult, error] {
	return func(yield func(model.FetchResult, error) bool) {
		for _, id := range ids {
			r, err := h.LoadFetch(ctx, id)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// maxHAR bounds the fetches of one file that the console writes.
const maxHAR = 1000

// OneHAR writes one fetch among the downloads, and names the file.
func (h *History) OneHAR(ctx context.Context, id string) (file string, err error) {
	file, _, err = h.writeHAR(ctx, id, []string{id})
	return file, err
}

// FilteredHAR writes the newest fetches that a filter lets pass, the oldest first, and names the file; n is how many
// they are. Without any there is no file.
func (h *History) FilteredHAR(ctx context.Context, f model.HistoryFilter) (file string, n int, err error) {
	f.Kind, f.Limit, f.Before = model.HistoryFetch, maxHAR, 0
	list, err := h.Entries(ctx, f)
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
	return h.writeHAR(ctx, "fetches-"+h.now().Format("20060102-150405"), ids)
}

func (h *History) writeHAR(ctx context.Context, name string, ids []string) (file string, n int, err error) {
	dir := h.paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", 0, err
	}
	file = filepath.Join(dir, name+".har")
	err = textfile.WriteFunc(ctx, file, func(w io.Writer) (err error) {
		n, err = export.HAR(w, h.version, h.Fetches(ctx, ids), exchange.OpenText)
		return err
	})
	return file, n, err
}
