// Package password gives a zone another proxy password and moves the zone's reference to it. The
// order is such that nothing stops before everything else is done: the new password is added, seen
// to work, kept where the reference leads, and only then is the old one removed and seen to be
// refused. What fails before that is undone, and what is cut short goes on with the same passwords.
//
// The calls are a dialect's; the contract shows none. The client calls it.
package password

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/profile"
)

// Config is what a Renewer needs. Access, Wire, Prove, Store,
// Remove, Follows and Dir must be set.
type Config struct {
	Access exchange.Access
	Wire   *exchange.Wire
	// Prove makes one call through the zone's proxy with a password.
	Prove func(ctx context.Context, z model.Zone, value keystore.Secret) (model.ProbeResult, error)
	// Store puts a value where a reference leads.
	Store func(ctx context.Context, ref string, value keystore.Secret) error
	// Remove removes what is behind a reference; that nothing is there is no error.
	Remove func(ctx context.Context, ref string) error
	// Dir is the folder of the locks: no two renewals of a zone run at once.
	Dir string
	// Follows reports whether a reference leads to what the service has itself, so that there
	// is nothing to store: the embedded emulator's.
	Follows func(ref string) bool
	// Journal takes a line of the timeline; nil keeps none.
	Journal interface {
		PutActivity(ctx context.Context, a model.Activity) error
	}
	// New makes a password; nil means random ones.
	New func() string
	Now func() time.Time
	Log *slog.Logger
}

// Renewer gives zones other passwords.
type Renewer struct{ cfg Config }

// New makes a Renewer. It does no I/O.
func New(c Config) *Renewer {
	if c.New == nil {
		c.New = rand.Text
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Renewer{cfg: c}
}

// Refusal says why a zone's password cannot be renewed through a profile and a key, or is nil.
// Nothing is asked or sent for it.
func (rn *Renewer) Refusal(p profile.Profile, z model.Zone, k model.Key) error {
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return err
	}
	ref, parseErr := keystore.ParseRef(z.Password)
	switch readOnly := p.Refuse("change passwords"); {
	case readOnly != nil:
		return readOnly
	case !d.ChangesPasswords():
		return fmt.Errorf("the contract shows no call that changes a password; the dialect %s knows one", dialect.WithPasswords())
	case p.BaseURL == "":
		return fmt.Errorf("profile %s has no base_url, and the password is changed by the API", p.Name)
	case z.Password == "":
		return fmt.Errorf("the profile has no password reference for zone %s: the new password would be lost", z.Name)
	case parseErr != nil:
		return parseErr
	case !rn.cfg.Follows(z.Password) && !ref.Storable():
		return fmt.Errorf("%s: the console cannot write there, so the new password would be lost; refer to keyring:service/name or file:NAME instead", ref.Label())
	case k.Name != "" && k.Level.ChangesPasswords() == model.PermNo:
		return fmt.Errorf("key %s is %s, which may not change a zone's password: ADMIN, OPS or LIMIT may (contract 5.3)", k.Name, k.Level)
	}
	return nil
}

// errAsked marks an error after which it is not known whether the service did what it was asked.
var errAsked = errors.New("it is not known whether it was done")

// Renew gives a zone of the profile in use another password, by a key. on receives the account
// after each step on the calling goroutine; it may be nil. The account is returned with an error
// too: the steps that were taken. The old password is valid as long as "remove" was not done.
func (rn *Renewer) Renew(ctx context.Context, z model.Zone, keyName string, on func(model.PasswordRenewal)) (model.PasswordRenewal, error) {
	if on == nil {
		on = func(model.PasswordRenewal) {}
	}
	defer rn.cfg.Wire.Begin()()
	r := renewal{rn: rn, z: z, on: on, res: model.PasswordRenewal{Zone: z, KeyName: keyName}}
	unlock, err := r.prepare(ctx, keyName)
	defer unlock()
	if err != nil {
		return r.res, err
	}
	err = r.run(ctx)
	if err != nil {
		err = &maskedError{r.masked(err.Error()), err}
	}
	r.keep(ctx, err)
	return r.res, err
}

