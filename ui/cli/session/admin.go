package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/journal"
)

// AdminError refuses an ADMIN key for a command.
type AdminError struct {
	// Key is the name by which it was chosen. The finding names the key that is recorded as ADMIN, which may
	// be another key with the same value.
	Key     string
	Finding keystore.Finding
	// Chosen says that it was to become the key of a profile; Form says that a person fills in its form.
	Chosen, Form bool
	// Other is the profile whose job was to be asked for, if it is not the one in use.
	Other string
}

// AsksWhy says whether a reason would be accepted.
func (*AdminError) AsksWhy() {}

func (e *AdminError) Error() string {
	what := "key " + e.Key + " is ADMIN"
	if e.Key != e.Finding.Key {
		what = fmt.Sprintf("key %s has the value of %s, which is ADMIN", e.Key, e.Finding.Key)
	}
	if e.Chosen {
		where := "with --admin-reason"
		if e.Form {
			where = "under Why ADMIN"
		}
		return fmt.Sprintf("%s: that is for people, and programs work by the key of a profile (%s): %s; or say why it must be this key %s. Nothing was saved",
			what, e.Finding.Source, e.Finding.Fix, where)
	}
	how := "with --admin-reason"
	if e.Other != "" {
		how = "in a run with --profile " + e.Other + " --admin-reason"
	}
	return fmt.Sprintf("%s: commands do not use it (%s): %s; or say why it must be this key %s. Nothing was sent with it",
		what, e.Finding.Source, e.Finding.Fix, how)
}

// admin says why a key is not for programs, or is nil: the key is ADMIN, or has the value of an ADMIN key
// under another name.
func (s *Session) admin(k model.Key) *AdminError {
	if f, bad := keystore.CheckUnattended(k, s.Now()); bad {
		return &AdminError{Key: k.Name, Finding: f}
	}
	if k.Fingerprint == "" {
		return nil
	}
	for _, other := range s.recorded() {
		if f, bad := keystore.CheckUnattended(other, s.Now()); bad && s.seen.is(other, k.Fingerprint) {
			return &AdminError{Key: k.Name, Finding: f}
		}
	}
	return nil
}

var errReasonHoldsValue = config.Mistake("the reason holds the key's value: say why in other words")

// permitChoice refuses to make an ADMIN key that of a profile, by which programs work, unless a
// reason was given: it is written into the journal first.
func (s *Session) permitChoice(ctx context.Context, d account.Draft) error {
	before, err := s.configured().Profile(d.Profile.Name)
	if err == nil && d.Before != nil && before.Key == d.Profile.Key {
		return nil
	}
	k := d.Key
	if recorded, ok := s.Inventory.Get(d.Profile.Key); ok {
		k = recorded
	}
	if value := d.Values[k.Secret]; !value.Empty() {
		k.Fingerprint = value.Fingerprint()
	} else if value, err := s.resolve(keystore.Unasked(ctx), k.Secret); err == nil && k.Secret != "" {
		k.Fingerprint = value.Fingerprint()
	}
	refused := s.admin(k)
	reason := strings.TrimSpace(d.AdminReason)
	switch {
	case refused == nil:
		return nil
	case reason == "":
		refused.Chosen, refused.Form = true, !s.o.Unattended
		return refused
	case keystore.HoldsValue(reason, k.Fingerprint), keystore.HoldsValue(reason, d.Values[k.Secret].Fingerprint()):
		return errReasonHoldsValue
	case s.journal == nil:
		return fmt.Errorf("key %s is ADMIN, and the reason to choose it cannot be recorded: %w", k.Name, errNoHistory)
	}
	err = s.journal.PutKeyEvent(context.WithoutCancel(ctx), journal.KeyEvent{
		Profile: d.Profile.Name, Key: k.Name, Event: "chosen", Text: "as the key of the profile, though it is ADMIN, because: " + reason,
	})
	if err != nil {
		return fmt.Errorf("key %s is ADMIN, and the reason to choose it cannot be recorded: %w", k.Name, err)
	}
	return nil
}

