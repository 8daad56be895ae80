package keystore

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"zonedeck/model"
)

// RotationStepKind names a step of a rotation.
type RotationStepKind string

// The steps of lists that were ticked by hand, as earlier versions wrote them. StepRefresh and
// StepDelete are steps of a rotation with proof, too.
const (
	StepReview  RotationStepKind = "review"  // blast radius: who uses the key
	StepPause   RotationStepKind = "pause"   // stop the users, for a refresh
	StepIssue   RotationStepKind = "issue"   // issue a new key in the account settings
	StepRefresh RotationStepKind = "refresh" // refresh the key in the account settings
	StepStore   RotationStepKind = "store"   // put the new value behind its reference
	StepProve   RotationStepKind = "prove"   // one call with the new value
	StepSwitch  RotationStepKind = "switch"  // point every user to the new key
	StepEach    RotationStepKind = "each"    // one call by every user
	StepDelete  RotationStepKind = "delete"  // delete the old key
)

// RotationMethod is how a key is rotated (service.md 5.4).
type RotationMethod string

// The methods: two of a key, one of a zone's password.
const (
	RotateByNewKey   RotationMethod = "new key"
	RotateByRefresh  RotationMethod = "refresh"
	RotateByPassword RotationMethod = "added password"
)

// What a caller may decide on when a step is not taken.
var (
	ErrStepOrder    = errors.New("an earlier step is not done")
	errRotationOver = errors.New("the rotation is over")
	errHoldsSecret  = errors.New("the text holds a key's value")
)

// By is how it is known that something was done.
type By string

// The console saw it, or a person says so.
const (
	Measured By = "measured"
	Vouched  By = "vouched"
)

// Label is "measured" or "vouched for".
func (b By) Label() string {
	if b == Measured {
		return "measured"
	}
	return "vouched for"
}

// RotationStep is one step of a rotation and what became of it.
type RotationStep struct {
	Kind RotationStepKind `json:"kind"`
	// Subject is what it is about: a job, a reference, a user; empty for the key itself.
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text"` // what to do
	Done    bool      `json:"done"`
	By      By        `json:"by,omitempty"` // empty in old records: Vouched
	At      time.Time `json:"at,omitzero"`  // when it was ticked (UTC)
	Note    string    `json:"note,omitempty"`
	// Status and Took are those of the call that proved it, if there was one.
	Status   int           `json:"status,omitempty"`
	Duration time.Duration `json:"took_ns,omitempty"`
}

