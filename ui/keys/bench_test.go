package keys_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// many is an inventory of many keys, in memory.
type many struct {
	keys.Inventory
	keys []model.Key
}

func (m many) List() []model.Key { return m.keys }
func (m many) Reload() error     { return nil }

func manyKeys(n int) many {
	list := make([]model.Key, n)
	for i := range list {
		list[i] = model.Key{
			Name: fmt.Sprintf("key-%06d", i), Level: model.Levels()[i%5], Duty: model.DutyBatch, Fingerprint: fmt.Sprintf("%016x", i/2),
			Expires: model.ExpiresAt(benchNow.AddDate(0, 0, i%400-20)), Rotation: model.Rotation{Last: benchNow.AddDate(0, 0, -i%150)}, Secret: fmt.Sprintf("env:KEY_%d", i), UsedBy: []string{"nightly"},
		}
	}
	return many{keys: list}
}

var benchNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// listed is the tab once it has listed its keys.
func listed(d keys.Deps) *keys.Model {
	d.Theme, d.Rotations, d.Uses = kit.NewTheme(true, false), noRotations{}, fakeUses{}
	m := keys.New(d)
	finish(m, m.Init())
	return m
}

type noRotations struct{ keys.Rotations }

func (noRotations) List() ([]keystore.RotationPlan, error) { return nil, nil }

// finish plays the root: it runs a command and what follows from it.
func finish(m *keys.Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			finish(m, cmd)
		}
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, msg := range msgs {
			finish(m, kit.Serve(m, msg))
		}
		finish(m, more)
	}
}

// typeInto begins to type into the first field of a form.
func typeInto(form kit.Overlay) {
	if b, ok := kit.Find(form.Bindings(), "enter", false); ok {
		form.Update(b.Intent)
	}
}

func openFilter(m *keys.Model) {
	if b, ok := kit.Find(m.Bindings(), "/", false); ok {
		m.Update(b.Intent)
	}
}

// A frame, and a letter of the filter, look at the clocks of the keys on the screen alone,
// however many there are.
func TestAFrameLooksAtTheKeysOnTheScreen(t *testing.T) {
	looks := func(n int) (moved, filtered int) {
		asked, inventory := 0, manyKeys(n)
		m := listed(keys.Deps{Ctx: t.Context(), Now: func() time.Time { asked++; return benchNow }, Inventory: inventory})
		m.Render(200, 50)
		count := func(press tea.KeyPressMsg) int {
			asked = 0
			m.Update(kit.Tick{})
			m.Update(press)
			m.Bindings()
			m.Render(200, 50)
			return asked
		}
		moved = count(tea.KeyPressMsg{Code: 'j', Text: "j"})
		openFilter(m)
		return moved, count(tea.KeyPressMsg{Code: 'k', Text: "k"})
	}
	moved, filtered := looks(200)
	manyMoved, manyFiltered := looks(6000)
	if moved == 0 || filtered == 0 || moved != manyMoved || filtered != manyFiltered {
		t.Errorf("of 200 keys a move looks %d times and a letter %d times, of 6,000 %d and %d", moved, filtered, manyMoved, manyFiltered)
	}
}

// What a list that was derived beside the screen is shown by was derived there, too: neither taking it
// nor the frame after it looks at every key.
func TestAListOfManyKeysIsTakenAsItWasDerived(t *testing.T) {
	looks := func(n int) (asked int) {
		m := keys.New(keys.Deps{
			Ctx: t.Context(), Now: func() time.Time { asked++; return benchNow }, Theme: kit.NewTheme(true, false), Inventory: manyKeys(n), Rotations: noRotations{}, Uses: fakeUses{},
		})
		m.Render(200, 50)
		msg, ok := m.Update(kit.SessionChanged{Session: kit.Session{Keys: manyKeys(n).keys}})().(tea.BatchMsg)[0]().(kit.Addressed)
		if !ok {
			t.Fatal("the keys are not derived beside the screen")
		}
		msgs, _ := msg.Deliver()
		asked = 0
		kit.Serve(m, msgs[0])
		if screen := m.Render(200, 50); !strings.Contains(screen, "Keys ("+text.Count(n)+")") {
			t.Errorf("the frame after it:\n%s", screen)
		}
		return asked
	}
	if few, many := looks(6000), looks(8000); few == 0 || few != many {
		t.Errorf("of 6,000 keys %d are looked at, of 8,000 %d", few, many)
	}
}

// A letter in the form of a key looks at the keys that may share its value.
func TestALetterInTheFormMakesNothingOfTheOtherKeys(t *testing.T) {
	allocs := func(n int) float64 {
		m := listed(keys.Deps{Ctx: t.Context(), Now: func() time.Time { return benchNow }, Inventory: manyKeys(n)})
		b, _ := kit.Find(m.Bindings(), "a", false)
		open, ok := m.Update(b.Intent)().(kit.Open)
		if !ok {
			t.Fatal("there is no form")
		}
		typeInto(open.Overlay)
		return testing.AllocsPerRun(20, func() { open.Overlay.Update(tea.KeyPressMsg{Code: 'x', Text: "x"}) })
	}
	if few, many := allocs(20), allocs(4000); few == 0 || many > 2*few {
		t.Errorf("beside 20 keys a letter makes %.0f allocations, beside 4,000 %.0f", few, many)
	}
}

