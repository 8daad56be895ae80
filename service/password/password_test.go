package password

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/profile"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a renewer of the emulator's zones, whose passwords stand in a store of its own.
type rig struct {
	cfg    Config
	p      profile.Profile
	demo   servicetest.Demo
	mu     sync.Mutex
	store  map[string]keystore.Secret
	calls  []string // the steps that were told
	stored int
}

const newPassword = "NEWPASSWORDNEWPASSWORD1234"

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{demo: servicetest.Emulator(t, emulator.Options{}), store: map[string]keystore.Secret{}}
	r.p = r.demo.Profile
	for i, z := range r.p.Zones {
		ref := "file:" + string(z.Name)
		r.store[ref], _ = r.demo.Secret(t.Context(), z.Password)
		r.p.Zones[i].Password = ref
	}
	access := exchange.Access{
		Profile: func(context.Context) (profile.Profile, error) { return r.p, nil },
		Key:     r.demo.Key,
		Secret: func(ctx context.Context, ref string) (keystore.Secret, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s, ok := r.store[ref]; ok {
				return s, nil
			}
			if strings.HasPrefix(ref, "file:") {
				return keystore.Secret{}, keystore.ErrSecretMissing
			}
			return r.demo.Secret(ctx, ref)
		},
	}
	wire := exchange.New(exchange.Config{})
	ft := fetch.New(fetch.Config{Access: access, Wire: wire})
	r.cfg = Config{
		Access: access, Wire: wire, Prove: ft.ProvePassword, New: func() string { return newPassword },
		Follows: func(string) bool { return false }, Dir: t.TempDir(),
		Remove: func(_ context.Context, ref string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.store, ref)
			return nil
		},
		Store: func(_ context.Context, ref string, s keystore.Secret) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.store[ref] = s
			r.stored++
			return nil
		},
	}
	for _, f := range change {
		f(&r.cfg)
	}
	return r
}

func (r *rig) zone(name string) model.Zone { return servicetest.Zone(r.p, name) }

func (r *rig) renew(t *testing.T, zone, key string) (model.PasswordRenewal, error) {
	t.Helper()
	told := 0
	res, err := New(r.cfg).Renew(t.Context(), r.zone(zone), key, func(now model.PasswordRenewal) {
		if told++; len(now.Steps) != told {
			t.Errorf("told %d times, and there are %d steps", told, len(now.Steps))
		}
	})
	if told != len(res.Steps) {
		t.Errorf("told of %d steps of %d", told, len(res.Steps))
	}
	r.calls = nil
	for _, s := range res.Steps {
		r.calls = append(r.calls, fmt.Sprintf("%s %v", s.Name, s.OK))
	}
	text, _ := json.Marshal(res)
	for ref, s := range r.store {
		if strings.Contains(string(text)+fmt.Sprint(err), s.Reveal()) {
			t.Errorf("the account or its error holds the password of %s", ref)
		}
	}
	return res, err
}

// accepts reports whether the proxy accepts a password.
func (r *rig) accepts(t *testing.T, zone, value string) bool {
	t.Helper()
	res, err := r.cfg.Prove(t.Context(), r.zone(zone), keystore.NewSecret(value))
	if err != nil {
		t.Fatal(err)
	}
	return res.Diagnosis.OK()
}

func TestAPasswordIsRenewedAndTheOldOneIsRefused(t *testing.T) {
	r := newRig(t)
	before := r.store["file:isp_demo"].Reveal()
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err != nil || !res.Renewed || !res.OldRefused || !slices.Equal(r.calls, []string{"store true", "add true", "prove true", "keep true", "remove true", "refused true"}) {
		t.Fatalf("%+v, %v", res, err)
	}
	if r.store["file:isp_demo"].Reveal() != newPassword || !r.accepts(t, "isp_demo", newPassword) || r.accepts(t, "isp_demo", before) {
		t.Error("the new one is not the one that counts")
	}
	if before := maps.Clone(r.store); !r.accepts(t, "datacenter_demo", before["file:datacenter_demo"].Reveal()) {
		t.Error("another zone's password does not work any more")
	}
}

