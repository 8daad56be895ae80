package proxy

import (
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/clients"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
)

// A frame with a long username at 200x50.
func BenchmarkDraw(b *testing.B) {
	p := model.Profile{
		Name: "local", ProxyHost: "127.0.0.1", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01", Dialect: "brightdata", Can: dialect.Abilities("brightdata"), Verify: true,
		Zones: []model.Zone{{Name: "residential-demo-eu", Product: model.ProductResidential}},
	}
	m := New(Deps{
		Now: time.Now, Theme: kit.NewTheme(true, false), Profile: theProfile{profile: &p},
		Machine: clients.Machine{Getenv: func(string) string { return "" }, Now: time.Now},
	})
	for name, value := range map[string]string{"country": "de", "city": "berlin", "zip": "10115", "session": "a1"} {
		m.form.SetValue(name, value)
	}
	m.compose()
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Render(200, 50)
	}
}
