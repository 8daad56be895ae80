package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
	"zonedeck/service/saved"
)

type (
	// KeyID names a key: one of the inventory, or one that comes with a profile.
	KeyID = radius.KeyID
	// KeyUse is one thing that uses a key.
	KeyUse = radius.Use
	// UsesReport is what a search for uses found, and what it could not search.
	UsesReport = radius.Report
	// Progress is how far a search through folders is.
	Progress = radius.Progress
	// Dates are when a key was first seen and last used.
	Dates = journal.KeyUse
	// Skew is how far the service's clock is from this machine's.
	Skew = exchange.Skew
)

// UsersOf are the users in a key's record and the uses that were found; see radius.Names.
func UsersOf(k model.Key, uses []KeyUse) []string { return radius.Names(k, uses) }

// UsageOf is what the rules need to know of the uses of a key; see radius.KeyUsage.
func UsageOf(k model.Key, uses []KeyUse) keystore.KeyUsage { return radius.KeyUsage(k, uses) }

// Radius finds what uses the subjects: in every profile, the saved requests, the jobs in flight,
// the inventory's records and the given folders. The error is that of ctx; the report says what
// else could not be searched.
func (v Inventory) Radius(ctx context.Context, subjects []radius.Subject, folders []string, progress func(radius.Progress)) (radius.Report, error) {
	file, err := v.ks.cfg.Profiles.Read()
	recorded := v.Recorded()
	from := radius.Sources{
		Current: v.ks.cfg.Profiles.Profile(), Config: file, ProfileKeys: v.Supplied(recorded), Inventory: recorded,
		Requests: saved.New(v.ks.cfg.Paths.RequestsDir()), Folders: folders, Announcement: v.ks.cfg.Paths.EmulatorFile(), Jobs: v.ks.jobs, Progress: progress, Now: v.ks.cfg.Clock.Machine,
	}
	report, ended := radius.Find(ctx, from, subjects)
	if err != nil {
		report.Problems = append(report.Problems, err.Error())
	}
	for i, subject := range subjects {
		v.recordEndedValues(ctx, subject, report.Uses[i])
	}
	return report, ended
}

// recordEndedValues writes into the history where a scan found a value that a rotation has ended, each
// place once.
func (v Inventory) recordEndedValues(ctx context.Context, subject radius.Subject, uses []radius.Use) {
	var places []string
	for _, u := range uses {
		if !u.Ended.IsZero() {
			places = append(places, fmt.Sprintf("the old value (••••%s) still stands in %s", u.Last4, u.Place))
		}
	}
	if len(places) > 0 {
		v.ks.oldValueUsed(ctx, keystore.RotationPlan{Key: subject.Key}, places)
	}
}

// Subjects are the keys that come with the profile, then those of the inventory, each with the
// previous values that its rotations left.
func (v Inventory) Subjects() []radius.Subject {
	recorded := v.Recorded()
	plans, _ := v.ks.rotations().List() // lists of rotations report the error
	others := keystore.PreviousValues(plans)
	var out []radius.Subject
	add := func(k model.Key, profile string) {
		subject := radius.KeySubject(k, profile)
		subject.PreviousValues = others(profile, k.Name)
		out = append(out, subject)
	}
	for _, k := range v.Supplied(recorded) {
		add(k, v.ks.cfg.Profiles.Base().Name)
	}
	for _, k := range recorded {
		add(k, "")
	}
	return out
}

// Uses finds what uses each key. Before it searches folders it looks up the present values.
func (v Inventory) Uses(ctx context.Context, folders []string, progress func(radius.Progress)) (map[radius.KeyID][]radius.Use, radius.Report, error) {
	var problem string
	if len(folders) > 0 {
		unknown, err := v.LookUp(ctx)
		if err != nil {
			return nil, radius.Report{}, err
		}
		problem = NotRecognised(unknown)
	}
	subjects := v.Subjects()
	var passwords []radius.Subject
	var unread []string
	if len(folders) > 0 {
		passwords, unread = v.passwords(ctx)
	}
	report, err := v.Radius(ctx, slices.Concat(subjects, passwords), folders, progress)
	report.Problems = append(report.Problems, unread...)
	uses := map[radius.KeyID][]radius.Use{}
	for i, subject := range subjects {
		uses[subject.ID()] = report.Uses[i]
	}
	if problem != "" {
		report.Problems = append(report.Problems, problem)
	}
	return uses, report, err
}

