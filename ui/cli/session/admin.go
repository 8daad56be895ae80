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
	"zonedeck/service/journal"
	"zonedeck/service/profile"
)

// AdminError refuses an ADMIN key for a command.
type AdminError struct {
	Finding keystore.Finding
	// Chosen says that it was to be the key of a profile.
	Chosen bool
}

func (e *AdminError) Error() string {
	if e.Chosen {
		return fmt.Sprintf("key %s is ADMIN, which is for people, and programs work by the key of a profile (%s): %s; or say why it must be this key (--admin-reason). Nothing was saved",
			e.Finding.Key, e.Finding.Source, e.Finding.Fix)
	}
	return fmt.Sprintf("key %s is ADMIN, which commands do not use (%s): %s; or say why it must be this key with --admin-reason. Nothing was sent with it",
		e.Finding.Key, e.Finding.Source, e.Finding.Fix)
}

var errReasonHoldsValue = &MistakeError{errors.New("the reason holds the key's value: say why in other words")}

// permitChoice refuses to make an ADMIN key that of a profile, by which programs work, unless a
// reason was given: it is written into the journal first.
func (s *Session) permitChoice(ctx context.Context, d account.Draft) error {
	before, err := s.configured().Profile(d.Profile.Name)
	if err == nil && d.Edits && before.Key == d.Profile.Key {
		return nil
	}
	k := d.Key
	if recorded, ok := s.Inventory.Get(d.Profile.Key); ok {
		k = recorded
	}
	f, bad := keystore.CheckUnattended(k, s.Now())
	reason := strings.TrimSpace(d.AdminReason)
	switch {
	case !bad:
		return nil
	case reason == "":
		return &AdminError{Finding: f, Chosen: true}
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

// reasons are the names of the ADMIN keys whose reason is in the journal.
type reasons struct {
	mu       sync.Mutex
	recorded map[string]bool
}

// permit takes a key's value. It refuses a key of another account, unless key and address were named, and an ADMIN key where no person decides on the call,
// unless a reason was given and is in the journal. A key that is refused is not resolved: its
// command is not run, its keyring not unlocked.
func (s *Session) permit(ctx context.Context, p profile.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if err := s.readKeys(); err != nil && s.embedded == nil { // whose the key is, is not known
		return keystore.Secret{}, err
	}
	if err := s.ofOwnAccount(p, k); err != nil {
		return keystore.Secret{}, err
	}
	s.sayReplaced(k)
	if err := s.refuseAdmin(k); err != nil {
		return keystore.Secret{}, err
	}
	value, err := take()
	if _, admin := keystore.CheckUnattended(k, s.Now()); err == nil && admin && s.o.Unattended {
		err = s.recordReason(ctx, k, value, strings.TrimSpace(s.o.AdminReason))
	}
	return value, err
}

// refuseAdmin refuses an ADMIN key where no person decides on the call and no reason was given.
func (s *Session) refuseAdmin(k model.Key) error {
	f, bad := keystore.CheckUnattended(k, s.Now())
	if bad && s.o.Unattended && strings.TrimSpace(s.o.AdminReason) == "" {
		return &AdminError{Finding: f}
	}
	return nil
}

// admit writes down why a person uses an ADMIN key for automation.
func (s *Session) admit(ctx context.Context, key, reason string) error {
	k, ok := s.Key(cmp.Or(key, s.CurrentProfile().Key))
	if f, bad := keystore.CheckUnattended(k, s.Now()); !ok || !bad || strings.TrimSpace(reason) == "" {
		if bad {
			return &AdminError{Finding: f}
		}
		return nil
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

// recordReason writes why a command uses an ADMIN key into the journal, once for each key.
func (s *Session) recordReason(ctx context.Context, k model.Key, value keystore.Secret, reason string) error {
	if keystore.HoldsValue(reason, value.Fingerprint()) {
		return errReasonHoldsValue
	}
	s.reasons.mu.Lock() // until it is written: no other call goes ahead before
	defer s.reasons.mu.Unlock()
	name := model.PlainName(k.Name)
	if s.reasons.recorded[name] {
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
			Profile: s.Base.Name, Key: name, Event: "used", Text: "as ADMIN " + where + ", because: " + reason,
		})
	}
	if err != nil {
		return fmt.Errorf("key %s is ADMIN, and the reason to use it cannot be recorded: %w", k.Name, err)
	}
	if s.reasons.recorded == nil {
		s.reasons.recorded = map[string]bool{}
	}
	s.reasons.recorded[name] = true
	return nil
}
