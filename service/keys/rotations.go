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
	"zonedeck/service/exchange"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/snippet"
)

// Calls are the calls that prove values in a rotation.
type Calls interface {
	// ProveKey is fetch.Fetcher's.
	ProveKey(ctx context.Context, p model.Profile, zone string, k model.Key, value keystore.Secret, proves string) (model.FetchResult, error)
	// Provable is an error if no call of a profile can show whether the service accepts a key.
	Provable(p model.Profile) error
	// KeyLevels are the levels that fit what a value can see of an account.
	KeyLevels(ctx context.Context, p model.Profile, value keystore.Secret) ([]model.Level, error)
}

// Passwords changes and proves the passwords of zones, as password.Changer does.
type Passwords interface {
	Check(ctx context.Context, p model.Profile, z model.Zone, key string) error
	Add(ctx context.Context, p model.Profile, zone, key string, value keystore.Secret) error
	Remove(ctx context.Context, p model.Profile, zone, key string, value keystore.Secret) error
	Login(ctx context.Context, p model.Profile, z model.Zone, l exchange.LoginProof) (keystore.Proof, error)
	Leads(ctx context.Context, ref string, value keystore.Secret) error
}

// Folders are searched for files that hold a key whenever a rotation looks for its users.
type Folders interface {
	ScanFolders() []string
}

// Scan are folders that were named for one run.
type Scan []string

// ScanFolders are the folders.
func (s Scan) ScanFolders() []string { return s }

// Rotations takes keys and the passwords of zones to their next values. It holds the records, and writes their steps
// into the history.
type Rotations struct {
	*keystore.Rotations
	ks        *Keys
	calls     Calls
	passwords Passwords
	folders   Folders
	caughtUp  *sync.Map // the ids of the rotations whose events are all in the history
}

// Rotations returns the rotations. calls and passwords prove values; folders are searched for files that hold a key.
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
	// RotationDoneError says that the last rotation of a subject was completed.
	RotationDoneError = rotate.DoneError
	// UsesAfterEnd is where the old value of a finished rotation was seen.
	UsesAfterEnd = rotate.UsesAfterEnd
)

// ErrRotationRunning says that another process works on the rotation.
var ErrRotationRunning = rotate.ErrRunning

func (r Rotations) engine() *rotate.Engine { return rotate.New(r.config()) }

// OfKey is a key as the subject of a rotation.
func (r Rotations) OfKey(k model.Key, method keystore.RotationMethod) RotationSubject {
	return RotationSubject{Key: k, Profile: r.ks.Origin(k), Method: method}
}

// Rotation is a subject's rotation under way, or else the one that would begin now: then nothing is written yet. It
// is refused in a read-only profile, and for a command with an ADMIN key and no reason.
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

// Resume is the rotation with this record.
func (r Rotations) Resume(p keystore.RotationPlan) Rotation { return r.engine().Resume(p) }

// OwnerText says which profiles a key belongs to; see Owners.Text.
func (r Rotations) OwnerText(k model.Key) string { return r.ks.Owners().Text(k) }

