package jobs

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

// What the service sends along to a job's addresses is a secret: it is in the one POST alone, whatever
// the service repeats of it, and the ledger has its reference.
func TestTheAuthorizationOfADeliveryIsInThePostAlone(t *testing.T) {
	const auth = "Bearer Zd/0f=the&receiver-1234"
	for name, status := range map[string]int{"accepted": 200, "refused": 400, "without an identifier": 201} {
		var got atomic.Value
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			got.Store(r.URL.Query().Get("auth_header"))
			if status == 200 {
				text(200, `{"snapshot_id":"sd_1"}`)(w, r)
				return
			}
			text(status, "cannot call with "+r.URL.RawQuery+" or "+r.URL.Query().Get("auth_header"))(w, r)
		})
		cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": auth})}
		r := trigger("http://lab.test/1")
		r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: "env:HOOK"}
		job, err := cl.Trigger(t.Context(), r)
		if err != nil || got.Load() != auth {
			t.Fatalf("%s: %v, the service got %q", name, err, got.Load())
		}
		found, err := servicetest.LeaksUnder(filepath.Dir(cl.cfg.Ledger.Path()), nil, auth)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		again, err := cl.Request(t.Context(), job.ID)
		if err != nil || again.Settings != r.Settings {
			t.Errorf("%s: %+v, %v", name, again.Settings, err)
		}
		got.Store("")
		if _, err := cl.Trigger(t.Context(), again); err != nil || got.Load() != auth {
			t.Errorf("%s: launched again with %q, %v", name, got.Load(), err)
		}
	}
}

// secretOf gives these secrets, and a key for every other reference.
func secretOf(values map[string]string) func(context.Context, string) (keystore.Secret, error) {
	return func(_ context.Context, ref string) (keystore.Secret, error) {
		if ref == "env:NONE" {
			return keystore.Secret{}, errors.New("NONE is not set")
		}
		if v, ok := values[ref]; ok {
			return keystore.NewSecret(v), nil
		}
		return keystore.NewSecret("a-key-of-the-account"), nil
	}
}

func TestAnAuthorizationThatCannotBeSentSendsNothing(t *testing.T) {
	at := "https://hooks.test/in"
	for name, c := range map[string]struct {
		ask  model.JobSettings
		says string
	}{
		"the secret itself":         {model.JobSettings{Notify: at, Auth: "Bearer s3cr3t-itself"}, "auth_header: not a secret reference: write env:NAME"},
		"no address":                {model.JobSettings{Auth: "env:HOOK"}, "auth_header: it needs an address"},
		"nothing behind it":         {model.JobSettings{Notify: at, Auth: "env:NONE"}, "auth_header: NONE is not set"},
		"a key's reference":         {model.JobSettings{Notify: at, Auth: "env:KEY"}, "env:KEY is a key or a password of the console"},
		"a key's value":             {model.JobSettings{Notify: at, Auth: "env:COPY"}, "env:COPY is a key or a password of the console"},
		"a zone's password":         {model.JobSettings{Notify: at, Auth: "env:ZP"}, "env:ZP is a key or a password of the console"},
		"a variable of the console": {model.JobSettings{Notify: at, Auth: "env:ZONEDECK_API_KEY"}, "is a key or a password of the console"},
		"a demo key":                {model.JobSettings{Notify: at, Auth: "demo:batch-user"}, "is a key or a password of the console"},
	} {
		cl, asked := script(t, text(200, `{"snapshot_id":"sd_1"}`))
		cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": "Bearer 12345678"})}
		cl.cfg.Inventory = owns("env:KEY")
		was := cl.cfg.Source.Profile
		cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(ctx context.Context) (config.Profile, error) {
			p, err := was(ctx)
			p.Zones = append(slices.Clone(p.Zones), model.Zone{Name: "z", Password: "env:ZP"})
			return p, err
		}}
		r := trigger("http://lab.test/1")
		r.Settings = c.ask
		_, err := cl.Trigger(t.Context(), r)
		if wrong := (*model.RequestError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
		if list, _, err := cl.Jobs(t.Context(), 0); len(list) != 0 || err != nil || asked.Load() != 0 {
			t.Errorf("%s: %d calls, %+v, %v", name, asked.Load(), list, err)
		}
	}
}
