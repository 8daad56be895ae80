package cli

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// planner plans as the service does, and sends nothing.
type planner struct{}

func (planner) Plan(_ context.Context, p model.Preset, _ model.FetchRequest) (model.Grid, error) {
	return model.NewRefusal(p), nil
}

func (planner) StopCell(string, int) {}

func (planner) Compare(context.Context, model.Grid, func(int, model.Cell)) (model.Grid, error) {
	return model.Grid{}, errors.New("nothing is sent")
}

// walkPaidRefusal sees the question about cost. The emulator never asks it, because its fetches are free.
func walkPaidRefusal(t *testing.T, ref *reference) {
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		app := ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
			Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &uitest.OtherTab{}}},
			Session: kit.Session{ProfileName: "acme", Ready: true},
		})
		zones := []model.Zone{{Name: "dc1", Product: model.ProductDatacenter}, {Name: "isp1", Product: model.ProductISP}}
		subject := model.FetchResult{
			ID: "f_0", Status: 403, Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted},
			Request: model.FetchRequest{Zone: zones[0], URL: "http://shop.example/"},
		}
		// Only the question belongs to the reference, not the other places of this console.
		own := newReference()
		s := uitest.Start(t, &recorder{App: app, ref: own}, 120, 40)
		page := compare.New(compare.Deps{Ctx: t.Context(), Theme: theme, Comparer: planner{}})
		page.SetSession(kit.Session{ProfileName: "acme", Ready: true, Zones: zones})
		s.Send(page.Refusal(subject)())
		s.Expect("y send them")
		ref.see(dialogs, app.Target().Bindings())
		ref.together(append(slices.Clone(app.Target().Bindings()), app.Bindings()[1:]...)) // without the tab
	})
}
