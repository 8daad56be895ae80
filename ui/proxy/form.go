package proxy

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Fields of the form. Parameter fields have the parameter's name in the username.
const (
	fieldZone   = "zone"
	fieldMore   = "more"
	fieldTarget = "target"
)

// mainParams are always shown, moreParams on demand. The contract shows no parameters;
// they belong to a dialect.
func mainParams() []string { return []string{"country", "session"} }
func moreParams() []string { return []string{"state", "city", "zip", "asn", "os", "carrier", "ip"} }

// paramFields are all parameters of the form in the order of the username.
func paramFields() []string {
	return []string{"country", "state", "city", "zip", "asn", "os", "carrier", "ip", "session"}
}

func newForm(t *kit.Theme) *widget.Form {
	fields := []widget.Field{{Name: fieldZone, Label: "Zone", Kind: widget.FieldPick, Free: true, Placeholder: "pick a zone"}}
	for _, name := range mainParams() {
		fields = append(fields, paramField(name, false))
	}
	fields = append(fields, widget.Field{Name: fieldMore, Label: "More", Kind: widget.FieldToggle, Placeholder: "state, city, zip, asn, os, carrier, ip"})
	for _, name := range moreParams() {
		fields = append(fields, paramField(name, true))
	}
	fields = append(fields, widget.Field{
		Name: fieldTarget, Label: "Test page", Help: "The page a test fetches through the proxy, http or https.", Check: checkTarget,
	})
	return widget.NewForm(t, fields...)
}

func paramField(name string, hidden bool) widget.Field {
	label := strings.ToUpper(name[:1]) + name[1:]
	help := "dialect: a username parameter that the contract does not show"
	for _, s := range model.UsernameParams() {
		if s.Name == name {
			help = s.Meaning + " (dialect, not shown by the contract)"
		}
	}
	return widget.Field{Name: name, Label: label, Help: help, Hidden: hidden, Placeholder: "-", Check: func(v string) error {
		return checkParam(name, v)
	}}
}

// checkParam refuses a value that a username cannot contain.
func checkParam(name, v string) error {
	if v = strings.TrimSpace(v); v == "" {
		return nil
	}
	c := model.Credential{Prefix: "x", Account: "hl_0", Zone: "z", Params: []model.Param{{Name: name, Value: v}}}
	for _, p := range c.Parts() {
		if p.Problem != nil {
			return p.Problem
		}
	}
	return nil
}

func checkTarget(s string) error {
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("write an absolute address, as in https://example.com/")
	}
	return nil
}

// testPage is the page a test fetches by default; empty if the profile's dialect has
// none.
func (m *Model) testPage() string {
	return m.profile.Can.TestPage(m.profile)
}

// showTestPage shows the default page in the empty field.
func (m *Model) showTestPage() {
	page := m.testPage()
	if page == "" {
		page = "write one: the contract shows none"
	}
	m.form.SetPlaceholder(fieldTarget, page)
}

// changed updates everything that depends on the form.
func (m *Model) changed() {
	if more := m.form.On(fieldMore); more != m.allFields {
		m.showMore(more)
	}
	if m.reveal.zone != m.zone().Name {
		m.hide()
	}
	m.compose()
}

func (m *Model) showMore(on bool) {
	m.allFields = on
	for _, name := range moreParams() {
		m.form.SetHidden(name, !on)
		if !on {
			m.form.SetValue(name, "") // hidden fields are not sent
		}
	}
}

// fillCredential fills the form with a credential's zone and parameters. It returns the names of
// parameters without a field.
func (m *Model) fillCredential(c model.Credential) (left []string) {
	known := paramFields()
	for _, name := range known {
		m.form.SetValue(name, "")
	}
	needMore := false
	for _, p := range c.Params {
		if !slices.Contains(known, p.Name) || p.Value == "" {
			left = append(left, p.Name)
			continue
		}
		needMore = needMore || slices.Contains(moreParams(), p.Name)
	}
	if needMore {
		m.form.SetValue(fieldMore, "true")
		m.showMore(true)
	}
	for _, p := range c.Params {
		if slices.Contains(known, p.Name) {
			m.form.SetValue(p.Name, p.Value)
		}
	}
	m.form.SetValue(fieldZone, string(c.Zone))
	m.changed()
	return left
}
