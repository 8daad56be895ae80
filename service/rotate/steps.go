package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

// drain checks that a job which was started with the old key has ended.
func (r *run) drain(ctx context.Context, n int) (keystore.Proof, error) {
	job := r.plan.Steps[n].Subject
	users, err := r.users(ctx)
	if err != nil {
		return keystore.Proof{}, fmt.Errorf("looking at %s: %w", job, err)
	}
	if slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return u.Name == job && u.InFlight }) {
		return keystore.Proof{}, r.stop(n, "it is in flight with the old key: wait until it has ended, or release it")
	}
	return keystore.Proof{Note: "it has ended"}, nil
}

// lookAgain looks for changes since the record was written: before a test, whether the user's place still gives
// the new value; before the old value ends, for new users; before a deletion or the proof of a refresh, at every
// place. It adds or reopens steps for what it finds.
func (r *run) lookAgain(ctx context.Context, n int) (more bool, err error) {
	switch s := r.plan.Steps[n]; {
	case s.Kind == keystore.StepTest:
		u, _ := r.plan.User(s.Subject)
		return r.places(ctx, func(place string) bool { return place == u.Place() })
	case s.Kind == keystore.StepRefresh && r.plan.NewFingerprint == "":
		return r.newUsers(ctx)
	case s.Kind == keystore.StepDelete && r.plan.DeletedSeq == 0: // else a killed run has begun to delete it
		if more, err := r.newUsers(ctx); more || err != nil {
			return more, err
		}
		return r.places(ctx, func(string) bool { return true })
	case s.Kind == keystore.StepRefused && r.plan.Method == keystore.RotateByRefresh:
		return r.places(ctx, func(string) bool { return true })
	}
	return false, nil
}

// newUsers adds the users of the old value that have appeared since the rotation began.
func (r *run) newUsers(ctx context.Context) (more bool, err error) {
	users, err := r.users(ctx)
	if err != nil {
		return false, fmt.Errorf("finding out what uses %s now: %w", r.plan.Key, err)
	}
	next := r.plan.With(slices.DeleteFunc(users, func(u keystore.RotationUser) bool {
		return u.Ref != "" && u.Ref == r.plan.NewHeld // it reads the new value already
	}))
	if len(next.Users) == len(r.plan.Users) {
		return false, nil
	}
	return true, r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		p = p.With(next.Users)
		if slices.ContainsFunc(p.Steps, func(s keystore.RotationStep) bool { return s.Kind == keystore.StepTest && !s.Done }) {
			p.SetSeq = 0 // not every reference was set: the uses until now are explained by the new users
		}
		return p, nil
	})
}

// users are the present users of the old value.
func (r *run) users(ctx context.Context) ([]keystore.RotationUser, error) {
	if r.plan.Zone != "" {
		return r.c.Passwords.Users(ctx, r.plan)
	}
	return r.c.Keys.Users(ctx, r.key())
}

// key is the key under rotation, from the record.
func (r *run) key() model.Key {
	level, _ := model.ParseLevel(r.plan.Level) // the zero value means unknown
	ref := r.plan.Ref
	if r.plan.HasTakenOver() {
		ref = cmp.Or(r.plan.NewRef, ref)
	}
	return model.Key{Name: r.plan.Key, Level: level, Secret: ref, Fingerprint: r.plan.OldFingerprint, Last4: r.plan.OldLast4}
}

