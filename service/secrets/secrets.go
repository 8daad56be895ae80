package secrets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
)

// Files are what Uses reads and Migrate changes. All fields but Jobs must be set.
type Files struct {
	Config  string
	Journal string // of a migration under way
	Keys    *keystore.Inventory
	Store   Store
	// Jobs has the references of the ledger; nil where there is none.
	Jobs  Jobs
	Guard Guard

	step func(name string) // for tests: called after each step
}

// Guard says why the secret behind a reference cannot be moved or removed now, or is nil: a rotation holds it, or a
// read-only profile.
type Guard interface {
	Busy(ref string) error
}

// Store is the part of keystore.Resolver that is used.
type Store interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	Store(ctx context.Context, ref string, s keystore.Secret) error
	Remove(ctx context.Context, ref string) error
	RemoveIf(ctx context.Context, ref string, value keystore.Secret) error
}

// Jobs are the references in what the jobs of the ledger asked for.
type Jobs interface {
	AuthUses(ctx context.Context) ([]model.AuthUse, error)
	SwitchAuth(ctx context.Context, from, to string) error
}

// Use is a reference and what refers to it, a phrase each.
type Use struct {
	Ref  string
	Uses []string
	// Past says that nothing refers to it but jobs that have ended: only to launch one of them again needs it.
	Past bool
}

// Uses lists every reference of the configuration, of the inventory and of the ledger, in their order. Where the ledger cannot
// be read the others are returned with the error.
func Uses(ctx context.Context, f Files) ([]Use, error) {
	file, err := config.Load(f.Config)
	if err != nil {
		return nil, err
	}
	if err := f.Keys.Read(); err != nil {
		return nil, err
	}
	var out []Use
	at := map[string]int{}
	add := func(ref, what string) {
		if _, err := keystore.ParseRef(ref); err != nil {
			return
		}
		i, there := at[ref]
		if !there {
			i, out = len(out), append(out, Use{Ref: ref})
			at[ref] = i
		}
		out[i].Uses = append(out[i].Uses, what)
	}
	for _, k := range f.Keys.List() {
		add(k.Secret, "key "+k.Name)
	}
	for _, v := range file.Webhook().Verify {
		add(v.Secret, "webhooks, verified by "+v.Kind)
	}
	for _, name := range file.Names() {
		p, err := file.Profile(name)
		if err != nil {
			return nil, err
		}
		for _, z := range p.Zones {
			add(z.Password, "profile "+name+", zone "+string(z.Name))
		}
		for _, v := range slices.Sorted(maps.Keys(p.Variables)) {
			add(p.Variables[v], "profile "+name+", variable "+v)
		}
	}
	if f.Jobs == nil {
		return out, nil
	}
	all, err := f.Jobs.AuthUses(ctx)
	if err != nil {
		return out, fmt.Errorf("it is not known what the jobs of the ledger refer to: %w", err)
	}
	for _, ref := range slices.Compact(refsOf(all)) {
		phrase, ended := ofJobs(ref, all)
		_, there := at[ref]
		add(ref, phrase)
		if i, ok := at[ref]; ok && !there {
			out[i].Past = ended
		}
	}
	return out, nil
}

// refsOf are the references of jobs, sorted.
func refsOf(all []model.AuthUse) []string {
	out := make([]string, 0, len(all))
	for _, u := range all {
		out = append(out, u.Ref)
	}
	slices.Sort(out)
	return out
}

// namedJobs is how many jobs a phrase names.
const namedJobs = 3

