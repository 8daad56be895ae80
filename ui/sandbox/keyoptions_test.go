package sandbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
)

// Many keys are offered once what is said of each is known.
func TestManyKeysAreOffered(t *testing.T) {
	s := kit.Session{Ready: true, Key: model.Key{Name: "key-0000"}, OtherAccounts: map[string]string{"key-0001": "profile beta"}}
	for i := range manyKeys + 1 {
		s.Keys = append(s.Keys, model.Key{Name: fmt.Sprintf("key-%04d", i), Level: model.LevelOps, Secret: "env:KEY"})
	}
	m := New(Deps{Ctx: t.Context(), Theme: kit.NewTheme(true, true), Profile: theProfile{Can: dialect.Abilities("")}})
	cmd := m.newSession(s)
	if batch, ok := cmd().(tea.BatchMsg); ok {
		cmd = batch[0]
	}
	msg, ok := cmd().(kit.Addressed)
	if !ok {
		t.Fatal("they are not offered beside the screen")
	}
	m.Update(kit.Tick{}) // a second passes
	msgs, _ := msg.Deliver()
	if len(msgs) == 0 {
		t.Fatal("they were dropped")
	}
	if l, ok := msgs[0].(kit.Loaded); ok {
		l.Deliver()
	}
	m.form.form.FocusOn(string(fieldKey), true)
	m.layOut()
	if screen := m.Render(120, 40); !strings.Contains(screen, "OPS · unknown · the profile's") || !strings.Contains(screen, "another account's · OPS") {
		t.Errorf("they are not offered:\n%s", screen)
	}
}

// theProfile is in use.
type theProfile model.Profile

func (p theProfile) CurrentProfile() model.Profile { return model.Profile(p) }
func (theProfile) Now() time.Time                  { return noon() }