// passwords are those of the zones of every profile, and why others cannot be read without asking anybody.
func (v Inventory) passwords(ctx context.Context) (out []radius.Subject, unread []string) {
	looked := map[[2]string]bool{}
	for _, p := range append(v.ks.cfg.Profiles.Configured(), v.ks.cfg.Profiles.Profile()) {
		for _, z := range p.Zones {
			s := radius.ZoneSubject(p, z)
			if id := [2]string{s.Zone, s.Ref}; s.Ref == "" || looked[id] {
				continue
			} else {
				looked[id] = true
			}
			value, err := v.compared(ctx, s.Ref)
			if err != nil {
				unread = append(unread, fmt.Sprintf("the password of zone %s was not looked for: %s %v", s.Zone, keystore.Ref(s.Ref).Label(), err))
				continue
			}
			s.Fingerprint, s.Last4 = value.Fingerprint(), value.Last4()
			out = append(out, s)
		}
	}
	return out, unread
}

// PasswordUses names what uses a zone's password: what stops when it is rotated, and what goes on. It reads each
// reference and compares its value with the zone's own: a rotation sets only references with the same value. It
// runs no command, asks for no passphrase, and does not ask the service. The error says what could not be searched;
// the rest is returned with it.
func (v Inventory) PasswordUses(ctx context.Context, p model.Profile, z model.Zone) (model.PasswordUses, error) {
	value, unread := keystore.Secret{}, errors.New("the profile has no reference to it")
	if z.Password != "" {
		if value, unread = v.compared(ctx, z.Password); unread != nil {
			unread = fmt.Errorf("%s %w", keystore.Ref(z.Password).Label(), unread)
		}
	}
	uses := model.PasswordUses{
		Stops: []string{
			"programs, files and browsers that hold the present password itself: copied logins, exported code with the secret in it, other machines",
		},
		Compared: "what the references give now, with one another; which value the service takes was not asked: 'zonedeck proxy test --profile " + p.Name + " --zone " + string(z.Name) + "' logs in",
	}
	if unread != nil {
		uses.Compared = "nothing: " + unread.Error()
	}
	if given := v.ks.cfg.Env.Getenv(config.EnvPassword); given != "" && z.Password != "env:"+config.EnvPassword {
		switch {
		case unread != nil:
			uses.Stops = append(uses.Stops, "what takes it from "+config.EnvPassword+", if that holds this password")
		case keystore.NewSecret(given).Equal(value):
			uses.Stops = append(uses.Stops, "what takes it from "+config.EnvPassword+", which holds this password")
		default:
			uses.GoOn = append(uses.GoOn, "what takes it from "+config.EnvPassword+", which holds another value")
		}
	}
	add := func(what, ref string) {
		if ref == "" {
			return
		}
		from := keystore.Ref(ref)
		if ref == z.Password {
			uses.GoOn = append(uses.GoOn, what)
			return
		}
		other, err := v.compared(ctx, ref)
		switch same := unread == nil && err == nil && other.Equal(value); {
		case err != nil:
			uses.Stops = append(uses.Stops, fmt.Sprintf("%s, if %s gives this password: it %v", what, from.Label(), err))
		case unread != nil:
			uses.Stops = append(uses.Stops, what+", if "+from.Label()+" gives this password")
		case !same:
			uses.GoOn = append(uses.GoOn, what+", whose "+from.Label()+" gives another value and is left as it is")
		case from.Storable():
			uses.GoOn = append(uses.GoOn, what+", whose "+from.Label()+" gives the same value and is set, too")
		default:
			uses.Stops = append(uses.Stops, what+", whose "+from.Label()+" gives the same value, until it gives the new one")
		}
	}
	add("profile "+p.Name, z.Password)
	file, err := v.ks.cfg.Profiles.Read()
	errs := []error{err}
	for _, name := range file.Names() {
		other, err := file.Profile(name)
		if err != nil || name == p.Name || other.Account != p.Account {
			continue
		}
		if known, ok := other.Zone(string(z.Name)); ok {
			add("profile "+name, known.Password)
		}
	}
	entries, err := saved.New(v.ks.cfg.Paths.RequestsDir()).List(ctx)
	errs = append(errs, err)
	for _, e := range entries {
		if e.Problem == "" && e.Request.Via == model.ViaNative && e.Request.Zone.Name == z.Name {
			add("saved request "+e.Name, z.Password)
		}
	}
	return uses, errors.Join(errs...)
}

// errNotRun says why the value of a command was not compared.
var errNotRun = errors.New("was not run, because a command may ask a person")

// compared reads the value of a reference to compare it. The error's text follows "it" or the label.
func (v Inventory) compared(ctx context.Context, ref string) (keystore.Secret, error) {
	if keystore.Ref(ref).Scheme() == keystore.SchemeCmd {
		return keystore.Secret{}, errNotRun
	}
	value, err := v.ks.Secret(ask.By(ctx, ask.Nobody), ref)
	if err != nil {
		err = fmt.Errorf("cannot be read: %w", err)
	}
	return value, err
}
