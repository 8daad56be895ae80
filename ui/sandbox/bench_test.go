package sandbox_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
)

// BenchmarkKeyToFrame is a motion key and the frame after it at 200x50, with a
// body of 100 MB open and the history full: at most 4 ms.
func BenchmarkKeyToFrame(b *testing.B) {
	svc := &fakeService{Fetcher: fetch.New(fetch.Config{}), kept: map[string]model.FetchResult{}}
	for i := range 200 {
		svc.history = append(svc.history, model.HistoryEntry{
			ID: int64(1000 - i), Ref: fmt.Sprint(i), At: time.Now(), Kind: model.HistoryFetch,
			Zone: "unlocker_demo", URL: fmt.Sprintf("http://lab.test/%d", i), Via: model.ViaAPI, Class: model.ClassOK,
		})
	}
	line := []byte("<p>the quick brown fox jumps over the lazy dog and goes on for a while</p>\n")
	page := bytes.Repeat(line, 100<<20/len(line))
	res := okResult(model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/large", Via: model.ViaAPI})
	res.Body = model.BodyRef{File: "large", Size: int64(len(page))}
	svc.kept["f_1"] = res
	view := sandbox.New(sandbox.Deps{
		Ctx: b.Context(), Theme: kit.NewTheme(true, false), Fetcher: svc, History: keptFetches{fakeService: svc},
		Saved: &fakeStore{}, Profile: inUse(demoProfile),
		Bodies: &fakeFiles{bodies: map[string]string{"large": string(page)}, opens: map[string]int{}, closes: map[string]int{}},
	})
	run(view, view.Init())
	run(view, kit.Serve(view, kit.SessionChanged{Session: demoSession()}))
	run(view, kit.Serve(view, kit.Resized{W: 200, H: 48}))
	run(view, kit.Serve(view, kit.OpenFetch{ID: "f_1"}))
	view.Render(200, 48)
	key := tea.KeyPressMsg{Code: tea.KeyDown}
	b.ResetTimer()
	for b.Loop() {
		run(view, kit.Serve(view, key))
		view.Render(200, 48)
	}
}

// run plays the root for a view: it runs commands until there are no more.
func run(view *sandbox.Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			run(view, c)
		}
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, m := range msgs {
			run(view, kit.Serve(view, m))
		}
		run(view, more)
	}
}
