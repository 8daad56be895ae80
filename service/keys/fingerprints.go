package keys

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
)

// Only the fingerprint and the last four characters are kept of the values that were used or looked up.

// marks are the marks of the values behind references, as last resolved in this run.
type marks struct {
	mu     sync.Mutex
	values map[string]mark
	// rotating maps the fingerprints of rotations under way to the names of their keys.
	rotating map[string]string
	unknown  string               // why rotating may be incomplete, or empty
	sent     map[string]time.Time // when a use was last recorded, by profile, name and fingerprint
	ended    bool
	writing  sync.WaitGroup
}

type mark struct{ fingerprint, last4 string }

// note remembers the mark of a reference's value. fresh is false if the mark was known.
func (s *marks) note(ref string, value keystore.Secret) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := mark{value.Fingerprint(), value.Last4()}
	if s.values[ref] == now {
		return false
	}
	if s.values == nil {
		s.values = map[string]mark{}
	}
	s.values[ref] = now
	return true
}

// fill gives each key without a fingerprint that of the value seen behind its reference. A recorded
// fingerprint stays: it may be newer, from a rotation.
func (s *marks) fill(keys []model.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		if m, ok := s.values[k.Secret]; ok && k.Fingerprint == "" {
			keys[i].Fingerprint, keys[i].Last4 = m.fingerprint, m.last4
		}
	}
}

// belongs reports whether a fingerprint is known to belong to a key: from its record, from the value behind
// its reference, or from a rotation under way.
func (s *marks) belongs(k model.Key, fingerprint string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.Fingerprint == fingerprint || s.values[k.Secret].fingerprint == fingerprint || s.rotating[fingerprint] == k.Name
}

// notKnown says why the keys under rotation are not all known, or is empty.
func (s *marks) notKnown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}

// background runs f in the background. end waits for it.
func (s *marks) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.writing.Go(f)
	}
}

func (s *marks) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.writing.Wait()
}

// resolve returns the value of a reference. In the background it records the value's fingerprint for the
// keys with that reference.
func (ks *Keys) resolve(ctx context.Context, ref string) (keystore.Secret, error) {
	value, err := ks.cfg.Values.Resolve(ctx, ref)
	if err == nil && ks.marks.note(ref, value) {
		ctx := context.WithoutCancel(ctx)
		ks.marks.background(func() { ks.recordSeen(ctx, map[string]keystore.Secret{ref: value}) })
	}
	return value, err
}

// recordSeen writes the fingerprints of values, by their references, into the inventory in one write. It does
// not if the profile is read-only, and leaves out references that a rotation holds.
func (ks *Keys) recordSeen(ctx context.Context, values map[string]keystore.Secret) {
	behind, news := map[string]keystore.Ref{}, map[string]keystore.Secret{}
	for _, k := range ks.inventory.List() {
		value, ok := values[k.Secret]
		if !ok || k.Fingerprint == value.Fingerprint() {
			continue
		}
		if _, known := news[k.Secret]; known || heldByRotation(ks.rotations(), k.Secret) == "" {
			news[k.Secret], behind[k.Name] = value, keystore.Ref(k.Secret)
		}
	}
	if len(news) == 0 || ks.cfg.Profiles.Refuse(changeKeys) != nil {
		return
	}
	rotated, err := ks.inventory.RecordSeen(ctx, news)
	if err != nil {
		ks.cfg.Log.Warn("the fingerprints of keys were not recorded", "keys", len(behind), "error", err)
	}
	for _, name := range rotated {
		ref := behind[name]
		ks.putKeyEvent(ctx, name, "changed", ref.Label()+" gives another value than before (••••"+news[string(ref)].Last4()+"): its age is not known")
	}
}

// lookForKeyOf collects the marks that show which recorded key the environment's value is, as far as that is
// cheap: from variables, from the encrypted files of ADMIN keys, and from rotations. Nothing is written.
func (ks *Keys) lookForKeyOf(ctx context.Context, recorded []model.Key) {
	if ks.cfg.Emulator != nil || ks.cfg.Env.Getenv(config.EnvKey) == "" {
		return
	}
	for _, k := range recorded {
		scheme := keystore.Ref(k.Secret).Scheme()
		if scheme != keystore.SchemeEnv && (scheme != keystore.SchemeFile || k.Level != model.LevelAdmin) {
			continue
		}
		if value, err := ks.cfg.Resolver.Resolve(ask.By(ctx, ask.Nobody), k.Secret); err == nil {
			ks.marks.note(k.Secret, value)
		}
	}
	plans, err := ks.rotations().List()
	ks.marks.mu.Lock()
	defer ks.marks.mu.Unlock()
	if err != nil {
		ks.marks.unknown = fmt.Sprintf("the key of %s may be under rotation: %v", config.EnvKey, err)
	}
	ks.marks.rotating = map[string]string{}
	for _, p := range plans {
		if p.Profile == "" && !p.Over() {
			ks.marks.rotating[p.OldFingerprint], ks.marks.rotating[p.NewFingerprint] = p.Key, p.Key
		}
	}
}

// lookedUpAtOnce limits how many references are resolved at the same time.
const lookedUpAtOnce = 8

// LookUp resolves the references of all keys in the inventory. Then their present values can be
// recognised in files and behind each other's references. It asks nobody for a passphrase, and leaves
// alone the command or keyring that guards an ADMIN key. It returns the keys whose values are still
// not known. The error is that of ctx.
func (v Inventory) LookUp(ctx context.Context) (unknown []string, err error) {
	var all errgroup.Group
	all.SetLimit(lookedUpAtOnce)
	var mu sync.Mutex
	refs, values := map[string]bool{}, map[string]keystore.Secret{}
	for _, k := range v.Inventory.List() {
		if !v.ks.mayLookUp(k) || refs[k.Secret] {
			continue
		}
		refs[k.Secret] = true
		all.Go(func() error {
			if value, err := v.ks.cfg.Resolver.Resolve(ask.By(ctx, ask.Nobody), k.Secret); err == nil {
				v.ks.marks.note(k.Secret, value)
				mu.Lock()
				defer mu.Unlock()
				values[k.Secret] = value
			}
			return nil
		})
	}
	_ = all.Wait() // keys that gave no value are among the unknown
	v.ks.recordSeen(ctx, values)
	for _, k := range v.Recorded() {
		if k.Secret != "" && k.Fingerprint == "" {
			unknown = append(unknown, k.Name)
		}
	}
	return unknown, ctx.Err()
}

// mayLookUp reports whether a key's value may be read just to recognise it.
func (ks *Keys) mayLookUp(k model.Key) bool {
	switch keystore.Ref(k.Secret).Scheme() {
	case keystore.SchemeEnv, keystore.SchemeFile:
		return true
	case keystore.SchemeCmd, keystore.SchemeKeyring:
		_, guarded := keystore.CheckUnattended(k, ks.cfg.Clock.Now())
		return !guarded
	default:
		return false
	}
}

// NotRecognised says which keys a scan cannot recognise; empty if there are none.
func NotRecognised(unknown []string) string {
	const most = 3
	switch n := len(unknown); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("the values of %s and %d more are not known here: files that hold them are not recognised", strings.Join(unknown[:most], ", "), n-most)
	case n > 1:
		return fmt.Sprintf("the values of %s are not known here: files that hold them are not recognised", strings.Join(unknown, ", "))
	default:
		return fmt.Sprintf("the value of %s is not known here: files that hold it are not recognised", unknown[0])
	}
}