// maskedError is an error whose text may have repeated a password: the other side may say what it was
// sent. It is what the error is, and gives no part of it away.
type maskedError struct {
	text string
	of   error
}

func (e *maskedError) Error() string        { return e.text }
func (e *maskedError) Is(target error) bool { return errors.Is(e.of, target) }

// renewal is one renewal under way.
type renewal struct {
	rn       *Renewer
	p        profile.Profile
	d        dialect.Dialect
	z        model.Zone
	key      model.Key
	secret   keystore.Secret
	old, now keystore.Secret
	// heldOld and heldNew are where they are held. goesOn says that an earlier renewal held them,
	// kept that it came as far as the reference; orphan is the new password of one that cannot go on.
	heldOld, heldNew string
	goesOn, kept     bool
	orphan           keystore.Secret
	wrote            bool // the reference was written
	pageFailed       bool // the last call got past the login, and the target failed
	masks            []exchange.Mask
	on               func(model.PasswordRenewal)
	res              model.PasswordRenewal
}

func (r *renewal) prepare(ctx context.Context, keyName string) (unlock func(), err error) {
	unlock = func() {}
	a := r.rn.cfg.Access
	if r.p, r.d, err = a.Current(ctx); err != nil {
		return unlock, err
	}
	if known, ok := r.p.Zone(string(r.z.Name)); ok && r.z.Password == "" {
		r.z = known
	}
	r.res.Zone, r.res.Reference = r.z, keystore.Ref(r.z.Password).Label()
	k, _ := a.Key(keyName)
	if err := r.rn.Refusal(r.p, r.z, k); err != nil {
		return unlock, model.BadField("zone", "%w", err)
	}
	if r.key, r.secret, err = a.KeyFor(ctx, r.p, keyName); err != nil {
		return unlock, err
	}
	r.res.KeyName = r.key.Name
	if err := r.rn.Refusal(r.p, r.z, r.key); err != nil {
		return unlock, model.BadField("key", "%w", err)
	}
	release, err := r.lock(ctx)
	if err != nil {
		return unlock, err
	}
	unlock = release
	login, err := a.Login(ctx, r.p, r.z, nil)
	if err != nil {
		return unlock, err
	}
	r.old = login.Password
	if err := r.choose(ctx); err != nil {
		return unlock, err
	}
	for _, s := range []keystore.Secret{r.secret, r.old, r.now, r.orphan} {
		if s.Empty() {
			continue
		}
		r.masks = append(r.masks, exchange.MaskOf(keystore.Secret{}, exchange.Login{Username: login.Username, Password: s}))
	}
	r.masks = append(r.masks, exchange.MaskOf(r.secret, exchange.Login{}))
	return unlock, nil
}

// did records a step and tells it.
func (r *renewal) did(name string, err error, format string, args ...any) error {
	step := model.PasswordStep{Name: name, OK: err == nil, Text: fmt.Sprintf(format, args...)}
	if err != nil {
		step.Text += ": " + r.masked(err.Error())
		err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	}
	r.res.Steps = append(r.res.Steps, step)
	r.on(r.res)
	return err
}

func (r *renewal) masked(s string) string {
	for _, m := range r.masks {
		s = m.Text(s)
	}
	return s
}