// RotationUser is somebody or something that uses the key, from the blast radius.
type RotationUser struct {
	Name string `json:"name"` // such as "profile acme"
	// Ref is the reference that it takes the value from, File the file that holds the value
	// itself; neither where the console does not know.
	Ref  string `json:"ref,omitempty"`
	File string `json:"file,omitempty"`
	// Profile is the one whose service its calls are made to, Zone the zone; empty where that is
	// not known, and for a zone that the profile chooses.
	Profile string `json:"profile,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// Reason is why the console cannot make its call itself; empty where it can, or where nothing
	// more is known than that it cannot.
	Reason string `json:"why,omitempty"`
	// InFlight marks a job that was begun with the old key and had not ended.
	InFlight bool `json:"in_flight,omitempty"`

	// What lists that were ticked by hand say.
	Proved bool      `json:"proved,omitempty"` // a call of its own with the new value worked
	By     By        `json:"by,omitempty"`     // empty in old records: Vouched
	At     time.Time `json:"at,omitzero"`
}

// RotationPlan is the record of one rotation. It holds fingerprints, never
// values, so that it can be left, kept on disk and resumed. Its methods return a
// changed copy.
type RotationPlan struct {
	// Version is 2; records without it are lists that were ticked by hand.
	Version int    `json:"version,omitempty"`
	ID      string `json:"id"`
	Key     string `json:"key"`
	// Profile is the profile that the key comes with; empty for a key of the inventory.
	Profile string `json:"profile,omitempty"`
	// Zone is the zone whose proxy password is rotated, of an account, and ChangedBy the key by
	// which it is changed. All are empty for a key; Key names the password then.
	Zone      string         `json:"zone,omitempty"`
	Account   string         `json:"account,omitempty"`
	ChangedBy string         `json:"changed_by,omitempty"`
	Method    RotationMethod `json:"method"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended,omitzero"`
	// Abandoned says that it was ended before its last step, Undone that nothing of it is left;
	// of one that is not over, that it is being taken back.
	Abandoned bool           `json:"abandoned,omitempty"`
	Undone    bool           `json:"undone,omitempty"`
	Users     []RotationUser `json:"users"`
	Steps     []RotationStep `json:"steps"`
	// OldFingerprint and NewFingerprint recognise the values; NewLast4 and NewRef
	// (a reference, see Ref) say which one and where it is.
	OldFingerprint string `json:"old_fingerprint,omitempty"`
	NewFingerprint string `json:"new_fingerprint,omitempty"`
	NewLast4       string `json:"new_last4,omitempty"`
	NewRef         string `json:"new_ref,omitempty"`

	// Ref is the key's own reference when it began. OldName and NewName are the keys' names at
	// the service, empty where a person works the account settings. OldHeld and NewHeld are references to what
	// the rotation holds of the values until it is over; of the new one for longer, where nothing else can be written.
	Ref      string `json:"ref,omitempty"`
	OldLast4 string `json:"old_last4,omitempty"`
	// OldRotated is when the old value was made, as far as that was known.
	OldRotated time.Time `json:"old_rotated,omitzero"`
	Level      string    `json:"level,omitempty"` // of the key, and of its successor
	OldName    string    `json:"old_name,omitempty"`
	NewName    string    `json:"new_name,omitempty"`
	OldHeld    string    `json:"old_held,omitempty"`
	NewHeld    string    `json:"new_held,omitempty"`
	NewExpires string    `json:"new_expires,omitempty"` // as model.ParseExpiry reads it
	// NewLevel is what the new value's level was seen to be, where it is not the key's: a level, or
	// several that cannot be told apart ("OPS or LIMIT").
	NewLevel string `json:"new_level,omitempty"`
	// LastOld is when a call with the old value last worked, FirstNew when one with the new
	// value first did. The outage of a refresh ends when the last reference is set, too.
	LastOld  time.Time `json:"last_old,omitzero"`
	FirstNew time.Time `json:"first_new,omitzero"`
	// SetSeq and DeletedSeq are where the service's own journal stood when the references were
	// set and before the old key was deleted or refreshed, where there is one; OwnRefused counts the
	// rotation's own refused calls with the old value since the later of the two. OwnFrom is set while
	// one is under way. SetEntry and DeletedEntry are the times of the journal's entries of those
	// numbers: a journal that has other entries there was begun anew. OutageRefused counts the calls of others that were refused between a refresh
	// and the last reference set.
	SetSeq     uint64 `json:"set_seq,omitempty"`
	DeletedSeq uint64 `json:"deleted_seq,omitempty"`
	OwnRefused int    `json:"own_refused,omitempty"`
	OwnFrom    int    `json:"own_from,omitempty"`

	SetEntry      time.Time `json:"set_entry,omitzero"`
	DeletedEntry  time.Time `json:"deleted_entry,omitzero"`
	OutageRefused int       `json:"outage_refused,omitempty"`
}

// OfKey reports whether the record is a rotation with proof of the key that has a name, and comes
// with a profile or is of the inventory.
func (p RotationPlan) OfKey(profile, name string) bool {
	return p.Zone == "" && p.Key == name && p.Profile == profile && p.Proven()
}

// OfZone reports whether the record is a rotation of the password of an account's zone.
func (p RotationPlan) OfZone(account, zone string) bool {
	return p.Zone != "" && p.Zone == zone && p.Account == account
}