// create makes the new value, holds it and makes a call with it.
func (r *run) create(ctx context.Context, n int) (keystore.Proof, error) {
	if r.plan.Zone != "" && !r.plan.ByHand() {
		return r.addPassword(ctx)
	}
	if err := r.holdOld(ctx); err != nil {
		return keystore.Proof{}, err
	}
	if r.plan.NewFingerprint == "" {
		if err := r.make(ctx, n); err != nil {
			return keystore.Proof{}, err
		}
	}
	value, err := r.newValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	k := r.key()
	k.Name = model.NewValueOf(k.Name) // the value may be another key's, or mistyped
	proof, err := r.acceptedAs(ctx, k, keystore.RotationUser{}, value)
	switch {
	case err != nil && r.c.Accounts.Settings(r.plan) == nil && proof.Status/100 == 4 && proof.Status != http.StatusTooManyRequests:
		return proof, r.askAgain(ctx, n, value, err)
	case err != nil:
		return proof, fmt.Errorf("the call with the new value: %w", err)
	}
	if err := r.firstNew(ctx); err != nil {
		return proof, err
	}
	if r.plan.Zone != "" { // a password has no level
		proof.Note += ", ••••" + value.Last4()
		return proof, nil
	}
	level, err := r.seeLevel(ctx, n, proof, value)
	if err != nil {
		return proof, err
	}
	proof.Note += ", " + level + ", ••••" + value.Last4()
	if r.plan.NewName != "" {
		proof.Note += ", named " + r.plan.NewName
	}
	if r.plan.NewExpires != "" {
		proof.Note += ", expires " + r.plan.NewExpires
		if r.c.Accounts.Settings(r.plan) == nil {
			proof.Note += " by the word of whoever gave the value"
		}
	}
	return proof, nil
}

// firstNew records when the new value of a refresh first worked.
func (r *run) firstNew(ctx context.Context) error {
	if r.plan.Method != keystore.RotateByRefresh || !r.plan.FirstNew.IsZero() {
		return nil
	}
	return r.note(ctx, func(p *keystore.RotationPlan) { p.FirstNew = r.c.Keys.Now(*p).UTC().Truncate(time.Millisecond) })
}

// holdOld keeps the old value, which must be seen refused later: its reference will give the new one.
func (r *run) holdOld(ctx context.Context) error {
	if r.plan.OldHeld != "" || r.plan.Ref == "" {
		return nil
	}
	old, err := r.c.Secrets.Resolve(ctx, r.plan.Ref)
	if err != nil {
		return fmt.Errorf("reading the old %s, to see it refused later: %w", r.plan.Value(), err)
	}
	r.secrets = append(r.secrets, old)
	if fp := r.plan.OldFingerprint; fp != "" && fp != old.Fingerprint() {
		return fmt.Errorf("%s does not give the recorded value of %s (••••%s): correct the record first", label(r.plan.Ref), r.plan.Key, r.plan.OldLast4)
	}
	held, _ := r.plan.References()
	if err := r.c.Secrets.Store(ctx, held, old); err != nil {
		return fmt.Errorf("holding the old %s until it is refused: %w", r.plan.Value(), err)
	}
	return r.note(ctx, func(p *keystore.RotationPlan) {
		p.OldHeld, p.OldFingerprint, p.OldLast4 = held, old.Fingerprint(), old.Last4()
	})
}

// hold stores the new value behind the rotation's own reference and records it.
func (r *run) hold(ctx context.Context, value keystore.Secret) error {
	r.secrets = append(r.secrets, value)
	if value.Fingerprint() == r.plan.OldFingerprint {
		return fmt.Errorf("this is the old %s: a new one is needed", r.plan.Value())
	}
	if err := r.c.Secrets.Store(ctx, r.heldNew(), value); err != nil {
		return fmt.Errorf("holding the new %s: %w", r.plan.Value(), err)
	}
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		return p.RecordNewValue(value, r.heldNew())
	})
}

func (r *run) heldNew() string {
	_, held := r.plan.References()
	return held
}

// newValue reads the new value back from where it is held.
func (r *run) newValue(ctx context.Context) (keystore.Secret, error) {
	value, err := r.c.Secrets.Resolve(ctx, r.plan.NewHeld)
	if err != nil {
		return value, fmt.Errorf("taking the new %s: %w", r.plan.Value(), err)
	}
	if value.Fingerprint() != r.plan.NewFingerprint {
		return value, fmt.Errorf("%s gives another %s than the one that was made", label(r.plan.NewHeld), r.plan.Value())
	}
	r.secrets = append(r.secrets, value)
	return value, nil
}

// make has the account settings make the new value. First it looks for what a killed process has left:
// a value that is held but not recorded, or a key with the chosen name.
func (r *run) make(ctx context.Context, n int) error {
	held, err := r.c.Secrets.Resolve(ctx, r.heldNew())
	if err == nil {
		return r.hold(ctx, held)
	}
	if !errors.Is(err, keystore.ErrSecretMissing) {
		return fmt.Errorf("looking for a new value of an earlier run: %w", err)
	}
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil {
		return r.askForValue(ctx, n)
	}
	if r.plan.Method == keystore.RotateByRefresh {
		return r.refresh(ctx, settings)
	}
	return r.newKey(ctx, settings)
}