func (r *renewal) run(ctx context.Context) error {
	follows := r.rn.cfg.Follows(r.z.Password)
	if err := r.begin(ctx, follows); err != nil {
		return err
	}
	if !r.kept {
		if err := r.add(ctx, follows); err != nil {
			return err
		}
	}
	r.res.Renewed = !follows
	// From here on the new one stays: cancelling would leave it half done.
	removed := r.call(context.WithoutCancel(ctx), r.d.RemovePassword(string(r.z.Name), r.old.Reveal()))
	if removed != nil && r.goesOn && r.prove(ctx, r.old, false) == nil { // it is gone already
		removed = nil
	}
	if err := r.did("remove", removed, "remove the old password"); err != nil {
		return fmt.Errorf("%w; the old password may still be valid, and the same again goes on from here", err)
	}
	if follows {
		if err := r.did("keep", r.leads(ctx), "see that %s leads to it", r.res.Reference); err != nil {
			return err
		}
		r.res.Renewed = true
	}
	err := r.did("refused", r.prove(ctx, r.old, false), "see the old password refused")
	r.res.OldRefused = err == nil
	if err != nil {
		return err
	}
	if err := r.release(ctx); err != nil {
		return r.did("release", err, "drop the passwords that were held")
	}
	return nil
}

// begin holds both passwords. A store that cannot be written is found out before there is a new one.
func (r *renewal) begin(ctx context.Context, follows bool) error {
	if follows {
		return nil
	}
	if !r.orphan.Empty() {
		if err := r.did("forget", r.forget(ctx), "remove the password of a renewal that was cut short, because %s leads elsewhere now", r.res.Reference); err != nil {
			return err
		}
	}
	text := "hold both passwords beside %s until the end"
	if r.goesOn {
		text = "go on with a renewal that was cut short; both passwords are held beside %s"
	}
	err := r.did("store", r.hold(ctx), text, r.res.Reference)
	if err != nil && !r.goesOn {
		err = errors.Join(err, r.release(ctx))
	}
	return err
}

// add adds the new password, sees it work and keeps it.
func (r *renewal) add(ctx context.Context, follows bool) error {
	added := r.call(ctx, r.d.AddPassword(string(r.z.Name), r.now.Reveal()))
	if added != nil && r.goesOn && r.prove(ctx, r.now, true) == nil { // it was added before
		added = nil
	}
	if err := r.did("add", added, "add a new password to zone %s", r.z.Name); err != nil {
		switch {
		case errors.Is(err, errAsked):
			r.undo(ctx)
		case !r.goesOn:
			err = errors.Join(err, r.release(ctx))
		}
		return err
	}
	proved, text := r.prove(ctx, r.now, true), "log in with the new password"
	if r.pageFailed {
		text += ": the login was accepted; the test page itself failed"
	}
	if err := r.did("prove", proved, "%s", text); err != nil {
		r.undo(ctx)
		return err
	}
	if follows {
		return nil
	}
	err := r.did("keep", r.store(ctx), "keep it in %s", r.res.Reference)
	if err != nil {
		r.undo(ctx)
	}
	return err
}

// store puts the new value where the reference leads, and reads it back.
func (r *renewal) store(ctx context.Context) error {
	got, err := r.rn.cfg.Access.Secret(ctx, r.z.Password)
	if err != nil {
		return err
	}
	if !got.Equal(r.old) && !got.Equal(r.now) {
		return errors.New("something else has written there since, and it stays")
	}
	r.wrote = true
	if err := r.rn.cfg.Store(ctx, r.z.Password, r.now); err != nil {
		return err
	}
	return r.leads(ctx)
}

// leads checks that the reference leads to the new value. One that follows the service may need a
// moment: the process that runs the emulator announces what has changed once a second.
func (r *renewal) leads(ctx context.Context) error {
	for n := 0; ; n++ {
		if _, err := r.rn.cfg.Access.Profile(ctx); err != nil { // this reads what the emulator has now
			return err
		}
		got, err := r.rn.cfg.Access.Secret(ctx, r.z.Password)
		if err != nil || got.Equal(r.now) {
			return err
		}
		if n == tries-1 || !r.rn.cfg.Follows(r.z.Password) {
			return errors.New("it gives another value")
		}
		if err := exchange.Pause(ctx, between(n+1)); err != nil {
			return err
		}
	}
}

