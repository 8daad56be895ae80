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

// The steps of a rotation. A refresh has StepRefresh instead of StepCreate, and no StepDelete.
const (
	StepDrain   RotationStepKind = "drain"   // a job in flight has ended, or was released
	StepCreate  RotationStepKind = "create"  // a new key exists and is accepted
	StepRefresh RotationStepKind = "refresh" // the key has a new value, which is accepted
	StepSet     RotationStepKind = "set"     // a reference gives the new value
	StepTest    RotationStepKind = "test"    // one user's call with the new value works
	StepDelete  RotationStepKind = "delete"  // the old key is deleted
	StepRefused RotationStepKind = "refused" // a call with the old value is refused
	StepWatch   RotationStepKind = "watch"   // no other call was refused since
)

// RotationMethod is how a key is rotated (service.md 5.4).
type RotationMethod string

// The methods: two for a key, one for a zone's password.
const (
	RotateByNewKey   RotationMethod = "new key"
	RotateByRefresh  RotationMethod = "refresh"
	RotateByPassword RotationMethod = "added password"
)

// The errors when a step is not taken.
var (
	ErrStepOrder    = errors.New("an earlier step is not done")
	errRotationOver = errors.New("the rotation is over")
	errHoldsSecret  = errors.New("the text holds a key's value")
)

// By says how the console knows that a step was done.
type By string

// The kinds of evidence.
const (
	Measured By = "measured" // the console saw it
	Vouched  By = "vouched"  // a person says so
)

// Label is "measured", or "vouched by the operator, not measured".
func (b By) Label() string {
	if b == Measured {
		return "measured"
	}
	return "vouched by the operator, not measured"
}

// RotationStep is one step of a rotation and its result.
type RotationStep struct {
	Kind RotationStepKind `json:"kind"`
	// Subject is a job, a reference, a file or a user; empty for the key itself.
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text"` // what to do
	Done    bool      `json:"done"`
	By      By        `json:"by,omitempty"`
	At      time.Time `json:"at,omitzero"` // when it was ticked (UTC)
	Note    string    `json:"note,omitempty"`
	// Status and Duration are those of the call that proved the step, if there was one.
	Status   int           `json:"status,omitempty"`
	Duration time.Duration `json:"took_ns,omitempty"`
}

// RotationUser is a person or program that uses the key: a part of the blast radius.
type RotationUser struct {
	Name string `json:"name"` // such as "profile acme"
	// Ref is the reference that gives it the value, File the file that holds the value itself.
	// Both are empty if the console does not know.
	Ref  string `json:"ref,omitempty"`
	File string `json:"file,omitempty"`
	// Profile is the profile whose service its calls go to; empty if that is not known. Zone is
	// their zone; empty if it is not known or the profile chooses it.
	Profile string `json:"profile,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// Reason is why the console cannot make its call itself; empty if it can, or if the reason is
	// not known.
	Reason string `json:"why,omitempty"`
	// InFlight marks a job that was started with the old key and has not ended.
	InFlight bool `json:"in_flight,omitempty"`
}

// RotationPlan is the record of one rotation, from which it can be resumed. It holds
// fingerprints, never values. Methods that change it return a changed copy.
type RotationPlan struct {
	// Version is rotationVersion.
	Version int    `json:"version,omitempty"`
	ID      string `json:"id"`
	Key     string `json:"key"`
	// Profile is the profile that the key comes with; empty for a key of the inventory.
	Profile string `json:"profile,omitempty"`
	// Zone and Account are those of the proxy password that is rotated, and ChangedBy is the key that
	// changes it. All are empty in the rotation of a key. In that of a password, Key names the password.
	Zone      string         `json:"zone,omitempty"`
	Account   string         `json:"account,omitempty"`
	ChangedBy string         `json:"changed_by,omitempty"`
	Method    RotationMethod `json:"method"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended,omitzero"`
	// Abandoned says that the rotation was ended before its last step. Undone says that it was taken
	// back, or is being taken back if it is not over.
	Abandoned bool           `json:"abandoned,omitempty"`
	Undone    bool           `json:"undone,omitempty"`
	Users     []RotationUser `json:"users"`
	Steps     []RotationStep `json:"steps"`
	// OldFingerprint and NewFingerprint identify the values. NewRef is where the key's new value is.
	OldFingerprint string `json:"old_fingerprint,omitempty"`
	NewFingerprint string `json:"new_fingerprint,omitempty"`
	NewLast4       string `json:"new_last4,omitempty"`
	NewRef         string `json:"new_ref,omitempty"`

	// Ref is the key's own reference when the rotation began. OldName and NewName are the keys' names at the
	// service; empty if a person works the account settings. OldHeld and NewHeld are references where the rotation
	// keeps the values until it is over. The new value stays longer if no other reference can be written.
	Ref      string `json:"ref,omitempty"`
	OldLast4 string `json:"old_last4,omitempty"`
	// OldRotated is when the old value was made; zero if that was not known.
	OldRotated time.Time `json:"old_rotated,omitzero"`
	Level      string    `json:"level,omitempty"` // of the key and its successor
	OldName    string    `json:"old_name,omitempty"`
	NewName    string    `json:"new_name,omitempty"`
	OldHeld    string    `json:"old_held,omitempty"`
	NewHeld    string    `json:"new_held,omitempty"`
	NewExpires string    `json:"new_expires,omitempty"` // as model.ParseExpiry reads it
	// NewLevel is the measured level of the new value if it is not the key's: one level, or several
	// that cannot be told apart ("OPS or LIMIT").
	NewLevel string `json:"new_level,omitempty"`
	// LastOld is when a call with the old value last worked, FirstNew when one with the new value
	// first worked. The outage of a refresh lasts until FirstNew and until the last reference is set.
	LastOld  time.Time `json:"last_old,omitzero"`
	FirstNew time.Time `json:"first_new,omitzero"`
	// SetSeq and DeletedSeq are the last entry numbers of the service's journal, if it has one: when the
	// references were set, and before the old key was deleted or refreshed. SetEntry and DeletedEntry are
	// the times of those entries; if the journal has other times there, it was begun anew. OwnRefused counts
	// the rotation's own refused calls with the old value since the later of the two. OwnFrom is set while
	// such a call is under way. OutageRefused counts the calls of others that were refused between a
	// refresh and the last reference set.
	SetSeq     uint64 `json:"set_seq,omitempty"`
	DeletedSeq uint64 `json:"deleted_seq,omitempty"`
	OwnRefused int    `json:"own_refused,omitempty"`
	OwnFrom    int    `json:"own_from,omitempty"`

	SetEntry      time.Time `json:"set_entry,omitzero"`
	DeletedEntry  time.Time `json:"deleted_entry,omitzero"`
	OutageRefused int       `json:"outage_refused,omitempty"`
}

