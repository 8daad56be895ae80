package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/ledger"
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
		cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(ctx context.Context) (model.Profile, error) {
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

func TestAReferenceThatStandsInTheLedgerAloneIsListedAndSwitched(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) { text(200, `{"snapshot_id":"sd_1"}`)(w, r) })
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": "Bearer of-a-hook-1234", "env:OTHER": "Bearer of-another-5678"})}
	launch := func(ref string) string {
		r := trigger("http://lab.test/1")
		if ref != "" {
			r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: ref, Format: "ndjson"}
		}
		job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
		return job.ID
	}
	first, other := launch("env:HOOK"), launch("env:OTHER")
	launch("")
	last := launch("env:HOOK")
	want := []model.AuthUse{{Ref: "env:HOOK", Job: last, State: model.JobAccepted}, {Ref: "env:OTHER", Job: other, State: model.JobAccepted}, {Ref: "env:HOOK", Job: first, State: model.JobAccepted}}
	l := cl.cfg.Ledger
	if got, err := AuthUses(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	before := noerr.Try(cl.Request(t.Context(), first)).Must(t)
	for range 2 { // a second time is nothing new
		noerr.Must(t, SwitchAuth(t.Context(), l, "env:HOOK", "file:hook"))
	}
	before.Settings.Auth = "file:hook"
	if after, err := cl.Request(t.Context(), first); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, %v", after, err)
	}
	want[0].Ref, want[2].Ref = "file:hook", "file:hook"
	if got, err := AuthUses(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// oneByOne is a ledger that says in which order its requests are read and replaced.
type oneByOne struct {
	*ledger.Ledger
	order []string
	gone  string // is pruned once the requests have been listed
}

func (l *oneByOne) Request(ctx context.Context, id string) ([]byte, error) {
	l.order = append(l.order, "read "+id)
	if id == l.gone {
		return nil, database.ErrNotFound
	}
	return l.Ledger.Request(ctx, id)
}

func (l *oneByOne) ReplaceRequest(ctx context.Context, id string, was, now []byte) error {
	l.order = append(l.order, "replace "+id)
	return l.Ledger.ReplaceRequest(ctx, id, was, now)
}

func TestRequestsAreSwitchedOneByOne(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, SecretBy: secretOf(map[string]string{"env:HOOK": "Bearer of-a-hook-1234", "env:OTHER": "Bearer of-another-5678"})}
	for _, ref := range []string{"env:HOOK", "env:OTHER", "env:HOOK", "env:HOOK"} {
		r := trigger("http://lab.test/1")
		r.Settings = model.JobSettings{Endpoint: "https://hooks.test/in", Auth: ref}
		noerr.Must(t, noerr.From(cl.Trigger(t.Context(), r)))
	}
	l := &oneByOne{Ledger: cl.cfg.Ledger, gone: "job-3"}
	noerr.Must(t, SwitchAuth(t.Context(), l, "env:HOOK", "file:hook"))
	if want := []string{"read job-4", "replace job-4", "read job-3", "read job-1", "replace job-1"}; !slices.Equal(l.order, want) {
		t.Errorf("%q, want %q", l.order, want)
	}
}

// The addresses of a delivery hold credentials of others: a service that repeats them does not
// bring them into a file or an error, and the ledger does not keep a request with them.
func TestTheTokensOfADeliveryAreKeptOutOfTheLedger(t *testing.T) {
	const query, path = "SECRETTOKEN-of-the-hook", "T0K3NxT0K3NxT0K3NxT0K3N"
	for name, status := range map[string]int{"accepted": 200, "refused": 400} {
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			if status == 200 {
				text(200, `{"snapshot_id":"sd_1"}`)(w, r)
				return
			}
			text(status, "cannot call "+r.URL.RawQuery+" or "+r.URL.Query().Get("notify")+" or "+r.URL.Query().Get("endpoint"))(w, r)
		})
		r := trigger("http://lab.test/1")
		r.Settings = model.JobSettings{Notify: "https://hooks.test/run?token=" + query, Endpoint: "https://hooks.test/services/" + path}
		job, err := cl.Trigger(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := servicetest.Leaks("the job", []byte(job.Detail+job.Fault.Diagnosis.Summary), query, path); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		found, err := servicetest.LeaksUnder(filepath.Dir(cl.cfg.Ledger.Path()), nil, query, path)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if _, err := cl.Request(t.Context(), job.ID); !errors.Is(err, ErrNoRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An address without anything that may be a credential is kept.
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	r.Settings.Notify = "https://hooks.test/run?job=1"
	job := noerr.Try(cl.Trigger(t.Context(), r)).Must(t)
	if again, err := cl.Request(t.Context(), job.ID); err != nil || again.Settings.Notify != r.Settings.Notify {
		t.Errorf("%+v, %v", again.Settings, err)
	}
}

// An address of the inbox is made for one job, and is no secret of others: what is kept asks for
// another one.
func TestAJobWithAnAddressOfTheInboxCanBeLaunchedAgain(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	own := model.WebhookAddress("http://127.0.0.1:8787", "abcdefghijklmnopqrstuvwxyz")
	r.Settings = model.JobSettings{Notify: own, Endpoint: own}
	job, err := cl.Trigger(t.Context(), r)
	if err != nil || job.WebhookToken != "abcdefghijklmnopqrstuvwxyz" {
		t.Fatalf("%+v, %v", job, err)
	}
	again, err := cl.Request(t.Context(), job.ID)
	if err != nil || again.Settings != (model.JobSettings{Notify: model.InboxEndpoint, Endpoint: model.InboxEndpoint}) {
		t.Errorf("%+v, %v", again.Settings, err)
	}
	// Beside an address of others nothing is kept.
	r.Settings.Endpoint = "https://hooks.test/services/T0K3NxT0K3NxT0K3NxT0K3N"
	if job, err = cl.Trigger(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Request(t.Context(), job.ID); !errors.Is(err, ErrNoRequest) {
		t.Errorf("%v", err)
	}
}

// TestADamagedRequestIsNotSent flips each bit of what the ledger keeps of a request.
func TestADamagedRequestIsNotSent(t *testing.T) {
	asked := map[string]string{"url": "https://shop.example/product/1"}
	kept := packed(noerr.Try(json.Marshal(asked)).Must(t))
	const header = 10 // of gzip, which names the time and the system
	for bit := header * 8; bit < len(kept)*8; bit++ {
		damaged, got := slices.Clone(kept), map[string]string{}
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := unpack(damaged, &got); err == nil && !maps.Equal(got, asked) {
			t.Errorf("bit %d of byte %d: %v is sent", bit%8, bit/8, got)
		}
	}
}
