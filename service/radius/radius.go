package radius

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/saved"
)

// Kind is the sort of a use.
type Kind string

// The kinds, in the order in which uses are listed.
const (
	Profile      Kind = "profile"
	SavedRequest Kind = "saved request"
	RunningJob   Kind = "running job"
	Recorded     Kind = "recorded"
	EnvFile      Kind = "env file"
	TrackedFile  Kind = "git-tracked file"
)

// Use is one thing that uses a key or a password.
type Use struct {
	Kind Kind
	// Name is the profile's, the saved request's, the job's, what the inventory records, or
	// the file's path.
	Name string
	// Place is path:line for what stands in a file, the profile of a job, else empty.
	Place string
	// Ref is the reference by which it gets the value; empty where it holds the value itself,
	// or where that is not known.
	Ref string
	// Fingerprint and Last4 are those of the value that it has, as far as known. In a file
	// that sets the variable of the reference they may be those of another value.
	Fingerprint, Last4 string
	// Previous says that this is a value of the key beside the present one, which may be valid; Ended when
	// it was seen to have ended, if it has: what reads it there is refused, and no use any more.
	Previous bool
	Ended    time.Time
	// LastSeen is when it was last seen to use it; zero where it was only recorded.
	LastSeen time.Time
	// SameAs is the other record of the inventory, of the same value or reference, by which it was found.
	SameAs string
	// Unmeasured is why the console cannot prove by itself that it works with another value;
	// empty where it can.
	Unmeasured string
}

// PreviousValue says what Use.Previous means.
const PreviousValue = "a value beside the present one, which may be valid"

// InFile reports whether it was found by a look through folders.
func (u Use) InFile() bool { return u.Kind == EnvFile || u.Kind == TrackedFile }

// Text is String, after the kind where the name does not say it.
func (u Use) Text() string {
	if u.Kind == Recorded || u.Kind == TrackedFile {
		return string(u.Kind) + ": " + u.String()
	}
	return u.String()
}

// Measurable says that the console can prove by itself, by a call or by reading the file
// again, that the use works with another value.
func (u Use) Measurable() bool { return u.Unmeasured == "" }

// String names the use in a list: "profile acme", "job-3 (running)", "deploy/.env:4".
func (u Use) String() string {
	switch u.Kind {
	case Profile, SavedRequest:
		return string(u.Kind) + " " + u.Name
	case EnvFile, TrackedFile:
		return u.Place
	default:
		return u.Name
	}
}

// Subject is what is looked for: a key, or a zone's password.
type Subject struct {
	Key  string // the key's name, or empty
	Zone string // the zone's name, or empty
	// Account is the zone's account; a zone of the same name in another account is another
	// one.
	Account model.AccountID
	// Profile is the profile that the key comes with; empty for a key of the inventory.
	Profile string

	Ref, Fingerprint, Last4 string
	Recorded                []string // what the inventory says uses it
	// PreviousValues are values of the key beside this one, which rotations left.
	PreviousValues []keystore.PreviousValue
}

// valid reports whether a fingerprint is that of a value of the key that may be valid.
func (s Subject) valid(fingerprint string) bool {
	if fingerprint == "" {
		return false
	}
	v, previous := s.previousValue(fingerprint)
	return fingerprint == s.Fingerprint || previous && v.Ended.IsZero()
}

// previousValue is a value of the key beside the present one.
func (s Subject) previousValue(fingerprint string) (v keystore.PreviousValue, ok bool) {
	i := slices.IndexFunc(s.PreviousValues, func(v keystore.PreviousValue) bool { return v.Fingerprint == fingerprint })
	if i < 0 || fingerprint == s.Fingerprint {
		return v, false
	}
	return s.PreviousValues[i], true
}

// KeySubject is a key as a subject; profile is the one that it comes with, or empty for a key
// of the inventory.
func KeySubject(k model.Key, profile string) Subject {
	return Subject{
		Key: k.Name, Profile: profile, Ref: k.Secret, Fingerprint: k.Fingerprint, Last4: k.Last4, Recorded: slices.Clone(k.UsedBy),
	}
}