// reasons are the uses of ADMIN keys whose reason is in the journal, and the keys that copies in rehearsals stand for.
type reasons struct {
	mu       sync.Mutex
	recorded map[string]bool
	copies   map[string]model.Key // by the copy's name
}

// copied takes note that a key is a copy of another one.
func (r *reasons) copied(name string, of model.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copies == nil {
		r.copies = map[string]model.Key{}
	}
	r.copies[model.PlainName(name)] = of
}

// isCopy reports whether a name is that of a copy.
func (r *reasons) isCopy(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.copies[name]
	return is
}

// permit gets a key's value. It refuses a key of another account unless key and address were named, and an
// ADMIN key for a call that no person decides on, unless a reason was given and is in the journal. A key
// that is refused by its record is not resolved: its command is not run and its keyring not unlocked. The
// value is judged too, because it may be that of another record.
func (s *Session) permit(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	reason := strings.TrimSpace(s.o.AdminReason)
	if !keystore.MayAsk(ctx) {
		reason = "" // it was given for what the user asked for, not for what is done meanwhile
	}
	return s.permitBecause(ctx, p, k, take, reason)
}

// permitOther is permit for a job of a profile that is not in use. A reason counts only for the keys of the
// profile in use.
func (s *Session) permitOther(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if err := s.ofThisRun(p, k); err != nil {
		return keystore.Secret{}, err
	}
	value, err := s.permitBecause(ctx, p, k, take, "")
	if refused := (*AdminError)(nil); errors.As(err, &refused) {
		refused.Other = p.Name
	}
	return value, err
}

func (s *Session) permitBecause(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error), reason string) (keystore.Secret, error) {
	if err := s.readKeys(); err != nil && s.embedded == nil { // whose the key is, is not known
		return keystore.Secret{}, err
	}
	if err := s.ofOwnAccount(p, k); err != nil {
		return keystore.Secret{}, err
	}
	s.sayReplaced(k)
	if k.Secret == "" {
		return keystore.Secret{}, s.noValue(k, take)
	}
	recorded := k
	recorded.Fingerprint = "" // another value may stand behind it by now
	if err := s.permitValue(recorded, reason); err != nil {
		return keystore.Secret{}, err
	}
	value, err := take()
	if err != nil {
		return keystore.Secret{}, err
	}
	if err := keystore.CheckKeyValue(value); err != nil {
		return keystore.Secret{}, model.BadField("key", "%s: %w", keystore.Ref(k.Secret).Label(), err)
	}
	k.Fingerprint = value.Fingerprint()
	if err := cmp.Or(s.ofOwnAccount(p, k), s.permitValue(k, reason)); err != nil {
		return keystore.Secret{}, err
	}
	if s.o.Unattended && s.admin(k) != nil {
		err = s.recordReason(ctx, k, value, reason)
	}
	return value, err
}

// PermitKey refuses a key that is recorded as ADMIN if no person decides on the call and no reason was
// given.
func (s *Session) PermitKey(k model.Key) error {
	k.Fingerprint = "" // another value may stand behind it by now
	return s.permitValue(k, s.o.AdminReason)
}

// PermitLaunch says whether a launch would be refused its key, the profile's for an empty name. A key whose
// value is out of reach here is judged only by its record.
func (s *Session) PermitLaunch(ctx context.Context, name string) error {
	p := s.CurrentProfile()
	k, ok := s.Key(cmp.Or(name, p.Key))
	if !ok {
		return nil
	}
	if err := cmp.Or(s.ofOwnAccount(p, k), s.PermitKey(k)); err != nil {
		return err
	}
	if value, err := s.resolve(keystore.Unasked(ctx), k.Secret); err == nil {
		k.Fingerprint = value.Fingerprint()
	}
	return cmp.Or(s.ofOwnAccount(p, k), s.permitValue(k, s.o.AdminReason))
}

// MayLaunch says what has to be answered before a key, the profile's for an empty name, launches a job. A command has
// answered before.
func (s *Session) MayLaunch(ctx context.Context, name string) ([]ask.Question, error) {
	err := s.PermitLaunch(ctx, name)
	k, ok := s.Key(cmp.Or(name, s.CurrentProfile().Key))
	if err != nil || s.o.Unattended || !ok {
		return nil, err
	}
	now := s.o.Now()
	if s.Origin(k) != "" {
		now = s.Now()
	}
	for _, f := range keystore.CheckUse(k, model.CapUse, true, now) {
		if f.Severity == keystore.SeverityError && f.Rule != keystore.RuleAdminAutomated {
			return nil, model.BadField("key", "%s; %s", f.Text, f.Fix)
		}
	}
	if refused := s.admin(k); refused != nil {
		return []ask.Question{{
			Kind: ask.AdminReason, About: k.Name, Want: ask.Reason,
			Text: "a job is automation, which never uses ADMIN (contract 5.4): pick a USER key, or say why it must be this one",
		}}, nil
	}
	return nil, nil
}

// Admit records why a person launches a job with an ADMIN key.
func (s *Session) Admit(ctx context.Context, key, reason string) error {
	return s.admit(ctx, key, reason)
}

// permitValue is PermitKey for a key with the fingerprint of the value that would be sent.
func (s *Session) permitValue(k model.Key, reason string) error {
	if !s.o.Unattended || strings.TrimSpace(reason) != "" {
		return nil
	}
	if refused := s.admin(k); refused != nil {
		return refused
	}
	return nil
}

// admit records why a person uses an ADMIN key for automation.
func (s *Session) admit(ctx context.Context, key, reason string) error {
	k, ok := s.Key(cmp.Or(key, s.CurrentProfile().Key))
	if !ok {
		return nil
	}
	refused := s.admin(k)
	switch {
	case refused == nil:
		return nil
	case strings.TrimSpace(reason) == "":
		return refused
	}
	value, err := s.Resolver.Resolve(ctx, k.Secret)
	if err != nil {
		return err
	}
	return s.recordReason(ctx, k, value, strings.TrimSpace(reason))
}

// PermitExport refuses to hand out code that sends a key of another account, unless key and address
// were named, or that works with an ADMIN key, unless a reason was given: a program is automation.
func (s *Session) PermitExport(ctx context.Context, k model.Key) error {
	if err := s.ofOwnAccount(s.CurrentProfile(), k); err != nil {
		return err
	}
	return s.admit(ctx, k.Name, s.o.AdminReason)
}

// recordReason writes into the journal why a command uses an ADMIN key, once for each key. A copy in a rehearsal
// stands for the key that was copied.
func (s *Session) recordReason(ctx context.Context, k model.Key, value keystore.Secret, reason string) error {
	s.reasons.mu.Lock() // until it is written: no other call goes ahead before
	defer s.reasons.mu.Unlock()
	name, event, how := model.PlainName(k.Name), "used", "as ADMIN "
	of, copied := s.reasons.copies[name]
	if copied {
		name, event, how = of.Name, "rehearsed", "its rotation, with a copy, as ADMIN "
	}
	if keystore.HoldsValue(reason, value.Fingerprint()) || keystore.HoldsValue(reason, of.Fingerprint) {
		return errReasonHoldsValue
	}
	if s.reasons.recorded[event+" "+name] {
		return nil
	}
	where := "by a command"
	switch {
	case s.o.Agent:
		where = "for an agent"
	case !s.o.Unattended:
		where = "to launch a job"
	}
	err := errNoHistory
	if s.journal != nil {
		err = s.journal.PutKeyEvent(context.WithoutCancel(ctx), journal.KeyEvent{
			Profile: s.Base.Name, Key: name, Event: event, Text: how + where + ", because: " + reason,
		})
	}
	if err != nil {
		return fmt.Errorf("key %s is ADMIN, and the reason to use it cannot be recorded: %w", name, err)
	}
	if s.reasons.recorded == nil {
		s.reasons.recorded = map[string]bool{}
	}
	s.reasons.recorded[event+" "+name] = true
	return nil
}
