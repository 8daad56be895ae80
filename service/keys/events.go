package keys

import (
	"context"
	"time"

	"zonedeck/model"
	"zonedeck/service/journal"
)

// putKeyEvent writes an event of a key into the history.
func (ks *Keys) putKeyEvent(ctx context.Context, key, event, text string) {
	ks.Events().Put(ctx, ks.cfg.Profiles.Base().Name, key, event, text)
}

// Events writes what happens to keys into the history.
type Events struct{ ks *Keys }

// Events returns the writer of events, for all keys.
func (ks *Keys) Events() Events { return Events{ks} }

// Put writes an event of a key into the history. The profile need not be the one in use.
func (e Events) Put(ctx context.Context, profile, key, event, text string) {
	ks := e.ks
	if ks.history == nil {
		return
	}
	err := ks.history.PutKeyEvent(context.WithoutCancel(ctx), journal.KeyEvent{Profile: profile, Key: key, Event: event, Text: text})
	if err != nil {
		ks.cfg.Log.Warn("an event of a key was not kept", "key", key, "error", err)
	}
}

// Recorded writes into the history that a key was added to the inventory, and that its value was first seen now.
func (e Events) Recorded(ctx context.Context, profile string, k model.Key, text string) {
	ks := e.ks
	e.Put(ctx, profile, k.Name, journal.EventRecorded, text)
	if ks.history == nil || k.Fingerprint == "" {
		return
	}
	value := journal.KeyValue{Fingerprint: k.Fingerprint, KeyUse: journal.KeyUse{Key: k.Name, First: ks.cfg.Clock.Machine()}}
	if err := ks.history.PutKeyValues(context.WithoutCancel(ctx), []journal.KeyValue{value}); err != nil {
		ks.cfg.Log.Warn("when a key was first seen was not kept", "key", k.Name, "error", err)
	}
}

// Sent records when a key was sent, at most once a minute: fetches and jobs have their own lines.
func (e Events) Sent(profile, key, fingerprint string) {
	ks := e.ks
	name := model.PlainName(key)
	if _, recorded := ks.inventory.Get(name); ks.history == nil || ks.reasons.isCopy(name) || !recorded && named(ks.Inventory().Supplied(nil), name).Name == "" {
		return // not a named key, such as a value that is only tried
	}
	now, sent := ks.cfg.Clock.Machine(), profile+"\x00"+name+"\x00"+fingerprint
	ks.marks.mu.Lock()
	fresh := now.Sub(ks.marks.sent[sent]) >= time.Minute
	if fresh {
		if ks.marks.sent == nil {
			ks.marks.sent = map[string]time.Time{}
		}
		ks.marks.sent[sent] = now
	}
	ks.marks.mu.Unlock()
	if !fresh {
		return
	}
	if err := ks.history.PutKeyUsed(context.Background(), ks.nowFor(profile), profile, name, fingerprint); err != nil {
		ks.cfg.Log.Warn("the use of a key was not kept", "key", name, "error", err)
	}
}
