// Package rotate drives the rotation of a key, or of a zone's proxy password, in four phases: create, set, test,
// finish. It records every action before it begins and after it has ended: a rotation that was killed goes on where
// it was. A step is ticked only if it was measured or a person vouched for it, and the record says which.
//
// It knows keys, references and calls only through the interfaces of Config. If it cannot take a step itself, the run
// ends with a *StopError, which says what to do.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
)

// Records keeps the rotations on disk; *keystore.Rotations does.
type Records interface {
	List() ([]keystore.RotationPlan, error)
	Get(id string) (keystore.RotationPlan, error)
	Start(ctx context.Context, p keystore.RotationPlan) error
	Update(ctx context.Context, id string, f func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error)
}

// Secrets are the stores behind references; *keystore.Resolver is.
type Secrets interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	Store(ctx context.Context, ref string, s keystore.Secret) error
	// Remove removes a held value. A missing value is no error.
	Remove(ctx context.Context, ref string) error
}

// Settings are account settings that a program can work, as *rehearsal.Client does for the emulator.
// The contract has no endpoint for them.
type Settings interface {
	Keys(ctx context.Context) ([]rehearsal.Key, error)
	CreateKey(ctx context.Context, k rehearsal.Key) (rehearsal.Key, error)
	RefreshKey(ctx context.Context, name string) (rehearsal.Key, error)
	DeleteKey(ctx context.Context, name string) error
	// Newest is the service's own journal of requests.
	Newest(ctx context.Context, limit int) (rehearsal.Page, error)
}

// Accounts are the accounts of the keys at the service.
type Accounts interface {
	// Settings are the account settings for a rotation's key; nil if a person works them.
	Settings(p keystore.RotationPlan) Settings
	// AccountText says whose a rotation is: "account hl_1, profile acme, https://api.example.com".
	AccountText(p keystore.RotationPlan) string
	// OwnerText says whose a key is: "the key of profile acme (account hl_1, https://api.example.com)".
	OwnerText(k model.Key) string
}

// Keys are the keys of the console, with what uses them.
type Keys interface {
	// Refuse returns an error if a rotation must not be worked on.
	Refuse(p keystore.RotationPlan) error
	// Reach checks, before a new value is made, whether the key may be sent wherever the rotation proves it. It notes
	// what the answers agree to, and returns the open questions.
	Reach(p keystore.RotationPlan, a ask.Answers) ([]ask.Question, error)
	// Users are the users of a key: the blast radius. An incomplete search is an error.
	Users(ctx context.Context, k model.Key) ([]keystore.RotationUser, error)
	// TookOver is called when the key's own reference gives the new value, or for a key without one when all its
	// users have the value. It is called again when the old value was seen refused, and perhaps more often.
	TookOver(ctx context.Context, p keystore.RotationPlan) error
	// UsedAfterEnd is called whenever uses of an old value were found after the end of its rotation.
	UsedAfterEnd(ctx context.Context, p keystore.RotationPlan, used []string)
	// Now is the time that dates a step of a key's rotation.
	Now(p keystore.RotationPlan) time.Time
	// Days is the lifetime in days of a new key of a level.
	Days(level model.Level) int
}

// Prover sends values, only to the service of the user's profile.
type Prover interface {
	// Prove makes a call.
	Prove(ctx context.Context, c Call) (model.FetchResult, error)
	// Levels are the levels that fit what a value may do. An error says why nothing could be measured.
	Levels(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error)
}

// Files are the files that hold the values of keys.
type Files interface {
	// Holds reports whether a file holds the value with this fingerprint.
	Holds(file, fingerprint string) (bool, error)
}

// disk reads the real files.
type disk struct{}

func (disk) Holds(file, fingerprint string) (bool, error) { return radius.Holds(file, fingerprint) }

// Config is what an Engine works with. All but Passwords and Files must be set.
type Config struct {
	Records  Records
	Keys     Keys
	Accounts Accounts
	Prover   Prover
	Secrets  Secrets
	// LockDir is the folder of the locks. They keep two processes from working on one rotation.
	LockDir string
	// Passwords changes and proves the passwords of zones; nil if none is rotated.
	Passwords Passwords
	// Files defaults to the files on disk.
	Files Files
	// rehearsed is the key whose rotation is rehearsed; empty for a real rotation.
	rehearsed string
}

// Call is one real, cheap call as a user of a key makes it, with a value.
type Call struct {
	User  keystore.RotationUser
	Key   model.Key
	Value keystore.Secret
	// Proves says what the call is made for, as model.FetchResult has it.
	Proves string
}

// Engine drives rotations. Make it with New.
type Engine struct{ c Config }

