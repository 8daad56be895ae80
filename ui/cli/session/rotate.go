package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/fetch"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/snippet"
)

// Rotator drives the rotations of keys. Each look searches the folders that folders returns for files that
// hold a key.
func (s *Session) Rotator(folders func() []string) *rotate.Engine {
	return rotate.New(s.rotation(folders))
}

// RehearseRotation takes the steps of a key's rotation on the embedded emulator, with copies. It reads the
// key's references, and writes nothing real.
func (s *Session) RehearseRotation(ctx context.Context, k model.Key, method keystore.RotationMethod, folders func() []string) (keystore.RotationPlan, error) {
	e := s.embedded
	if e == nil { // a real account: the emulator stands in for it
		e = s.o.emulator(s.Paths)
		defer func() { _ = e.Close(context.WithoutCancel(ctx)) }() // nothing of it is kept
	}
	demo, err := e.Profile(ctx)
	if err != nil {
		return keystore.RotationPlan{}, err
	}
	c := s.rotation(folders)
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return rehearsal.New(e.Control) }
	c.Prove = func(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
		s.confirm(c.Key.Name + "=" + addressOf(demo)) // a copy, whose value is an account's
		s.reasons.copied(c.Key.Name, k)
		return s.Client.ProveKey(ctx, demo, c.User.Zone, c.Key, c.Value, c.Proves)
	}
	byHand := s.accountSettings(keystore.RotationPlan{Profile: s.Origin(k)}) == nil
	return rotate.Rehearse(ctx, c, k, method, byHand)
}

func (s *Session) rotation(folders func() []string) rotate.Config {
	history := rotationHistory{s.rotations(), s, &sync.Map{}}
	return rotate.Config{
		Records: history, Refuse: history.refuse, Secrets: s.Resolver, LockDir: s.Paths.RotationsDir(),
		Settings: s.accountSettings,
		Users: func(ctx context.Context, k model.Key) ([]keystore.RotationUser, error) {
			return s.rotationUsers(ctx, k, folders())
		},
		Passwords: zonePasswords{s, folders},
		Prove:     s.proveAs, Levels: s.levelsAs, TookOver: s.tookOver, UsedLate: s.oldValueUsed, Now: s.rotationClock,
		Days: func(level model.Level) int {
			return s.configured().Keys().Apply(model.Key{Level: level}).Rotation.Every()
		},
	}
}

// Origin is the profile that a key comes with; empty for one of the inventory.
func (s *Session) Origin(k model.Key) string {
	if recorded, ok := s.Inventory.Get(k.Name); ok && recorded.Secret == k.Secret {
		return ""
	}
	return s.Base.Name
}

// Rotation is the newest record of a key's rotations: the one that is under way, if there is one.
func (s *Session) Rotation(k model.Key) (p keystore.RotationPlan, ok bool, err error) {
	plans, err := s.rotations().List()
	for _, p := range plans {
		if p.OfKey(s.Origin(k), k.Name) {
			return p, true, err
		}
	}
	return p, false, err
}

// RotationNamed is the newest record of the rotations of an id, or of a key that comes with the profile
// in use or is of the inventory.
func (s *Session) RotationNamed(name string) (p keystore.RotationPlan, ok bool, err error) {
	plans, err := s.rotations().List()
	for _, p := range plans {
		if p.ID == name || p.OfKey("", name) || p.OfKey(s.Base.Name, name) {
			return p, true, err
		}
	}
	return p, false, err
}

// RunningRotation is the rotation under way of an id, or of a key that comes with the profile in use
// or is of the inventory. The key itself need not be there any more. The error names several of one
// key.
func (s *Session) RunningRotation(name string) (found keystore.RotationPlan, ok bool, err error) {
	plans, err := s.rotations().List() // what cannot be read may be that of another key
	for _, p := range plans {
		switch {
		case !p.Proven() || p.Over():
		case p.ID == name:
			return p, true, nil
		case p.Zone == "" && p.Key == name && (p.Profile == "" || p.Profile == s.Base.Name):
			if ok {
				return p, false, fmt.Errorf("two rotations of keys with the name %s are under way: name one by its id, %s or %s", name, found.ID, p.ID)
			}
			found, ok = p, true
		}
	}
	if ok {
		err = nil
	}
	return found, ok, err
}

// RotatingError says that a key has no value here, because its rotation has not set the new one yet.
type RotatingError struct{ Plan keystore.RotationPlan }

func (e *RotatingError) Error() string {
	return fmt.Sprintf("key %s is being rotated by %s, and its new value is not set here yet: '%s' goes on with it", e.Plan.Key, e.Plan.Method, GoOnWith(e.Plan))
}

// GoOnWith is the command that goes on with the rotation of a key.
func GoOnWith(p keystore.RotationPlan) string {
	command := snippet.With(p.Profile) + " keys rotate " + p.Key
	if p.Method == keystore.RotateByRefresh {
		command += " --refresh"
	}
	return command
}

// noValue says why a key without a reference cannot be used: because of its rotation, or what take says.
func (s *Session) noValue(k model.Key, take func() (keystore.Secret, error)) error {
	if running, ok, _ := s.rotations().Running(s.Origin(k), k.Name); ok { // a record that cannot be read may be of another key
		return &RotatingError{running}
	}
	_, err := take()
	return err
}

// RefuseRotation is why a key is not rotated: the profile in use is read-only, or one whose key it is.
func (s *Session) RefuseRotation(k model.Key) error {
	return rotationHistory{session: s}.refuse(keystore.RotationPlan{Key: k.Name, Profile: s.Origin(k)})
}

// accountSettings are those of the embedded emulator, for the keys that come with it.
func (s *Session) accountSettings(p keystore.RotationPlan) rotate.Settings {
	if s.embedded == nil || p.Profile != s.Base.Name {
		return nil
	}
	return rehearsal.New(s.embedded.Control)
}

// rotationClock dates the steps: by the machine's clock for keys of the inventory, by the
// profile's for those that come with it.
func (s *Session) rotationClock(p keystore.RotationPlan) time.Time {
	if p.Profile == "" {
		return s.o.Now()
	}
	return s.Now()
}

