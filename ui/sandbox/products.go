package sandbox

import (
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/widget"
)

// productFields are the fields of the options of all products, and the country's, which
// they share. shape shows those of the zone's product.
func productFields() []widget.Field {
	var out []widget.Field
	for _, o := range model.AllOptions() {
		f := widget.Field{Name: o.Name, Label: o.Label, Placeholder: o.Placeholder, Kind: widget.FieldText, Hidden: true}
		switch {
		case o.Switch:
			f.Kind = widget.FieldToggle
		case o.Choices != nil:
			f.Kind, f.Value = widget.FieldPick, o.Choices[0]
			for _, c := range o.Choices {
				f.Options = append(f.Options, widget.Option{Value: c})
			}
		}
		out = append(out, f)
	}
	return append(out, widget.Field{Name: string(fieldCountry), Label: "Country", Kind: widget.FieldText, Placeholder: "any; two letters, as in de", Hidden: true})
}

// optionFields are the options' fields in the order of the form.
func optionFields() []field {
	var out []field
	for _, o := range model.AllOptions() {
		out = append(out, field(o.Name))
	}
	return out
}

// optionHelp is the help of an option's field, or "".
func optionHelp(f field) string {
	for _, o := range model.AllOptions() {
		if o.Name == string(f) {
			return o.Help
		}
	}
	return ""
}

// options reads the options' fields. A choice that stands at its default is not set.
func (p *formPane) options() model.Options {
	var out model.Options
	for _, o := range model.AllOptions() {
		if v := p.form.Value(o.Name); o.Choices == nil || v != o.Choices[0] {
			o.Set(&out, v)
		}
	}
	return out
}

// shaped reports whether the product of the form's zone has fields of its own, beside
// which the country stands.
func (p *formPane) shaped() bool {
	return len(p.request.Zone.Product.Options()) > 0 || p.request.Via == model.ViaBrowser
}

// shape shows the fields that the way and the zone's product have, and hides the others.
func (m *Model) shape() {
	p := &m.form
	r := p.request
	byTool := r.Via == model.ViaAgent
	hide := func(f field, hidden bool) { p.form.SetHidden(string(f), hidden) }
	p.form.SetOptions(string(fieldVia), m.accessOptions())
	hide(fieldZone, byTool)
	hide(fieldURL, byTool && r.Tool != "")
	hide(fieldTool, !byTool)
	hide(fieldArgs, !byTool || r.Tool == "" || p.tool != nil)
	hide(fieldFormat, r.Via != model.ViaAPI)
	hide(fieldKey, r.Via.Login())
	for _, o := range model.AllOptions() {
		hide(field(o.Name), byTool || r.Via == model.ViaBrowser || o.Product != r.Zone.Product)
	}
	hide(fieldCountry, !p.shaped() && p.folded())
	if r.Options.Query != "" {
		p.form.SetValue(string(fieldURL), r.URL)
	}
}

// accessOptions are the ways that the profile and the zone's product have; the one in the form is
// among them, so that the form can say why it cannot be used.
func (m *Model) accessOptions() []widget.Option {
	p, r := m.deps.Profile.CurrentProfile(), m.form.request
	zone, _ := p.Zone(m.form.form.Value(string(fieldZone))) // by agent access the request has none
	var out []widget.Option
	for _, v := range model.Vias() {
		switch {
		case v == r.Via:
		case v == model.ViaAgent && p.AgentURL == "":
			continue
		case v == model.ViaBrowser && (p.BrowserURL == "" || zone.Product != model.ProductBrowser):
			continue
		}
		out = append(out, widget.Option{Value: string(v), Label: v.String()})
	}
	return out
}

// previousWay is the way that the form had before a zone that cannot go it was chosen.
type previousWay struct{ via, zone string }

// route gives a draft whose zone was chosen a way that the zone can go: API, which every
// product has. The way that was left comes back with the next zone that can go it.
func (m *Model) route(before, d draft) draft {
	if d.Zone == before.Zone || d.Via != before.Via {
		return d
	}
	p := &m.form
	if p.previous.zone == before.Zone && before.Via == string(model.ViaAPI) {
		d.Via = p.previous.via
	}
	p.previous = previousWay{}
	_, problems := m.check(d)
	if slices.ContainsFunc(problems, func(p problem) bool { return p.Field == fieldVia && p.Severity == stop }) {
		p.previous = previousWay{d.Via, d.Zone}
		d.Via = string(model.ViaAPI)
	}
	return d
}

// follow keeps the URL and the query it follows from together after an edit: a URL that is
// typed ends the query, and a query that is cleared takes its URL along.
func (p *formPane) follow(before draft) {
	now := p.draft()
	switch {
	case before.Options.Query == "":
	case now.URL != before.URL:
		p.form.SetValue(model.OptionQuery, "")
	case strings.TrimSpace(now.Options.Query) == "":
		p.form.SetValue(string(fieldURL), "")
	}
}

// cdpAddress is the remote browser's address with the login of a request's zone, for CDP
// clients; the password is a variable of the environment. "" where there is none.
func cdpAddress(p model.Profile, r model.FetchRequest) string {
	if !p.Can.Sends().Browser || p.BrowserURL == "" || r.Zone.Product != model.ProductBrowser {
		return ""
	}
	user, err := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: r.Zone.Name, Params: p.Can.Params(r)}.Username()
	if err != nil {
		return ""
	}
	scheme, rest, _ := strings.Cut(p.BrowserURL, "://")
	return scheme + "://" + user + ":$" + passwordVariable(r.Zone.Password) + "@" + rest
}

// passwordVariable is the environment variable of a reference, or the usual one.
func passwordVariable(ref string) string {
	if name, ok := strings.CutPrefix(ref, "env:"); ok && name != "" {
		return name
	}
	return "ZONEDECK_ZONE_PASSWORD"
}