// refresh has the account settings refresh the key. Before that it measures the last call with the old value,
// and marks the service's journal: calls that are refused after the mark belong to the outage.
func (r *run) refresh(ctx context.Context, settings Settings) error {
	old, err := r.oldValue(ctx)
	if err != nil {
		return err
	}
	var proof keystore.Proof
	var no rejectedError
	if counted := r.ownRefusal(ctx, func() bool {
		proof, err = r.accepted(ctx, keystore.RotationUser{}, old)
		return errors.As(err, &no)
	}); counted != nil {
		return counted
	}
	if err == nil || errors.As(err, &no) && r.plan.DeletedSeq == 0 { // else a killed run has marked the journal
		if err := r.markDeleted(ctx, settings); err != nil {
			return err
		}
	}
	switch {
	case errors.As(err, &no): // expired, or refreshed by a killed run: another refresh stops nothing
		err = r.note(ctx, func(p *keystore.RotationPlan) { p.NewName = p.OldName })
	case err == nil:
		at := r.c.Keys.Now(r.plan).UTC().Truncate(time.Millisecond)
		err = r.note(ctx, func(p *keystore.RotationPlan) { p.LastOld, p.NewName = at, p.OldName })
	default:
		err = fmt.Errorf("the call with the old value, before the refresh (status %d): %w", proof.Status, err)
	}
	if err != nil {
		return err
	}
	made, err := settings.RefreshKey(ctx, r.plan.OldName)
	if err != nil {
		return fmt.Errorf("refreshing %s: %w", r.plan.OldName, err)
	}
	return r.hold(context.WithoutCancel(ctx), keystore.NewSecret(made.Value))
}

func (r *run) oldValue(ctx context.Context) (keystore.Secret, error) {
	old, err := r.c.Secrets.Resolve(ctx, r.plan.OldHeld)
	if err != nil {
		return old, fmt.Errorf("taking the old %s: %w", r.plan.Value(), err)
	}
	r.secrets = append(r.secrets, old)
	return old, nil
}

