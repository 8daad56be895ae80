package profiles

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// The fields of the question before a removal.
const (
	fieldWithKey     = "with_key"
	fieldWithSecrets = "with_secrets"
)

// removal opens the question what of a profile is to go.
func removal(d Deps, name string) tea.Msg {
	r, err := d.Profiles.Removal(name)
	if err != nil {
		return kit.Toast{Kind: kit.ToastError, Text: err.Error()}
	}
	var fields []widget.Field
	if r.Key.Name != "" {
		fields = append(fields, widget.Field{
			Name: fieldWithKey, Label: "Key", Kind: widget.FieldToggle, Placeholder: "drop the record of " + r.Key.Name,
			Help: "From the inventory of this machine; the key stays valid at the service.",
		})
	}
	if len(r.Secrets) > 0 {
		fields = append(fields, widget.Field{
			Name: fieldWithSecrets, Label: "Secrets", Kind: widget.FieldToggle, Placeholder: "delete what is behind " + text.Counted(len(r.Secrets), "reference"),
			Help: "From the keyring and the encrypted files; nothing else refers to them.",
		})
	}
	goes := widget.Field{Name: "goes", Kind: widget.FieldNote, Value: whatGoes(r, false, false)}
	dialog := widget.NewFormDialog(d.Theme, "Remove profile "+name, widget.NewForm(d.Theme, append([]widget.Field{goes}, fields...)...))
	dialog.Intro = "The history of the profile stays, and nothing is changed at the service."
	dialog.Submit, dialog.Deliberate = "remove", true
	chosen := func(f *widget.Form) (withKey, withSecrets bool) { return f.On(fieldWithKey), f.On(fieldWithSecrets) }
	dialog.OnChange = func(f *widget.Form) {
		withKey, withSecrets := chosen(f)
		f.SetValue("goes", whatGoes(r, withKey, withSecrets))
	}
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		withKey, withSecrets := chosen(f)
		return dialog.Run(func() (tea.Msg, error) {
			if err := d.Profiles.Remove(d.Ctx, r, withKey, withSecrets); err != nil {
				return nil, err
			}
			if name == d.Profiles.Current() {
				return d.Program.Switch(model.LocalName, ""), nil
			}
			return kit.Toast{Text: "removed: " + strings.Join(r.Describe(withKey, withSecrets), "; ")}, nil
		})
	}
	return kit.Open{Overlay: dialog}
}

// whatGoes says what a removal removes, and which secrets it leaves that nothing else names.
func whatGoes(r service.Removal, withKey, withSecrets bool) string {
	said := "Goes: " + strings.Join(r.Describe(withKey, withSecrets), "; ")
	if left := r.Leaves(withKey, withSecrets); len(left) > 0 {
		said += ". Stays in its store: the secret behind " + strings.Join(left, ", ") + " (zonedeck secrets remove deletes it)"
	}
	return said
}