// Many keys are read beside the screen: no message waits for them, the list before is shown until
// then, and what comes while they are read is read once more.
func TestManyKeysAreReadBesideTheScreen(t *testing.T) {
	inventory := &counted{many: manyKeys(6000)}
	m := keys.New(keys.Deps{
		Ctx: t.Context(), Now: func() time.Time { return benchNow }, Theme: kit.NewTheme(true, false), Inventory: inventory, Rotations: noRotations{}, Uses: fakeUses{},
	})
	if screen := m.Render(120, 30); !strings.Contains(screen, keystore.ErrKeysUnread.Error()) {
		t.Errorf("before they are read:\n%s", screen)
	}
	begun := m.Init()
	made := inventory.lists
	more := m.Update(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", ProfileKeys: []model.Key{{Name: "given"}}}})
	m.Update(kit.OpenKey{Name: "given"})
	if inventory.lists > made+1 {
		t.Errorf("a change of the session made %d lists at once", inventory.lists-made)
	}
	finish(m, begun)
	finish(m, more)
	screen := m.Render(120, 30)
	if !strings.Contains(screen, "Keys ("+text.Count(6001)+")") || !strings.Contains(screen, "›? unknown     given ") {
		t.Errorf("after they were read:\n%s", screen)
	}
}

// counted counts how often the list was made.
type counted struct {
	many
	lists int
}

func (c *counted) List() []model.Key { c.lists++; return c.many.List() }

// A frame costs the same however many keys there are, and a letter of the filter looks at each key's
// words once. Both are ratios of the fastest of many turns, which run in turns within this test: what else
// the machine does slows both sides.
func TestWhatAFrameOfManyKeysCostsBesideOneOfFew(t *testing.T) {
	tab := func(n int) *keys.Model {
		list := manyKeys(n)
		for i := range list.keys { // nothing is wrong with them: findings take long to make
			k := &list.keys[i]
			k.Level, k.Fingerprint, k.Expires = model.LevelUser, fmt.Sprintf("%016x", i), model.ExpiresAt(benchNow.AddDate(1, 0, 0))
			k.Rotation.Last = benchNow.AddDate(0, 0, -1)
		}
		m := listed(keys.Deps{Ctx: t.Context(), Now: func() time.Time { return benchNow }, Inventory: list})
		m.Render(80, 12)
		return m
	}
	few, many := tab(100), tab(50_000)
	frame := func(m *keys.Model) func() {
		return func() { m.Update(tea.KeyPressMsg{Code: 'j', Text: "j"}); m.Bindings(); m.Render(80, 12) }
	}
	if a, b := fastest(frame(few), frame(many)); b > 3*a {
		t.Errorf("a line down and its frame take %s of 100 keys and %s of 50,000", a, b)
	}

	words := make([]string, 50_000) // as many bytes as a row's words have
	for i := range words {
		words[i] = strings.ToLower(fmt.Sprintf("in 12 d\n60 d ago\n30 d left\nkey-%06d\nuser\nbatch job\nnightly", i))
	}
	found := 0
	scan := func() {
		for i := range words {
			if strings.Contains(words[i], "qq") {
				found++
			}
		}
	}
	openFilter(many)
	letter := func() {
		many.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		many.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
		many.Render(80, 12)
	}
	many.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
	// Making the words anew would cost hundreds of looks. The race detector, which watches one side's loop more
	// than the other's, makes it some twenty.
	if a, b := fastest(scan, letter); b > 60*a {
		t.Errorf("a letter of the filter taken back and typed again takes %s, one look at the words of as many keys %s", b, a)
	}
}

// fastest is how long the fastest of many turns of each takes.
func fastest(a, b func()) (of, beside time.Duration) {
	of, beside = time.Hour, time.Hour
	for range 40 {
		begun := time.Now()
		a()
		between := time.Now()
		b()
		of, beside = min(of, between.Sub(begun)), min(beside, time.Since(between))
	}
	return of, beside
}

// BenchmarkFrameOfManyKeys is one key press and the frame after it, with 100,000 keys: the budget
// is 16 ms.
func BenchmarkFrameOfManyKeys(b *testing.B) {
	m := listed(keys.Deps{Ctx: context.Background(), Now: func() time.Time { return benchNow }, Inventory: manyKeys(100_000)})
	m.Render(200, 50)
	press := func(key rune) { m.Update(tea.KeyPressMsg{Code: key, Text: string(key)}); m.Render(200, 50) }
	b.Run("move", func(b *testing.B) {
		for b.Loop() {
			press('j')
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/frame")
	})
	b.Run("filter", func(b *testing.B) {
		typed := []rune("9 level:user state:due")
		for i := 0; b.Loop(); i++ {
			if i%len(typed) == 0 {
				openFilter(m)
				m.Update(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
			}
			press(typed[i%len(typed)])
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/frame")
	})
	b.Run("form", func(b *testing.B) {
		m.Update(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
		if leave, ok := kit.Find(m.Bindings(), "esc", true); ok {
			m.Update(leave.Intent)
		}
		binding, _ := kit.Find(m.Bindings(), "a", false)
		open, ok := m.Update(binding.Intent)().(kit.Open)
		if !ok {
			b.Fatal("there is no form")
		}
		typeInto(open.Overlay)
		for b.Loop() {
			open.Overlay.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
			open.Overlay.Render(76, 40)
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/frame")
	})
	b.Run("taken", func(b *testing.B) { // the list after a change, an expiry, the end of a scan
		session := kit.SessionChanged{Session: kit.Session{Keys: manyKeys(100_000).keys}}
		for b.Loop() {
			b.StopTimer()
			msg, ok := m.Update(session)().(tea.BatchMsg)[0]().(kit.Addressed)
			if !ok {
				b.Fatal("the keys are not derived beside the screen")
			}
			msgs, _ := msg.Deliver()
			b.StartTimer()
			kit.Serve(m, msgs[0])
			m.Render(200, 50)
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/frame")
	})
	b.Run("open", func(b *testing.B) {
		all := manyKeys(100_000)
		for b.Loop() {
			listed(keys.Deps{Ctx: context.Background(), Now: func() time.Time { return benchNow }, Inventory: all}).Render(200, 50)
		}
	})
}
