package keys

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/journal"
)

// AdminError refuses an ADMIN key for a command.
type AdminError struct {
	// Key is the name of the key that was to be used. The finding names the key that is recorded as ADMIN: it
	// may be another key with the same value.
	Key     string
	Finding keystore.Finding
	// Chosen says that the key was to become that of a profile, Form that a person is in the profile's form.
	Chosen, Form bool
	// OtherProfile is the profile that would send the key, if it is not the one in use.
	OtherProfile string
}

// AsksWhy marks a refusal that a reason would lift.
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
		return fmt.Sprintf("%s: that is for people, and programs use the key of a profile (%s): %s; or say why it must be this key %s. Nothing was saved",
			what, e.Finding.Source, e.Finding.Fix, where)
	}
	how := "with --admin-reason"
	if e.OtherProfile != "" {
		how = "in a run with --profile " + e.OtherProfile + " --admin-reason"
	}
	return fmt.Sprintf("%s: commands do not use it (%s): %s; or say why it must be this key %s. Nothing was sent with it",
		what, e.Finding.Source, e.Finding.Fix, how)
}

// Admin refuses a key that is not for programs: it is ADMIN, or has the value of an ADMIN key under another
// name. It is nil for every other key.
func (ks *Keys) Admin(k model.Key) *AdminError {
	if f, bad := keystore.CheckUnattended(k, ks.cfg.Clock.Now()); bad {
		return &AdminError{Key: k.Name, Finding: f}
	}
	if k.Fingerprint == "" {
		return nil
	}
	for _, other := range ks.Inventory().Recorded() {
		if f, bad := keystore.CheckUnattended(other, ks.cfg.Clock.Now()); bad && ks.marks.belongs(other, k.Fingerprint) {
			return &AdminError{Key: k.Name, Finding: f}
		}
	}
	return nil
}

// ErrReasonHoldsValue says that a reason contains the key's value. Reasons are written into the history.
var ErrReasonHoldsValue = config.Mistake("the reason holds the key's value: say why in other words")

// Choice is a key that is to become the key of a profile, which programs use.
type Choice struct {
	Profile string
	Key     model.Key
	Value   keystore.Secret // the value that its reference will get; empty if it keeps its value
	Reason  string          // why an ADMIN key is chosen
}

// Choose refuses an ADMIN key as the key of a profile, unless a reason is given. The reason is written into the
// history first.
func (ks *Keys) Choose(ctx context.Context, c Choice) error {
	k := c.Key
	if recorded, ok := ks.inventory.Get(k.Name); ok {
		k = recorded
	}
	if k.Secret == c.Key.Secret && !c.Value.Empty() {
		k.Fingerprint = c.Value.Fingerprint()
	} else if value, err := ks.resolve(ask.By(ctx, ask.Nobody), k.Secret); err == nil && k.Secret != "" {
		k.Fingerprint = value.Fingerprint()
	}
	refused := ks.Admin(k)
	reason := strings.TrimSpace(c.Reason)
	switch {
	case refused == nil:
		return nil
	case reason == "":
		refused.Chosen, refused.Form = true, !ks.unattended()
		return refused
	case keystore.HoldsValue(reason, k.Fingerprint), keystore.HoldsValue(reason, c.Value.Fingerprint()):
		return ErrReasonHoldsValue
	}
	err := ks.record(ctx, journal.KeyEvent{
		Profile: c.Profile, Key: k.Name, Event: "chosen", Text: "as the key of the profile, though it is ADMIN, because: " + reason,
	})
	if err != nil {
		return fmt.Errorf("key %s is ADMIN, and the reason to choose it cannot be recorded: %w", k.Name, err)
	}
	return nil
}

// reasons are the uses of ADMIN keys whose reasons are in the history, and the copies of keys in rehearsals.
type reasons struct {
	mu       sync.Mutex
	recorded map[string]bool      // by event and name
	copies   map[string]model.Key // the keys that were copied, by the copy's name
}

// record writes an event of a key into the history. On an error the caller must not go on.
func (ks *Keys) record(ctx context.Context, e journal.KeyEvent) error {
	if ks.history == nil {
		return errNoHistory
	}
	return ks.history.PutKeyEvent(context.WithoutCancel(ctx), e)
}

// copied notes that the key with this name is a copy of another one.
func (r *reasons) copied(name string, of model.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copies == nil {
		r.copies = map[string]model.Key{}
	}
	r.copies[model.PlainName(name)] = of
}

// isCopy reports whether a name belongs to a copy.
func (r *reasons) isCopy(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.copies[name]
	return is
}