// ZoneSubject is a zone's password as a subject.
func ZoneSubject(p model.Profile, z model.Zone) Subject {
	return Subject{Zone: string(z.Name), Account: p.Account, Ref: z.Password}
}

// Jobs are those that a ledger accounts for.
type Jobs interface {
	InFlight(ctx context.Context) ([]model.Job, error)
}

// Sources are where uses are looked for.
type Sources struct {
	// Current is the profile in use; Config has the others.
	Current model.Profile
	Config  config.File
	// Keys are all keys that may be named: those that come with the profile in use (Given),
	// then the inventory's.
	ProfileKeys, Inventory []model.Key
	Requests               *saved.Store
	Jobs                   Jobs // nil where there is no ledger
	// Folders are scanned, within Limits (zero: DefaultLimits). Progress hears of it, on the
	// caller's goroutine; it may be nil.
	Folders      []string
	Announcement string // the file in which the embedded emulator says where it listens, which is passed over
	Limits       Limits
	Progress     func(Progress)
	Now          func() time.Time
}

// Password is a place in a file, path:line, of a zone's password, alone or in a whole login; What says which.
type Password struct {
	Zone, What, Place string
	Tracked           bool
}

func (p Password) String() string { return p.Place + " holds " + p.What + " of zone " + p.Zone }

// Report is what was found.
type Report struct {
	// Uses are those of each subject, in the order of the subjects.
	Uses [][]Use
	// Problems are what could not be looked through, and what was left out by a limit: the
	// report is not the whole truth then.
	Problems  []string
	Passwords []Password // in files
	Files     int        // files that were read
	Bytes     int64      // their size
}

// finder is one run of Find.
type finder struct {
	Sources
	subjects []Subject
	report   Report
	all      []model.Profile // the profile in use, then every other one
	by       map[mark][]int  // the places of the subjects that have a mark
	// profileKeys and inventory are the keys of Sources by their names.
	profileKeys, inventory map[string]model.Key
}

// mark is something that a subject may be found by: its key, zone, reference or fingerprint.
type mark struct{ kind, value string }

// The kinds of marks.
const (
	byKey   = "key"
	byZone  = "zone"
	byRef   = "reference"
	byValue = "fingerprint"
)

// Find looks for what uses the subjects. The error is that of ctx; everything else that went
// wrong is among the report's problems.
func Find(ctx context.Context, s Sources, subjects []Subject) (Report, error) {
	f := &finder{Sources: s, subjects: subjects, report: Report{Uses: make([][]Use, len(subjects))}, all: []model.Profile{s.Current}}
	f.index()
	f.profiles()
	f.requests(ctx)
	f.jobs(ctx)
	for i, s := range subjects {
		for _, name := range s.Recorded {
			f.add(i, recorded(name, s.Ref))
		}
	}
	f.records()
	f.scan(ctx)
	return f.report, ctx.Err()
}

func (f *finder) add(subject int, u Use) {
	uses := &f.report.Uses[subject]
	if !slices.ContainsFunc(*uses, func(o Use) bool { return o.Kind == u.Kind && o.Name == u.Name && o.Place == u.Place }) {
		*uses = append(*uses, u)
	}
}

func (f *finder) problem(format string, args ...any) {
	f.report.Problems = append(f.report.Problems, fmt.Sprintf(format, args...))
}

// index makes the maps, so that what is found is not held against each of many subjects.
func (f *finder) index() {
	f.by = map[mark][]int{}
	for i, s := range f.subjects {
		for _, m := range []mark{{byKey, s.Key}, {byZone, s.Zone}, {byRef, s.Ref}, {byValue, s.Fingerprint}} {
			if m.value != "" {
				f.by[m] = append(f.by[m], i)
			}
		}
		for _, v := range s.PreviousValues {
			if v.Fingerprint != s.Fingerprint && v.Ended.IsZero() {
				f.by[mark{byValue, v.Fingerprint}] = append(f.by[mark{byValue, v.Fingerprint}], i)
			}
		}
	}
	f.profileKeys, f.inventory = byName(f.ProfileKeys), byName(f.Inventory)
}

// byName has the first key of each name.
func byName(keys []model.Key) map[string]model.Key {
	all := make(map[string]model.Key, len(keys))
	for _, k := range slices.Backward(keys) {
		all[k.Name] = k
	}
	return all
}