// ofJobs says which jobs have a reference, those that have not ended first, and whether all have.
func ofJobs(ref string, all []model.AuthUse) (phrase string, ended bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(u model.AuthUse) bool { return u.Ref != ref })
	slices.SortStableFunc(all, func(a, b model.AuthUse) int {
		switch {
		case a.State.Final() == b.State.Final():
			return 0
		case a.State.Final():
			return 1
		default:
			return -1
		}
	})
	var names []string
	for _, u := range all[:min(len(all), namedJobs)] {
		names = append(names, u.Job+" ("+u.State.Label()+")")
	}
	phrase = strings.Join(names, ", ")
	if more := len(all) - namedJobs; more > 0 {
		phrase += fmt.Sprintf(" and %d more", more)
	}
	return phrase + ": Authorization header of its delivery", all[0].State.Final()
}

// Set puts a value behind a keyring: or file: reference, reads it back, and records the new
// fingerprint at the keys that refer to it. What is no key is not put behind a key's reference: keystore.ErrKeyValue.
func Set(ctx context.Context, f Files, ref string, value keystore.Secret) error {
	if slices.ContainsFunc(f.Keys.List(), func(k model.Key) bool { return k.Secret == ref }) {
		if err := keystore.CheckKeyValue(value); err != nil {
			return err
		}
	}
	if err := f.Store.Store(ctx, ref, value); err != nil {
		return err
	}
	if err := readBack(ctx, f, ref, value); err != nil {
		return err
	}
	_, err := f.Keys.RecordSeen(ctx, map[string]keystore.Secret{ref: value})
	return err
}

func readBack(ctx context.Context, f Files, ref string, value keystore.Secret) error {
	got, err := f.Store.Resolve(ctx, ref)
	if err == nil && !got.Equal(value) {
		err = errors.New("it gives another value than was stored")
	}
	if err != nil {
		return fmt.Errorf("reading %s back: %w", keystore.Ref(ref).Label(), err)
	}
	return nil
}

// UsedError refuses to remove what is needed.
type UsedError struct {
	Ref    string
	Reason string
}

func (e *UsedError) Error() string {
	return keystore.Ref(e.Ref).Label() + " stays: " + e.Reason
}

// Remove deletes the value behind a keyring: or file: reference that nothing refers to but jobs that have ended, like one that
// an abandoned rotation left. The errors are a *UsedError, keystore.ErrSecretMissing where there is
// nothing, and those of the store.
func Remove(ctx context.Context, f Files, ref string) error {
	unlock, err := textfile.Lock(ctx, f.Journal)
	if err != nil {
		return fmt.Errorf("a migration is under way: %w", err)
	}
	defer unlock()
	uses, err := Uses(ctx, f)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(uses, func(u Use) bool { return u.Ref == ref && !u.Past }); i >= 0 {
		return &UsedError{ref, "it is used by " + strings.Join(uses[i].Uses, "; ")}
	}
	if why := f.Guard.Busy(ref); why != nil {
		return &UsedError{ref, why.Error()}
	}
	if _, err := f.Store.Resolve(ctx, ref); errors.Is(err, keystore.ErrSecretMissing) {
		return err
	}
	return f.Store.Remove(ctx, ref)
}

// Move is one secret on its way from a reference to another.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Deletes says that the old one is deleted at the end: the console can do that.
	Deletes bool `json:"deletes"`
	Done    bool `json:"done"`
}

// journal is a migration under way. It holds no secret.
type journal struct {
	Version int    `json:"version"`
	Moves   []Move `json:"moves"`
}

// ErrNothing says that there is nothing to move.
var ErrNothing = errors.New("nothing is to be moved")

