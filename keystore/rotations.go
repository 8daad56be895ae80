package keystore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
)

// The errors of Rotations that callers may check for.
var (
	errNoRotation  = errors.New("no such rotation")
	ErrRotationNow = errors.New("it is already being rotated")
	// errRotationSize: the record would be too large to be read again. Nothing is written.
	errRotationSize = errors.New("the record of the rotation would be too large")
	// ErrRotationFile: a record on disk cannot be read. It stays as it is.
	ErrRotationFile = errors.New("rotation record cannot be read")
)

// Rotations keeps the records of rotations in a folder, one JSON file each (0600).
type Rotations struct {
	dir string
	max int // of a record, in bytes; only tests lower it
}

// OpenRotations uses the records in a folder. The first record creates the folder.
func OpenRotations(dir string) *Rotations { return &Rotations{dir, maxRotation} }

// The limits of one record, in bytes: the largest that is read, and the space that a new record keeps free
// for the growth of each step and for what is found later. A step grows by its note; JSON escapes may make
// that six times as long.
const (
	maxRotation = 16 << 20
	stepGrowth  = 6*maxNote + 1<<10
	spareGrowth = 1 << 20
)

// List is every record, newest first. A record that cannot be read is left out and
// named in the error, which wraps ErrRotationFile; the others are still returned.
func (r *Rotations) List() ([]RotationPlan, error) {
	return r.list(func(string) bool { return true })
}

// ForKey is List of the records that may belong to a key, or to a password as PlanPassword names it.
func (r *Rotations) ForKey(key string) ([]RotationPlan, error) {
	return r.list(func(id string) bool { return mayBeOf(id, key) })
}

// Naming is List of the records that may name one of these: it is in them, or they are no JSON.
func (r *Rotations) Naming(names ...string) ([]RotationPlan, error) {
	return r.list(func(id string) bool {
		var record any
		path, _ := r.file(id)
		b, err := textfile.ReadBounded(path, int64(r.max))
		if err != nil || json.Unmarshal(b, &record) != nil {
			return true
		}
		before, after := RotationPlan{ID: id}.References() // values may be there before the record says so
		known, _ := json.Marshal([]any{record, before, after})
		return slices.ContainsFunc(names, func(name string) bool {
			quoted, _ := json.Marshal(name)
			return name != "" && bytes.Contains(known, quoted)
		})
	})
}

// list is List of the records whose ids fit.
func (r *Rotations) list(of func(id string) bool) ([]RotationPlan, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing rotations: %w", err)
	}
	var out []RotationPlan
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !isFileName(id) || !of(id) || !e.Type().IsRegular() {
			continue
		}
		p, err := r.Get(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b RotationPlan) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
	})
	return out, errors.Join(errs...)
}

// Running finds the rotation of a key that is under way. profile is the profile that the key comes with; empty for a key of the inventory. Records
// whose ids belong to other keys are not read, and cause no error.
func (r *Rotations) Running(profile, key string) (RotationPlan, bool, error) {
	plans, err := r.ForKey(key)
	for _, p := range plans {
		if p.OfKey(profile, key) && !p.Over() {
			return p, true, err
		}
	}
	return RotationPlan{}, false, err
}

// alreadyRunning reports whether a rotation of the same key or password is already under way; see Running.
func (r *Rotations) alreadyRunning(p RotationPlan) (running bool, err error) {
	if p.Zone == "" {
		_, running, err = r.Running(p.Profile, p.Key)
		return running, err
	}
	plans, err := r.ForKey(p.Key)
	return slices.ContainsFunc(plans, func(o RotationPlan) bool { return o.OfZone(p.Account, p.Zone) && !o.Over() }), err
}

// Get reads one record. Errors wrap errNoRotation or ErrRotationFile.
func (r *Rotations) Get(id string) (RotationPlan, error) {
	path, err := r.file(id)
	if err != nil {
		return RotationPlan{}, err
	}
	b, err := textfile.ReadBounded(path, int64(r.max))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return RotationPlan{}, fmt.Errorf("%w: %s", errNoRotation, id)
	case err != nil:
		return RotationPlan{}, fmt.Errorf("%w: %w", ErrRotationFile, err)
	}
	p, err := decodeRotation(b)
	if err == nil && p.ID != id {
		err = errors.New("its id is not the file's name")
	}
	if err != nil {
		return RotationPlan{}, fmt.Errorf("%w: %s: %w", ErrRotationFile, path, err)
	}
	return p, nil
}

// decodeRotation reads a record strictly. It refuses a later format, because writing it back
// would lose its new fields. It also refuses steps that are out of order: the console enforces their order.
func decodeRotation(b []byte) (RotationPlan, error) {
	var p RotationPlan
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return RotationPlan{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return RotationPlan{}, errors.New("something follows the record")
	}
	if p.Method != RotateByNewKey && p.Method != RotateByRefresh && p.Method != RotateByPassword {
		return RotationPlan{}, fmt.Errorf("unknown method %q", p.Method)
	}
	if p.Version != rotationVersion {
		return RotationPlan{}, fmt.Errorf("this console does not know version %d: move the file away", p.Version)
	}
	if err := checkSteps(p); err != nil {
		return RotationPlan{}, err
	}
	for _, s := range p.Steps {
		if s.By != "" && s.By != Measured && s.By != Vouched {
			return RotationPlan{}, fmt.Errorf("the evidence of a step is %q, expected %s or %s", s.By, Measured, Vouched)
		}
	}
	return p, nil
}