// New makes an Engine. It does no I/O.
func New(c Config) *Engine {
	if c.Files == nil {
		c.Files = disk{}
	}
	return &Engine{c}
}

// StopError is why a rotation does not go on by itself.
type StopError struct {
	Step keystore.RotationStep
	// Advice says what a person has to do.
	Advice string
	// Value asks for the new value. Vouch allows a person to vouch for the step.
	Value, Vouch bool
}

func (s *StopError) Error() string { return s.Step.Name() + ": " + s.Advice }

// ErrRunning says that another process works on the rotation.
var ErrRunning = errors.New("another zonedeck is working on this rotation")

// Begin writes the record of a new rotation. Nothing else is done yet.
func (e *Engine) Begin(ctx context.Context, s Subject) (keystore.RotationPlan, error) {
	p, err := e.Plan(ctx, s)
	if err != nil {
		return p, err
	}
	return p, e.c.Records.Start(ctx, p)
}

// Plan is the plan that Begin would record now. Nothing is written.
func (e *Engine) Plan(ctx context.Context, s Subject) (keystore.RotationPlan, error) {
	if s.Password != nil {
		return e.planPassword(ctx, *s.Password)
	}
	k := s.Key
	users, err := e.c.Keys.Users(ctx, k)
	if err != nil {
		return keystore.RotationPlan{}, fmt.Errorf("finding out what uses %s: %w", k.Name, err)
	}
	p := keystore.PlanRotation(k, s.Method, users, e.c.Keys.Now(keystore.RotationPlan{Key: k.Name, Profile: s.Profile}))
	p.Profile = s.Profile
	p.OldName, p.Level = "", k.Level.String()
	if e.c.Accounts.Settings(p) != nil { // else only a person sees the name, which may differ from the inventory's
		p.OldName = e.nameOf(k, s.Profile)
	}
	return p, nil
}

// nameOf is a key's name at the service: from the rotation that made its value, or else its own.
func (e *Engine) nameOf(k model.Key, profile string) string {
	plans, _ := e.c.Records.List() // Start reports unreadable records of the key
	for _, p := range plans {
		if p.OfKey(profile, k.Name) && p.NewName != "" && p.NewFingerprint == k.Fingerprint {
			return p.NewName
		}
	}
	return k.Name
}

// Run takes the open steps in their order, up to the last step of the word until ("" means all), and
// calls on after each. A refresh does not stop before the references are set, because they give a dead
// value. Run ends with a *StopError before a step that needs a person, and with ErrElsewhere while
// another process runs the same rotation. It returns the plan even with an error.
func (e *Engine) Run(ctx context.Context, id string, until keystore.RotationWord, on func(keystore.RotationPlan)) (keystore.RotationPlan, error) {
	words := keystore.RotationWords()
	last := len(words)
	if until != "" {
		last = slices.Index(words, until)
	}
	return e.work(id, func(r *run) error {
		if until == keystore.WordCreate && r.plan.Method == keystore.RotateByRefresh {
			last = slices.Index(words, keystore.WordSet)
		}
		if r.plan.Undone {
			return r.takeBack(ctx, errors.New("the last run gave up, and was cut short"))
		}
		for n := r.plan.Now(); n >= 0 && !r.plan.Over(); n = r.plan.Now() {
			if slices.Index(words, r.plan.Steps[n].Kind.Word()) > last {
				return nil
			}
			if err := r.step(ctx, n); err != nil {
				return err
			}
			if on != nil {
				on(r.plan)
			}
		}
		return nil
	})
}

// Give takes the new value that a person made in the account settings, and its expiry as model.ParseExpiry
// reads it, empty if it is not known. It holds the value behind the rotation's own reference, and replaces
// one that the service has not accepted. The next Run proves it. The error wraps keystore.ErrStepOrder if no
// value is asked for, and keystore.ErrKeyValue if it is no key.
func (e *Engine) Give(ctx context.Context, id string, value keystore.Secret, expires string) (keystore.RotationPlan, error) {
	if err := keystore.CheckKeyValue(value); err != nil {
		return keystore.RotationPlan{}, err
	}
	return e.work(id, func(r *run) error {
		if _, err := model.ParseExpiry(expires); err != nil {
			return err
		}
		if n := r.plan.Now(); n < 0 || !r.createsValue(n) || r.c.Accounts.Settings(r.plan) != nil {
			return fmt.Errorf("the new value is not asked for: %w", keystore.ErrStepOrder)
		}
		if err := r.holdOld(ctx); err != nil {
			return err
		}
		// Clear the record before the value is held: the next run records whatever is held, this value or the last one.
		if err := r.note(ctx, func(p *keystore.RotationPlan) {
			p.NewFingerprint, p.NewLast4, p.NewHeld, p.NewExpires, p.NewLevel = "", "", "", expires, ""
		}); err != nil {
			return err
		}
		return r.hold(ctx, value)
	})
}

