package service

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/keys"
	"zonedeck/service/profiles"
	"zonedeck/service/radius"
	"zonedeck/service/saved"
)

// saveProfile saves a draft as Check reports it.
func saveProfile(t *testing.T, s *Service, d profiles.Draft, a ask.Answers) (model.Profile, error) {
	t.Helper()
	r, err := s.Profiles.Check(d)
	if err != nil {
		return d.Profile, err
	}
	return s.Profiles.Save(t.Context(), r, a)
}

// The history shows why an ADMIN key is the key of a profile.
func TestAnADMINKeyIsChosenWithAReasonOnly(t *testing.T) {
	o := options(t, nil)
	o.NoProfile, o.Journal = true, true
	s, err := Open(t.Context(), o)
	noerr.Must(t, err)
	defer s.Close(t.Context())
	value := keystore.NewSecret("value-of-boss-0123456789")
	d := profiles.Draft{
		Profile: model.Profile{Name: "acme", BaseURL: "https://api.example.com", Key: "boss", APIVersion: model.DefaultAPIVersion, Verify: true},
		Level:   model.LevelAdmin, Reference: "file:boss", Value: value,
	}
	reason := func(text string) ask.Answers {
		return ask.Answers{}.AlwaysWith(ask.AdminReason, ask.Answer{Text: text})
	}
	var admin *keys.AdminError
	if _, err := saveProfile(t, s, d, nil); !errors.As(err, &admin) {
		t.Errorf("without a reason: %v", err)
	}
	unnamed := d // behind a reference, and under another name
	noerr.Must(t, s.Resolver.Store(t.Context(), "file:boss", value))
	noerr.Must(t, s.Keys.Inventory().Add(t.Context(), model.Key{Name: "chief", Level: model.LevelAdmin, Secret: "file:boss", Fingerprint: value.Fingerprint()}))
	unnamed.Level, unnamed.Value = model.LevelUser, keystore.Secret{}
	if _, err := saveProfile(t, s, unnamed, nil); !errors.As(err, &admin) || admin.Finding.Key != "chief" {
		t.Errorf("behind a reference: %v", err)
	}
	chief, _ := s.Keys.Inventory().Get("chief")
	noerr.Must(t, errors.Join(s.Keys.Inventory().Remove(t.Context(), chief), s.Resolver.Remove(t.Context(), "file:boss")))
	if _, err := saveProfile(t, s, d, reason("it is "+value.Reveal())); !errors.Is(err, keys.ErrReasonHoldsValue) {
		t.Errorf("with the value for a reason: %v", err)
	}
	if len(s.Keys.Inventory().List()) > 0 {
		t.Error("it was saved")
	}
	mistaken := d
	mistaken.Profile.Color = "pink"
	if _, err := saveProfile(t, s, mistaken, reason("it was not chosen")); !errors.Is(err, config.ErrProfile) {
		t.Errorf("with a mistake in the profile: %v", err)
	}
	if events, err := s.journal.KeyEvents(t.Context(), "boss", 10); err != nil || len(events) > 0 {
		t.Errorf("nothing was chosen, and the history has %+v, %v", events, err)
	}
	noerr.Must(t, noerr.From(saveProfile(t, s, d, reason("there is no other key"))))
	events, err := s.journal.KeyEvents(t.Context(), "boss", 10)
	if err != nil || !slices.ContainsFunc(events, func(e journal.KeyEvent) bool {
		return e.Profile == "acme" && strings.Contains(e.Text, "there is no other key")
	}) {
		t.Errorf("%+v, %v", events, err)
	}
}

// A key that is recorded without a reference is somebody's all the same.
func TestAKeyThatIsOnlyTrackedBecomesThatOfAProfile(t *testing.T) {
	value := keystore.NewSecret("value-of-tracked-0123456789")
	for name, want := range map[string]struct {
		key         string
		value       keystore.Secret
		edit, agree bool // agree is a person's answer; a command has none
		err         error
	}{
		"another account's, with a typed value":             {key: "tracked", value: value, err: keys.ErrOtherAccount},
		"another account's, with a typed value, in an edit": {key: "tracked", value: value, edit: true, err: keys.ErrOtherAccount},
		"another account's, and a person agreed":            {key: "tracked", value: value, agree: true},
		"in an edit, without a value":                       {key: "unused", edit: true},
		"of a new profile, without a value":                 {key: "unused", err: model.ErrRequest},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, nil)
			o.NoProfile, o.Journal, o.Unattended = true, true, !want.agree
			dir := filepath.Join(o.Getenv("XDG_CONFIG_HOME"), "zonedeck")
			text := "[profiles.theirs]\nbase_url = \"https://api.example.com\"\nkey = \"tracked\"\n[profiles.mine]\nbase_url = \"https://other.example.com\"\n"
			noerr.Must(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600)))
			s := openTest(t, o)
			for _, key := range []string{"tracked", "unused"} {
				noerr.Must(t, s.Keys.Inventory().Add(t.Context(), model.Key{Name: key, Level: model.LevelUser}))
			}
			d, err := s.Profiles.Begin("third")
			if want.edit {
				d, err = s.Profiles.Edit("mine")
			}
			noerr.Must(t, err)
			d.Profile.BaseURL, d.Profile.Key, d.Value = "https://other.example.com", want.key, want.value
			given := ask.Answers{}
			for _, q := range s.Profiles.Questions(d) {
				if want.agree {
					given = given.With(q, ask.Agreed)
				}
			}
			if _, err := saveProfile(t, s, d, given); !errors.Is(err, want.err) {
				t.Errorf("it ended with %v, want %v", err, want.err)
			}
			if k, _ := s.Keys.Inventory().Get(want.key); k.Secret != "" != want.agree || k.Fingerprint != "" != want.agree {
				t.Errorf("its record became %+v", k)
			}
		})
	}
}

