package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/split"
	"zonedeck/ui/uitest"
)

// planner plans as the service does, and sends nothing.
type planner struct{}

func (planner) Plan(_ context.Context, p model.Preset, _ model.FetchRequest) (model.Grid, error) {
	return model.NewRefusal(p), nil
}

func (planner) Compare(context.Context, model.Grid, func(int, model.Cell)) (model.Grid, error) {
	return model.Grid{}, errors.New("nothing is sent")
}

// walkPaidSplit sees the question that the emulator, where fetches cost nothing, is not asked.
func walkPaidSplit(t *testing.T, ref *reference) {
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		app := ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
			Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &uitest.Elsewhere{}}},
			Session: kit.Session{ProfileName: "acme", Ready: true},
		})
		zones := []model.Zone{{Name: "dc1", Product: model.ProductDatacenter}, {Name: "isp1", Product: model.ProductISP}}
		subject := model.FetchResult{
			ID: "f_0", Status: 403, Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted},
			Request: model.FetchRequest{Zone: zones[0], URL: "http://shop.example/"},
		}
		// Of the places that this console has, the question alone belongs to the reference.
		own := &reference{}
		s := uitest.Start(t, &recorder{App: app, ref: own}, 120, 40)
		s.Send(split.Open(split.Deps{
			Ctx: t.Context(), Theme: theme, Comparer: planner{},
			Zones: func() []model.Zone { return zones }, Keys: func() []model.Key { return nil },
		}, subject)())
		s.Expect("y send them")
		ref.see(dialogs, app.Target().Bindings())
	})
}