func TestWhatCannotBeKeptIsNotBegun(t *testing.T) {
	r := newRig(t)
	before := r.store["file:isp_demo"].Reveal()
	for name, tc := range map[string]struct {
		change func(*profile.Profile, *model.Zone)
		key    string
		text   string
	}{
		"a variable":       {func(_ *profile.Profile, z *model.Zone) { z.Password = "env:ZONE_PASSWORD" }, "etl-main", "cannot write there"},
		"a command":        {func(_ *profile.Profile, z *model.Zone) { z.Password = "cmd:pass show zone" }, "etl-main", "cannot write there"},
		"no reference":     {func(p *profile.Profile, z *model.Zone) { z.Password, p.Zones = "", nil }, "etl-main", "no password reference"},
		"another dialect":  {func(p *profile.Profile, _ *model.Zone) { p.Dialect = "documented" }, "etl-main", `the dialect "brightdata" knows one`},
		"a read-only one":  {func(p *profile.Profile, _ *model.Zone) { p.ReadOnly = true }, "etl-main", "is read-only: it does not change passwords"},
		"no API":           {func(p *profile.Profile, _ *model.Zone) { p.BaseURL = "" }, "etl-main", "no base_url"},
		"a level too low":  {func(*profile.Profile, *model.Zone) {}, "batch-user", "USER, which may not change"},
		"a key of nowhere": {func(*profile.Profile, *model.Zone) {}, "nobody", "not in the key inventory"},
	} {
		p, z := r.p, r.zone("isp_demo")
		tc.change(&p, &z)
		cfg := r.cfg
		cfg.Access.Profile = func(context.Context) (profile.Profile, error) { return p, nil }
		res, err := New(cfg).Renew(t.Context(), z, tc.key, nil)
		if !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), tc.text) || len(res.Steps) != 0 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if r.stored != 0 || !r.accepts(t, "isp_demo", before) {
		t.Error("something was changed")
	}
}

func TestWhatFailsOnTheWayIsUndone(t *testing.T) {
	full := errors.New("no space left on device")
	for name, tc := range map[string]struct {
		change func(*rig)
		steps  []string
	}{
		"the store cannot be written": {func(r *rig) {
			r.cfg.Store = func(context.Context, string, keystore.Secret) error { return full }
		}, []string{"store false"}},
		"the new one does not work": {func(r *rig) {
			r.cfg.Prove = func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
				return model.ProbeResult{Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseNetwork, Summary: "no connection"}}, nil
			}
		}, []string{"store true", "add true", "prove false", "undo true"}},
		"the store fails later": {func(r *rig) {
			store := r.cfg.Store
			r.cfg.Store = func(ctx context.Context, ref string, s keystore.Secret) error {
				if ref == "file:isp_demo" && s.Reveal() == newPassword {
					return full
				}
				return store(ctx, ref, s)
			}
		}, []string{"store true", "add true", "prove true", "keep false", "undo true"}},
		"the store changes it": {func(r *rig) {
			store := r.cfg.Store
			r.cfg.Store = func(ctx context.Context, ref string, s keystore.Secret) error {
				if ref == "file:isp_demo" && s.Reveal() == newPassword {
					s = keystore.NewSecret("NEWPASS")
				}
				return store(ctx, ref, s)
			}
		}, []string{"store true", "add true", "prove true", "keep false", "undo true"}},
		"the service is not there": {func(r *rig) { r.p.BaseURL = "http://127.0.0.1:1" }, []string{"store true", "add false"}},
		"the store forgets": {func(r *rig) {
			r.cfg.Store = func(context.Context, string, keystore.Secret) error { return nil }
		}, []string{"store false"}},
	} {
		r := newRig(t)
		before, prove := r.store["file:isp_demo"].Reveal(), r.cfg.Prove
		tc.change(r)
		res, err := r.renew(t, "isp_demo", "etl-main")
		if err == nil || res.Renewed || !slices.Equal(r.calls, tc.steps) {
			t.Errorf("%s: %v, %+v, %v", name, r.calls, res, err)
		}
		for _, s := range res.Steps {
			if _, why, _ := strings.Cut(err.Error(), ": "); !s.OK && !strings.HasSuffix(s.Text, why) {
				t.Errorf("%s: the step says %q, and the error %q", name, s.Text, why)
			}
		}
		r.cfg.Prove = prove
		if r.store["file:isp_demo"].Reveal() != before || !r.accepts(t, "isp_demo", before) || r.accepts(t, "isp_demo", newPassword) {
			t.Errorf("%s: the old password is not the one that counts", name)
		}
	}
}

