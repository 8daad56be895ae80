package sandbox

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/model/modeltest"
	"zonedeck/service/dialect"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

// editedValue is what an operator writes into a field after a result came.
var editedValue = map[string]string{
	"Zone": "isp_demo", "URL": "http://lab.test/edited", "Via": "native", "Format": "json", "Key": "other", "Method": "PUT", "Headers": "X-A: 1",
	"Country": "de", "Session": "s7", "Timeout": "9m0s",
}

// No next step of any class reverts a field that was edited since its result came. What a
// step changes itself is one field.
func TestNoNextStepRevertsAFieldThatWasEdited(t *testing.T) {
	changes := map[model.Action]string{model.ActionTryUnlocker: "Zone", model.ActionTryBrowser: "Zone", model.ActionOtherWay: "Via"}
	var actions []model.Action
	for _, d := range modeltest.Steps(t, "../../testdata/diagnosis") {
		if a := d.Steps[0].Action; !slices.Contains(actions, a) {
			actions = append(actions, a)
		}
	}
	zones := []model.Zone{
		{Name: "datacenter_demo", Product: model.ProductDatacenter, Password: "demo:a"},
		{Name: "isp_demo", Product: model.ProductISP, Password: "demo:a"},
		{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:a"},
		{Name: "browser_demo", Product: model.ProductBrowser, Password: "demo:a"},
	}
	p := model.Profile{Name: "local", Local: true, BaseURL: "http://127.0.0.1:1", ProxyHost: "127.0.0.1", ProxyPort: 1, UsernamePrefix: "brd", Account: "hl_demo01", Dialect: "brightdata", Can: dialect.Abilities("brightdata"), Key: "k", Verify: true, Zones: zones}
	fieldsOf := reflect.TypeFor[draft]()
	for _, action := range actions {
		for f := range fieldsOf.Fields() {
			if f.Name == "Profile" || f.Type.Kind() != reflect.String {
				continue
			}
			m := New(Deps{
				Ctx: t.Context(), Theme: kit.NewTheme(true, false), Fetcher: fetch.New(fetch.Config{}), Profile: theProfile(p),
			})
			kit.Serve(m, kit.SessionChanged{Session: kit.Session{ProfileName: "local", Local: true, Ready: true, Zones: zones, Key: model.Key{Name: "k"}, Profile: p}})
			m.result.res = model.FetchResult{Request: model.FetchRequest{Zone: zones[0], URL: "http://lab.test/ok", Via: model.ViaAPI}, KeyName: "k"}
			m.result.origin = fromSending
			edit := m.form.draft()
			was := reflect.ValueOf(&edit).Elem().FieldByIndex(f.Index)
			value, known := editedValue[f.Name]
			if !known {
				value = "1"
			}
			if was.String() == value {
				t.Fatalf("%s is %q before it is edited", f.Name, value)
			}
			was.SetString(value)
			m.form.fill(edit)
			m.refresh()
			before := m.form.draft()
			if action == model.ActionOtherWay {
				m.sendOther(false)
			} else {
				m.runStep(runStep{step: model.Step{Action: action, Text: "x"}})
			}
			after := m.form.draft()
			for g := range fieldsOf.Fields() {
				old, now := reflect.ValueOf(before).FieldByIndex(g.Index), reflect.ValueOf(after).FieldByIndex(g.Index)
				longer := action == model.ActionRaiseTimeout && g.Name == "Timeout"
				if longer {
					if a, _ := time.ParseDuration(old.String()); a > 0 {
						if b, err := time.ParseDuration(now.String()); err != nil || b < a {
							t.Errorf("%s after an edit of %s: the timeout %s becomes %s", action, f.Name, old, now)
						}
					}
				} else if old.Interface() != now.Interface() && g.Name != changes[action] {
					t.Errorf("%s after an edit of %s changes %s from %v to %v", action, f.Name, g.Name, old, now)
				}
			}
		}
	}
	if len(actions) < 10 {
		t.Errorf("%d actions, fewer than the corpus has", len(actions))
	}
}