// Migrate moves secrets into a store, "keyring" or "file": those behind refs or, without any, all
// that are in the console's other store. A migration that was left unfinished goes on first, with
// the moves that it had; refs and to are then ignored. on receives each move once it is done; it
// may be nil. When a move fails, both references still give the secret, or the old one alone, and
// the same call goes on later.
func Migrate(ctx context.Context, f Files, to string, refs []string, on func(Move)) ([]Move, error) {
	if on == nil {
		on = func(Move) {}
	}
	unlock, err := textfile.Lock(ctx, f.Journal)
	if err != nil {
		return nil, fmt.Errorf("another migration is under way: %w", err)
	}
	defer unlock()
	j, err := readJournal(f.Journal)
	if errors.Is(err, fs.ErrNotExist) {
		if j, err = plan(ctx, f, to, refs); err == nil {
			err = writeJournal(f.Journal, j)
			f.stepDone("planned")
		}
	}
	if err != nil {
		return nil, err
	}
	for i, m := range j.Moves {
		if !m.Done {
			if err := move(ctx, f, m); err != nil {
				return j.Moves, fmt.Errorf("moving %s to %s: %w", keystore.Ref(m.From).Label(), m.To, err)
			}
			j.Moves[i].Done = true
			if err := writeJournal(f.Journal, j); err != nil {
				return j.Moves, err
			}
			f.stepDone("noted")
		}
		on(j.Moves[i])
	}
	if err := os.Remove(f.Journal); err != nil {
		return j.Moves, err
	}
	f.stepDone("ended")
	return j.Moves, nil
}

func (f Files) stepDone(step string) {
	if f.step != nil {
		f.step(step)
	}
}

func readJournal(path string) (journal, error) {
	b, err := textfile.ReadBounded(path, 1<<20)
	if err != nil {
		return journal{}, err
	}
	var j journal
	if err := json.Unmarshal(b, &j); err != nil || j.Version != 1 {
		return j, fmt.Errorf("%s does not hold a migration: look at it before you move it away", path)
	}
	for _, m := range j.Moves {
		_, err := keystore.ParseRef(m.From)
		if _, toErr := keystore.ParseRef(m.To); err != nil || toErr != nil || !keystore.Ref(m.To).Storable() {
			return j, fmt.Errorf("%s does not hold a migration: %w", path, cmp.Or(err, toErr, keystore.ErrNotStorable))
		}
	}
	return j, nil
}

func writeJournal(path string, j journal) error {
	b, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return textfile.Write(path, append(b, '\n'))
}

// plan decides what is moved where. Nothing is written.
func plan(ctx context.Context, f Files, to string, refs []string) (journal, error) {
	if stores := keystore.StoreSchemes(); !slices.Contains(stores, to) {
		return journal{}, fmt.Errorf("%q takes no secrets: %s do", to, strings.Join(stores, " and "))
	}
	uses, err := Uses(ctx, f)
	if err != nil {
		return journal{}, err
	}
	j := journal{Version: 1}
	for _, u := range uses {
		from := keystore.Ref(u.Ref)
		wanted := slices.Contains(refs, u.Ref) || len(refs) == 0 && from.Storable()
		if !wanted || from.Scheme() == to || from.Scheme() == keystore.SchemeDemo {
			continue
		}
		if err := f.Guard.Busy(u.Ref); err != nil {
			return j, fmt.Errorf("%s cannot be moved now: %w", from.Label(), err)
		}
		m := Move{From: u.Ref, To: target(from, u, to), Deletes: from.Storable()}
		value, err := f.Store.Resolve(ctx, m.From)
		if u.Past && len(refs) == 0 && errors.Is(err, keystore.ErrSecretMissing) {
			continue // it was removed after its jobs
		}
		if err != nil {
			return j, err
		}
		there, err := f.Store.Resolve(ctx, m.To)
		switch {
		case err == nil && !there.Equal(value):
			return j, fmt.Errorf("%s holds another secret already: delete it, or move this one by hand", m.To)
		case err != nil && !errors.Is(err, keystore.ErrSecretMissing):
			return j, err
		}
		j.Moves = append(j.Moves, m)
	}
	for _, ref := range refs {
		if !slices.ContainsFunc(uses, func(u Use) bool { return u.Ref == ref }) {
			return j, fmt.Errorf("nothing refers to %s", keystore.Ref(ref).Label())
		}
	}
	if len(j.Moves) == 0 {
		return j, ErrNothing
	}
	return j, nil
}