// undo removes the new password again and puts the old one back where the reference was written. What
// cannot be undone stays held, and the next renewal goes on with it.
func (r *renewal) undo(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var err error
	if r.wrote {
		err = r.rn.cfg.Store(ctx, r.z.Password, r.old)
	}
	err = errors.Join(err, r.call(ctx, r.d.RemovePassword(string(r.z.Name), r.now.Reveal())))
	if err == nil {
		err = r.release(ctx)
	}
	_ = r.did("undo", err, "take the new password back; the old one stays") // the error that led here is the one to tell
}

// tries is how often a password is tried: a change may take a moment to reach the proxy.
const tries = 4

// prove makes a call with a password, which has to be accepted or refused.
func (r *renewal) prove(ctx context.Context, value keystore.Secret, accepted bool) error {
	var err error
	for n := range tries {
		if n > 0 {
			if err := exchange.Pause(ctx, between(n)); err != nil {
				return err
			}
		}
		var res model.ProbeResult
		if res, err = r.rn.cfg.Prove(ctx, r.z, value); err != nil {
			return err
		}
		refused := res.Diagnosis.Cause == model.CauseLoginRejected
		r.pageFailed = res.Diagnosis.Cause == model.CauseTargetError
		in := res.Diagnosis.OK() || r.pageFailed
		switch {
		case accepted && in, !accepted && refused:
			return nil
		case accepted:
			err = errors.New(res.Diagnosis.Summary)
		case in:
			err = errors.New("it is still accepted")
		default:
			err = fmt.Errorf("not known: %s", res.Diagnosis.Summary)
		}
		again := refused
		if !accepted {
			again = in
		}
		if !again { // another failure does not pass with time
			return err
		}
	}
	return err
}

// between is the wait before try n, from 1: 1, 3 and 5 s (service.md 8).
func between(n int) time.Duration { return time.Duration(2*n-1) * time.Second }

// callTimeout and answerBytes bound a call.
const (
	callTimeout = 30 * time.Second
	answerBytes = 64 << 10
)

// call makes a call that changes passwords. Its answer may hold passwords and is not kept.
func (r *renewal) call(ctx context.Context, c dialect.PasswordCall) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, exchange.ErrTimeout)
	defer cancel()
	resp, tr, err := r.rn.cfg.Wire.API(ctx, exchange.Call{
		Profile: r.p, KeyName: r.key.Name, Key: r.secret, Method: c.Method, Path: c.Path, Body: c.Body,
	})
	if err != nil {
		if tr.Sent() {
			return fmt.Errorf("%w: %w", errAsked, err)
		}
		return err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerBytes)) // a part of the reason is enough
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	text := dialect.ErrorText(resp.Header.Get("Content-Type"), body)
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("key %s is not accepted (401) %s", r.key.Name, text)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("key %s may not do that (403) %s", r.key.Name, text)
	case resp.StatusCode >= 500: // a gateway on the way may have passed the call on
		return fmt.Errorf("%w: %s %s", errAsked, resp.Status, text)
	default:
		return fmt.Errorf("%s %s", resp.Status, text)
	}
}

// keep writes a line into the timeline.
func (r *renewal) keep(ctx context.Context, err error) {
	if r.rn.cfg.Journal == nil {
		return
	}
	text := "the proxy password of zone " + string(r.z.Name) + " was renewed"
	switch {
	case err != nil && r.res.Renewed:
		text += ", but " + err.Error()
	case err != nil:
		text = "the proxy password of zone " + string(r.z.Name) + " was not renewed: " + err.Error()
	default:
		text += "; the old one is refused"
	}
	a := model.Activity{
		At: r.rn.cfg.Now(), Kind: model.ActivityKey, Profile: r.p.Name, Zone: string(r.z.Name), Key: r.key.Name, Ref: r.key.Name,
		Total: -1, Text: model.Line(text, 500),
	}
	if err := r.rn.cfg.Journal.PutActivity(context.WithoutCancel(ctx), a); err != nil {
		r.rn.cfg.Log.Warn("the renewal of a password was not kept", "zone", r.z.Name, "error", err)
	}
}