// placesWith are the places of the subjects that have one of the marks, in their order.
func (f *finder) placesWith(marks ...mark) []int {
	var at []int
	for _, m := range marks {
		at = append(at, f.by[m]...)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// ofKey are the marks of what a key's name stands for in a profile.
func (f *finder) ofKey(name, inProfile string) []mark {
	k, _ := f.key(name, inProfile)
	return []mark{{byKey, k.Name}, {byRef, k.Secret}, {byValue, k.Fingerprint}}
}

// key is the key that a name stands for in a profile, and the profile that it comes with.
func (f *finder) key(name, inProfile string) (k model.Key, from string) {
	if inProfile == f.Current.Name {
		if k, ok := f.profileKeys[name]; ok {
			return k, inProfile
		}
	}
	if k, ok := f.inventory[name]; ok {
		return k, ""
	}
	return model.Key{Name: name}, ""
}

// isKey reports whether a key's name, as a profile uses it, leads to the subject: to the same
// record, to the same reference, or to the same value under another name.
func (f *finder) isKey(s Subject, name, inProfile string) (model.Key, bool) {
	if name == "" {
		return model.Key{}, false
	}
	k, from := f.key(name, inProfile)
	same := s.Key != "" && k.Name == s.Key && from == s.Profile ||
		s.Ref != "" && k.Secret == s.Ref || s.valid(k.Fingerprint)
	return k, same
}

// profiles looks through the profile in use and every other one.
func (f *finder) profiles() {
	for _, name := range f.Config.Names() {
		if p, err := f.Config.Profile(name); err == nil && name != f.Current.Name {
			f.all = append(f.all, p)
		}
	}
	for _, p := range f.all {
		marks := f.ofKey(p.Key, p.Name)
		for _, z := range p.Zones {
			marks = append(marks, mark{byZone, string(z.Name)}, mark{byRef, z.Password})
		}
		for _, ref := range p.Variables {
			marks = append(marks, mark{byRef, ref})
		}
		for _, i := range f.placesWith(marks...) {
			if u, ok := f.ofProfile(f.subjects[i], p); ok {
				f.add(i, u)
			}
		}
	}
}

func (f *finder) ofProfile(s Subject, p model.Profile) (Use, bool) {
	u := Use{Kind: Profile, Name: p.Name, LastSeen: f.Now()}
	if k, ok := f.isKey(s, p.Key, p.Name); ok {
		u.Ref, u.Fingerprint, u.Last4 = k.Secret, k.Fingerprint, k.Last4
		u.Unmeasured = unresolved(k.Secret)
		if p.BaseURL == "" && !p.Local {
			u.Unmeasured = "the profile has no base_url to make a call to"
		}
		return u, true
	}
	for _, z := range p.Zones {
		if s.isPassword(p, z) {
			u.Ref = z.Password
			return u, true
		}
	}
	for _, value := range p.Variables {
		if s.Ref != "" && value == s.Ref {
			u.Ref, u.Unmeasured = value, "a variable of the profile stands for it: only the requests with that variable use it"
			return u, true
		}
	}
	return Use{}, false
}

// isPassword reports whether a profile logs in to a zone by the subject. A zone without a password is one
// that the profile has no login to.
func (s Subject) isPassword(p model.Profile, z model.Zone) bool {
	return z.Password != "" && (z.Password == s.Ref || s.Zone == string(z.Name) && s.Account == p.Account)
}

// maxSame bounds how many other records a key is held against: with all of many that share a reference, a
// report would grow with the square of their number.
const maxSame = 100

// records looks through the inventory for other records of the same value, or of the same reference: a
// rotation ends theirs, too.
func (f *finder) records() {
	found := make([]int, len(f.subjects))
	for _, k := range f.Inventory {
		for _, i := range f.placesWith(mark{byRef, k.Secret}, mark{byValue, k.Fingerprint}) {
			if s := f.subjects[i]; k.Name == s.Key && s.Profile == "" {
				continue
			}
			if found[i]++; found[i] <= maxSame {
				f.sameValue(i, k)
			}
		}
	}
	for i, n := range found {
		if n > maxSame {
			f.problem("%d more records of the inventory have the value or the reference of %s: only %d were looked at", n-maxSame, f.subjects[i].Key, maxSame)
		}
	}
}

// sameValue adds another record of a subject's value, and what that one names.
func (f *finder) sameValue(subject int, k model.Key) {
	same := "key " + k.Name
	_, previous := f.subjects[subject].previousValue(k.Fingerprint)
	f.add(subject, Use{
		Kind: Recorded, Name: same, SameAs: k.Name, Ref: k.Secret, Fingerprint: k.Fingerprint, Last4: k.Last4, Previous: previous, Unmeasured: unresolved(k.Secret),
	})
	for _, name := range k.UsedBy {
		if u := recorded(name, k.Secret); u.Name != keystore.ThisConsole {
			u.Name, u.SameAs = u.Name+" ("+same+")", k.Name
			f.add(subject, u)
		}
	}
}

// unresolved is why a reference leads to no value, or empty.
func unresolved(ref string) string {
	if ref == "" {
		return "the console has no reference to the value"
	}
	return ""
}

func (f *finder) requests(ctx context.Context) {
	if f.Requests == nil {
		return
	}
	entries, err := f.Requests.List(ctx)
	if err != nil {
		f.problem("%v", err)
	}
	for _, e := range entries {
		if e.Problem != "" {
			f.problem("saved request %s: %s", e.Name, e.Problem)
			continue
		}
		var marks []mark
		for _, p := range f.all {
			marks = append(marks, f.ofKey(e.Request.Key, p.Name)...)
			if z, ok := p.Zone(string(e.Request.Zone.Name)); ok {
				marks = append(marks, mark{byZone, string(z.Name)}, mark{byRef, z.Password})
			}
		}
		for _, i := range f.placesWith(marks...) {
			if u, ok := f.ofRequest(f.subjects[i], e); ok {
				f.add(i, u)
			}
		}
	}
}

// ofRequest holds a saved request against every profile: it names a key or a zone, and is sent with
// what the profile in use at that time has under the name.
func (f *finder) ofRequest(s Subject, e saved.Entry) (Use, bool) {
	u := Use{Kind: SavedRequest, Name: e.Name, LastSeen: f.Now()}
	for _, p := range f.all {
		switch r := e.Request; r.Via {
		case model.ViaAPI, model.ViaAgent:
			if k, ok := f.isKey(s, r.Key, p.Name); ok {
				u.Ref, u.Fingerprint, u.Last4, u.Unmeasured = k.Secret, k.Fingerprint, k.Last4, unresolved(k.Secret)
				return u, true
			}
		default:
			z, ok := p.Zone(string(r.Zone.Name))
			if ok && s.isPassword(p, z) {
				u.Ref = z.Password
				return u, true
			}
		}
	}
	return u, false
}

func (f *finder) jobs(ctx context.Context) {
	if f.Jobs == nil {
		return
	}
	jobs, err := f.Jobs.InFlight(ctx)
	if err != nil && !errors.Is(err, ctx.Err()) {
		f.problem("%v", err)
	}
	for _, j := range jobs {
		for _, i := range f.placesWith(f.ofKey(j.KeyName, j.Profile)...) {
			if k, ok := f.isKey(f.subjects[i], j.KeyName, j.Profile); ok {
				f.add(i, Use{
					Kind: RunningJob, Name: j.ID + " (" + j.State.Label() + ")", Place: j.Profile, Ref: k.Secret,
					Fingerprint: k.Fingerprint, Last4: k.Last4, LastSeen: j.Updated,
					Unmeasured: "it runs with the value that it was begun with: wait for its end",
				})
			}
		}
	}
}

// recorded is a use that a person recorded by name or as a reference; own is the reference of the
// key or password itself.
func recorded(name, own string) Use {
	u := Use{Kind: Recorded, Name: name}
	if ref, err := keystore.ParseRef(name); err == nil {
		u.Ref = string(ref)
		if u.Ref == own {
			u.Name = keystore.ThisConsole // where its value is kept is no use of it
		}
	} else {
		u.Unmeasured = "the inventory has only its name: whoever runs it has to check a call"
	}
	return u
}
