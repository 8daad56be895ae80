package mcp

import (
	"context"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/service/jobs"
)

// Console is what the tools work with: one profile of the console, opened as for a command
// that nobody watches.
type Console interface {
	// Base is the profile as it is configured.
	Base() model.Profile
	Profile(ctx context.Context) (model.Profile, error)
	// Known is what a fetch by the profile is checked by.
	Known(p model.Profile) fetch.Known
	Now() time.Time
	Fetch(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error)
	Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error)
	// Diagnose says what class a saved answer has, by the operator's rules, too.
	Diagnose(ctx context.Context, s fetch.Saved) (model.FetchResult, error)

	Batches() Batches

	// Datasets lists the data sets that jobs can be started for.
	Datasets(ctx context.Context, key string, anew bool) (jobs.Listing, error)
	Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error)
	Job(ctx context.Context, id string) (model.Job, error)
	Recover(ctx context.Context) ([]model.Job, error)
	// Check says what a job comes to and what has to be answered before Launch launches it; see service/jobs.
	Check(ctx context.Context, d jobs.Draft) (jobs.Report, error)
	Launch(ctx context.Context, r jobs.Report, a ask.Answers) (jobs.Launched, error)
	Watch(ctx context.Context, id string, on func(model.Job)) (model.Job, error)
	Download(ctx context.Context, id string, to jobs.Destination, on func(jobs.Progress)) (model.Job, error)
	// SeeFields looks at the fields of a result that was downloaded.
	SeeFields(ctx context.Context, id string, on func(jobs.Progress)) (model.Job, error)

	// CheckKeys gives the keys of the profile, the worst first, and what the lint finds; within is when one counts as due soon.
	CheckKeys(ctx context.Context, within time.Duration) ([]model.Key, []keystore.Finding, error)
	Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error)
	LoadFetch(ctx context.Context, id string) (model.FetchResult, error)

	// OpenText opens a body as text, in memory or on disk.
	OpenText(b model.BodyRef) (history.Body, error)
	// BodyFile gives the file of a body, and makes one of a body in memory.
	BodyFile(b model.BodyRef) (file string, err error)
	// BeginCall keeps the line of a call that begins in the history; a.Text names the call. sends says that it may send something.
	BeginCall(ctx context.Context, a model.HistoryEntry, sends bool) error
	// PutCall keeps the line of a call that has ended, in place of the one of the same Ref.
	PutCall(ctx context.Context, a model.HistoryEntry) error
	// Scrub masks every secret that was used in this run.
	Scrub(b []byte) []byte
	Close(ctx context.Context) error
}
