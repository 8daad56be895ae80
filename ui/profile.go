package ui

import (
	"cmp"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// profilePage shows where the profile in use sends to, and how it reads what comes back.
func (a *App) profilePage() kit.Overlay {
	return &widget.Page{
		Heading: "Profile " + a.session.ProfileName, Width: 76, Lines: a.profileLines,
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Close the page.", Intent: kit.Close{}},
	}
}

func (a *App) profileLines(w int) []string {
	p, none := a.session.Profile, "the profile names none"
	trust := "checked, against the system's CAs"
	switch {
	case !p.Verify:
		trust = "not checked"
	case p.CA != "":
		trust += " and " + p.CA
	}
	origin := "These settings come from config.toml, which 'zonedeck paths' finds; flags and ZONEDECK_ variables override it. Changes to the file take effect at once."
	if a.session.Local {
		origin = "These settings are the embedded emulator's and cannot be changed."
	}
	var out []string
	for _, f := range []struct{ name, value string }{
		{"base URL", cmp.Or(p.BaseURL, none)},
		{"proxy", cmp.Or(p.ProxyAddr(), none)},
		{"TLS", "certificates are " + trust},
		{"dialect", p.DialectName()},
		{"changes", changes(p)},
		{"targets", cmp.Or(strings.Join(p.AllowedDomains, ", "), "every target")},
	} {
		out = append(out, widget.Fact(a.theme, f.name, f.value, w-2)...)
	}
	for _, n := range a.session.Notes {
		out = append(out, widget.Wrapped(a.theme.Warn, "! "+n, w-2)...)
	}
	return widget.Indent(append(append(out, ""), widget.Wrapped(a.theme.Muted, origin, w-2)...))
}

// changes says what a profile lets one do.
func changes(p model.Profile) string {
	if p.ReadOnly {
		return "read-only: no job is launched or cancelled, no key or password changed, and only GET, HEAD and OPTIONS are sent"
	}
	return "allowed"
}