// Subject is what is rotated: "key etl-main", or "password of zone isp_demo".
func (p RotationPlan) Subject() string {
	if p.Zone != "" {
		return p.Key
	}
	return "key " + p.Key
}

// Named is what is rotated, in a sentence: "etl-main", or "the password of zone isp_demo".
func (p RotationPlan) Named() string {
	if p.Zone != "" {
		return "the " + p.Key
	}
	return p.Key
}

// Value is what is rotated, in a word: the value of a key, or a password.
func (p RotationPlan) Value() string {
	if p.Zone != "" {
		return "password"
	}
	return "value"
}

// Over reports whether the rotation was finished or abandoned.
func (p RotationPlan) Over() bool { return !p.Ended.IsZero() }

// Abandon ends the rotation as it is.
func (p RotationPlan) Abandon(now time.Time) (RotationPlan, error) {
	if p.Over() {
		return p, errRotationOver
	}
	p = p.copied()
	p.Ended, p.Abandoned = now.UTC().Truncate(time.Second), true
	return p, nil
}

// HasTakenOver reports whether calls are made with the new value: after storing a refreshed
// one, or after switching to a new key.
func (p RotationPlan) HasTakenOver() bool {
	if p.Proven() {
		return p.tookOver()
	}
	step := StepSwitch
	if p.Method == RotateByRefresh {
		step = StepStore
	}
	return slices.ContainsFunc(p.Steps, func(s RotationStep) bool { return s.Kind == step && s.Done })
}

// Renewed is the key with the rotation's new value. Its dates stay those of the old value until that one
// was seen refused: so long it lives, and comes due. Then the age counts from the step that made the new
// value; the expiry of a new key is not known where nothing was said of it. A level that the key does
// not say is the record's.
func (p RotationPlan) Renewed(k model.Key) model.Key {
	if refused, _ := p.Step(StepRefused, ""); refused.Done || !p.Proven() {
		p.dated(&k)
	} else if p.Method == RotateByRefresh && !p.OldRotated.IsZero() { // account settings show when it was refreshed
		k.Rotation.Last = p.OldRotated
	}
	if k.Level == model.LevelUnknown || p.NewLevel != "" {
		k.Level, _ = model.ParseLevel(cmp.Or(p.NewLevel, p.Level)) // what is not known is the zero value
	}
	k.Fingerprint, k.Last4 = p.NewFingerprint, p.NewLast4
	if p.NewRef != "" {
		k.Secret = p.NewRef
	}
	return k
}

// Shared is another record of the value that was rotated, once its own reference gives the new one: its name,
// level and duty are its own.
func (p RotationPlan) Shared(k model.Key) model.Key {
	renewed := p.Renewed(k)
	renewed.Secret, renewed.Level = k.Secret, k.Level
	return renewed
}

// dated gives a key the dates of the new value.
func (p RotationPlan) dated(k *model.Key) {
	for _, s := range p.Steps {
		if s.Kind == StepIssue || s.Kind == StepRefresh || s.Kind == StepCreate {
			k.Rotation.Last = s.At.Truncate(time.Second)
		}
	}
	if p.Method == RotateByNewKey {
		k.Created = k.Rotation.Last
		k.Expires, _ = model.ParseExpiry(p.NewExpires) // what is not known is the zero value
	}
	if p.Method == RotateByRefresh && p.NewExpires != "" {
		k.Expires, _ = model.ParseExpiry(p.NewExpires)
	}
}

// Count is how many steps are done, by how that is known.
func (p RotationPlan) Count() (measured, vouched int) {
	for _, s := range p.Steps {
		switch {
		case s.Done && s.By == Measured:
			measured++
		case s.Done:
			vouched++
		}
	}
	return measured, vouched
}

func (p RotationPlan) copied() RotationPlan {
	p.Users, p.Steps = slices.Clone(p.Users), slices.Clone(p.Steps)
	return p
}
