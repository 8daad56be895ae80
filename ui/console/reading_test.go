package console

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/profiles"
	"zonedeck/ui/kit"
)

// consoleWith opens a console of an account whose key is etl, with a text for the inventory.
func consoleWith(t *testing.T, env map[string]string, inventory string) *Console {
	t.Helper()
	o := options(t, env)
	paths := config.FindPaths(o.Getenv)
	noerr.Must(t, paths.Ensure())
	acme := model.Profile{Name: "acme", BaseURL: "https://a.example", Verify: true, Key: "etl", Variables: map[string]string{"token": "env:ETL_KEY"}}
	noerr.Must(t, config.AddProfile(t.Context(), paths.ConfigFile(), acme))
	noerr.Must(t, os.WriteFile(paths.KeysFile(), []byte(inventory), 0o600))
	c, err := Open(t.Context(), o)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, c.Close()) })
	return c
}

// longInventory is one that is not read before the first paint; etl is the last.
func longInventory(etl string) string {
	var b strings.Builder
	for i := 0; b.Len() <= service.ReadAtOnce; i++ {
		fmt.Fprintf(&b, "[[keys]]\nname = \"key-%06d\"\nsecret = \"env:KEY_%d\"\nnote = \"one of many keys\"\n", i, i)
	}
	return b.String() + "[[keys]]\nname = \"etl\"\nsecret = \"env:ETL_KEY\"\n" + etl
}

// all are the messages of one that may be a batch.
func all(msg tea.Msg) (out []tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			out = append(out, all(cmd())...)
		}
		return out
	}
	return append(out, msg)
}

func TestALongInventoryIsReadAfterTheFirstPaint(t *testing.T) {
	c := consoleWith(t, nil, longInventory(""))
	c.Root()
	s := c.service
	before := c.describe()
	if !errors.Is(before.Unread, keystore.ErrKeysUnread) || before.Ready || before.Problem != "" || before.NotReady() != keystore.ErrKeysUnread.Error() || before.MissingKey("") != before.NotReady() {
		t.Errorf("before it is read: ready %v, problem %q, unread %v", before.Ready, before.Problem, before.Unread)
	}
	if v, _ := s.Variable("token"); v.Refused != keystore.ErrKeysUnread.Error() || c.refusal() == "" {
		t.Errorf("what may be a key goes to a target: %+v", v)
	}
	now, texts := told(all(c.readKeys()))
	if now == nil || !now.Ready || now.Unread != nil || now.Key.Name != "etl" || texts != "" || now.Turn <= before.Turn {
		t.Errorf("after it was read: %+v\n%s", now, texts)
	}
	if v, _ := s.Variable("token"); v.Refused == "" || v.Refused == keystore.ErrKeysUnread.Error() {
		t.Errorf("a key goes to a target: %+v", v)
	}
	if msg := c.readKeys(); msg != nil {
		t.Errorf("it is told twice: %v", msg)
	}
}

// The environment's key is known to be ADMIN before anybody gets it, whoever asks first.
func TestTheEnvironmentsKeyIsRecognisedByWhoAsksFirst(t *testing.T) {
	c := consoleWith(t, map[string]string{config.EnvKey: "a-value-of-etl-0000", "ETL_KEY": "a-value-of-etl-0000"}, longInventory("level = \"ADMIN\"\n"))
	if k, ok := c.service.Keys.Key(config.EnvKey); !ok || k.Level != model.LevelAdmin {
		t.Errorf("the key of the environment is %+v", k)
	}
}

func TestWithAnInventoryThatCannotBeReadTheConsoleOpensAndSendsNothing(t *testing.T) {
	for what, damaged := range map[string]string{"short": "[[keys]]\nname = \"etl", "long": longInventory("note = \"cut")} {
		c := consoleWith(t, map[string]string{config.EnvKey: "a-value-of-somebody"}, damaged)
		s, w := c.service, c.service.Watcher()
		now, texts := told(all(c.readKeys()))
		if now == nil || now.Ready || !strings.Contains(now.Problem, "keys.toml:") || !strings.Contains(texts, "read the key inventory: ") {
			t.Fatalf("%s: %+v\n%s", what, now, texts)
		}
		for doing, err := range map[string]error{
			"its profile": func() error { _, err := s.Profile(t.Context()); return err }(),
			"a key": func() error {
				_, err := s.Keys.Value(t.Context(), s.CurrentProfile(), model.Key{Name: config.EnvKey, Secret: "env:" + config.EnvKey})
				return err
			}(),
			"saving":    func() error { _, err := s.Profiles.Save(t.Context(), profiles.Report{}, nil); return err }(),
			"removal":   func() error { _, err := s.Profiles.Removal("acme"); return err }(),
			"removing":  s.Profiles.Remove(t.Context(), profiles.Removal{}, true, true),
			"secrets":   func() error { _, err := s.Profiles.SecretUses(t.Context()); return err }(),
			"a secret":  s.Profiles.SetSecret(t.Context(), "file:x", keystore.NewSecret("value")),
			"rotations": s.Rotations(nil).Refuse(keystore.RotationPlan{Key: "etl"}),
			"recording": s.Keys.Inventory().Add(t.Context(), model.Key{Name: "new"}),
		} {
			if err == nil || !strings.Contains(err.Error(), "keys.toml:") {
				t.Errorf("%s: %s is not refused: %v", what, doing, err)
			}
		}
		if text, err := os.ReadFile(s.Paths.KeysFile()); err != nil || string(text) != damaged {
			t.Errorf("%s: the file was changed (%v)", what, err)
		}
		noerr.Must(t, os.WriteFile(s.Paths.KeysFile(), []byte("[[keys]]\nname = \"etl\"\n"), 0o600))
		msgs := looked(t, c, w)
		if now, _ := told(msgs); now == nil || !now.Ready || now.Unread != nil || len(now.Keys) != 2 {
			t.Errorf("%s: once corrected: %+v", what, now)
		}
		if msgs[len(msgs)-1] != tea.Msg(kit.KeysFault("")) {
			t.Errorf("%s: the error stays: %v", what, msgs)
		}
	}
}

func TestWhatWasSavedIsToldByTheConsoleOfThatProfile(t *testing.T) {
	c, err := Open(t.Context(), options(t, nil))
	noerr.Must(t, err)
	defer func() { noerr.Want(t, c.Close()) }()
	c.Switch("acme", "saved acme: jobs")()
	if c.next != "acme" || c.Said != "saved acme: jobs" {
		t.Fatalf("goes on with %q and says %q", c.next, c.Said)
	}
	all, _ := c.tellNotices()().(tea.BatchMsg)
	if toast, _ := all[0]().(kit.Toast); toast.Text != "saved acme: jobs" || c.Said != "" {
		t.Errorf("told %q, and %q is left", toast.Text, c.Said)
	}
}
