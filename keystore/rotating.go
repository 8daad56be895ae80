package keystore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// RotationWord is one of the four phases of a rotation: create, set, test, finish.
type RotationWord string

// The four words, in their order.
const (
	WordCreate RotationWord = "create"
	WordSet    RotationWord = "set"
	WordTest   RotationWord = "test"
	WordFinish RotationWord = "finish"
)

// RotationWords lists the four words in their order.
func RotationWords() []RotationWord {
	return []RotationWord{WordCreate, WordSet, WordTest, WordFinish}
}

// rotationVersion is the version of the records. One without a version is a list that an early version had a person
// tick: it is refused, because its steps prove nothing.
const rotationVersion = 2

// Word is the word that a step belongs to.
func (k RotationStepKind) Word() RotationWord {
	switch k {
	case StepSet:
		return WordSet
	case StepTest:
		return WordTest
	case StepDelete, StepRefused, StepWatch:
		return WordFinish
	default:
		return WordCreate
	}
}

// Name is a step in a few words, such as "test profile acme".
func (s RotationStep) Name() string {
	if s.Subject == "" {
		return string(s.Kind)
	}
	subject := s.Subject
	if ref, err := ParseRef(subject); err == nil {
		subject = ref.Label()
	}
	return string(s.Kind) + " " + subject
}

// Place is where a user takes the value from: its file, its reference or, if the console knows
// neither, the user itself.
func (u RotationUser) Place() string { return cmp.Or(u.File, u.Ref, u.Name) }

// Manual reports whether a person has to switch and test a user, because the console does not know
// where it takes the value from.
func (u RotationUser) Manual() bool { return u.Ref == "" && u.File == "" }

// Callable reports whether the console can make a call as the user does.
func (u RotationUser) Callable() bool { return !u.Manual() && u.Reason == "" }

// Home is the user whose profile gives the service that the key belongs to: the first user with a
// profile that a call can be made with.
func (p RotationPlan) Home() (u RotationUser, ok bool) {
	i := slices.IndexFunc(p.Users, func(u RotationUser) bool { return u.Profile != "" && u.Reason == "" })
	if i < 0 {
		return RotationUser{}, false
	}
	return RotationUser{Profile: p.Users[i].Profile, Zone: p.Users[i].Zone}, true
}

// Unproved is why no call can show what the service accepts, and a person vouches for it; empty if a call can.
func (p RotationPlan) Unproved() string {
	_, proved := p.Home()
	i := slices.IndexFunc(p.Users, func(u RotationUser) bool { return u.Profile != "" })
	if proved || i < 0 {
		return ""
	}
	return p.Users[i].Reason
}

// PlanRotation plans the rotation of a key, beginning now. users are the key's blast radius;
// those in flight have to end first. If several have the same name, the first counts.
func PlanRotation(k model.Key, method RotationMethod, users []RotationUser, now time.Time) RotationPlan {
	seen := map[string]bool{}
	users = slices.DeleteFunc(slices.Clone(users), func(u RotationUser) bool {
		again := seen[u.Name]
		seen[u.Name] = true
		return again
	})
	now = now.UTC().Truncate(time.Millisecond) // two rotations may begin within one second
	p := RotationPlan{
		Version: rotationVersion,
		ID:      strings.Replace(now.Format("20060102t150405.000z"), ".", "", 1) + rotationMark(k.Name),
		Key:     k.Name, Method: method, Started: now, Ref: k.Secret, OldName: k.Name,
		OldFingerprint: k.Fingerprint, OldLast4: k.Last4, OldRotated: k.Rotation.Last, Users: users,
	}
	for _, u := range users {
		if u.InFlight {
			p.add(StepDrain, u.Name, "see it end, or release it: it may still be collected with the old key")
		}
	}
	texts := method.texts()
	if method == RotateByRefresh {
		p.add(StepRefresh, "", texts[StepRefresh])
	} else {
		p.add(StepCreate, "", texts[StepCreate])
	}
	rest := slices.DeleteFunc(slices.Clone(users), func(u RotationUser) bool { return u.InFlight })
	// The places that the console can write come first: during a refresh their users stand still.
	slices.SortStableFunc(rest, func(a, b RotationUser) int { return cmp.Compare(a.effort(), b.effort()) })
	if k.Secret != "" { // the console itself reads it
		p.add(StepSet, k.Secret, texts[StepSet])
	}
	for _, u := range rest {
		if p.find(StepSet, u.Place()) < 0 {
			p.add(StepSet, u.Place(), texts[StepSet])
		}
	}
	for _, u := range rest {
		p.add(StepTest, u.Name, texts[StepTest])
	}
	if method != RotateByRefresh {
		p.add(StepDelete, "", texts[StepDelete])
	}
	p.add(StepRefused, "", texts[StepRefused])
	p.add(StepWatch, "", "see that nothing else is refused")
	return p
}