// Only a refused login proves that a password does not work: the test page may fail of its own.
func TestATestPageThatFailsProvesTheLogin(t *testing.T) {
	r := newRig(t)
	prove := r.cfg.Prove
	r.cfg.Prove = func(ctx context.Context, z model.Zone, value keystore.Secret) (model.ProbeResult, error) {
		res, err := prove(ctx, z, value)
		if res.Diagnosis.OK() {
			res.Diagnosis = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError, Summary: "the target answered with an error"}
		}
		return res, err
	}
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err != nil || !res.Renewed || !res.OldRefused || !slices.Equal(r.calls, []string{"store true", "add true", "prove true", "keep true", "remove true", "refused true"}) {
		t.Fatalf("%v, %+v, %v", r.calls, res, err)
	}
	if got := res.Steps[2].Text; got != "log in with the new password: the login was accepted; the test page itself failed" {
		t.Error(got)
	}
}

func TestARenewalThatIsCancelledIsUndoneAndSaysSo(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.cfg.Prove = func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
		cancel()
		return model.ProbeResult{}, fmt.Errorf("with %s: %w", newPassword, ctx.Err())
	}
	res, err := New(r.cfg).Renew(ctx, r.zone("isp_demo"), "etl-main", nil)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), newPassword) || errors.Unwrap(err) != nil {
		t.Errorf("%v, which gives away %v", err, errors.Unwrap(err))
	}
	if last := res.Steps[len(res.Steps)-1]; last.Name != "undo" || !last.OK {
		t.Errorf("%+v", res.Steps)
	}
}

func TestAReferenceThatFollowsTheServiceIsNotWritten(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Follows = func(string) bool { return true } })
	store := r.cfg.Store
	r.cfg.Store = func(context.Context, string, keystore.Secret) error { return errors.New("must not be called") }
	removed := false
	r.cfg.Access.Profile = func(ctx context.Context) (profile.Profile, error) { // what the service has itself is read again
		if removed {
			return r.p, store(ctx, "file:isp_demo", keystore.NewSecret(newPassword))
		}
		removed = true
		return r.p, nil
	}
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err != nil || !res.Renewed || !res.OldRefused || !slices.Equal(r.calls, []string{"add true", "prove true", "remove true", "keep true", "refused true"}) {
		t.Errorf("%v, %+v, %v", r.calls, res, err)
	}
}

func TestAnOldPasswordThatCannotBeRemovedIsTold(t *testing.T) {
	var p profile.Profile
	refuse := servicetest.API(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if strings.HasSuffix(req.URL.Path, "remove_password") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(body) // it repeats the password
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	r := newRig(t, func(c *Config) {
		c.Prove = func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
			return model.ProbeResult{Diagnosis: model.Diagnosis{Class: model.ClassOK}}, nil
		}
	})
	p = r.p
	p.BaseURL = refuse.BaseURL
	r.cfg.Access.Profile = func(context.Context) (profile.Profile, error) { return p, nil }
	old := r.store["file:isp_demo"].Reveal()
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err == nil || !res.Renewed || res.OldRefused || !strings.Contains(err.Error(), "the old password may still be valid") || strings.Contains(fmt.Sprint(res, err), old) {
		t.Errorf("%+v, %v", res, err)
	}
}

// A gateway that ends a call may have passed it on: the new password is taken back.
func TestAPasswordThatMayHaveBeenAddedIsUndone(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway} {
		mayHaveBeenAdded(t, status)
	}
}

func mayHaveBeenAdded(t *testing.T, status int) {
	t.Helper()
	var asked []string
	gateway := servicetest.API(t, func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:])
		if strings.HasSuffix(req.URL.Path, "add_password") {
			w.WriteHeader(status)
		}
	})
	r := newRig(t)
	p := r.p
	p.BaseURL = gateway.BaseURL
	r.cfg.Access.Profile = func(context.Context) (profile.Profile, error) { return p, nil }
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err == nil || res.Renewed || !slices.Equal(r.calls, []string{"store true", "add false", "undo true"}) || !slices.Equal(asked, []string{"add_password", "remove_password"}) {
		t.Errorf("%v, %v, %+v, %v", asked, r.calls, res, err)
	}
}
