package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
)

// looked are the messages about what has changed in the files.
func looked(t *testing.T, c *Console, w *service.Watcher) (msgs []tea.Msg) {
	t.Helper()
	for _, change := range w.Look(t.Context()) {
		msgs = append(msgs, c.changed(change))
	}
	return msgs
}

// told is what messages say: the session they bring, and the texts of their toasts.
func told(msgs []tea.Msg) (s *kit.Session, texts string) {
	for _, m := range msgs {
		switch m := m.(type) {
		case kit.SessionChanged:
			s = &m.Session
		case kit.Toast:
			texts += m.Text + "\n"
		}
	}
	return s, texts
}

func TestChangedSettingsOfWebhooksHoldWithoutARestart(t *testing.T) {
	o := options(t, nil)
	c, err := Open(t.Context(), o)
	noerr.Must(t, err)
	defer func() { noerr.Want(t, c.Close()) }()
	s, w := c.service, c.service.Watcher()
	r, err := s.Inbox.Receive(t.Context(), "127.0.0.1:0", false, nil)
	noerr.Must(t, err)
	defer func() { noerr.Want(t, r.Close()) }()
	for _, step := range []struct {
		config, says string
		want         int
	}{
		{"", "", http.StatusOK},
		{"[webhook]\nmax_body_mb = 1\n", "", http.StatusRequestEntityTooLarge},
		{"[webhook]\n[[webhook.verify]]\nkind = \"authorization\"\nsecret = \"env:NOT_SET\"\n", "webhooks are still received with the old settings: webhooks cannot be verified by number 1", http.StatusRequestEntityTooLarge},
		{"[webhook]\nmax_body_mb = 3\n", "", http.StatusOK},
	} {
		if step.config != "" {
			noerr.Must(t, os.WriteFile(s.Paths.ConfigFile(), []byte(step.config), 0o600))
		}
		_, texts := told(looked(t, c, w))
		if (step.says == "") != (texts == "") || !strings.Contains(texts, step.says) {
			t.Errorf("%q: %q", step.config, texts)
		}
		resp, err := http.Post(r.URL(), "application/json", bytes.NewReader(make([]byte, 2<<20)))
		noerr.Must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != step.want {
			t.Errorf("%q: %d", step.config, resp.StatusCode)
		}
	}
}

func TestAChangedConfigurationHoldsWithoutARestart(t *testing.T) {
	o := options(t, nil)
	paths := config.FindPaths(o.Getenv)
	noerr.Must(t, paths.Ensure())
	acme := model.Profile{Name: "acme", BaseURL: "https://a.example", Verify: true, Key: "etl"}
	noerr.Must(t, config.AddProfile(t.Context(), paths.ConfigFile(), acme))
	c, err := Open(t.Context(), o)
	noerr.Must(t, err)
	defer func() { noerr.Want(t, c.Close()) }()
	s, w := c.service, c.service.Watcher()
	if msgs := looked(t, c, w); len(msgs) != 0 {
		t.Errorf("nothing has changed: %v", msgs)
	}

	before := acme
	acme.ReadOnly, acme.BaseURL = true, "https://b.example"
	noerr.Must(t, noerr.From(config.EditProfile(t.Context(), paths.ConfigFile(), before, acme)))
	now, texts := told(looked(t, c, w))
	if now == nil || now.Profile.BaseURL != "https://b.example" || !strings.Contains(texts, "profile acme has changed") {
		t.Errorf("%+v\n%s", now, texts)
	}
	if p, err := s.Profile(t.Context()); err != nil || !p.ReadOnly {
		t.Errorf("what is sent goes by %+v, %v", p, err)
	}
	if err := s.CurrentProfile().Refuse("change the configuration"); !errors.Is(err, model.ErrReadOnly) || c.refusal() == "" {
		t.Errorf("a profile that became read-only: %v", err)
	}

	noerr.Must(t, config.AddProfile(t.Context(), paths.ConfigFile(), model.Profile{Name: "beta", BaseURL: "https://c.example", Verify: true}))
	if now, texts := told(looked(t, c, w)); now == nil || texts != "" || strings.Join(s.Profiles.Names(), " ") != "acme beta local" {
		t.Errorf("another profile: %v %q %v", now, texts, s.Profiles.Names())
	}

	text, err := os.ReadFile(paths.ConfigFile())
	noerr.Must(t, err)
	write := func(text string) {
		t.Helper()
		noerr.Must(t, os.WriteFile(paths.ConfigFile(), []byte(text), 0o600))
	}
	write(string(text) + "nonsense = [")
	if now, texts := told(looked(t, c, w)); now != nil || !strings.Contains(texts, "stays as it was read before") {
		t.Errorf("a fault in the file: %v %q", now, texts)
	}
	if p, err := s.Profile(t.Context()); err != nil || p.BaseURL != "https://b.example" {
		t.Errorf("after a fault: %+v, %v", p, err)
	}

	write("[profiles.beta]\nbase_url = \"https://c.example\"\n")
	now, texts = told(looked(t, c, w))
	if now == nil || now.Ready || !strings.Contains(now.Problem, "nothing is sent with profile acme") || !strings.Contains(texts, "use another profile") {
		t.Errorf("a profile that is gone: %+v\n%s", now, texts)
	}
	if _, err := s.Profile(t.Context()); err == nil {
		t.Error("it is still sent by")
	}
	write(string(text))
	if now, _ := told(looked(t, c, w)); now == nil || !now.Ready {
		t.Errorf("a profile that is back: %+v", now)
	}

	noerr.Must(t, os.WriteFile(paths.KeysFile(), []byte("version = 1\n[[keys]]\nname = \"etl\"\n"), 0o600))
	if now, _ := told(looked(t, c, w)); now == nil || now.Key.Name != "etl" {
		t.Errorf("a key of another process: %+v", now)
	}

	noerr.Must(t, s.Rotations(nil).Rotations.Start(t.Context(), keystore.RotationPlan{
		ID: "rot-1", Version: 2, Key: "etl", Method: keystore.RotateByNewKey, Steps: []keystore.RotationStep{{Kind: keystore.StepCreate}},
	}))
	if msgs := looked(t, c, w); !reflect.DeepEqual(msgs, []tea.Msg{kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}}}) {
		t.Errorf("a rotation of another process: %v", msgs)
	}
	if msgs := looked(t, c, w); len(msgs) != 0 {
		t.Errorf("nothing has changed: %v", msgs)
	}
}

func TestTheWatchSendsUntilTheConsoleEnds(t *testing.T) {
	o := options(t, map[string]string{"ZONEDECK_BASE_URL": "https://a.example", config.EnvKey: "a-key-of-nobody"})
	c, err := Open(t.Context(), o)
	noerr.Must(t, err)
	got, ended := make(chan tea.Msg, 16), make(chan struct{})
	go func() { defer close(ended); c.Watch(func(m tea.Msg) { got <- m }) }()
	noerr.Must(t, c.service.Keys.Inventory().Add(context.WithoutCancel(t.Context()), model.Key{Name: "seen", Secret: string(keystore.Ref("env:X"))}))
	select {
	case m := <-got:
		if _, ok := m.(kit.SessionChanged); !ok {
			t.Errorf("%+v", m)
		}
	case <-time.After(time.Minute):
		t.Error("the key was not noticed")
	}
	noerr.Want(t, c.Close())
	<-ended
}
