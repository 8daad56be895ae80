package sandbox_test

import (
	"fmt"
	"testing"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
)

func manyKeys(n int) kit.Session {
	s := demoSession()
	for i := range n {
		s.Keys = append(s.Keys, model.Key{Name: fmt.Sprintf("key-%05d", i), Level: model.LevelOps, Secret: "env:KEY"})
	}
	return s
}

// A second that passes, and a session that has changed, cost the Sandbox as much with many keys as with few.
func TestManyKeysAreOfferedBesideTheScreen(t *testing.T) {
	allocs := func(n int) (session, tick float64) {
		view := sandbox.New(sandbox.Deps{Ctx: t.Context(), Theme: kit.NewTheme(true, false), Profile: inUse(demoProfile), Fetcher: fetch.New(fetch.Config{})})
		changed := kit.SessionChanged{Session: manyKeys(n)}
		return testing.AllocsPerRun(5, func() { kit.Serve(view, changed) }), testing.AllocsPerRun(5, func() { kit.Serve(view, kit.Tick{}) })
	}
	session, tick := allocs(2000)
	if moreSession, moreTick := allocs(20_000); tick == 0 || session == 0 || moreSession > 2*session || moreTick > 2*tick {
		t.Errorf("with 2,000 keys a session makes %.0f allocations and a second %.0f, with 20,000 %.0f and %.0f", session, tick, moreSession, moreTick)
	}
}