// OfKey reports whether the record is a rotation of this key. profile is the profile that
// the key comes with; empty for a key of the inventory.
func (p RotationPlan) OfKey(profile, name string) bool {
	return p.Zone == "" && p.Key == name && p.Profile == profile
}

// OfZone reports whether the record is a rotation of the password of this zone.
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

// Value is "value" for a key, or "password".
func (p RotationPlan) Value() string {
	if p.Zone != "" {
		return "password"
	}
	return "value"
}

// ByHand reports whether a person regenerates the password of a zone, because no call that is known changes it. The old
// one then ends at once (service.md 2.2, 3).
func (p RotationPlan) ByHand() bool { return p.Zone != "" && p.Method == RotateByRefresh }

// Over reports whether the rotation was finished or abandoned.
func (p RotationPlan) Over() bool { return !p.Ended.IsZero() }

// Abandon ends the rotation before its last step.
func (p RotationPlan) Abandon(now time.Time) (RotationPlan, error) {
	if p.Over() {
		return p, errRotationOver
	}
	p = p.copied()
	p.Ended, p.Abandoned = now.UTC().Truncate(time.Second), true
	return p, nil
}

// HasTakenOver reports whether calls are made with the new value: the key's own reference is set, or every place
// if it has none.
func (p RotationPlan) HasTakenOver() bool {
	if s, ok := p.Step(StepSet, p.Ref); ok {
		return s.Done
	}
	n := p.Now()
	return n < 0 || p.Steps[n].Kind.Word() != WordCreate && p.Steps[n].Kind.Word() != WordSet
}

// Rotated is the key with the rotation's new value. It keeps the dates of the old value until that value was
// seen refused: until then the old value lives and comes due. After that the age counts from the step that
// made the new value, and a new key has the expiry of the record, which may be unknown. If the key has no
// level, or another level was measured, it gets the level of the record.
func (p RotationPlan) Rotated(k model.Key) model.Key {
	if refused, _ := p.Step(StepRefused, ""); refused.Done {
		p.dated(&k)
	} else if p.Method == RotateByRefresh && !p.OldRotated.IsZero() { // the account settings may show the refresh already
		k.Rotation.Last = p.OldRotated
	}
	if k.Level == model.LevelUnknown || p.NewLevel != "" {
		k.Level, _ = model.ParseLevel(cmp.Or(p.NewLevel, p.Level)) // the zero value means unknown
	}
	k.Fingerprint, k.Last4 = p.NewFingerprint, p.NewLast4
	if p.NewRef != "" {
		k.Secret = p.NewRef
	}
	return k
}

// Shared is Rotated for another record of the same value, whose own reference gives the new value. It keeps its
// name, level, duty and reference.
func (p RotationPlan) Shared(k model.Key) model.Key {
	renewed := p.Rotated(k)
	renewed.Secret, renewed.Level = k.Secret, k.Level
	return renewed
}

// dated gives a key the dates of the new value.
func (p RotationPlan) dated(k *model.Key) {
	for _, s := range p.Steps {
		if s.Kind == StepRefresh || s.Kind == StepCreate {
			k.Rotation.Last = s.At.Truncate(time.Second)
		}
	}
	if p.Method == RotateByNewKey {
		k.Created = k.Rotation.Last
		k.Expires, _ = model.ParseExpiry(p.NewExpires) // the zero value means unknown
	}
	if p.Method == RotateByRefresh && p.NewExpires != "" {
		k.Expires, _ = model.ParseExpiry(p.NewExpires)
	}
}

// Count counts the steps that are done: those measured, and those vouched for.
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
