package keys

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
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/snippet"
)

// Calls are the calls by which a rotation proves values.
type Calls interface {
	// ProveKey is fetch.Fetcher's.
	ProveKey(ctx context.Context, p config.Profile, zone string, k model.Key, value keystore.Secret, proves string) (model.FetchResult, error)
	// Provable says why no call of a profile can show whether the service accepts a key, or is nil.
	Provable(p config.Profile) error
	// KeyLevels are the levels that fit what a value may see of an account.
	KeyLevels(ctx context.Context, p config.Profile, value keystore.Secret) ([]model.Level, error)
}

// Passwords changes and proves the passwords of zones, as password.Changer does.
type Passwords interface {
	Check(ctx context.Context, p config.Profile, z model.Zone, key string) error
	Add(ctx context.Context, p config.Profile, zone, key string, value keystore.Secret) error
	Remove(ctx context.Context, p config.Profile, zone, key string, value keystore.Secret) error
	Login(ctx context.Context, p config.Profile, z model.Zone, l exchange.LoginProof) (keystore.Proof, error)
	Leads(ctx context.Context, ref string, value keystore.Secret) error
}

// Folders are searched for files that hold a key, each time that a rotation looks for its users.
type Folders interface {
	ScanFolders() []string
}

// Scan are folders that were named for one run.
type Scan []string

// ScanFolders are the folders.
func (s Scan) ScanFolders() []string { return s }

// Rotations takes keys, and the passwords of zones, to their next values. It has the records of that, whose steps are
// written into the history.
type Rotations struct {
	*keystore.Rotations
	ks        *Keys
	calls     Calls
	passwords Passwords
	folders   Folders
	caughtUp  *sync.Map // the rotations of which the history has everything, by their ids
}

// Rotations are the rotations, with what proves values. Each look searches the folders for files that hold a key.
func (ks *Keys) Rotations(calls Calls, passwords Passwords, folders Folders) Rotations {
	return Rotations{ks.rotations(), ks, calls, passwords, folders, &sync.Map{}}
}

type (
	// Rotation is one rotation as a face takes it.
	Rotation = rotate.Rotation
	// RotationSubject is what is rotated.
	RotationSubject = rotate.Subject
	// StopError is why a rotation does not go on by itself.
	StopError = rotate.StopError
	// UsesAfterEnd is what was seen of the old value of a rotation that is over.
	UsesAfterEnd = rotate.UsesAfterEnd
)

// ErrRotationElsewhere says that another process works on the rotation.
var ErrRotationElsewhere = rotate.ErrElsewhere

func (r Rotations) engine() *rotate.Engine { return rotate.New(r.config()) }

// OfKey is the rotation of a key by a method.
func (r Rotations) OfKey(k model.Key, method keystore.RotationMethod) RotationSubject {
	return RotationSubject{Key: k, Profile: r.ks.Origin(k), Method: method}
}

// Rotation is that of a subject which is under way, or else the one that would begin now: then nothing is written
// yet. It is refused in a read-only profile, and to a command with an ADMIN key without a reason.
func (r Rotations) Rotation(ctx context.Context, s RotationSubject) (Rotation, error) {
	last, found, err := r.Newest(s)
	if err != nil && !found {
		return Rotation{}, err
	}
	if s.Password == nil {
		if err := cmp.Or(r.ks.RefuseAdmin(s.Key), r.Refuse(keystore.RotationPlan{Key: s.Key.Name, Profile: s.Profile})); err != nil {
			return Rotation{}, err
		}
	}
	if found && !last.Over() {
		return r.Resume(last), nil
	}
	return r.engine().Look(ctx, s, last)
}

// Resume is the rotation of a record.
func (r Rotations) Resume(p keystore.RotationPlan) Rotation { return r.engine().Resume(p) }

// OwnerText says whose a key is; see Owners.Text.
func (r Rotations) OwnerText(k model.Key) string { return r.ks.Owners().Text(k) }

// Reach judges whether a key may be sent wherever its rotation proves it; see rotate.Keys. A command is refused, a
// person is asked.
func (r Rotations) Reach(p keystore.RotationPlan, a ask.Answers) (open []ask.Question, err error) {
	if p.Zone != "" || p.NewFingerprint != "" { // of a password that is checked with its calls; or it was judged
		return nil, nil
	}
	k := model.Key{Name: p.Key, Secret: p.Ref, Fingerprint: p.OldFingerprint}
	asked := map[string]bool{}
	for _, u := range p.Users {
		if u.Profile == "" || !u.Callable() || asked[u.Profile] {
			continue
		}
		asked[u.Profile] = true
		to, err := r.ks.cfg.Profiles.Named(u.Profile)
		if err != nil {
			return nil, err
		}
		refused := r.ks.Owners().Refuse(to, k)
		var other *OtherAccountError
		if !errors.As(refused, &other) || r.ks.unattended() {
			if refused != nil {
				return nil, refused
			}
			continue
		}
		q := ask.Question{
			Kind: ask.OtherAccount, About: k.Name + "=" + addressOf(to),
			Text: fmt.Sprintf("%s, and %s is proved by a call of profile %s: it is sent to %s", belongs(k.Name, other.Profiles), u.Name, to.Name, addressOf(to)),
		}
		if a.To(q).Yes {
			r.ks.confirm(q.About)
			continue
		}
		open = append(open, q)
	}
	return open, nil
}

// Rehearse takes the steps of a key's rotation on an emulator, with copies. It reads the key's references, and writes
// nothing real.
func (r Rotations) Rehearse(ctx context.Context, e Emulator, k model.Key, method keystore.RotationMethod) (keystore.RotationPlan, error) {
	if err := r.ks.RefuseAdmin(k); err != nil {
		return keystore.RotationPlan{}, err
	}
	demo, err := e.Profile(ctx)
	if err != nil {
		return keystore.RotationPlan{}, err
	}
	c := r.config()
	there := rehearsed{r, demo, e, k}
	c.Accounts, c.Prover = there, there
	return rotate.Rehearse(ctx, c, k, method, r.Settings(keystore.RotationPlan{Profile: r.ks.Origin(k)}) == nil)
}

// rehearsed is the account on an emulator where a key's rotation is rehearsed.
type rehearsed struct {
	Rotations
	demo     config.Profile
	emulator Emulator
	key      model.Key
}

func (r rehearsed) Settings(keystore.RotationPlan) rotate.Settings {
	return rehearsal.New(r.emulator.Control)
}

func (r rehearsed) Prove(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
	r.ks.confirm(c.Key.Name + "=" + addressOf(r.demo)) // a copy, whose value is an account's
	r.ks.reasons.copied(c.Key.Name, r.key)
	return r.calls.ProveKey(ctx, r.demo, c.User.Zone, c.Key, c.Value, c.Proves)
}

func (r Rotations) config() rotate.Config {
	return rotate.Config{
		Records: r, Keys: r, Accounts: r, Prover: r, Passwords: zonePasswords{r},
		Secrets: r.ks.cfg.Resolver, LockDir: r.ks.cfg.Paths.RotationsDir(),
	}
}

// Days is how long a new key of a level lives.
func (r Rotations) Days(level model.Level) int {
	return r.ks.cfg.Profiles.File().Keys().Apply(model.Key{Level: level}).Rotation.Every()
}

// UsedAfterEnd writes uses of an old value after the end of its rotation into the timeline.
func (r Rotations) UsedAfterEnd(ctx context.Context, p keystore.RotationPlan, used []string) {
	r.ks.oldValueUsed(ctx, p, used)
}

// Origin is the profile that a key comes with; empty for one of the inventory.
func (ks *Keys) Origin(k model.Key) string {
	if recorded, ok := ks.inventory.Get(k.Name); ok && recorded.Secret == k.Secret {
		return ""
	}
	return ks.cfg.Profiles.Base().Name
}

// Newest is the newest record of a subject's rotations: the one that is under way, if there is one.
func (r Rotations) Newest(s RotationSubject) (p keystore.RotationPlan, ok bool, err error) {
	plans, err := r.List()
	for _, p := range plans {
		if w := s.Password; w != nil && p.OfZone(string(w.Account), string(w.Zone.Name)) || w == nil && p.OfKey(s.Profile, s.Key.Name) {
			return p, true, err
		}
	}
	return p, false, err
}

// Named is the newest record of the rotations of an id, or of a key that comes with the profile
// in use or is of the inventory.
func (r Rotations) Named(name string) (p keystore.RotationPlan, ok bool, err error) {
	plans, err := r.List()
	for _, p := range plans {
		if p.ID == name || p.OfKey("", name) || p.OfKey(r.ks.cfg.Profiles.Base().Name, name) {
			return p, true, err
		}
	}
	return p, false, err
}