// texts are the instructions for every step but StepDrain and StepWatch.
func (m RotationMethod) texts() map[RotationStepKind]string {
	if m == RotateByPassword {
		return map[RotationStepKind]string{
			StepCreate: "add another password to the zone, and log in with it",
			StepSet:    "put the new password there, and read it back", StepTest: "log in as it does",
			StepDelete: "remove the old password from the zone", StepRefused: "see a login with the old password refused",
		}
	}
	return map[RotationStepKind]string{
		StepRefresh: "refresh the key: the old value is invalid at once",
		StepCreate:  "create a key of the same level, with an expiry, and make a call with it",
		StepSet:     "put the new value there, and read it back",
		StepTest:    "make a call as it does", StepDelete: "delete the old key", StepRefused: "see the old value refused",
	}
}

// ZonePassword describes the proxy password of a zone for its rotation. It does not hold the password.
type ZonePassword struct {
	Zone, Account string
	Profile       string // the profile that the zone comes with; empty for a zone of the configuration
	Ref           string // the reference of the password
	Fingerprint   string
	Last4         string
	ChangedBy     string // the key that changes the password; empty where a person does
}

// PasswordOf and the name of a zone is the name of a zone's password in its records.
const PasswordOf = "password of zone "

// PlanPassword plans the rotation of a zone's password, beginning now. See PlanRotation.
func PlanPassword(z ZonePassword, users []RotationUser, now time.Time) RotationPlan {
	k := model.Key{Name: PasswordOf + z.Zone, Secret: z.Ref, Fingerprint: z.Fingerprint, Last4: z.Last4}
	method := RotateByPassword
	if z.ChangedBy == "" {
		method = RotateByRefresh
	}
	p := PlanRotation(k, method, users, now)
	if i := p.find(StepRefresh, ""); i >= 0 {
		p.Steps[i].Text = "regenerate the password in the zone's access details: that takes effect immediately"
	}
	p.Zone, p.Account, p.Profile, p.ChangedBy, p.OldName = z.Zone, z.Account, z.Profile, z.ChangedBy, ""
	return p
}

// rotationMark is the suffix of the ids of a key's rotations.
func rotationMark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "-" + hex.EncodeToString(sum[:4])
}

// rotationID is the form of the ids of PlanRotation. Older ids have no milliseconds.
var rotationID = regexp.MustCompile(`^\d{8}t\d{6}(\d{3})?z-[0-9a-f]{8}$`)

// mayBeOf reports whether a record may belong to a key, by its id.
func mayBeOf(id, key string) bool {
	return strings.HasSuffix(id, rotationMark(key)) || !rotationID.MatchString(id)
}

// effort orders users by how they are switched: by the console (0), by a person whose change the
// console checks (1), by a person whose word counts (2).
func (u RotationUser) effort() int {
	switch ref := Ref(u.Ref); {
	case u.Manual():
		return 2
	case u.File != "" || ref.Scheme() == SchemeEnv || ref.Scheme() == SchemeCmd:
		return 1
	}
	return 0
}

