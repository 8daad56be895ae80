package keys_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/journal"
	servicekeys "zonedeck/service/keys"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/snippet"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeService is an account, its settings and a place for secrets, all in memory.
type fakeService struct {
	mu     sync.Mutex
	valid  map[string]string // names of keys by their values
	values map[string]string // secrets by their references
	// byHand says that a person works the account settings.
	byHand  bool
	gate    chan struct{} // that every call with a key waits for; nil for none
	saved   map[string]string
	made    int
	refused []rehearsal.Request
	called  []string // the keys that calls were made as
	// noLogins says that no login with a password can be made.
	noLogins bool
	// levels are what a value is seen to be; nil where nothing tells.
	levels []model.Level
	// thenNone says that none can be made after a password was removed.
	thenNone bool
	// noRehearsal is why a rehearsal fails.
	noRehearsal error
	// files are where the files are whose users are named by another path.
	files map[string]string
	// stays says that a deleted key's value stays valid, stranger that somebody sends it once it is deleted.
	stays, stranger bool
}

func newFakeService() *fakeService {
	return &fakeService{
		valid: map[string]string{"old-value-of-prod-1111": "prod"}, values: map[string]string{"keyring:acme/prod": "old-value-of-prod-1111"}, saved: map[string]string{},
	}
}

func (f *fakeService) SaveReport(name, text string) (string, error) {
	f.saved[name] = text
	return "/reports/" + name, nil
}

func (f *fakeService) Resolve(_ context.Context, ref string) (keystore.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.values[ref]
	if !ok {
		return keystore.Secret{}, fmt.Errorf("%s: %w", ref, keystore.ErrSecretMissing)
	}
	return keystore.NewSecret(v), nil
}

func (f *fakeService) Store(_ context.Context, ref string, s keystore.Secret) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[ref] = s.Reveal()
	return nil
}

func (f *fakeService) Remove(_ context.Context, ref string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.values, ref)
	return nil
}

func (f *fakeService) Keys(context.Context) (out []rehearsal.Key, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.valid {
		out = append(out, rehearsal.Key{Name: name, Level: "USER"})
	}
	return out, nil
}

func (f *fakeService) CreateKey(_ context.Context, k rehearsal.Key) (rehearsal.Key, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	k.Value = fmt.Sprintf("new-value-%d-of-prod-9f9%d", f.made, f.made)
	f.valid[k.Value] = k.Name
	return k, nil
}

func (f *fakeService) RefreshKey(ctx context.Context, name string) (rehearsal.Key, error) {
	if err := f.DeleteKey(ctx, name); err != nil {
		return rehearsal.Key{}, err
	}
	return f.CreateKey(ctx, rehearsal.Key{Name: name})
}

func (f *fakeService) DeleteKey(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for value, n := range f.valid {
		switch {
		case n != name:
		case f.stays:
			f.valid[value] = name + ", deleted"
		default:
			delete(f.valid, value)
		}
	}
	if f.stranger {
		f.refuse(rehearsal.Request{Point: "api", Status: http.StatusUnauthorized, Time: time.Now(), Method: "POST", URL: "/request", Remote: "192.0.2.7", Header: map[string]string{"User-Agent": "curl/8.5.0"}})
	}
	return nil
}

// Newest shows the refused calls.
func (f *fakeService) Newest(context.Context, int) (rehearsal.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return rehearsal.Page{Requests: slices.Clone(f.refused), Last: uint64(len(f.refused) + 1)}, nil
}

// refuse puts a refused call into the journal.
func (f *fakeService) refuse(q rehearsal.Request) {
	q.Seq = uint64(len(f.refused) + 2)
	if q.Header == nil {
		q.Header = map[string]string{"User-Agent": "zonedeck"}
	}
	f.refused = append(f.refused, q)
}

func (f *fakeService) prove(ctx context.Context, c rotate.Call) (res model.FetchResult, err error) {
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, c.Key.Name)
	res.Timing.Total, res.ServiceStatus = 12*time.Millisecond, http.StatusOK
	res.Diagnosis.Class = model.ClassOK
	if f.valid[c.Value.Reveal()] == "" {
		f.refuse(rehearsal.Request{Point: "api", Status: http.StatusUnauthorized})
		res.ServiceStatus = http.StatusUnauthorized
		res.Diagnosis = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseKeyRejected, Summary: "The service rejects the key."}
	}
	return res, nil
}

// engine is the real one over this service.
func (f *fakeService) engine(r *rig) *rotate.Engine {
	c := fakeConsole{f, r}
	return rotate.New(rotate.Config{
		Records: r.rotations, Keys: c, Accounts: c, Prover: c, Secrets: f, Files: c, Passwords: fakePasswords{f},
		LockDir: filepath.Join(r.dir, "rotations"),
	})
}

// rotating are the rotations of a rig, as the tab works with them.
func (r *rig) kept() fakeRotations { return fakeRotations{r.rotations, r.service, r.service.engine(r)} }

type fakeRotations struct {
	*keystore.Rotations
	*fakeService
	engine *rotate.Engine
}

func (f fakeRotations) Rotation(ctx context.Context, s rotate.Subject) (rotate.Rotation, error) {
	return f.engine.Look(ctx, s, keystore.RotationPlan{})
}

func (f fakeRotations) Resume(p keystore.RotationPlan) rotate.Rotation { return f.engine.Resume(p) }

func (fakeRotations) ZonePassword(zone, key string) (rotate.Subject, error) {
	return rotate.Subject{Password: &rotate.Password{Zone: model.Zone{Name: model.ZoneName(zone), Password: "keyring:acme/isp"}, Account: "hl_1", Key: key}}, nil
}

func (fakeConsole) OwnerText(model.Key) string { return "the key of profile acme" }

func (fakeConsole) AccountText(keystore.RotationPlan) string {
	return "account hl_1, profile acme, https://api.example.com"
}

// finder finds what uses the keys, and what could not be looked through.
type finder func(ctx context.Context, folders []string, progress func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error)

// fakeUses knows what a test says of the uses of keys.
type fakeUses struct {
	find    func(ctx context.Context, folders []string, progress func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error)
	lookUp  func()
	used    map[radius.KeyID]journal.KeyUse
	folders []string
}

func (u fakeUses) Uses(ctx context.Context, folders []string, progress func(radius.Progress)) (uses map[radius.KeyID][]radius.Use, r radius.Report, err error) {
	if u.find == nil {
		return map[radius.KeyID][]radius.Use{}, r, nil
	}
	uses, r.Problems, err = u.find(ctx, folders, progress)
	if len(folders) > 0 {
		r.Passwords = []radius.Password{{Zone: "isp", What: "the password", Place: "/srv/etl/run.sh:7"}}
	}
	return uses, r, err
}

func (u fakeUses) LookUp(context.Context) ([]string, error) {
	if u.lookUp == nil {
		return nil, errors.New("nothing is resolved")
	}
	u.lookUp()
	return nil, nil
}

func (u fakeUses) Used(context.Context) (map[radius.KeyID]journal.KeyUse, error) { return u.used, nil }

func (u fakeUses) ScanFolders() []string { return u.folders }

func (u fakeUses) Snippets(o servicekeys.SnippetOptions) (out []servicekeys.Snippet) {
	for _, k := range snippet.Kinds(snippet.Keys) {
		out = append(out, servicekeys.Snippet{Title: k.Title, Text: k.Name + " of " + o.Config, Command: snippet.Command(k.Name, o)})
	}
	return out
}

// fakeConsole has the keys of a rig, and proves them at the service.
type fakeConsole struct {
	f *fakeService
	r *rig
}

func (c fakeConsole) Refuse(keystore.RotationPlan) error { return nil }

func (c fakeConsole) Prove(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
	return c.f.prove(ctx, call)
}

func (c fakeConsole) Levels(context.Context, keystore.RotationUser, keystore.Secret) ([]model.Level, error) {
	if c.f.levels == nil {
		return nil, errors.New("nothing tells it")
	}
	return c.f.levels, nil
}

func (c fakeConsole) Settings(keystore.RotationPlan) rotate.Settings {
	if c.f.byHand {
		return nil
	}
	return c.f
}

func (c fakeConsole) Users(_ context.Context, k model.Key) ([]keystore.RotationUser, error) {
	users := []keystore.RotationUser{{Name: "profile acme", Ref: k.Secret, Profile: "acme"}}
	recorded, _ := c.r.inventory.Get(k.Name)
	for _, name := range recorded.UsedBy {
		users = append(users, keystore.RotationUser{Name: name, InFlight: strings.HasPrefix(name, "job-"), File: fileOf(name)})
	}
	return users, nil
}

func (c fakeConsole) TookOver(ctx context.Context, p keystore.RotationPlan) error {
	return c.r.inventory.Update(ctx, p.Key, func(k model.Key) (model.Key, error) { return p.Rotated(k), nil })
}

func (c fakeConsole) Reach(keystore.RotationPlan, ask.Answers) ([]ask.Question, error) {
	return nil, nil
}

func (c fakeConsole) UsedAfterEnd(context.Context, keystore.RotationPlan, []string) {}

func (c fakeConsole) Holds(file, fingerprint string) (bool, error) {
	return radius.Holds(cmp.Or(c.f.files[file], file), fingerprint)
}

func (c fakeConsole) Now(keystore.RotationPlan) time.Time { return time.Now() }

func (c fakeConsole) Days(model.Level) int { return model.RotationDays }

// Rehearse is what a rehearsal comes to.
func (f *fakeService) Rehearse(context.Context, model.Key, keystore.RotationMethod) (keystore.RotationPlan, error) {
	if f.noRehearsal != nil {
		return keystore.RotationPlan{}, f.noRehearsal
	}
	return keystore.RotationPlan{Steps: []keystore.RotationStep{
		{Kind: keystore.StepCreate, Done: true, By: keystore.Measured},
		{Kind: keystore.StepSet, Subject: "nightly", Done: true, By: keystore.Vouched},
		{Kind: keystore.StepTest, Done: true, By: keystore.Measured},
		{Kind: keystore.StepDelete, Done: true, By: keystore.Measured},
		{Kind: keystore.StepRefused, Done: true, By: keystore.Measured},
		{Kind: keystore.StepWatch, Done: true, By: keystore.Measured},
	}}, nil
}

// fileOf is the file of a user whose name is a path.
func fileOf(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return ""
}

// rotating starts the tab with the key prod, whose users are given.
func rotating(t *testing.T, w, h int, users ...string) (*rig, *uitest.Screen) {
	k := ownKey()
	k.UsedBy = users
	r := newRig(t, k)
	return r, r.start(t, kit.Session{ProfileName: "acme", Ready: true}, w, h)
}

// row is the line of the screen that begins with a name.
func row(s *uitest.Screen, name string) string {
	lines := strings.Split(s.Screen(), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimLeft(l, "│›▌ "), name) }); i >= 0 {
		return lines[i]
	}
	return ""
}