// Vouch ticks the open step on a person's word. The reason may be empty.
func (e *Engine) Vouch(ctx context.Context, id string, step keystore.RotationStep, reason string) (keystore.RotationPlan, error) {
	return e.work(id, func(r *run) error {
		n := r.plan.Now()
		if n < 0 || r.plan.Steps[n].Kind != step.Kind || r.plan.Steps[n].Subject != step.Subject {
			return fmt.Errorf("%s: %w", step.Name(), keystore.ErrStepOrder)
		}
		if !r.mayVouch(n) {
			return fmt.Errorf("%s is measured, never vouched for", step.Name())
		}
		if r.plan.NewLevel != "" && r.createsValue(n) {
			reason = strings.TrimRight("it is "+r.plan.NewLevel+": "+reason, ": ")
		}
		return r.record(ctx, n, keystore.Proof{By: keystore.Vouched, Note: reason})
	})
}

// Abandon ends a rotation. Keys and references stay as they are; the held copy of the old value is
// removed. A new password that no reference gives yet is taken back, unless a held value is lost.
func (e *Engine) Abandon(ctx context.Context, id string) (keystore.RotationPlan, error) {
	return e.work(id, func(r *run) error {
		if r.plan.Undone || r.plan.Zone != "" && !r.plan.ByHand() && r.nothingSet() && !r.heldLost(ctx) {
			return r.undo(ctx)
		}
		if err := r.release(ctx, true); err != nil {
			return err
		}
		return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(e.c.Keys.Now(p)) })
	})
}

// work runs f under the rotation's lock, with the record that is on disk now.
func (e *Engine) work(id string, f func(*run) error) (keystore.RotationPlan, error) {
	unlock, ok, err := textfile.TryLock(filepath.Join(e.c.LockDir, "run-"+id))
	if err != nil {
		return keystore.RotationPlan{}, err
	}
	if !ok {
		p, _ := e.c.Records.Get(id) // as far as it can be read
		return p, ErrRunning
	}
	defer unlock()
	p, err := e.c.Records.Get(id)
	if err != nil {
		return p, err
	}
	if p.Over() {
		return p, nil
	}
	if err := e.c.Keys.Refuse(p); err != nil {
		return p, err
	}
	r := &run{e: e, c: e.c, plan: p}
	err = f(r)
	return r.plan, r.masked(err)
}

// proves says what a call of the present step is made for.
func (r *run) proves() string {
	of := "the rotation of " + r.plan.Named()
	if r.c.rehearsed != "" {
		of = "a rehearsal of the rotation of " + r.c.rehearsed
	}
	if r.plan.Undone {
		return of + ", taken back"
	}
	of += ", step " + r.plan.Steps[r.at].Name()
	if r.controlCall {
		of += ", by the new " + r.plan.Value()
	}
	return of
}

// run is the state of one run on a rotation.
type run struct {
	e       *Engine
	c       Config
	plan    keystore.RotationPlan
	secrets []keystore.Secret // values that no text may repeat
	at      int               // the index of the present step
	// controlCall says that the call under way is a control with the new value (see tryOld).
	controlCall bool
	// wrote is the reference that this run began to write and has not yet read back.
	wrote string
	// reopened are the places that this run has reopened because they lost the new value.
	reopened []string
}

// masked masks the values in an error: a text from the service may repeat what it was sent.
func (r *run) masked(err error) error {
	if err == nil {
		return nil
	}
	mask := func(text string) string {
		for _, s := range r.secrets {
			if !s.Empty() {
				text = strings.ReplaceAll(text, s.Reveal(), "••••"+s.Last4())
			}
		}
		return text
	}
	var stop *StopError
	if errors.As(err, &stop) {
		clean := *stop
		clean.Advice = mask(stop.Advice)
		return &clean
	}
	if text := err.Error(); mask(text) != text {
		return errors.New(mask(text))
	}
	return err
}

func (r *run) update(ctx context.Context, f func(keystore.RotationPlan) (keystore.RotationPlan, error)) error {
	p, err := r.c.Records.Update(ctx, r.plan.ID, f)
	if err == nil {
		r.plan = p
	}
	return err
}

// note notes facts in the record.
func (r *run) note(ctx context.Context, f func(p *keystore.RotationPlan)) error {
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		f(&p)
		return p, nil
	})
}