// Removing an account keeps what something else needs.
func TestAnAccountDoesNotTakeAlongWhatIsNeeded(t *testing.T) {
	o := options(t, map[string]string{})
	o.NoProfile, o.Ledger, o.Journal = true, true, true
	config := filepath.Join(o.Getenv("XDG_CONFIG_HOME"), "zonedeck")
	text := "[profiles.acme]\nbase_url = \"https://api.example.com\"\nkey = \"etl\"\n"
	noerr.Must(t, errors.Join(os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600)))
	s := openTest(t, o)
	must := func(err error) {
		t.Helper()
		noerr.Must(t, err)
	}
	must(s.Resolver.Store(t.Context(), "file:acme-etl", keystore.NewSecret("value-of-etl-0123456789")))
	must(s.Keys.Inventory().Add(t.Context(), model.Key{Name: "etl", Secret: "file:acme-etl"}))
	r, err := s.Profiles.Removal("acme")
	must(err)
	refused := func(withKey, withSecrets bool, words string) {
		t.Helper()
		if err := s.Profiles.Remove(t.Context(), r, withKey, withSecrets); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q: %v", words, err)
		}
		noerr.Want(t, noerr.From(s.Resolver.Resolve(t.Context(), "file:acme-etl")))
		if _, ok := s.Keys.Inventory().Get("etl"); !ok || len(s.Configuration().Names()) != 1 {
			t.Error("something is gone")
		}
	}

	requests := saved.New(s.Paths.RequestsDir())
	_, err = requests.Save(t.Context(), "daily", model.FetchRequest{URL: "https://shop.example/", Via: model.ViaAPI, Key: "etl"}, false)
	must(err)
	refused(true, false, "saved request daily needs key etl")
	must(os.WriteFile(filepath.Join(s.Paths.RequestsDir(), "daily.toml"), []byte("key ="), 0o600))
	refused(true, false, "it is not known what needs key etl: ")
	must(os.RemoveAll(s.Paths.RequestsDir()))

	job, err := s.ledger.Begin(t.Context(), model.Job{Profile: "acme", KeyName: "etl"}, "digest", nil, nil)
	must(err)
	refused(true, true, job.ID)
	refused(true, false, job.ID)
	_, err = s.ledger.Change(t.Context(), job.ID, func(j *model.Job) (string, error) { j.State = model.JobDownloaded; return "", nil })
	must(err)

	var asked bytes.Buffer // as the ledger keeps it
	z := gzip.NewWriter(&asked)
	_, err = z.Write([]byte(`{"Settings":{"auth":"file:acme-etl"}}`))
	must(errors.Join(err, z.Close()))
	job, err = s.ledger.Begin(t.Context(), model.Job{Profile: "other", KeyName: "another"}, "digest", asked.Bytes(), nil)
	must(err)
	refused(true, true, job.ID+" (intent) needs file:acme-etl, the Authorization header of its delivery. Wait for its end, or keep the secrets")
}

// Asking an account is a use of its key, both by a command and by the form.
func TestAskingAnAccountIsAUseOfItsKey(t *testing.T) {
	var status atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte(`{"status":"active","customer":"hl_1","can_make_requests":true}`))
	}))
	t.Cleanup(service.Close)
	o := options(t, nil)
	o.NoProfile, o.Journal = true, true
	s, err := Open(t.Context(), o)
	noerr.Must(t, err)
	defer s.Close(t.Context())
	noerr.Must(t, s.Keys.Inventory().Add(t.Context(), model.Key{Name: "recorded", Secret: "env:RECORDED"}))
	for name, tt := range map[string]struct {
		key      string
		status   int
		readOnly bool
		want     bool
	}{
		"a new key":                            {key: "new", status: http.StatusOK, want: true},
		"one that is refused, and not saved":   {key: "refused", status: http.StatusUnauthorized},
		"a recorded one that is refused":       {key: "recorded", status: http.StatusUnauthorized, want: true},
		"that of a read-only profile":          {key: "looker", status: http.StatusOK, readOnly: true},
		"one whose service gives no answer":    {key: "unknown", status: http.StatusBadGateway},
		"one that has no name in the form yet": {status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			status.Store(int64(tt.status))
			p := model.Profile{Name: "acme", BaseURL: service.URL, Dialect: "brightdata", Key: tt.key, ReadOnly: tt.readOnly, APIVersion: model.DefaultAPIVersion}
			d, err := s.Profiles.Verify(t.Context(), p, keystore.NewSecret("a-value-0123456789"))
			found := d.Facts
			if ok := found.Key.State == profiles.OK; ok != (tt.status == http.StatusOK) {
				t.Fatalf("%+v, %v", found.Key, err)
			}
			used, err := s.Keys.Inventory().Used(t.Context())
			noerr.Must(t, err)
			if use := used[radius.KeyID{Name: tt.key}]; use.Last.IsZero() == tt.want {
				t.Errorf("%+v", use)
			}
		})
	}
}
