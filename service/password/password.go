// Package password changes the proxy passwords of zones: another one is added beside those that a zone
// has, one is removed, and a login tells which ones count. The calls are a dialect's; the contract
// shows none.
//
// What is done in which order, and goes on when it is cut short, is service/rotate's.
package password

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// Config is what a Changer needs. All fields must be set.
type Config struct {
	Source exchange.Source
	Wire   *exchange.Wire
	Prover Prover
}

// Prover makes calls through the proxy; fetch.Fetcher does.
type Prover interface {
	// ProvePasswordAs makes one call through the proxy of a profile's zone with a password.
	ProvePasswordAs(ctx context.Context, p model.Profile, z model.Zone, l exchange.LoginProof) (model.ProbeResult, error)
}

// follows reports whether a reference leads to what the service has itself, so that there is nothing to store: the
// embedded emulator's.
func follows(ref string) bool { return keystore.Ref(ref).Scheme() == keystore.SchemeDemo }

// Changer changes the passwords of zones.
type Changer struct{ cfg Config }

// New makes a Changer. It does no I/O.
func New(c Config) *Changer { return &Changer{cfg: c} }

const changePasswords = "change passwords"

// Refusal says why a zone's password cannot be changed through a profile and a key, or is nil.
// Nothing is asked or sent for it.
func (c *Changer) Refusal(p model.Profile, z model.Zone, k model.Key) error {
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return err
	}
	ref, parseErr := keystore.ParseRef(z.Password)
	calls := d.ChangesPasswords() // else a person regenerates it, and gives it to the rotation
	switch readOnly := p.Refuse(changePasswords); {
	case readOnly != nil:
		return readOnly
	case p.Account == "":
		return fmt.Errorf("profile %s names no account, and accounts may have zones of the same name: give it the account", p.Name)
	case calls && p.BaseURL == "":
		return fmt.Errorf("profile %s has no base_url, and the password is changed by the API", p.Name)
	case z.Password == "":
		return fmt.Errorf("the profile has no password reference for zone %s: the new password would be lost", z.Name)
	case parseErr != nil:
		return parseErr
	case calls && !follows(z.Password) && !ref.Storable():
		return fmt.Errorf("%s: the console cannot write there, so the new password would be lost; refer to keyring:service/name or file:NAME instead", ref.Label())
	case calls && k.Name != "" && k.Level.ChangesPasswords() == model.PermNo:
		return fmt.Errorf("key %s is %s, which may not change a zone's password: ADMIN, OPS or LIMIT may (contract 5.3)", k.Name, k.Level)
	}
	return nil
}

// Check is Refusal, and takes the key's value: what a change of the password needs.
func (c *Changer) Check(ctx context.Context, p model.Profile, z model.Zone, key string) error {
	k, _ := c.cfg.Source.Key(key)
	if err := c.Refusal(p, z, k); err != nil {
		return model.BadField("zone", "%w", err)
	}
	if d, err := dialect.Find(p.Dialect); err != nil || !d.ChangesPasswords() {
		return err
	}
	_, _, err := exchange.KeyFor(ctx, c.cfg.Source, p, key)
	return err
}

// Add lets a zone of a profile accept a password besides its others, by a key.
func (c *Changer) Add(ctx context.Context, p model.Profile, zone, key string, value keystore.Secret) error {
	return c.call(ctx, p, key, value, func(d dialect.Dialect) dialect.PasswordCall { return d.AddPassword(zone, value.Reveal()) })
}

// Remove ends a password of a zone, by a key.
func (c *Changer) Remove(ctx context.Context, p model.Profile, zone, key string, value keystore.Secret) error {
	return c.call(ctx, p, key, value, func(d dialect.Dialect) dialect.PasswordCall { return d.RemovePassword(zone, value.Reveal()) })
}

// What a caller of Login may decide on: a login was to be refused, and was accepted, or the reverse.
var (
	ErrAccepted    = errors.New("it is still accepted")
	ErrNotAccepted = errors.New("the login is not accepted")
)

// tries is how often a password is tried: a change may take a moment to reach the proxy.
const tries = 4

// between is the wait before try n, from 1: 1, 3 and 5 s (service.md 8).
func between(n int) time.Duration { return time.Duration(2*n-1) * time.Second }