// UnderWay is the rotation under way of an id, or of a key that comes with the profile in use
// or is of the inventory. The key itself need not be there any more. The error names several of one
// key.
func (r Rotations) UnderWay(name string) (found keystore.RotationPlan, ok bool, err error) {
	plans, err := r.List() // what cannot be read may be that of another key
	for _, p := range plans {
		switch {
		case !p.Proven() || p.Over():
		case p.ID == name:
			return p, true, nil
		case p.Zone == "" && p.Key == name && (p.Profile == "" || p.Profile == r.ks.cfg.Profiles.Base().Name):
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
func (ks *Keys) noValue(k model.Key, take func() (keystore.Secret, error)) error {
	if running, ok, _ := ks.rotations().Running(ks.Origin(k), k.Name); ok { // a record that cannot be read may be of another key
		return &RotatingError{running}
	}
	_, err := take()
	return err
}

// Settings are those of the embedded emulator, for the keys that come with it.
func (r Rotations) Settings(p keystore.RotationPlan) rotate.Settings {
	if r.ks.cfg.Emulator == nil || p.Profile != r.ks.cfg.Profiles.Base().Name {
		return nil
	}
	return rehearsal.New(r.ks.cfg.Emulator.Control)
}

// Now dates the steps: by the machine's clock for keys of the inventory, by the
// profile's for those that come with it.
func (r Rotations) Now(p keystore.RotationPlan) time.Time {
	if p.Profile == "" {
		return r.ks.cfg.Clock.Machine()
	}
	return r.ks.cfg.Clock.Now()
}

// Users are a key's blast radius as a rotation records it.
func (r Rotations) Users(ctx context.Context, k model.Key) ([]keystore.RotationUser, error) {
	origin := r.ks.Origin(k)
	k.UsedBy = nil // a view may have added what it found out
	if recorded, ok := r.ks.inventory.Get(k.Name); ok && origin == "" {
		k.UsedBy = recorded.UsedBy
	} else if given := named(r.ks.Inventory().Supplied(r.ks.inventory.List()), k.Name); origin != "" {
		k.UsedBy = given.UsedBy
	}
	if origin == "" { // else its value is not recognised in a file, nor behind another reference
		if _, err := r.ks.Inventory().LookUp(ctx); err != nil {
			return nil, err
		}
		if known := named(r.ks.Inventory().Recorded(), k.Name); known.Fingerprint != "" {
			k.Fingerprint, k.Last4 = known.Fingerprint, known.Last4
		}
	}
	// Under a rotation it is about the value that is to end: the inventory may have the new one already.
	if running, ok, err := r.Running(origin, k.Name); err == nil && ok && running.OldFingerprint != "" {
		k.Fingerprint, k.Last4 = running.OldFingerprint, running.OldLast4
	}
	report, err := r.ks.Inventory().Radius(ctx, []radius.Subject{radius.KeySubject(k, origin)}, r.folders.ScanFolders(), nil)
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
		user := r.user(u, k)
		if origin != "" && user.Profile != "" && user.Profile != origin {
			user = r.withoutOtherService(user)
		}
		if origin != "" && u.SameAs != "" { // every emulator has the same demo values
			user.Ref, user.Reason = "", "key "+u.SameAs+" is of the inventory, and whose service it is for is not known: the console puts no value of profile "+origin+" there"
		}
		read = read || user.Ref != "" && user.Ref == k.Secret && !user.InFlight
		out = append(out, user)
	}
	home, err := r.home(k, origin, out)
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

// withoutOtherService is a user of a key that comes with the profile in use, by another profile. Where that has another
// service, the value is neither put behind its reference nor sent there: a person sees to it.
func (r Rotations) withoutOtherService(u keystore.RotationUser) keystore.RotationUser {
	p, err := r.ks.cfg.Profiles.Named(u.Profile)
	if err != nil || p.BaseURL == r.ks.cfg.Profiles.Profile().BaseURL {
		return u
	}
	u.Reason = "its service is " + p.BaseURL + ", and the key's is " + r.ks.cfg.Profiles.Profile().BaseURL + ": the console puts no value there"
	u.Ref, u.Profile = "", ""
	return u
}

// home is the profile whose service a key is sent to if a use does not say it: one that uses the key, and
// that can make a call. If no profile uses the key, the service is known only if all profiles have the same.
func (r Rotations) home(k model.Key, origin string, users []keystore.RotationUser) (string, error) {
	if origin != "" {
		return origin, nil
	}
	why := ""
	for _, u := range users {
		if u.Profile != "" && u.Reason == "" {
			return u.Profile, nil
		}
		if u.Profile != "" {
			why = u.Reason
		}
	}
	if why != "" {
		return "", fmt.Errorf("no call can be made with %s, so nothing could be proved: %s", k.Name, why)
	}
	current := r.ks.cfg.Profiles.Profile()
	for _, p := range r.ks.cfg.Profiles.Configured() {
		if p.Name != current.Name && p.BaseURL != current.BaseURL {
			return "", fmt.Errorf("no profile uses %s, and the profiles are of several services: it is not known which of them may see its value. Make it the key of a profile of its account", k.Name)
		}
	}
	if err := r.calls.Provable(current); err != nil {
		return "", fmt.Errorf("no call can be made with %s, so nothing could be proved: %w", k.Name, err)
	}
	return current.Name, nil
}

func (r Rotations) user(u radius.Use, k model.Key) keystore.RotationUser {
	user := keystore.RotationUser{Name: u.String(), Ref: u.Ref, Reason: u.Unmeasured}
	switch u.Kind {
	case radius.Profile:
		user.Profile = u.Name
		if p, err := r.ks.cfg.Profiles.Named(u.Name); err != nil {
			user.Reason = err.Error()
		} else if err := r.calls.Provable(p); err != nil {
			user.Reason = cmp.Or(user.Reason, err.Error())
		}
	case radius.RunningJob:
		user.Name, _, _ = strings.Cut(u.Name, " ") // its state changes
		user.Ref, user.Reason, user.InFlight = "", "", true
	case radius.EnvFile, radius.TrackedFile: // what this console reads says nothing of what a program reads there
		user.Ref = ""
		if u.Fingerprint != "" && u.Fingerprint == k.Fingerprint {
			user.File = u.Name
		} else {
			user.Reason = cmp.Or(user.Reason, "it gives the variable of the reference another value than the one that is recorded")
		}
	}
	return user
}

// Prove makes one call as a user of a key does, to the service of the user's profile alone.
func (r Rotations) Prove(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
	p, err := r.profileOf(ctx, c.User)
	if err != nil {
		return model.FetchResult{}, fmt.Errorf("%s: %w", c.Key.Name, err)
	}
	return r.calls.ProveKey(ctx, p, c.User.Zone, c.Key, c.Value, c.Proves)
}

// Levels are those that fit what a value may do at the service of the user's profile alone.
func (r Rotations) Levels(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error) {
	p, err := r.profileOf(ctx, u)
	if err != nil {
		return nil, err
	}
	return r.calls.KeyLevels(ctx, p, value)
}

// profileOf is the profile of a user, whose service its calls are made to.
func (r Rotations) profileOf(ctx context.Context, u keystore.RotationUser) (config.Profile, error) {
	if u.Profile == "" {
		return config.Profile{}, errors.New("it is not recorded whose service it belongs to: nothing is sent")
	}
	p, err := r.ks.Profile(ctx) // it may have to be started
	if err == nil && u.Profile != p.Name {
		p, err = r.ks.cfg.Profiles.Named(u.Profile)
	}
	return p, err
}

// TookOver gives a key of the inventory its new value and clocks, and every other record that was seen
// to give the new value. The record of the rotation stands in for a key that comes with a profile.
func (r Rotations) TookOver(ctx context.Context, p keystore.RotationPlan) error {
	kept := r.ks.Inventory()
	if p.Profile == "" {
		if err := kept.Update(ctx, p.Key, func(k model.Key) (model.Key, error) { return p.Renewed(k), nil }); err != nil {
			return err
		}
	}
	for _, k := range r.ks.inventory.List() {
		if k.Fingerprint == "" || k.Fingerprint != p.OldFingerprint && k.Fingerprint != p.NewFingerprint || !p.NeedsReference(k.Secret) || p.Profile == "" && k.Name == p.Key {
			continue
		}
		if value, err := r.ks.cfg.Resolver.Resolve(ask.By(ctx, ask.Nobody), k.Secret); err != nil || value.Fingerprint() != p.NewFingerprint {
			continue // a person sees to it; the rules say so once the old value has ended
		}
		if err := kept.Update(ctx, k.Name, func(k model.Key) (model.Key, error) { return p.Shared(k), nil }); err != nil {
			return err
		}
	}
	return nil
}

// SaveReport writes a report among the downloads and names the file.
func (r Rotations) SaveReport(name, text string) (string, error) {
	file := filepath.Join(r.ks.cfg.Paths.DownloadsDir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return file, textfile.Write(file, []byte(text))
}
