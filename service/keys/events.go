package keys

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/journal"
)

// putKeyEvent writes what happened to a key into the timeline.
func (ks *Keys) putKeyEvent(ctx context.Context, key, event, text string) {
	ks.PutEvent(ctx, ks.cfg.Profiles.Base().Name, key, event, text)
}

// PutEvent writes what happened to a key into the history, for a profile that need not be the one in use.
func (ks *Keys) PutEvent(ctx context.Context, profile, key, event, text string) {
	if ks.history == nil {
		return
	}
	err := ks.history.PutKeyEvent(context.WithoutCancel(ctx), journal.KeyEvent{Profile: profile, Key: key, Event: event, Text: text})
	if err != nil {
		ks.cfg.Log.Warn("an event of a key was not kept", "key", key, "error", err)
	}
}

// Recorded writes into the timeline that a key came into the inventory with a profile, and keeps when its value was
// seen.
func (ks *Keys) Recorded(ctx context.Context, profile string, k model.Key, text string) {
	ks.PutEvent(ctx, profile, k.Name, journal.EventRecorded, text)
	if ks.history == nil || k.Fingerprint == "" {
		return
	}
	value := journal.KeyValue{Fingerprint: k.Fingerprint, KeyUse: journal.KeyUse{Key: k.Name, First: ks.cfg.Clock.Machine()}}
	if err := ks.history.PutKeyValues(context.WithoutCancel(ctx), []journal.KeyValue{value}); err != nil {
		ks.cfg.Log.Warn("when a key was first seen was not kept", "key", k.Name, "error", err)
	}
}