// Login makes a call with a password, which has to be accepted or refused, else the error says why
// it was not, or wraps ErrAccepted. The proof's status is the proxy's own.
func (c *Changer) Login(ctx context.Context, p model.Profile, z model.Zone, l exchange.LoginProof) (proof keystore.Proof, err error) {
	accepted, mask := !l.Refusal, exchange.MaskOf(keystore.Secret{}, exchange.Login{Password: l.Password})
	for n := range tries {
		if n > 0 {
			if err := exchange.Pause(ctx, between(n)); err != nil {
				return proof, err
			}
		}
		res, failed := c.cfg.Prover.ProvePasswordAs(ctx, p, z, l)
		if failed != nil {
			return proof, masked(mask, failed)
		}
		proof = keystore.Proof{Status: res.ConnectStatus, Duration: res.Timing.Total}
		refused, noPage := res.Diagnosis.Cause == model.CauseLoginRejected, pageFailed(res)
		in := res.Diagnosis.OK() || noPage
		switch {
		case accepted && noPage:
			proof.Note = "the login was accepted; the test page itself failed"
			return proof, nil
		case accepted && in:
			proof.Note = "the login was accepted"
			return proof, nil
		case !accepted && refused:
			proof.Note = "the login is refused"
			return proof, nil
		case accepted:
			err = &maskedError{mask.Text(res.Diagnosis.Summary), ErrNotAccepted}
		case in:
			err = ErrAccepted
		default:
			err = fmt.Errorf("not known: %s", mask.Text(res.Diagnosis.Summary))
		}
		again := refused
		if !accepted {
			again = in
		}
		if !again { // another failure does not pass with time
			return proof, err
		}
	}
	return proof, err
}

// pageFailed reports whether a login was accepted and only the test page failed: it answered with an
// error, or its certificate is not trusted here, which is seen once the proxy has opened the tunnel.
func pageFailed(res model.ProbeResult) bool {
	return res.Diagnosis.Cause == model.CauseTargetError ||
		res.Diagnosis.Cause == model.CauseTLSTrust && res.ConnectStatus == http.StatusOK
}

// Leads waits until a reference gives a value. One that follows the service may need a moment: the
// process that runs the emulator announces what has changed once a second.
func (c *Changer) Leads(ctx context.Context, ref string, value keystore.Secret) error {
	for n := 0; ; n++ {
		if _, err := c.cfg.Source.Profile(ctx); err != nil { // this reads what the emulator has now
			return err
		}
		got, err := c.cfg.Source.Secret(ctx, ref)
		if err != nil || got.Equal(value) {
			return err
		}
		if n == tries-1 || !follows(ref) {
			return errors.New("it gives another value")
		}
		if err := exchange.Pause(ctx, between(n+1)); err != nil {
			return err
		}
	}
}

// callTimeout and answerBytes bound a call.
const (
	callTimeout = 30 * time.Second
	answerBytes = 64 << 10
)

// call makes a call that changes passwords, unless the profile is read-only. Its answer may hold
// passwords and is not kept.
func (c *Changer) call(ctx context.Context, p model.Profile, key string, value keystore.Secret, of func(dialect.Dialect) dialect.PasswordCall) error {
	if err := p.Refuse(changePasswords); err != nil {
		return err
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return err
	}
	k, secret, err := exchange.KeyFor(ctx, c.cfg.Source, p, key)
	if err != nil {
		return err
	}
	defer c.cfg.Wire.Begin()()
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, exchange.ErrTimeout)
	defer cancel()
	mask := exchange.MaskOf(secret, exchange.Login{Password: value})
	ask := of(d)
	resp, _, err := c.cfg.Wire.API(ctx, exchange.Call{
		Profile: p, KeyName: k.Name, Key: secret, Method: ask.Method, Path: ask.Path, Body: ask.Body,
	})
	if err != nil {
		return masked(mask, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerBytes)) // a part of the reason is enough
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	text := mask.Text(dialect.ErrorText(resp.Header.Get("Content-Type"), body))
	said := fmt.Sprintf("the service answered %d", resp.StatusCode)
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		said = fmt.Sprintf("key %s is not accepted (401)", k.Name)
	case http.StatusForbidden:
		said = fmt.Sprintf("key %s may not do that (403)", k.Name)
	}
	if text != "" {
		said += fmt.Sprintf(", and says %q", text)
	}
	return errors.New(said)
}

// masked is an error whose text may have repeated a password: the other side may say what it was
// sent. It is what the error is, and gives no part of it away.
func masked(m exchange.Mask, err error) error { return &maskedError{m.Text(err.Error()), err} }

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string        { return e.text }
func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }
