package proxy

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// whyNotRotate says why the zone's password cannot be replaced, or is empty.
func (m *Model) whyNotRotate() string {
	if why := m.session.NotReady(); why != "" {
		return why
	}
	if err := m.deps.Passwords.Refusal(m.profile, m.zone(), model.Key{}); err != nil {
		return err.Error()
	}
	return ""
}

// chooseKey asks for the key to change the password by; Keys then shows the rotation.
func (m *Model) chooseKey() tea.Cmd {
	if !m.profile.Can.ChangesPasswords() { // a person does
		return kit.GotoTab(kit.Keys, kit.RotatePassword{Zone: string(m.zone().Name)})
	}
	var options []widget.Option
	var first string
	var level model.Level
	zone := m.zone()
	for _, k := range m.session.Keys {
		o := widget.Option{Value: k.Name, Note: k.Level.String()}
		if err := m.deps.Passwords.Refusal(m.profile, zone, k); err != nil {
			o.Disabled = "its level may not change a password"
		} else if k.Level == model.LevelLimit && level != model.LevelLimit || k.Level == model.LevelOps && level == "" {
			first, level = k.Name, k.Level // the lowest level that may
		}
		options = append(options, o)
	}
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "key", Label: "Key", Kind: widget.FieldPick, Options: options, Value: first, Check: widget.Required("pick a key whose level is OPS, LIMIT or ADMIN"),
		Help: "The key of the API call; its level has to be OPS, LIMIT or ADMIN (contract 5.3).",
	})
	d := widget.NewFormDialog(m.deps.Theme, "New password of "+text.Clean(string(zone.Name)), form)
	d.Intro = "Keys shows what uses the password and takes the steps. Nothing is done before the first one."
	d.Submit = "continue"
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		return tea.Sequence(kit.CloseOverlay(d), kit.GotoTab(kit.Keys, kit.RotatePassword{Zone: string(zone.Name), Key: f.Value("key")}))
	}
	return kit.OpenOverlay(d)
}