// Permit gets a key's value. It refuses a key of another account, unless the key and the address were named. It
// refuses an ADMIN key for a call that no person decides on, unless a reason was given and is in the history. If
// the record is refused, the key is not resolved: its command is not run and its keyring not unlocked. The value
// is checked too, because it may belong to another record.
func (ks *Keys) Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	reason := strings.TrimSpace(ks.cfg.Caller.AdminReason)
	if !ask.MayAsk(ctx) {
		reason = "" // it was given for what the user asked for, not for background work
	}
	return ks.permit(ctx, p, k, take, reason)
}

func (ks *Keys) permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error), reason string) (keystore.Secret, error) {
	if err := ks.Inventory().Read(); err != nil && ks.cfg.Emulator == nil { // the key's owner is not known
		return keystore.Secret{}, err
	}
	if err := ks.Owners().Refuse(p, k); err != nil {
		return keystore.Secret{}, err
	}
	ks.sayReplaced(k)
	ks.warn(k)
	if k.Secret == "" {
		return keystore.Secret{}, ks.noValue(k, take)
	}
	recorded := k
	recorded.Fingerprint = "" // its reference may give another value by now
	if err := ks.permitValue(recorded, reason); err != nil {
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
	if err := cmp.Or(ks.Owners().Refuse(p, k), ks.permitValue(k, reason)); err != nil {
		return keystore.Secret{}, err
	}
	if ks.unattended() && ks.Admin(k) != nil {
		err = ks.recordReason(ctx, k, value, reason)
	}
	return value, err
}

// Value gets a key's value by its reference, to send it to a profile's service.
func (ks *Keys) Value(ctx context.Context, p model.Profile, k model.Key) (keystore.Secret, error) {
	return ks.Permit(ctx, p, k, func() (keystore.Secret, error) { return ks.resolve(ctx, k.Secret) })
}

// ValueOfDraft is Value for the key of a profile p that is being added or changed. before is the profile as it is
// now: it decides where a recorded key may be sent. For a new key p decides, because its reference and address were
// named together.
func (ks *Keys) ValueOfDraft(ctx context.Context, p, before model.Profile, k model.Key) (keystore.Secret, error) {
	if _, recorded := ks.inventory.Get(k.Name); recorded {
		p = before
	}
	return ks.Permit(ctx, p, k, func() (keystore.Secret, error) {
		value, err := ks.resolve(ctx, k.Secret)
		return value, cmp.Or(err, ks.CheckName(k.Name, value))
	})
}

// CheckName is keystore.CheckName, but accepts the name of a known key.
func (ks *Keys) CheckName(name string, value keystore.Secret) error {
	if _, recorded := ks.Key(name); recorded {
		return nil
	}
	return keystore.CheckName(name, value)
}

// RefuseAdmin refuses a key that is recorded as ADMIN if no person decides on the call and no reason was given.
func (ks *Keys) RefuseAdmin(k model.Key) error {
	k.Fingerprint = "" // its reference may give another value by now
	return ks.permitValue(k, ks.cfg.Caller.AdminReason)
}

// permitValue is RefuseAdmin for a key whose fingerprint is that of the value to be sent.
func (ks *Keys) permitValue(k model.Key, reason string) error {
	if !ks.unattended() || strings.TrimSpace(reason) != "" {
		return nil
	}
	if refused := ks.Admin(k); refused != nil {
		return refused
	}
	return nil
}

// May checks a key of the profile in use before it launches a job, for all faces; an empty name means the profile's own
// key. It returns the questions that a person has to answer. The
// error refuses the key whatever the answers. Commands and agents are asked nothing: they gave their reason before. If
// the value cannot be read here, only the record is checked. An unknown key is checked where it is used.
func (ks *Keys) May(ctx context.Context, key string) ([]ask.Question, error) {
	k, ok := ks.Key(cmp.Or(key, ks.cfg.Profiles.Profile().Key))
	if !ok {
		return nil, nil
	}
	if err := ks.permitUse(ctx, k); err != nil || ks.unattended() {
		return nil, err
	}
	for _, f := range keystore.CheckUse(k, model.CapUse, true, ks.timeOf(k)) {
		if f.Severity == keystore.SeverityError && f.Rule != keystore.RuleAdminAutomated {
			return nil, model.BadField("key", "%s; %s", f.Text, f.Fix)
		}
	}
	if refused := ks.Admin(k); refused != nil {
		return []ask.Question{{ //nolint:nilerr // the refusal is the question
			Kind: ask.AdminReason, About: k.Name, Want: ask.Reason,
			Text: "a job is automation, which never uses ADMIN (contract 5.4): pick a USER key, or say why it must be this one",
		}}, nil
	}
	return nil, nil
}

// timeOf is the time by which a key expires: the service's for one that comes with the profile, else the machine's.
func (ks *Keys) timeOf(k model.Key) time.Time {
	if ks.Origin(k) != "" {
		return ks.cfg.Clock.Now()
	}
	return ks.cfg.Clock.Machine()
}

// Warn tells a command, once, what speaks against uses of a key (see keystore.Objections); an empty name means the
// profile's key. It is told of an expired key by itself.
func (ks *Keys) Warn(name string, uses ...model.Capability) {
	if k, ok := ks.Key(cmp.Or(name, ks.cfg.Profiles.Profile().Key)); ok {
		ks.warn(k, uses...)
	}
}

func (ks *Keys) warn(k model.Key, uses ...model.Capability) {
	if ks.cfg.Caller.Kind != Command {
		return
	}
	for _, o := range keystore.Objections(k, ks.timeOf(k), uses...) {
		if _, said := ks.warned.LoadOrStore(o, true); !said {
			ks.cfg.Voice.Say("zonedeck: %s", o)
		}
	}
}

// permitUse refuses a key of another account, and refuses commands an ADMIN key without a reason. It checks the record
// first, then the value.
func (ks *Keys) permitUse(ctx context.Context, k model.Key) error {
	p := ks.cfg.Profiles.Profile()
	if err := cmp.Or(ks.Owners().Refuse(p, k), ks.RefuseAdmin(k)); err != nil {
		return err
	}
	if value, err := ks.resolve(ask.By(ctx, ask.Nobody), k.Secret); err == nil {
		k.Fingerprint = value.Fingerprint()
	}
	return cmp.Or(ks.Owners().Refuse(p, k), ks.permitValue(k, ks.cfg.Caller.AdminReason))
}

// Admit records why an ADMIN key is used for automation. It refuses the key without a reason.
func (ks *Keys) Admit(ctx context.Context, key, reason string) error {
	k, ok := ks.Key(cmp.Or(key, ks.cfg.Profiles.Profile().Key))
	if !ok {
		return nil
	}
	refused := ks.Admin(k)
	switch {
	case refused == nil:
		return nil
	case strings.TrimSpace(reason) == "":
		return refused
	}
	value, err := ks.cfg.Resolver.Resolve(ctx, k.Secret)
	if err != nil {
		return err
	}
	return ks.recordReason(ctx, k, value, strings.TrimSpace(reason))
}

// PermitExport refuses to export code that sends a key of another account, unless the key and the address
// were named. It refuses code that uses an ADMIN key, unless a reason was given: a program is automation.
func (ks *Keys) PermitExport(ctx context.Context, k model.Key) error {
	if err := ks.Owners().Refuse(ks.cfg.Profiles.Profile(), k); err != nil {
		return err
	}
	return ks.Admit(ctx, k.Name, ks.cfg.Caller.AdminReason)
}

// recordReason writes into the history why automation uses an ADMIN key, once for each key. For a copy in a
// rehearsal it names the key that was copied.
func (ks *Keys) recordReason(ctx context.Context, k model.Key, value keystore.Secret, reason string) error {
	ks.reasons.mu.Lock() // until the reason is written: no other call may go ahead before
	defer ks.reasons.mu.Unlock()
	name, event, how := model.PlainName(k.Name), "used", "as ADMIN "
	of, copied := ks.reasons.copies[name]
	if copied {
		name, event, how = of.Name, "rehearsed", "its rotation, with a copy, as ADMIN "
	}
	if keystore.HoldsValue(reason, value.Fingerprint()) || keystore.HoldsValue(reason, of.Fingerprint) {
		return ErrReasonHoldsValue
	}
	if ks.reasons.recorded[event+" "+name] {
		return nil
	}
	where := "by a command"
	switch {
	case ks.cfg.Caller.Kind == Agent:
		where = "for an agent"
	case !ks.unattended():
		where = "to launch a job"
	}
	err := ks.record(ctx, journal.KeyEvent{
		Profile: ks.cfg.Profiles.Base().Name, Key: name, Event: event, Text: how + where + ", because: " + reason,
	})
	if err != nil {
		return fmt.Errorf("key %s is ADMIN, and the reason to use it cannot be recorded: %w", name, err)
	}
	if ks.reasons.recorded == nil {
		ks.reasons.recorded = map[string]bool{}
	}
	ks.reasons.recorded[event+" "+name] = true
	return nil
}
