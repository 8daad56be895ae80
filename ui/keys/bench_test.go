package keys_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
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
		m := keys.New(keys.Deps{
			Ctx: t.Context(), Now: func() time.Time { asked++; return benchNow }, Theme: kit.NewTheme(true, false), Inventory: inventory,
		})
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
	manyMoved, manyFiltered := looks(20_000)
	if moved == 0 || filtered == 0 || moved != manyMoved || filtered != manyFiltered {
		t.Errorf("of 200 keys a move looks %d times and a letter %d times, of 20,000 %d and %d", moved, filtered, manyMoved, manyFiltered)
	}
}

// BenchmarkFrameOfManyKeys is one key press and the frame after it, with 100,000 keys: the budget
// is 16 ms.
func BenchmarkFrameOfManyKeys(b *testing.B) {
	m := keys.New(keys.Deps{
		Ctx: context.Background(), Now: func() time.Time { return benchNow }, Theme: kit.NewTheme(true, false), Inventory: manyKeys(100_000),
	})
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
	b.Run("open", func(b *testing.B) {
		all := manyKeys(100_000)
		for b.Loop() {
			keys.New(keys.Deps{Ctx: context.Background(), Now: func() time.Time { return benchNow }, Theme: kit.NewTheme(true, false), Inventory: all}).Render(200, 50)
		}
	})
}
