package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/journal"
)

// putKeyEvent writes what happened to a key into the timeline.
func (s *Session) putKeyEvent(ctx context.Context, key, event, text string) {
	s.putKeyEventOf(ctx, s.Base.Name, key, event, text)
}

// putKeyEventOf is putKeyEvent for a profile that need not be the one in use.
func (s *Session) putKeyEventOf(ctx context.Context, profile, key, event, text string) {
	if s.journal == nil {
		return
	}
	err := s.journal.PutKeyEvent(context.WithoutCancel(ctx), journal.KeyEvent{Profile: profile, Key: key, Event: event, Text: text})
	if err != nil {
		s.o.Log.Warn("an event of a key was not kept", "key", key, "error", err)
	}
}

// keyHistory is the inventory; its changes are written into the timeline.
type keyHistory struct {
	*keystore.Inventory
	session *Session
}

// List is every key of the inventory, with the intervals of the configuration; none while it is read for
// the first time. It waits for nothing.
func (h keyHistory) List() []model.Key {
	keys, _ := h.session.known()
	return keys
}

// Get is a key of List.
func (h keyHistory) Get(name string) (model.Key, bool) {
	if h.Unread() != nil {
		return model.Key{}, false
	}
	k, ok := h.Inventory.Get(name)
	one := []model.Key{h.session.configured().Keys().Apply(k)}
	h.session.seen.fill(one)
	return one[0], ok
}

// Add records a key.
func (h keyHistory) Add(ctx context.Context, k model.Key) error {
	err := h.session.CurrentProfile().Refuse(changeKeys)
	if err == nil {
		err = h.Inventory.Add(ctx, k)
	}
	if err == nil {
		h.session.keyRecorded(ctx, h.session.Base.Name, k, "in the inventory, level "+k.Level.String())
	}
	return err
}

// ImportKeys records keys; see keystore.Inventory.Import.
func (s *Session) ImportKeys(ctx context.Context, keys []model.Key, update bool) (keystore.Imported, error) {
	if err := s.Base.Refuse(changeKeys); err != nil {
		return keystore.Imported{}, err
	}
	done, err := s.Inventory.Import(ctx, keys, update)
	for _, name := range done.Added {
		s.putKeyEvent(ctx, name, journal.EventRecorded, "in the inventory, by an import")
	}
	for _, name := range done.Changed {
		s.putKeyEvent(ctx, name, "changed", "in the inventory, by an import")
	}
	return done, err
}

// Update changes a key.
func (h keyHistory) Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error {
	if err := h.session.CurrentProfile().Refuse(changeKeys); err != nil {
		return err
	}
	var before, after model.Key
	err := h.Inventory.Update(ctx, name, func(k model.Key) (model.Key, error) {
		var err error
		before = k
		after, err = change(k)
		return after, err
	})
	if err == nil {
		h.changed(ctx, before, after)
	}
	return err
}

// changed writes what differs between two records of a key.
func (h keyHistory) changed(ctx context.Context, before, after model.Key) {
	if after.Name != before.Name {
		h.session.putKeyEvent(ctx, after.Name, "renamed", "in the inventory, from "+before.Name)
		before.Name = after.Name
	}
	what := keystore.Changes(before, after)
	switch {
	case len(what) == 0:
	case after.Fingerprint != before.Fingerprint:
		h.session.putKeyEvent(ctx, after.Name, "refreshed", "it has another value, made on "+madeOn(after))
	default:
		h.session.putKeyEvent(ctx, after.Name, "changed", "in the inventory: "+strings.Join(what, ", "))
	}
}

func madeOn(k model.Key) string {
	if k.Rotation.Last.IsZero() {
		return "an unknown day"
	}
	return k.Rotation.Last.UTC().Format(time.DateOnly)
}

// Remove drops a key.
func (h keyHistory) Remove(ctx context.Context, seen model.Key) error {
	err := h.session.CurrentProfile().Refuse(changeKeys)
	if err == nil {
		err = h.Inventory.Remove(ctx, seen)
	}
	if err == nil {
		h.session.putKeyEvent(ctx, seen.Name, "removed", "from the inventory; it is still valid at the service")
	}
	return err
}

// rotationHistory is the rotations; their steps are written into the timeline.
type rotationHistory struct {
	*keystore.Rotations
	session  *Session
	caughtUp *sync.Map // the rotations of which the timeline has everything, by their ids
}

// refuse is why a key or a password is not rotated: the profile in use is read-only, or one whose key
// it is, or that the password's calls are made with.
func (h rotationHistory) refuse(p keystore.RotationPlan) error {
	s := h.session
	if err := s.readKeys(); err != nil { // who else uses the value is not known
		return err
	}
	if err := s.CurrentProfile().Refuse(rotateKeys); err != nil || p.Profile != "" {
		return err
	}
	if home, known := p.Home(); p.Zone != "" && known {
		of, _ := s.profileNamed(home.Profile) // of one that is gone no call is made
		return of.Refuse(rotateKeys)
	}
	k, ok := s.Inventory.Get(p.Key)
	if !ok {
		k = model.Key{Name: p.Key, Secret: p.Ref, Fingerprint: p.OldFingerprint}
	}
	for _, of := range s.accountsOf(k) {
		if err := of.Refuse(rotateKeys); err != nil {
			return fmt.Errorf("key %s is its key: %w", p.Key, err)
		}
	}
	return nil
}

