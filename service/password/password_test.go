package password

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a changer of the emulator's zones, whose references are file: ones.
type rig struct {
	cfg  Config
	p    model.Profile
	demo servicetest.Demo
}

const newPassword = "NEWPASSWORDNEWPASSWORD1234"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{demo: servicetest.Emulator(t, emulator.Options{})}
	r.p = r.demo.Profile
	r.p.Zones = slices.Clone(r.p.Zones)
	for i, z := range r.p.Zones {
		r.p.Zones[i].Password = "file:" + string(z.Name)
	}
	source := servicetest.Source{
		ProfileBy: func(context.Context) (model.Profile, error) { return r.p, nil }, KeyBy: r.demo.Key, SecretBy: r.demo.Secret,
	}
	wire := exchange.New(exchange.Config{})
	ft := fetch.New(fetch.Config{Source: source, Wire: wire})
	r.cfg = Config{Source: source, Wire: wire, Prover: ft}
	return r
}

func (r *rig) zone(name string) model.Zone { return servicetest.Zone(r.p, name) }

// login makes a login, which is to be accepted or refused.
func (r *rig) login(t *testing.T, value keystore.Secret, accepted bool) {
	t.Helper()
	proof, err := New(r.cfg).Login(t.Context(), r.p, r.zone("isp_demo"), exchange.LoginProof{Password: value, Refusal: !accepted})
	if err != nil || proof.Status == 0 || proof.Note == "" {
		t.Errorf("a login that is to be accepted (%v): %+v, %v", accepted, proof, err)
	}
}

func TestAPasswordIsAddedBesideTheOthersAndRemoved(t *testing.T) {
	r := newRig(t)
	before, err := r.demo.Secret(t.Context(), servicetest.Zone(r.demo.Profile, "isp_demo").Password)
	noerr.Must(t, err)
	fresh := keystore.NewSecret(newPassword)
	c := New(r.cfg)
	r.login(t, fresh, false)
	for range 2 { // what is there already is no error
		noerr.Must(t, c.Add(t.Context(), r.p, "isp_demo", "etl-main", fresh))
	}
	r.login(t, fresh, true)
	r.login(t, before, true)
	noerr.Must(t, c.Remove(t.Context(), r.p, "isp_demo", "etl-main", before))
	r.login(t, before, false)
	r.login(t, fresh, true)
}

func TestWhatCannotBeChangedIsRefused(t *testing.T) {
	r := newRig(t)
	for name, tc := range map[string]struct {
		change func(*model.Profile, *model.Zone)
		key    string
		text   string
	}{
		"a variable":            {func(_ *model.Profile, z *model.Zone) { z.Password = "env:ZONE_PASSWORD" }, "etl-main", "cannot write there"},
		"a command":             {func(_ *model.Profile, z *model.Zone) { z.Password = "cmd:pass show zone" }, "etl-main", "cannot write there"},
		"another kind":          {func(_ *model.Profile, z *model.Zone) { z.Password = "nowhere:x" }, "etl-main", "not a secret reference"},
		"no reference":          {func(p *model.Profile, z *model.Zone) { z.Password, p.Zones = "", nil }, "etl-main", "no password reference"},
		"no reference, by hand": {func(p *model.Profile, z *model.Zone) { p.Dialect, z.Password = "documented", "" }, "", "no password reference"},
		"of no account":         {func(p *model.Profile, _ *model.Zone) { p.Account = "" }, "etl-main", "names no account"},
		"a read-only one":       {func(p *model.Profile, _ *model.Zone) { p.ReadOnly = true }, "etl-main", "is read-only: it does not change passwords"},
		"no API":                {func(p *model.Profile, _ *model.Zone) { p.BaseURL = "" }, "etl-main", "no base_url"},
		"a level too low":       {func(*model.Profile, *model.Zone) {}, "batch-user", "USER, which may not change"},
		"a key of nowhere":      {func(*model.Profile, *model.Zone) {}, "nobody", "not in the key inventory"},
	} {
		p, z := r.p, r.zone("isp_demo")
		tc.change(&p, &z)
		if err := New(r.cfg).Check(t.Context(), p, z, tc.key); !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	noerr.Want(t, New(r.cfg).Check(t.Context(), r.p, r.zone("isp_demo"), "etl-main"))
	// Where no call is known a person changes it: no key is needed, and the place may be a person's to write.
	p, z := r.p, r.zone("isp_demo")
	p.Dialect, p.BaseURL, z.Password = "documented", "", "env:ZONE_PASSWORD"
	noerr.Want(t, New(r.cfg).Check(t.Context(), p, z, ""))
}

// A read-only profile sends no change, whoever asks for it and without a Check before.
func TestAReadOnlyProfileChangesNoPassword(t *testing.T) {
	var asked atomic.Int64
	r := newRig(t)
	p := r.p
	p.BaseURL = servicetest.API(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }).BaseURL
	p.ReadOnly = true
	c, value := New(r.cfg), keystore.NewSecret(newPassword)
	for what, err := range map[string]error{
		"add": c.Add(t.Context(), p, "isp_demo", "etl-main", value), "remove": c.Remove(t.Context(), p, "isp_demo", "etl-main", value),
	} {
		if !errors.Is(err, model.ErrReadOnly) || asked.Load() > 0 {
			t.Errorf("%s: %v, %d calls", what, err, asked.Load())
		}
	}
}

func TestWhatTheServiceSaysIsQuoted(t *testing.T) {
	body := "no"
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, body)
	})
	r := newRig(t)
	there := r.p
	there.BaseURL = p.BaseURL
	for _, want := range []string{`the service answered 404, and says "no"`, "the service answered 404"} {
		if err := New(r.cfg).Remove(t.Context(), there, "isp_demo", "etl-main", keystore.NewSecret(newPassword)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		body = ""
	}
}

// A service that repeats what it was sent, or a proxy that does, gives nothing away.
func TestAnErrorRepeatsNoPassword(t *testing.T) {
	status := http.StatusForbidden
	echo := servicetest.API(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
	r := newRig(t)
	p := r.p
	p.BaseURL = echo.BaseURL
	value := keystore.NewSecret(newPassword)
	for _, c := range []struct {
		status int
		says   string
	}{{http.StatusUnauthorized, "not accepted (401)"}, {http.StatusForbidden, "may not do that (403)"}, {http.StatusBadGateway, "502"}} {
		status = c.status
		err := New(r.cfg).Add(t.Context(), p, "isp_demo", "etl-main", value)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(fmt.Sprint(err), newPassword) {
			t.Errorf("%d: an error without %q, or with the password", c.status, c.says)
		}
	}
	p.BaseURL = "http://127.0.0.1:1"
	if err := New(r.cfg).Remove(t.Context(), p, "isp_demo", "etl-main", value); err == nil || strings.Contains(err.Error(), newPassword) {
		t.Errorf("a service that is not there: %v", err)
	}
	failed := errors.New("no proxy")
	cfg := r.cfg
	cfg.Prover = prover(func() (model.ProbeResult, error) {
		return model.ProbeResult{}, fmt.Errorf("with %s: %w", newPassword, failed)
	})
	if _, err := New(cfg).Login(t.Context(), r.p, r.zone("isp_demo"), exchange.LoginProof{Password: value}); !errors.Is(err, failed) || strings.Contains(err.Error(), newPassword) || errors.Unwrap(err) != nil {
		t.Errorf("it gives away %v", errors.Unwrap(err))
	}
}