// Start writes the record of a new plan. The error wraps ErrRotationNow if the key or
// password is already being rotated, and errRotationSize if the record might become too
// large to read.
func (r *Rotations) Start(ctx context.Context, p RotationPlan) error {
	return r.locked(ctx, "starting the rotation of "+p.Key, func() error {
		if running, err := r.alreadyRunning(p); err != nil {
			return err
		} else if running {
			return ErrRotationNow
		}
		if _, err := r.Get(p.ID); !errors.Is(err, errNoRotation) {
			return fmt.Errorf("%w: it began at the same moment", ErrRotationNow)
		}
		return r.write(p, len(p.Steps)*stepGrowth+spareGrowth)
	})
}

// Update changes the plan that is on disk now, and returns the changed plan.
func (r *Rotations) Update(ctx context.Context, id string, f func(RotationPlan) (RotationPlan, error)) (RotationPlan, error) {
	var after RotationPlan
	err := r.locked(ctx, "recording rotation "+id, func() error {
		before, err := r.Get(id)
		if err != nil {
			return err
		}
		after, err = f(before)
		if err != nil {
			return err
		}
		after.ID = before.ID
		return r.write(after, 0)
	})
	return after, err
}

// Forget removes the records of the keys that come with a profile, and counts them. The records
// of the inventory's keys stay: they name no profile.
func (r *Rotations) Forget(ctx context.Context, profile string) (n int, err error) {
	if profile == "" {
		return 0, errors.New("forgetting rotations: no profile is named")
	}
	err = r.locked(ctx, "forgetting the rotations of profile "+profile, func() error {
		plans, err := r.List()
		for _, p := range plans {
			if p.Profile != profile {
				continue
			}
			path, _ := r.file(p.ID) // List has read it
			if gone := os.Remove(path); gone != nil {
				err = errors.Join(err, gone)
				continue
			}
			n++
		}
		return err
	})
	return n, err
}

func (r *Rotations) locked(ctx context.Context, doing string, f func() error) error {
	unlock, err := textfile.Lock(ctx, filepath.Join(r.dir, "rotations"))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer unlock()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// write writes a record that may still grow by so many bytes.
func (r *Rotations) write(p RotationPlan, growth int) error {
	path, err := r.file(p.ID)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if len(b)+1+growth > r.max {
		return fmt.Errorf("%w: %d uses and %d steps; look through fewer folders", errRotationSize, len(p.Users), len(p.Steps))
	}
	return textfile.Write(path, append(b, '\n'))
}

// file is the path of a record. No id leads out of the folder.
func (r *Rotations) file(id string) (string, error) {
	if !isFileName(id) {
		return "", fmt.Errorf("%w: %q", errNoRotation, id)
	}
	return filepath.Join(r.dir, id+".json"), nil
}

// Unfinished finds the last unfinished rotation of a key: one that is under way, or that was given up after
// it had made a new value. A later rotation that was completed settles it. plans come newest first. profile
// is the profile that the key comes with; empty for a key of the inventory.
func Unfinished(plans []RotationPlan) func(profile, key string) (RotationPlan, bool) {
	left, settled := map[[2]string]RotationPlan{}, map[[2]string]bool{}
	for _, p := range plans {
		id := [2]string{p.Profile, p.Key}
		if settled[id] || !p.OfKey(p.Profile, p.Key) {
			continue
		}
		unfinished := p.UnfinishedWord() != ""
		if unfinished {
			left[id] = p
		}
		settled[id] = unfinished || !p.Abandoned
	}
	return func(profile, key string) (RotationPlan, bool) {
		p, ok := left[[2]string{profile, key}]
		return p, ok
	}
}

// UnfinishedWord is "rotating" while the rotation of a key is under way, "given up" if it was abandoned with
// a new value and the old one was not seen to end, and else empty.
func (p RotationPlan) UnfinishedWord() string {
	deleted, _ := p.Step(StepDelete, "")
	refused, _ := p.Step(StepRefused, "")
	switch {
	case p.ID == "" || p.Zone != "" || p.Undone:
		return ""
	case !p.Over():
		return "rotating"
	case p.Abandoned && p.renewedValue() && !deleted.Done && !refused.Done:
		return "given up"
	}
	return ""
}

// renewedValue reports whether the service was seen to accept the new value.
func (p RotationPlan) renewedValue() bool {
	return slices.ContainsFunc(p.Steps, func(s RotationStep) bool { return s.Done && (s.Kind == StepCreate || s.Kind == StepRefresh) })
}

// UnfinishedState is "rotating 3 of 9", or "given up, two values valid".
func (p RotationPlan) UnfinishedState() string {
	switch word := p.UnfinishedWord(); {
	case word == "":
		return ""
	case !p.Over():
		measured, vouched := p.Count()
		return fmt.Sprintf("%s %d of %d", word, measured+vouched, len(p.Steps))
	case p.Method == RotateByRefresh:
		return word + " after a refresh"
	default:
		return word + ", two values valid"
	}
}