// target is the reference that a secret gets in another store: the same name where it has one.
func target(from keystore.Ref, u Use, to string) string {
	name := from.Target()
	switch from.Scheme() {
	case keystore.SchemeKeyring:
		name = strings.ReplaceAll(strings.TrimPrefix(name, "zonedeck/"), "/", "-")
	case keystore.SchemeEnv, keystore.SchemeFile:
	default:
		name = u.Uses[0]
	}
	return keystore.RefNamed(to, name)
}

// move makes one move. It may be called again after it was cut short anywhere.
func move(ctx context.Context, f Files, m Move) error {
	if err := f.Guard.Busy(m.From); err != nil {
		return err
	}
	value, err := f.Store.Resolve(ctx, m.From)
	switch {
	case err == nil:
		if err := sameIfSwitched(ctx, f, m, value); err != nil {
			return err
		}
		if err := f.Store.Store(ctx, m.To, value); err != nil {
			return err
		}
		f.stepDone("stored")
		if err := readBack(ctx, f, m.To, value); err != nil {
			return err
		}
		f.stepDone("read back")
	case errors.Is(err, keystore.ErrSecretMissing): // it was deleted before: the new one has to be there
		if _, toErr := f.Store.Resolve(ctx, m.To); toErr != nil {
			return errors.Join(err, toErr)
		}
	default:
		return err
	}
	if err := config.SwitchReferences(ctx, f.Config, map[string]string{m.From: m.To}); err != nil {
		return err
	}
	f.stepDone("switched the configuration")
	if err := switchKeys(ctx, f, m); err != nil {
		return err
	}
	f.stepDone("switched the inventory")
	if f.Jobs != nil {
		if err := f.Jobs.SwitchAuth(ctx, m.From, m.To); err != nil {
			return err
		}
		f.stepDone("switched the ledger")
	}
	if !m.Deletes {
		return nil
	}
	left, err := Uses(ctx, f)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(left, func(u Use) bool { return u.Ref == m.From }); i >= 0 {
		return fmt.Errorf("%s still refers to it", left[i].Uses[0])
	}
	if err := removeOld(ctx, f, m); err != nil {
		return err
	}
	f.stepDone("deleted")
	return nil
}

// sameIfSwitched refuses to write over the new place where nothing refers to the old one any more: what
// is there may have been set since.
func sameIfSwitched(ctx context.Context, f Files, m Move, value keystore.Secret) error {
	uses, err := Uses(ctx, f)
	if err != nil || slices.ContainsFunc(uses, func(u Use) bool { return u.Ref == m.From }) {
		return err
	}
	there, err := f.Store.Resolve(ctx, m.To)
	if errors.Is(err, keystore.ErrSecretMissing) || err == nil && there.Equal(value) {
		return nil
	}
	return errors.Join(differ(m), err)
}

// removeOld deletes the old one as long as it is what the new place gives: a rotation, or someone, may
// have put another value there since it was read.
func removeOld(ctx context.Context, f Files, m Move) error {
	if err := f.Guard.Busy(m.From); err != nil {
		return err
	}
	moved, err := f.Store.Resolve(ctx, m.To)
	if err == nil {
		err = f.Store.RemoveIf(ctx, m.From, moved)
	}
	if errors.Is(err, keystore.ErrOtherSecret) {
		return differ(m)
	}
	return err
}

func differ(m Move) error {
	return fmt.Errorf("the two give different values now: put the right one behind both ('zonedeck secrets set'), then migrate again; %s is what is used", m.To)
}

// switchKeys puts the new reference into the inventory.
func switchKeys(ctx context.Context, f Files, m Move) error {
	if err := f.Keys.Reload(); err != nil {
		return err
	}
	for _, k := range f.Keys.List() {
		if k.Secret != m.From {
			continue
		}
		err := f.Keys.Update(ctx, k.Name, func(now model.Key) (model.Key, error) {
			if now.Secret == m.From {
				now.Secret = m.To
			}
			return now, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