// Start keeps a new plan.
func (h rotationHistory) Start(ctx context.Context, p keystore.RotationPlan) error {
	err := h.refuse(p)
	if err == nil {
		err = h.Rotations.Start(ctx, p)
	}
	if err == nil {
		h.caughtUp.Store(p.ID, true)
		h.session.putRotationEvent(ctx, p, began(p))
	}
	return err
}

func began(p keystore.RotationPlan) string { return "began, by " + string(p.Method) }

// Update changes a plan.
func (h rotationHistory) Update(ctx context.Context, id string, change func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error) {
	if err := h.session.CurrentProfile().Refuse(rotateKeys); err != nil { // before the record is looked for
		return keystore.RotationPlan{}, err
	}
	var before keystore.RotationPlan
	after, err := h.Rotations.Update(ctx, id, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		before = p
		if err := h.refuse(p); err != nil {
			return p, err
		}
		return change(p)
	})
	if err == nil {
		if _, all := h.caughtUp.LoadOrStore(id, true); !all {
			h.catchUp(ctx, before)
		}
		for _, text := range rotationChanges(before, after) {
			h.session.putRotationEvent(ctx, after, text)
		}
	}
	return after, err
}

// catchUp writes what the record of a rotation has and the timeline has not: the process that took the last
// step may have been killed between the two.
func (h rotationHistory) catchUp(ctx context.Context, p keystore.RotationPlan) {
	if h.session.journal == nil {
		return
	}
	unstepped := p
	unstepped.Steps = make([]keystore.RotationStep, len(p.Steps))
	want := append([]string{began(p)}, rotationChanges(unstepped, p)...)
	key, of := rotationKey(p)
	events, err := h.session.journal.KeyEvents(ctx, key, 100)
	if err != nil {
		h.session.o.Log.Warn("whether the history has every step of a rotation is not known", "key", key, "error", err)
		return
	}
	told := map[string]bool{}
	for _, e := range events { // the newest first
		text, its := strings.CutPrefix(e.Text, of)
		if e.Event != rotationEvent || !its {
			continue
		}
		if told[text] = true; text == began(p) || slices.Contains(rotationEnds, text) {
			break
		}
	}
	for _, text := range want {
		if !told[text] {
			h.session.putRotationEvent(ctx, p, text)
		}
	}
}

// putRotationEvent writes what happened in a rotation. That of a password stands at the key by which
// the password is changed.
func (s *Session) putRotationEvent(ctx context.Context, p keystore.RotationPlan, text string) {
	key, of := rotationKey(p)
	s.putKeyEvent(ctx, key, rotationEvent, of+text)
	if s.journal == nil {
		return
	}
	if err := s.journal.Flush(context.WithoutCancel(ctx)); err != nil {
		s.o.Log.Warn("a step of a rotation is not in the history yet", "key", key, "error", err)
	}
}

// rotationKey is the key at which the events of a rotation stand, and what their texts begin with.
func rotationKey(p keystore.RotationPlan) (key, of string) {
	if p.Zone != "" {
		return p.ChangedBy, "of the " + p.Key + ": "
	}
	return p.Key, ""
}

// rotationEvent is the word of a key's event: something happened in a rotation of it. rotationEnds are the texts
// of those that end one.
const (
	rotationEvent = "rotation"
	takenBack     = "taken back: the old password stays"
	abandoned     = "abandoned"
	complete      = "complete"
)

var rotationEnds = []string{takenBack, abandoned, complete}

// oldValueUsed writes uses of an old value after the end of its rotation into the timeline, each once.
func (s *Session) oldValueUsed(ctx context.Context, p keystore.RotationPlan, used []string) {
	if s.journal == nil {
		return
	}
	key, of := rotationKey(p)
	known, _ := s.journal.KeyEvents(ctx, key, 100) // one that cannot be read is written again
	for _, text := range used {
		if !slices.ContainsFunc(known, func(e journal.KeyEvent) bool { return e.Text == of+text }) {
			s.putRotationEvent(ctx, p, text)
		}
	}
}

// rotationChanges says what happened between two states of a rotation.
func rotationChanges(before, after keystore.RotationPlan) []string {
	var out []string
	for i, s := range after.Steps {
		if was, _ := before.Step(s.Kind, s.Subject); was.Done && !s.Done {
			out = append(out, s.Name()+" is open again: "+s.Note)
		}
		if !s.Done || before.Steps[i].Done {
			continue
		}
		text := s.Name() + ", " + s.By.Words()
		if s.Status != 0 {
			text += fmt.Sprintf(", status %d", s.Status)
		}
		if s.Note != "" {
			text += "; " + s.Note
		}
		out = append(out, text)
	}
	if after.Over() && !before.Over() {
		if after.Undone {
			return append(out, takenBack)
		}
		if after.Abandoned {
			return append(out, abandoned)
		}
		return append(out, complete)
	}
	return out
}