// record ticks a step, after it has done what follows from it. The inventory gets the new value at the step after
// which calls use it, and its dates at StepRefused. At the last step the held values are removed.
func (r *run) record(ctx context.Context, n int, proof keystore.Proof) error {
	next, err := r.plan.Record(n, proof, r.c.Keys.Now(r.plan))
	if err != nil {
		return err
	}
	if next.HasTakenOver() && (!r.plan.HasTakenOver() || r.plan.Steps[n].Kind == keystore.StepRefused) {
		if err := r.takeOver(ctx, next); err != nil {
			return err
		}
	}
	if r.plan.Method == keystore.RotateByRefresh && r.plan.Steps[n].Kind == keystore.StepSet && next.Steps[next.Now()].Kind != keystore.StepSet {
		if err := r.markSet(ctx); err != nil {
			return err
		}
	}
	if n == len(r.plan.Steps)-1 {
		if err := r.release(ctx, false); err != nil {
			return err
		}
	}
	return r.update(ctx, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		return p.Record(n, proof, r.c.Keys.Now(p))
	})
}

// takeOver gives the inventory the new value. A key that had no reference gets the one where the
// rotation holds the value.
func (r *run) takeOver(ctx context.Context, next keystore.RotationPlan) error {
	if r.plan.Zone != "" { // the inventory has no passwords
		return nil
	}
	if r.plan.Ref == "" {
		if err := r.note(ctx, func(p *keystore.RotationPlan) { p.NewRef = p.NewHeld }); err != nil {
			return err
		}
		next.NewRef = r.plan.NewRef
	}
	if err := r.c.Keys.TookOver(ctx, next); err != nil {
		return fmt.Errorf("the new value is in place, but the inventory could not be changed: %w", err)
	}
	return nil
}

// stop ends the run before a step.
func (r *run) stop(n int, format string, args ...any) *StopError {
	return &StopError{Step: r.plan.Steps[n], Advice: fmt.Sprintf(format, args...), Vouch: r.mayVouch(n)}
}

// mayVouch reports whether a person's word may replace a measurement, mostly because the console cannot
// make it.
func (r *run) mayVouch(n int) bool {
	s := r.plan.Steps[n]
	switch s.Kind {
	case keystore.StepDrain, keystore.StepWatch:
		return true
	case keystore.StepCreate, keystore.StepRefresh:
		return r.plan.NewLevel != "" || r.plan.NewHeld != "" && r.plan.Unproved() != "" // it was accepted as another level, or no call can tell
	case keystore.StepSet:
		return slices.ContainsFunc(r.plan.Users, func(u keystore.RotationUser) bool { return u.Manual() && u.Name == s.Subject })
	case keystore.StepTest:
		u, ok := r.plan.User(s.Subject)
		return ok && !u.Callable()
	case keystore.StepRefused, keystore.StepDelete:
		return r.plan.OldHeld == "" || r.plan.Unproved() != ""
	}
	return false
}

// createsValue reports whether a step makes the new value.
func (r *run) createsValue(n int) bool {
	k := r.plan.Steps[n].Kind
	return k == keystore.StepCreate || k == keystore.StepRefresh
}

// step takes one step and records what it measured. If it finds that other steps come first, it adds
// them to the record and does not take the step.
func (r *run) step(ctx context.Context, n int) error {
	var proof keystore.Proof
	r.at = n
	if more, err := r.lookAgain(ctx, n); more || err != nil {
		return err
	}
	var err error
	switch r.plan.Steps[n].Kind {
	case keystore.StepDrain:
		proof, err = r.drain(ctx, n)
	case keystore.StepCreate, keystore.StepRefresh:
		proof, err = r.create(ctx, n)
	case keystore.StepSet:
		proof, err = r.set(ctx, n)
	case keystore.StepTest:
		proof, err = r.test(ctx, n)
	case keystore.StepDelete:
		proof, err = r.delete(ctx, n)
	case keystore.StepRefused:
		proof, err = r.refused(ctx, n)
	case keystore.StepWatch:
		proof, err = r.watch(ctx, n)
	}
	if stop := (*StopError)(nil); err != nil && r.plan.Zone != "" && !r.plan.ByHand() && r.plan.Steps[n].Kind == keystore.StepSet && r.nothingSet() && !errors.As(err, &stop) {
		err = r.takeBack(ctx, err)
	}
	if err != nil {
		return err
	}
	proof.By = keystore.Measured
	return r.record(ctx, n, proof)
}

// release removes the held values. If the rotation is abandoned, the new one stays.
func (r *run) release(ctx context.Context, abandoned bool) error {
	var errs []error
	if r.plan.OldHeld != "" {
		errs = append(errs, r.c.Secrets.Remove(ctx, r.plan.OldHeld))
	}
	if held := r.plan.NewHeld; held != "" && held != r.plan.NewRef && !abandoned {
		errs = append(errs, r.c.Secrets.Remove(ctx, held))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("removing what the rotation holds of the values: %w", err)
	}
	return nil
}