// rotationUsers is a key's blast radius as a rotation records it.
func (s *Session) rotationUsers(ctx context.Context, k model.Key, folders []string) ([]keystore.RotationUser, error) {
	origin := s.Origin(k)
	k.UsedBy = nil // a view may have added what it found out
	if recorded, ok := s.Inventory.Get(k.Name); ok && origin == "" {
		k.UsedBy = recorded.UsedBy
	} else if given := named(s.given(s.Inventory.List()), k.Name); origin != "" {
		k.UsedBy = given.UsedBy
	}
	if origin == "" { // else its value is not recognised in a file, nor behind another reference
		if _, err := s.LookUp(ctx); err != nil {
			return nil, err
		}
		if known := named(s.recorded(), k.Name); known.Fingerprint != "" {
			k.Fingerprint, k.Last4 = known.Fingerprint, known.Last4
		}
	}
	// Under a rotation it is about the value that is to end: the inventory may have the new one already.
	if running, ok, err := s.rotations().Running(origin, k.Name); err == nil && ok && running.OldFingerprint != "" {
		k.Fingerprint, k.Last4 = running.OldFingerprint, running.OldLast4
	}
	report, err := s.Radius(ctx, []radius.Subject{radius.KeySubject(k, origin)}, folders, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range report.Problems {
		err = errors.Join(err, errors.New(p))
	}
	if err != nil {
		return nil, fmt.Errorf("not everything could be looked through, and a use that is not known would stop: %w", err)
	}
	var out []keystore.RotationUser
	read := false
	for _, u := range report.Uses[0] {
		user := s.rotationUser(u, k)
		if origin != "" && user.Profile != "" && user.Profile != origin {
			user = s.ofOtherService(user)
		}
		if origin != "" && u.Twin != "" { // every emulator has the same demo values
			user.Ref, user.Why = "", "key "+u.Twin+" is of the inventory, and whose service it is for is not known: the console puts no value of profile "+origin+" there"
		}
		read = read || user.Ref != "" && user.Ref == k.Secret && !user.InFlight
		out = append(out, user)
	}
	home, err := s.home(k, origin, out)
	if err != nil {
		return nil, err
	}
	if !read && k.Secret != "" {
		out = append(out, keystore.RotationUser{Name: keystore.ThisConsole, Ref: k.Secret})
	}
	for i := range out {
		out[i].Profile = cmp.Or(out[i].Profile, home)
	}
	return out, nil
}

// ofOtherService is a user of a key that comes with the profile in use, by another profile. Where that has another
// service, the value is neither put behind its reference nor sent there: a person sees to it.
func (s *Session) ofOtherService(u keystore.RotationUser) keystore.RotationUser {
	p, err := s.profileNamed(u.Profile)
	if err != nil || p.BaseURL == s.CurrentProfile().BaseURL {
		return u
	}
	u.Why = "its service is " + p.BaseURL + ", and the key's is " + s.CurrentProfile().BaseURL + ": the console puts no value there"
	u.Ref, u.Profile = "", ""
	return u
}

// home is the profile whose service a key is sent to if a use does not say it: one that uses the key, and
// that can make a call. If no profile uses the key, the service is known only if all profiles have the same.
func (s *Session) home(k model.Key, origin string, users []keystore.RotationUser) (string, error) {
	if origin != "" {
		return origin, nil
	}
	why := ""
	for _, u := range users {
		if u.Profile != "" && u.Why == "" {
			return u.Profile, nil
		}
		if u.Profile != "" {
			why = u.Why
		}
	}
	if why != "" {
		return "", fmt.Errorf("no call can be made with %s, so nothing could be proved: %s", k.Name, why)
	}
	current := s.CurrentProfile()
	configured, _ := s.Configured()
	for _, p := range configured {
		if p.Name != current.Name && p.BaseURL != current.BaseURL {
			return "", fmt.Errorf("no profile uses %s, and the profiles are of several services: it is not known which of them may see its value. Make it the key of a profile of its account", k.Name)
		}
	}
	if err := fetch.Provable(current); err != nil {
		return "", fmt.Errorf("no call can be made with %s, so nothing could be proved: %w", k.Name, err)
	}
	return current.Name, nil
}

func (s *Session) rotationUser(u radius.Use, k model.Key) keystore.RotationUser {
	user := keystore.RotationUser{Name: u.String(), Ref: u.Ref, Why: u.Unmeasured}
	switch u.Kind {
	case radius.Profile:
		user.Profile = u.Name
		if p, err := s.profileNamed(u.Name); err != nil {
			user.Why = err.Error()
		} else if err := fetch.Provable(p); err != nil {
			user.Why = cmp.Or(user.Why, err.Error())
		}
	case radius.RunningJob:
		user.Name, _, _ = strings.Cut(u.Name, " ") // its state changes
		user.Ref, user.Why, user.InFlight = "", "", true
	case radius.EnvFile, radius.TrackedFile: // what this console reads says nothing of what a program reads there
		user.Ref = ""
		if u.Fingerprint != "" && u.Fingerprint == k.Fingerprint {
			user.File = u.Name
		} else {
			user.Why = cmp.Or(user.Why, "it gives the variable of the reference another value than the one that is recorded")
		}
	}
	return user
}

// profileNamed is the profile in use, or another one of the configuration as it is on disk.
func (s *Session) profileNamed(name string) (config.Profile, error) {
	if p := s.CurrentProfile(); p.Name == name {
		return p, nil
	}
	file, err := config.Load(s.configFile())
	if err != nil {
		return config.Profile{}, err
	}
	return file.Profile(name)
}

// proveAs makes one call as a user of a key does, to the service of the user's profile alone.
func (s *Session) proveAs(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
	p, err := s.profileOf(ctx, c.User)
	if err != nil {
		return model.FetchResult{}, fmt.Errorf("%s: %w", c.Key.Name, err)
	}
	return s.Client.ProveKey(ctx, p, c.User.Zone, c.Key, c.Value, c.Proves)
}

// levelsAs are those that fit what a value may do at the service of the user's profile alone.
func (s *Session) levelsAs(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error) {
	p, err := s.profileOf(ctx, u)
	if err != nil {
		return nil, err
	}
	return s.Client.KeyLevels(ctx, p, value)
}

// profileOf is the profile of a user, whose service its calls are made to.
func (s *Session) profileOf(ctx context.Context, u keystore.RotationUser) (config.Profile, error) {
	if u.Profile == "" {
		return config.Profile{}, errors.New("it is not recorded whose service it belongs to: nothing is sent")
	}
	p, err := s.Profile(ctx) // it may have to be started
	if err == nil && u.Profile != p.Name {
		p, err = s.profileNamed(u.Profile)
	}
	return p, err
}

// tookOver gives a key of the inventory its new value and clocks, and every other record that was seen
// to give the new value. The record of the rotation stands in for a key that comes with a profile.
func (s *Session) tookOver(ctx context.Context, p keystore.RotationPlan) error {
	kept := keyHistory{s.Inventory, s}
	if p.Profile == "" {
		if err := kept.Update(ctx, p.Key, func(k model.Key) (model.Key, error) { return p.Renewed(k), nil }); err != nil {
			return err
		}
	}
	for _, k := range s.Inventory.List() {
		if k.Fingerprint == "" || k.Fingerprint != p.OldFingerprint && k.Fingerprint != p.NewFingerprint || !p.Holds(k.Secret) || p.Profile == "" && k.Name == p.Key {
			continue
		}
		if value, err := s.Resolver.Resolve(keystore.Unasked(ctx), k.Secret); err != nil || value.Fingerprint() != p.NewFingerprint {
			continue // a person sees to it; the rules say so once the old value has ended
		}
		if err := kept.Update(ctx, k.Name, func(k model.Key) (model.Key, error) { return p.Shared(k), nil }); err != nil {
			return err
		}
	}
	return nil
}

// saveReport writes a report among the downloads and names the file.
func (s *Session) saveReport(name, text string) (string, error) {
	file := filepath.Join(s.Paths.DownloadsDir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return file, textfile.Write(file, []byte(text))
}