// With adds users that were found after the rotation began, and their steps. No step is added before
// the first open one. Users whose names are known are left out.
func (p RotationPlan) With(users []RotationUser) RotationPlan {
	p = p.copied()
	for _, u := range users {
		n := p.Now()
		if _, known := p.User(u.Name); known || n < 0 {
			continue
		}
		p.Users = append(p.Users, u)
		if u.InFlight {
			p.Steps = slices.Insert(p.Steps, n, RotationStep{Kind: StepDrain, Subject: u.Name, Text: "see it end, or release it: it was found later"})
			continue
		}
		at := max(n, p.after(StepDrain), p.after(StepSet), p.after(StepCreate), p.after(StepRefresh))
		if p.find(StepSet, u.Place()) < 0 {
			p.Steps = slices.Insert(p.Steps, at, RotationStep{Kind: StepSet, Subject: u.Place(), Text: p.Method.texts()[StepSet] + ": it was found later"})
			at++
		}
		at = max(at, p.after(StepTest))
		p.Steps = slices.Insert(p.Steps, at, RotationStep{Kind: StepTest, Subject: u.Name, Text: p.Method.texts()[StepTest] + ": it was found later"})
	}
	return p
}

// Reopen reopens the steps of a place that no longer gives the new value: its StepSet, then the StepTest of
// each user that reads it there, come next. seen says in one line what the place gave. Calls that others sent
// meanwhile are kept apart from those after the place is set again.
func (p RotationPlan) Reopen(place, seen string) RotationPlan {
	p = p.copied()
	var again []RotationStep
	p.Steps = slices.DeleteFunc(p.Steps, func(s RotationStep) bool {
		u, known := p.User(s.Subject)
		its := s.Kind == StepSet && s.Subject == place || s.Kind == StepTest && known && u.Place() == place
		if its && s.Done {
			s = RotationStep{Kind: s.Kind, Subject: s.Subject, Text: s.Text, Note: seen}
		}
		if its {
			again = append(again, s)
		}
		return its
	})
	at := p.Now()
	if at < 0 {
		at = len(p.Steps)
	}
	p.Steps = slices.Insert(p.Steps, at, again...)
	if p.DeletedSeq != 0 && p.SetSeq != 0 { // in a refresh the outage goes on
		p.DeletedSeq, p.DeletedEntry = p.SetSeq, p.SetEntry
	}
	p.SetSeq, p.SetEntry = 0, time.Time{}
	return p
}

// after is the index after the last step of a kind; 0 if there is none.
func (p RotationPlan) after(kind RotationStepKind) (i int) {
	for n, s := range p.Steps {
		if s.Kind == kind {
			i = n + 1
		}
	}
	return i
}

func (p *RotationPlan) add(kind RotationStepKind, subject, text string) {
	p.Steps = append(p.Steps, RotationStep{Kind: kind, Subject: subject, Text: text})
}

func (p RotationPlan) find(kind RotationStepKind, subject string) int {
	return slices.IndexFunc(p.Steps, func(s RotationStep) bool { return s.Kind == kind && s.Subject == subject })
}

// Step finds a step by its kind and subject.
func (p RotationPlan) Step(kind RotationStepKind, subject string) (s RotationStep, ok bool) {
	if i := p.find(kind, subject); i >= 0 {
		return p.Steps[i], true
	}
	return RotationStep{}, false
}

// User finds a user by its name.
func (p RotationPlan) User(name string) (u RotationUser, ok bool) {
	if i := slices.IndexFunc(p.Users, func(u RotationUser) bool { return u.Name == name }); i >= 0 {
		return p.Users[i], true
	}
	return RotationUser{}, false
}

// Now is the index of the first open step, or -1.
func (p RotationPlan) Now() int {
	return slices.IndexFunc(p.Steps, func(s RotationStep) bool { return !s.Done })
}

