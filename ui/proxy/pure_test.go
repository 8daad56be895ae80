package proxy

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/clients"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func testCredential(params ...model.Param) model.Credential {
	return model.Credential{Prefix: "brd", Account: "hl_demo01", Zone: "residential_demo", Params: params}
}

func TestExplanationPutsEachLabelUnderItsPart(t *testing.T) {
	c := testCredential(model.Param{Name: "country", Value: "de"}, model.Param{Name: "session", Value: "a1"})
	lines := explain(c.Parts(), 100)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1", len(lines))
	}
	e := lines[0]
	if want, _ := c.Username(); e.name != want {
		t.Errorf("name = %q, want %q", e.name, want)
	}
	want := []string{
		"brd-customer-hl_demo01-zone-residential_demo-country-de-session-a1",
		"╰┬╯          ╰───┬───╯      ╰───────┬──────╯         ╰┬         ╰┬",
		"prefix        account             zone             country    session",
	}
	got := append([]string{e.name, e.brackets}, e.labels...)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplanationLosesNothingAtAnyWidth(t *testing.T) {
	c := testCredential(
		model.Param{Name: "country", Value: "de"}, model.Param{Name: "city", Value: "berlin"}, model.Param{Name: "raw"},
		model.Param{Name: "session", Value: "x"}, model.Param{Name: "zip", Value: ""},
	)
	whole := ""
	for i, p := range c.Parts() {
		if i > 0 {
			whole += "-"
		}
		if p.Text == "" {
			p.Text = "?"
		}
		whole += p.Text
	}
	for width := 8; width < 120; width++ {
		joined := ""
		seen := map[string]bool{}
		for _, e := range explain(c.Parts(), width) {
			joined += e.name
			for _, l := range append([]string{e.name, e.brackets}, e.labels...) {
				if text.Width(l) > width {
					t.Fatalf("width %d: line %q is wider", width, l)
				}
			}
			for _, s := range e.spans {
				seen[s.label] = true
			}
			for _, s := range e.spans {
				if s.label != "" && !strings.Contains(strings.Join(e.labels, "\n"), text.Cut(s.label, width)) {
					t.Fatalf("width %d: label %q was overwritten:\n%s\n%s", width, s.label, e.brackets, strings.Join(e.labels, "\n"))
				}
			}
		}
		if joined != whole {
			t.Fatalf("width %d: %q, want %q", width, joined, whole)
		}
		for _, want := range []string{"prefix", "account", "zone", "country", "city", "session", "zip"} {
			if !seen[want] {
				t.Fatalf("width %d: no label %q", width, want)
			}
		}
	}
}

func TestCAVerdictFollowsTheContract(t *testing.T) {
	tests := map[string]struct {
		zone   model.Zone
		ca     string
		verify bool
		want   caState
	}{
		"residential without the identity check needs it": {model.Zone{Product: model.ProductResidential}, "", true, caMissing},
		"and has it":               {model.Zone{Product: model.ProductUnlocker}, "/ca.pem", true, caFile},
		"verified needs none":      {model.Zone{Product: model.ProductUnlocker, IdentityVerified: true}, "", true, caUnneeded},
		"datacenter needs none":    {model.Zone{Product: model.ProductDatacenter}, "", true, caUnneeded},
		"an unknown product":       {model.Zone{}, "/ca.pem", true, caUnknown},
		"checks off is said first": {model.Zone{Product: model.ProductResidential}, "/ca.pem", false, caSkipped},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := trustOf(tt.zone, tt.ca, tt.verify); got.state != tt.want || got.text == "" {
				t.Errorf("state %d %q, want %d", got.state, got.text, tt.want)
			}
		})
	}
}

func TestTheLoginAsCodeFollowsTheFormAndTheProfile(t *testing.T) {
	p := model.Profile{
		Name: "local", ProxyHost: "127.0.0.1", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01", Dialect: "brightdata", Can: dialect.Abilities("brightdata"), Verify: true,
		Zones: []model.Zone{{Name: "dc", Product: model.ProductDatacenter, Password: "env:ZONE"}},
	}
	m := New(Deps{
		Now: time.Now, Theme: kit.NewTheme(true, false), Profile: theProfile{profile: &p},
		Machine: clients.Machine{Getenv: func(string) string { return "" }, Now: time.Now},
	})
	m.compose()
	before := m.curl()
	for name, change := range map[string]func(){
		"country":  func() { m.form.SetValue("country", "de"); m.compose() },
		"page":     func() { m.form.SetValue(fieldTarget, "https://shop.test/") },
		"the port": func() { p.ProxyPort = 33336; m.Update(kit.SessionChanged{}) },
	} {
		change()
		if got := m.curl(); got == before || !strings.Contains(got, "curl -sS") {
			t.Errorf("%s changed nothing:\n%s", name, got)
		} else {
			before = got
		}
	}
}

// theProfile is in use; its zones' passwords are not asked for.
type theProfile struct {
	Profile
	profile *model.Profile
}

func (p theProfile) CurrentProfile() model.Profile { return *p.profile }
