package sandbox

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/ask"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Variables are what {{name}} stands for in the form.
type Variables interface {
	fetch.Variables
	// Answer gives a variable a value until the console ends, which is stored nowhere; an empty
	// one takes the answer back.
	Answer(name, value string, secret bool)
}

// unvalued names the variables of the form that have no value, or is "".
func (p *formPane) unvalued() string {
	var names []string
	for _, q := range p.unset {
		names = append(names, "{{"+q.About+"}}")
	}
	if names == nil {
		return ""
	}
	return "no value for " + strings.Join(names, ", ") + ": sending asks for it"
}

// askVariables asks for the values that the form's variables lack, and sends then. It
// returns nil if nothing is to be asked.
func (m *Model) askVariables(again act) tea.Cmd {
	if len(m.form.unset) == 0 {
		return nil
	}
	var fields []widget.Field
	for _, q := range m.form.unset {
		fields = append(fields, widget.Field{Name: q.About, Label: q.About, Kind: widget.FieldText, Secret: q.Want == ask.Secret, Check: widget.Required("type a value")})
	}
	return m.takeValues("Values for this request", "Neither the profile nor the environment has them. They are kept in memory until the console ends; "+m.deps.Theme.Key("sandbox.values")+" changes them.", "send", fields, again)
}

// takeValues asks for values of variables in a dialog, and keeps those that were changed in it.
func (m *Model) takeValues(title, intro, submit string, fields []widget.Field, then act) tea.Cmd {
	d := widget.NewFormDialog(m.deps.Theme, title, widget.NewForm(m.deps.Theme, fields...))
	d.Intro, d.Submit, d.Width = intro, submit, 64
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		for _, before := range fields {
			if value := f.Value(before.Name); value != before.Value {
				m.deps.Variables.Answer(before.Name, value, before.Secret)
			}
		}
		m.form.answers++
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Sandbox, then))
	}
	return kit.OpenOverlay(d)
}

// settable are the form's variables whose values the operator may choose.
func (p *formPane) settable() []ask.Question {
	if p.deps.Variables == nil {
		return nil
	}
	input, _ := p.draft().input()
	return slices.DeleteFunc(input.Values(), func(q ask.Question) bool {
		v, _ := p.deps.Variables.Variable(q.About)
		return v.Refused != ""
	})
}

// valuesBinding opens the values of the form's variables.
func (m *Model) valuesBinding() kit.Binding {
	b := kit.Binding{
		Name: "sandbox.values", Keys: []string{"V"}, Label: "values", Command: "values of this request…", Group: "Request", Intent: act((*Model).editValues), Hidden: true,
		Help: "Give the variables {{name}} of the form other values, until the console ends.",
	}
	if len(m.form.settable()) == 0 {
		b.Disabled = "the form has no {{name}}"
	}
	return b
}

func (m *Model) editValues() tea.Cmd {
	var fields []widget.Field
	for _, q := range m.form.settable() {
		v, known := m.deps.Variables.Variable(q.About)
		f := widget.Field{Name: q.About, Label: q.About, Kind: widget.FieldText, Secret: q.Want == ask.Secret || v.Ref != "", Value: v.Value, Placeholder: "none yet: sending asks for it"}
		if f.Secret {
			f.Value = ""
			if known {
				f.Placeholder = "set; type another"
			}
		}
		fields = append(fields, f)
	}
	return m.takeValues("Values of this request", "What you type here overrides the profile and the environment until the console ends, and is never stored. Clear a value to use theirs again.", "keep", fields,
		func(*Model) tea.Cmd { return nil })
}