// Proof is the evidence that a step is done.
type Proof struct {
	By       By
	Status   int           // the status that the service answered; 0 if no call was made
	Duration time.Duration // of that call
	Note     string        // one line, cut at 500 bytes
}

// maxNote limits the note of a step, in bytes.
const maxNote = 500

// Record ticks the first open step, which must be i. The last step ends the rotation. Errors wrap
// ErrStepOrder, errRotationOver or errHoldsSecret.
func (p RotationPlan) Record(i int, proof Proof, now time.Time) (RotationPlan, error) {
	switch {
	case p.Over():
		return p, errRotationOver
	case i < 0 || i != p.Now():
		return p, fmt.Errorf("step %d: %w", i+1, ErrStepOrder)
	case holdsValue(proof.Note, p.OldFingerprint), holdsValue(proof.Note, p.NewFingerprint):
		return p, fmt.Errorf("noting step %s: %w", p.Steps[i].Name(), errHoldsSecret)
	}
	p = p.copied()
	s := &p.Steps[i]
	note := strings.Join(slices.DeleteFunc([]string{proof.Note, s.Note}, func(s string) bool { return s == "" }), "; ")
	s.Done, s.By, s.At, s.Note = true, proof.By, now.UTC().Truncate(time.Millisecond), model.Line(note, maxNote)
	s.Status, s.Duration = proof.Status, proof.Duration
	if p.Now() < 0 {
		p.Ended = s.At
	}
	return p, nil
}

// RecordNewValue records the fingerprint of the new value, and the reference where it is held.
func (p RotationPlan) RecordNewValue(value Secret, held string) (RotationPlan, error) {
	switch {
	case p.Over():
		return p, errRotationOver
	case value.Fingerprint() == p.OldFingerprint:
		return p, fmt.Errorf("noting the new value: %w: it is the old one", errSecretUnusable)
	}
	if _, err := ParseRef(held); err != nil {
		return p, fmt.Errorf("noting where the new value is: %w", err)
	}
	p = p.copied()
	p.NewFingerprint, p.NewLast4, p.NewHeld = value.Fingerprint(), value.Last4(), held
	return p, nil
}

// checkSteps refuses a record if the console cannot have written it.
func checkSteps(p RotationPlan) error {
	kinds := []RotationStepKind{StepDrain, StepCreate, StepRefresh, StepSet, StepTest, StepDelete, StepRefused, StepWatch}
	if (p.Method == RotateByPassword) != (p.Zone != "" && !p.ByHand()) {
		return fmt.Errorf("method %q does not go with zone %q", p.Method, p.Zone)
	}
	last, finish := -1, slices.Index(kinds, StepDelete)
	for _, s := range p.Steps {
		i := slices.Index(kinds, s.Kind)
		// The steps of users that were found later (see With) come before StepDelete.
		late := last < finish && (s.Kind == StepDrain || s.Kind == StepSet || s.Kind == StepTest)
		if i <= last && !late {
			return fmt.Errorf("step %q is out of order, or there twice", s.Kind)
		}
		last = max(last, i)
	}
	if last < 0 {
		return errors.New("it has no steps")
	}
	if n := p.Now(); n >= 0 && slices.ContainsFunc(p.Steps[n:], func(s RotationStep) bool { return s.Done }) {
		return errors.New("a step is done before an earlier one")
	}
	return nil
}

// Proof is the evidence for a step in one line: "status 200 in 41ms, accepted".
func (s RotationStep) Proof() string {
	if s.Status == 0 {
		return s.Note
	}
	unit := time.Millisecond
	if s.Duration < unit { // never show 0s
		unit = time.Microsecond
	}
	out := fmt.Sprintf("status %d in %s", s.Status, s.Duration.Round(unit))
	if s.Note != "" {
		out += ", " + s.Note
	}
	return out
}