// Reach checks that a key may be sent wherever its rotation proves it; see rotate.Keys. If not, a command is refused
// and a person is asked.
func (r Rotations) Reach(p keystore.RotationPlan, a ask.Answers) (open []ask.Question, err error) {
	if p.Zone != "" || p.NewFingerprint != "" { // a password's calls check it themselves; with a new value it was checked
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

// Rehearse takes the steps of a key's rotation on an emulator, with copies. It reads the key's real references, and
// writes nothing real.
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

// rehearsed is the emulator's account for the rehearsal of a key's rotation.
type rehearsed struct {
	Rotations
	demo     model.Profile
	emulator Emulator
	key      model.Key
}

func (r rehearsed) Settings(keystore.RotationPlan) rotate.Settings {
	return rehearsal.New(r.emulator.Control)
}

func (r rehearsed) Prove(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
	r.ks.confirm(c.Key.Name + "=" + addressOf(r.demo)) // only a copy is sent
	r.ks.reasons.copied(c.Key.Name, r.key)
	return r.calls.ProveKey(ctx, r.demo, c.User.Zone, c.Key, c.Value, c.Proves)
}

func (r Rotations) config() rotate.Config {
	return rotate.Config{
		Records: r, Keys: r, Accounts: r, Prover: r, Passwords: zonePasswords{r},
		Secrets: r.ks.cfg.Resolver, LockDir: r.ks.cfg.Paths.RotationsDir(),
	}
}

// Days is the lifetime in days of a new key of a level.
func (r Rotations) Days(level model.Level) int {
	return r.ks.cfg.Profiles.File().Keys().Apply(model.Key{Level: level}).Rotation.Every()
}

// UsedAfterEnd writes uses of an old value after the end of its rotation into the history.
func (r Rotations) UsedAfterEnd(ctx context.Context, p keystore.RotationPlan, used []string) {
	r.ks.oldValueUsed(ctx, p, used)
}

// Origin is the profile that a key comes with; empty for a key of the inventory.
func (ks *Keys) Origin(k model.Key) string {
	if recorded, ok := ks.inventory.Get(k.Name); ok && recorded.Secret == k.Secret {
		return ""
	}
	return ks.cfg.Profiles.Base().Name
}

// Newest is the newest record of a subject's rotations. If one is under way, it is that one.
func (r Rotations) Newest(s RotationSubject) (p keystore.RotationPlan, ok bool, err error) {
	name := s.Key.Name
	if w := s.Password; w != nil {
		name = keystore.PasswordOf + string(w.Zone.Name)
	}
	plans, err := r.ForKey(name)
	for _, p := range plans {
		if w := s.Password; w != nil && p.OfZone(string(w.Account), string(w.Zone.Name)) || w == nil && p.OfKey(s.Profile, s.Key.Name) {
			return p, true, err
		}
	}
	return p, false, err
}

// Named is the newest record with this id, or of the key with this name: one of the profile in use or
// of the inventory.
func (r Rotations) Named(name string) (p keystore.RotationPlan, ok bool, err error) {
	plans, err := r.List()
	for _, p := range plans {
		if p.ID == name || p.OfKey("", name) || p.OfKey(r.ks.cfg.Profiles.Base().Name, name) {
			return p, true, err
		}
	}
	return p, false, err
}

// UnderWay is the rotation under way with this id, or of the key with this name: one of the profile in
// use or of the inventory. The key itself may be gone. If two keys with the name are under rotation,
// the error names both.
func (r Rotations) UnderWay(name string) (found keystore.RotationPlan, ok bool, err error) {
	plans, err := r.List() // an unreadable record may belong to another key
	for _, p := range plans {
		switch {
		case p.Over():
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

// RotatingError says that a key has no value here because its rotation has not set the new one yet.
type RotatingError struct{ Plan keystore.RotationPlan }

func (e *RotatingError) Error() string {
	return fmt.Sprintf("key %s is being rotated by %s, and its new value is not set here yet: '%s' goes on with it", e.Plan.Key, e.Plan.Method, GoOnWith(e.Plan))
}

// GoOnWith is the command that continues the rotation of a key.
func GoOnWith(p keystore.RotationPlan) string {
	command := snippet.With(p.Profile) + " keys rotate " + p.Key
	if p.Method == keystore.RotateByRefresh {
		command += " --refresh"
	}
	return command
}

// noValue says why a key without a reference cannot be used: it is under rotation, or the error of take.
func (ks *Keys) noValue(k model.Key, take func() (keystore.Secret, error)) error {
	if running, ok, _ := ks.rotations().Running(ks.Origin(k), k.Name); ok { // an unreadable record may belong to another key
		return &RotatingError{running}
	}
	_, err := take()
	return err
}

// Settings are those of the embedded emulator for the keys that come with it, and nil for other keys.
func (r Rotations) Settings(p keystore.RotationPlan) rotate.Settings {
	if r.ks.cfg.Emulator == nil || p.Profile != r.ks.cfg.Profiles.Base().Name {
		return nil
	}
	return rehearsal.New(r.ks.cfg.Emulator.Control)
}

// Now is the time that dates a step: the machine's for keys of the inventory, the service's for
// keys that come with the profile.
func (r Rotations) Now(p keystore.RotationPlan) time.Time {
	if p.Profile == "" {
		return r.ks.cfg.Clock.Machine()
	}
	return r.ks.cfg.Clock.Now()
}

// search finds the uses of a subject. An incomplete search is an error.
func (r Rotations) search(ctx context.Context, subject radius.Subject) ([]radius.Use, error) {
	report, err := r.ks.Inventory().Radius(ctx, []radius.Subject{subject}, r.folders.ScanFolders(), nil)
	if err != nil {
		return nil, err
	}
	for _, p := range report.Problems {
		err = errors.Join(err, errors.New(p))
	}
	if err != nil {
		return nil, fmt.Errorf("the search for uses was incomplete, and an unknown use would stop: %w", err)
	}
	return report.Uses[0], nil
}

// Users are a key's blast radius as a rotation records it.
func (r Rotations) Users(ctx context.Context, k model.Key) ([]keystore.RotationUser, error) {
	origin := r.ks.Origin(k)
	k.UsedBy = nil // a view may have added users that it found
	if recorded, ok := r.ks.inventory.Get(k.Name); ok && origin == "" {
		k.UsedBy = recorded.UsedBy
	} else if given := named(r.ks.Inventory().Supplied(r.ks.inventory.List()), k.Name); origin != "" {
		k.UsedBy = given.UsedBy
	}
	if origin == "" { // the scan recognises the present value in files and behind other references
		if _, err := r.ks.Inventory().LookUp(ctx); err != nil {
			return nil, err
		}
		if known := named(r.ks.Inventory().Recorded(), k.Name); known.Fingerprint != "" {
			k.Fingerprint, k.Last4 = known.Fingerprint, known.Last4
		}
	}
	// During a rotation look for the value that is to end: the inventory may have the new one already.
	if running, ok, err := r.Running(origin, k.Name); err == nil && ok && running.OldFingerprint != "" {
		k.Fingerprint, k.Last4 = running.OldFingerprint, running.OldLast4
	}
	uses, err := r.search(ctx, radius.KeySubject(k, origin))
	if err != nil {
		return nil, err
	}
	var out []keystore.RotationUser
	read := false
	for _, u := range uses {
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
	p, err := r.ks.cfg.Profiles.Named(home)
	if err != nil {
		return nil, err
	}
	unproved := r.calls.Provable(p)
	for i := range out {
		if out[i].Profile = cmp.Or(out[i].Profile, home); out[i].Profile == home && unproved != nil {
			out[i].Reason = cmp.Or(out[i].Reason, unproved.Error())
		}
	}
	return out, nil
}

// withoutOtherService checks a user in another profile of a key that comes with the profile in use. If that profile
// has another service, the console neither writes the user's reference nor sends the value there: a person does it.
func (r Rotations) withoutOtherService(u keystore.RotationUser) keystore.RotationUser {
	p, err := r.ks.cfg.Profiles.Named(u.Profile)
	if err != nil || p.BaseURL == r.ks.cfg.Profiles.Profile().BaseURL {
		return u
	}
	u.Reason = "its service is " + p.BaseURL + ", and the key's is " + r.ks.cfg.Profiles.Profile().BaseURL + ": the console puts no value there"
	u.Ref, u.Profile = "", ""
	return u
}

// home is the profile whose service a key is sent to for users without a profile: one that uses the key, and can
// make a call if there is such a one. If no profile uses the key, the service is known only if all profiles have the same one.
func (r Rotations) home(k model.Key, origin string, users []keystore.RotationUser) (string, error) {
	if origin != "" {
		return origin, nil
	}
	home := ""
	for _, u := range users {
		if u.Profile != "" && u.Reason == "" {
			return u.Profile, nil
		}
		home = cmp.Or(home, u.Profile) // with it no call can be made: a person vouches
	}
	if home != "" {
		return home, nil
	}
	current := r.ks.cfg.Profiles.Profile()
	for _, p := range r.ks.cfg.Profiles.Configured() {
		if p.Name != current.Name && p.BaseURL != current.BaseURL {
			return "", fmt.Errorf("no profile uses %s, and the profiles are of several services: it is not known which of them may see its value. Make it the key of a profile of its account", k.Name)
		}
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
	case radius.EnvFile, radius.TrackedFile: // this console cannot see what value a program reads from the file
		user.Ref = ""
		if u.Fingerprint != "" && u.Fingerprint == k.Fingerprint {
			user.File = u.Name
		} else {
			user.Reason = cmp.Or(user.Reason, "it sets the variable of the reference to another value than the recorded one")
		}
	}
	return user
}

// Prove makes one call as a user of a key does, only to the service of the user's profile.
func (r Rotations) Prove(ctx context.Context, c rotate.Call) (model.FetchResult, error) {
	p, err := r.profileOf(ctx, c.User)
	if err != nil {
		return model.FetchResult{}, fmt.Errorf("%s: %w", c.Key.Name, err)
	}
	return r.calls.ProveKey(ctx, p, c.User.Zone, c.Key, c.Value, c.Proves)
}

// Levels are the levels that fit what a value may do at the service of the user's profile. It asks no other service.
func (r Rotations) Levels(ctx context.Context, u keystore.RotationUser, value keystore.Secret) ([]model.Level, error) {
	p, err := r.profileOf(ctx, u)
	if err != nil {
		return nil, err
	}
	return r.calls.KeyLevels(ctx, p, value)
}

// profileOf is the profile of a user. The user's calls go to its service.
func (r Rotations) profileOf(ctx context.Context, u keystore.RotationUser) (model.Profile, error) {
	if u.Profile == "" {
		return model.Profile{}, errors.New("its service is not recorded: nothing is sent")
	}
	p, err := r.ks.Profile(ctx) // this may start the emulator
	if err == nil && u.Profile != p.Name {
		p, err = r.ks.cfg.Profiles.Named(u.Profile)
	}
	if k, recorded := r.ks.inventory.Get(p.Key); err == nil && recorded { // a new value is not known as the profile's yet
		err = r.ks.Owners().Refuse(p, k)
	}
	return p, err
}

// TookOver gives the new value and dates to the record of a key in the inventory, and to every other record whose
// reference gives the new value. A key that comes with a profile needs none: the record of the rotation has them.
func (r Rotations) TookOver(ctx context.Context, p keystore.RotationPlan) error {
	kept := r.ks.Inventory()
	if p.Profile == "" {
		if err := kept.Update(ctx, p.Key, func(k model.Key) (model.Key, error) { return p.Rotated(k), nil }); err != nil {
			return err
		}
	}
	for _, k := range r.ks.inventory.List() {
		if k.Fingerprint == "" || k.Fingerprint != p.OldFingerprint && k.Fingerprint != p.NewFingerprint || !p.NeedsReference(k.Secret) || p.Profile == "" && k.Name == p.Key {
			continue
		}
		if value, err := r.ks.cfg.Resolver.Resolve(ask.By(ctx, ask.Nobody), k.Secret); err != nil || value.Fingerprint() != p.NewFingerprint {
			continue // a person has to change it; the rules say so once the old value has ended
		}
		if err := kept.Update(ctx, k.Name, func(k model.Key) (model.Key, error) { return p.Shared(k), nil }); err != nil {
			return err
		}
	}
	return nil
}

// SaveReport writes a report into the downloads folder and returns the file's path.
func (r Rotations) SaveReport(name, text string) (string, error) {
	file := filepath.Join(r.ks.cfg.Paths.DownloadsDir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return file, textfile.Write(file, []byte(text))
}
