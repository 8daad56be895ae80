package keys

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/journal"
)

// Refuse returns an error if a key or a password must not be rotated: the profile in use is read-only, or a
// profile that owns the key, or the profile for the password's calls.
func (r Rotations) Refuse(p keystore.RotationPlan) error {
	ks := r.ks
	if err := ks.Inventory().Read(); err != nil { // other users of the value are not known
		return err
	}
	if err := ks.cfg.Profiles.Profile().Refuse(rotateKeys); err != nil || p.Profile != "" {
		return err
	}
	if home, known := p.Home(); p.Zone != "" && known {
		of, _ := ks.cfg.Profiles.Named(home.Profile) // if the profile is gone, no call is made
		return of.Refuse(rotateKeys)
	}
	k, ok := ks.inventory.Get(p.Key)
	if !ok {
		k = model.Key{Name: p.Key, Secret: p.Ref, Fingerprint: p.OldFingerprint}
	}
	for _, of := range ks.Owners().Profiles(k) {
		if err := of.Refuse(rotateKeys); err != nil {
			return fmt.Errorf("key %s is its key: %w", p.Key, err)
		}
	}
	return nil
}

// Start keeps a new plan.
func (r Rotations) Start(ctx context.Context, p keystore.RotationPlan) error {
	err := r.Refuse(p)
	if err == nil {
		err = r.Rotations.Start(ctx, p)
	}
	if err == nil {
		r.caughtUp.Store(p.ID, true)
		r.ks.putRotationEvent(ctx, p, began(p))
	}
	return err
}

func began(p keystore.RotationPlan) string { return "began, by " + string(p.Method) }

// Update changes a plan.
func (r Rotations) Update(ctx context.Context, id string, change func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error) {
	if err := r.ks.cfg.Profiles.Profile().Refuse(rotateKeys); err != nil { // before the record is read
		return keystore.RotationPlan{}, err
	}
	var before keystore.RotationPlan
	after, err := r.Rotations.Update(ctx, id, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		before = p
		if err := r.Refuse(p); err != nil {
			return p, err
		}
		return change(p)
	})
	if err == nil {
		if _, all := r.caughtUp.LoadOrStore(id, true); !all {
			r.catchUp(ctx, before)
		}
		for _, text := range rotationChanges(before, after) {
			r.ks.putRotationEvent(ctx, after, text)
		}
	}
	return after, err
}

// catchUp writes the events that the record of a rotation has and the history lacks: the process that took the
// last step may have been killed in between.
func (r Rotations) catchUp(ctx context.Context, p keystore.RotationPlan) {
	if r.ks.history == nil {
		return
	}
	unstepped := p
	unstepped.Steps = make([]keystore.RotationStep, len(p.Steps))
	want := append([]string{began(p)}, rotationChanges(unstepped, p)...)
	key, of := rotationKey(p)
	events, err := r.ks.history.KeyEvents(ctx, key, 100)
	if err != nil {
		r.ks.cfg.Log.Warn("whether the history has every step of a rotation is not known", "key", key, "error", err)
		return
	}
	told := map[string]bool{}
	for _, e := range events { // newest first
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
			r.ks.putRotationEvent(ctx, p, text)
		}
	}
}

// putRotationEvent writes an event of a rotation into the history. A password's events belong to the key that
// changes it.
func (ks *Keys) putRotationEvent(ctx context.Context, p keystore.RotationPlan, text string) {
	key, of := rotationKey(p)
	ks.putKeyEvent(ctx, key, rotationEvent, of+text)
	if ks.history == nil {
		return
	}
	if err := ks.history.Flush(context.WithoutCancel(ctx)); err != nil {
		ks.cfg.Log.Warn("a step of a rotation is not in the history yet", "key", key, "error", err)
	}
}

// rotationKey is the key that the events of a rotation belong to, and the prefix of their texts.
func rotationKey(p keystore.RotationPlan) (key, of string) {
	if p.Zone != "" {
		return p.ChangedBy, "of the " + p.Key + ": "
	}
	return p.Key, ""
}

// rotationEvent is the word for the events of rotations. The others are the texts of the events that end a rotation.
const (
	rotationEvent = "rotation"
	takenBack     = "taken back: the old password stays"
	abandoned     = "abandoned"
	complete      = "complete"
)

var rotationEnds = []string{takenBack, abandoned, complete}

// oldValueUsed writes uses of an old value after the end of its rotation into the history, each once.
func (ks *Keys) oldValueUsed(ctx context.Context, p keystore.RotationPlan, used []string) {
	if ks.history == nil {
		return
	}
	key, of := rotationKey(p)
	known, _ := ks.history.KeyEvents(ctx, key, 100) // if they cannot be read, they are written again
	for _, text := range used {
		if !slices.ContainsFunc(known, func(e journal.KeyEvent) bool { return e.Text == of+text }) {
			ks.putRotationEvent(ctx, p, text)
		}
	}
}

// rotationChanges are the event texts for the difference between two states of a rotation.
func rotationChanges(before, after keystore.RotationPlan) []string {
	var out []string
	for i, s := range after.Steps {
		if was, _ := before.Step(s.Kind, s.Subject); was.Done && !s.Done {
			out = append(out, s.Name()+" is open again: "+s.Note)
		}
		if !s.Done || before.Steps[i].Done {
			continue
		}
		text := s.Name() + ", " + s.By.Label()
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

// HoldingReference says which rotation under way needs a reference as it is; empty if none does.
func (r Rotations) HoldingReference(ref string) string { return heldByRotation(r.Rotations, ref) }

func heldByRotation(records *keystore.Rotations, ref string) string {
	plans, err := records.Naming(ref)
	if err != nil {
		return "the records of rotations cannot be read: " + err.Error()
	}
	for _, p := range plans {
		if !p.Over() && p.NeedsReference(ref) {
			return "the rotation of " + p.Subject() + " holds it; end that first"
		}
	}
	return ""
}