// set checks that a place gives the new value. If the console can write there, it puts the value there first.
func (r *run) set(ctx context.Context, n int) (keystore.Proof, error) {
	place := r.plan.Steps[n].Subject
	value, err := r.newValue(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	i := slices.IndexFunc(r.plan.Users, func(u keystore.RotationUser) bool { return u.Place() == place })
	switch ref := keystore.Ref(place); {
	case i >= 0 && r.plan.Users[i].File != "":
		return r.file(n)
	case i >= 0 && r.plan.Users[i].Manual():
		return keystore.Proof{}, r.stop(n, "%s. Give it the new %s, then vouch for it", cmp.Or(r.plan.Users[i].Reason, "the console does not know where it gets its "+r.plan.Value()), r.plan.Value())
	case ref.Scheme() == keystore.SchemeDemo && r.plan.Zone != "":
		return keystore.Proof{Note: "nothing to write: it gives the first password of the emulator, which is the new one after the old one is removed"}, nil
	case ref.Scheme() == keystore.SchemeDemo:
		return r.follow(ctx, place)
	case ref.Storable():
		return r.put(ctx, place, value)
	default:
		return r.readBack(ctx, n, value, "let "+ref.Label()+" give the new "+r.plan.Value(), func(ctx context.Context) (keystore.Secret, error) {
			return r.c.Secrets.Resolve(ctx, place)
		})
	}
}

// file checks whether a person has put the new value into a file.
func (r *run) file(n int) (keystore.Proof, error) {
	name, put := r.plan.Steps[n].Subject, fmt.Sprintf("put the new %s (%s) into it", r.plan.Value(), label(r.plan.NewHeld))
	old, err := r.c.Files.Holds(name, r.plan.OldFingerprint)
	if err != nil {
		return keystore.Proof{}, r.stop(n, "%s; it cannot be read now: %v", put, err)
	}
	fresh, err := r.c.Files.Holds(name, r.plan.NewFingerprint)
	switch {
	case err != nil:
		return keystore.Proof{}, err
	case old:
		return keystore.Proof{}, r.stop(n, "%s; it holds the old one (••••%s)", put, r.plan.OldLast4)
	case !fresh:
		return keystore.Proof{}, r.stop(n, "%s; it holds neither", put)
	}
	return keystore.Proof{Note: "read back"}, nil
}

// follow replaces a reference to the scenario's own key, which cannot be written, by the one where the
// rotation holds the new value.
func (r *run) follow(ctx context.Context, place string) (keystore.Proof, error) {
	held := r.plan.NewHeld
	return keystore.Proof{Note: label(held) + " takes its place, and gives the new value"}, r.note(ctx, func(p *keystore.RotationPlan) {
		users := slices.Clone(p.Users)
		for i := range users {
			if users[i].Ref == place {
				users[i].Ref = held
			}
		}
		p.Users = users
		if p.Ref == place {
			p.NewRef = held
		}
	})
}

// put writes the new value behind a reference and reads it back.
func (r *run) put(ctx context.Context, place string, value keystore.Secret) (keystore.Proof, error) {
	now, err := r.c.Secrets.Resolve(ctx, place)
	switch {
	case err != nil && !errors.Is(err, keystore.ErrSecretMissing):
		return keystore.Proof{}, err
	case err == nil && r.plan.OldFingerprint != "" && now.Fingerprint() != r.plan.OldFingerprint && now.Fingerprint() != value.Fingerprint():
		return keystore.Proof{}, fmt.Errorf("%s gives neither the old %s nor the new one: it was left alone. Find out whose value it is, then put the old or the new one there", label(place), r.plan.Value())
	}
	if now.Fingerprint() != value.Fingerprint() {
		r.wrote = place
		if err := r.c.Secrets.Store(ctx, place, value); err != nil {
			return keystore.Proof{}, err
		}
		if now, err = r.c.Secrets.Resolve(ctx, place); err != nil {
			return keystore.Proof{}, err
		}
	}
	if now.Fingerprint() != value.Fingerprint() {
		return keystore.Proof{}, fmt.Errorf("%s was written, and gives another value", label(place))
	}
	r.wrote = ""
	return keystore.Proof{Note: "written and read back"}, r.newRef(ctx, place)
}

// newRef records that the key's own reference gives the new value.
func (r *run) newRef(ctx context.Context, place string) error {
	if place != r.plan.Ref || r.plan.NewRef == place {
		return nil
	}
	return r.note(ctx, func(p *keystore.RotationPlan) { p.NewRef = place })
}

// readBack checks whether a person has put the new value behind a reference.
func (r *run) readBack(ctx context.Context, n int, value keystore.Secret, words string, read func(context.Context) (keystore.Secret, error)) (keystore.Proof, error) {
	now, err := read(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return keystore.Proof{}, context.Cause(ctx)
	case err != nil:
		return keystore.Proof{}, r.stop(n, "%s; it cannot be read now: %v", words, err)
	case now.Fingerprint() == value.Fingerprint():
		return keystore.Proof{Note: "read back"}, r.newRef(ctx, r.plan.Steps[n].Subject)
	case now.Fingerprint() == r.plan.OldFingerprint:
		return keystore.Proof{}, r.stop(n, "%s; it gives the old one (••••%s)", words, now.Last4())
	default:
		return keystore.Proof{}, r.stop(n, "%s; it gives another one (••••%s)", words, now.Last4())
	}
}

// test makes a call as a user does, with the value that the user reads.
func (r *run) test(ctx context.Context, n int) (keystore.Proof, error) {
	u, ok := r.plan.User(r.plan.Steps[n].Subject)
	if !ok {
		return keystore.Proof{}, fmt.Errorf("%s is not in the record", r.plan.Steps[n].Subject)
	}
	if !u.Callable() {
		return keystore.Proof{}, r.stop(n, "%s. Make sure that a call of it works with the new %s, then vouch for it", cmp.Or(u.Reason, "the console cannot make its call"), r.plan.Value())
	}
	if err := r.markSet(ctx); err != nil {
		return keystore.Proof{}, err
	}
	from := u.Ref
	if u.File != "" { // the file was seen to hold the new value
		from = r.plan.NewHeld
	}
	if r.plan.Zone != "" && keystore.Ref(u.Ref).Scheme() == keystore.SchemeDemo {
		from = r.plan.NewHeld // the reference gives the new value only after the old one is removed
	}
	value, err := r.c.Secrets.Resolve(ctx, from)
	if err != nil {
		return keystore.Proof{}, fmt.Errorf("%s: %w", u.Name, err)
	}
	r.secrets = append(r.secrets, value)
	if value.Fingerprint() != r.plan.NewFingerprint {
		return keystore.Proof{}, fmt.Errorf("%s reads another %s than the new one (••••%s)", u.Name, r.plan.Value(), value.Last4())
	}
	proof, err := r.accepted(ctx, u, value)
	if err != nil {
		return proof, fmt.Errorf("the %s of %s: %w", r.call(), u.Name, err)
	}
	return proof, nil
}

// accepted makes a call that must be accepted. If the key's level may not fetch, a call that is not
// permitted shows that the service knows the key (service.md 5.3).
func (r *run) accepted(ctx context.Context, u keystore.RotationUser, value keystore.Secret) (keystore.Proof, error) {
	return r.acceptedAs(ctx, r.key(), u, value)
}

// acceptedAs is accepted under another name of the key.
func (r *run) acceptedAs(ctx context.Context, k model.Key, u keystore.RotationUser, value keystore.Secret) (keystore.Proof, error) {
	k.Secret = cmp.Or(r.plan.NewHeld, r.plan.OldHeld)
	r.secrets = append(r.secrets, value)
	if u.Name == "" {
		u, _ = r.plan.Home()
	}
	if why := r.plan.Unproved(); why != "" && r.c.rehearsed == "" {
		return keystore.Proof{}, r.unproved(why, value)
	}
	if r.plan.Zone != "" {
		return r.c.Passwords.Login(ctx, r.plan, u, r.login(value, true))
	}
	res, err := r.c.Prover.Prove(ctx, Call{u, k, value, r.proves()})
	if err != nil {
		return keystore.Proof{}, err
	}
	proof := keystore.Proof{Status: res.ServiceStatus, Duration: res.Timing.Total, Note: "accepted"}
	switch {
	case res.Diagnosis.OK():
		return proof, nil
	case res.Diagnosis.Cause == model.CauseTargetError: // the service took the key and asked for the page
		proof.Note = "accepted; the test page itself failed"
		return proof, nil
	case res.ServiceStatus == http.StatusForbidden && res.Diagnosis.Cause != model.CauseKeyRejected && !r.fetches():
		proof.Note = "known to the service, which permits no fetch to its level (contract 5.3)"
		return proof, nil
	}
	if res.Diagnosis.Cause == model.CauseKeyRejected {
		return proof, rejectedError(res.Diagnosis.Summary)
	}
	return proof, errors.New(res.Diagnosis.Summary)
}

// rejectedError says that the service does not accept a value.
type rejectedError string

func (e rejectedError) Error() string { return string(e) }

// fetches reports whether the level of the key may fetch.
func (r *run) fetches() bool {
	level, _ := model.ParseLevel(cmp.Or(r.plan.NewLevel, r.plan.Level)) // an unknown level may
	return level.Permission(model.CapUse) != model.PermNo
}

func keyNamed(keys []rehearsal.Key, name string) (rehearsal.Key, bool) {
	if i := slices.IndexFunc(keys, func(k rehearsal.Key) bool { return k.Name == name }); i >= 0 {
		return keys[i], true
	}
	return rehearsal.Key{}, false
}

// freeName is a name for the successor of a key: etl-main-2 after etl-main.
func freeName(keys []rehearsal.Key, old string) string {
	base := old
	if i := strings.LastIndexByte(old, '-'); i > 0 && i < len(old)-1 && len(old)-i <= 4 && strings.Trim(old[i+1:], "0123456789") == "" {
		base = old[:i]
	}
	base = base[:min(len(base), 58)]
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s-%d", base, n)
		if _, taken := keyNamed(keys, name); !taken && name != old {
			return name
		}
	}
}

func label(ref string) string { return keystore.Ref(ref).Label() }
