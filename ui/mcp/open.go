package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/service/jobs"
)

// agent is a service as the tools of an agent see it.
type agent struct {
	root
	*fetch.Fetcher
	*jobs.Runner
	*jobs.Launching
	*history.History
}

// root has the names that the rooms above leave free.
type root struct{ *service.Service }

// Open opens the service for an agent. An ADMIN key of the profile is refused as for a command.
func Open(ctx context.Context, o service.Options) (Console, []string, error) {
	o.Journal, o.Ledger, o.Rules, o.Unattended, o.Agent = true, true, true, true, true
	o.AllowKeys = nil
	s, err := service.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	notices := slices.Concat(s.Warnings, s.Notices)
	p, err := s.Profile(ctx)
	if err == nil {
		_, err = s.Keys.May(ctx, p.Key)
	}
	if err != nil {
		return nil, notices, errors.Join(fmt.Errorf("profile %s: %w", s.Base.Name, err), s.Close(ctx))
	}
	return agent{root{s}, s.Fetch, s.Jobs.Runner, s.Jobs.Launching, s.History}, notices, nil
}

// Scrub masks every secret that was used in this run, in place.
func (a agent) Scrub(b []byte) []byte { return a.Keys.Scrub(b) }

// Base is the profile as it is configured.
func (a agent) Base() model.Profile { return a.Service.Base }

// Batches are those of the console.
func (a agent) Batches() Batches { return a.Service.Batches }

// Close ends the run.
func (a agent) Close(ctx context.Context) error { return a.Service.Close(ctx) }

// CheckKeys returns the keys that the profile uses, the worst first, and what the lint finds. They are those
// that come with the profile and the one that it names; the inventory also has those of other profiles.
func (a agent) CheckKeys(ctx context.Context, within time.Duration) ([]model.Key, []keystore.Finding, error) {
	p, err := a.Profile(ctx) // the emulator knows the demo keys
	if err != nil {
		return nil, nil, err
	}
	inventory := a.Keys.Inventory()
	audit, err := inventory.Audit(ctx, false, within, nil)
	given := inventory.Supplied(inventory.Recorded())
	audit = audit.Only(func(k model.Key) bool {
		return slices.ContainsFunc(given, func(g model.Key) bool { return g.Name == k.Name && g.Secret == k.Secret }) || k.Name == p.Key
	})
	return audit.Keys, audit.Findings, err
}

// Datasets lists the data sets that jobs can be started for.
func (a agent) Datasets(ctx context.Context, key string, anew bool) (jobs.Listing, error) {
	return a.Service.Jobs.Datasets(ctx, key, anew)
}
