package proxy

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// openPaste asks for a login. The input is masked: it may contain a password.
func (m *Model) openPaste() tea.Cmd {
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "login", Label: "Login", Secret: true, Placeholder: "paste it here",
		Help: "Accepts " + fetch.LoginForms + ". Masked, because it may contain a password; the password is not kept.",
		Check: func(s string) error {
			_, err := fetch.ReadLogin(s)
			return err
		},
	})
	m.paste = widget.NewFormDialog(m.deps.Theme, "Parse a login", form)
	m.paste.Submit = "parse it"
	m.paste.OnSubmit = func(f *widget.Form) tea.Cmd {
		d := m.paste
		m.paste = nil // the form may hold a password
		return tea.Sequence(kit.CloseOverlay(d), m.readPaste(f.Value("login")))
	}
	return kit.OpenOverlay(m.paste)
}

// readPaste parses a pasted login. The likeliest reading fills in the form, which sends
// nothing; all readings are listed, and enter uses another one.
func (m *Model) readPaste(text string) tea.Cmd {
	l, err := fetch.ReadLogin(text)
	if err != nil {
		return kit.Warn("the pasted text cannot be parsed: " + err.Error())
	}
	readings, err := model.ReadUsername(l.Username, m.profile.ZoneNames())
	if err != nil {
		return kit.Warn("the pasted text cannot be parsed: " + err.Error())
	}
	hadPassword := l.HasPassword
	l.Password = "" // only its presence matters: tests use the zone's reference
	m.pasted = pasted{open: true, readings: readings, notes: m.pasteNotes(l, readings[0].Credential, hadPassword)}
	m.readings.SetCursor(0)
	m.fillReadings()
	m.closeComparisons()
	m.page, m.panes.At = pageLogin, paneUse
	return m.takeReading(0)
}

// pasteNotes says what differs from the profile, and that the password was dropped.
func (m *Model) pasteNotes(l model.Login, c model.Credential, hadPassword bool) []string {
	notes := []string{"read as " + l.Source}
	if hadPassword {
		notes = append(notes, "its password was dropped; a test uses the zone's reference")
	}
	p := m.profile
	if l.Host != "" && !strings.EqualFold(l.Host, p.ProxyHost) {
		notes = append(notes, fmt.Sprintf("! its host %s is not this profile's (%s)", l.Host, p.ProxyHost))
	}
	if l.Port != 0 && l.Port != p.ProxyPort {
		notes = append(notes, fmt.Sprintf("! its port %d is not this profile's (%d)", l.Port, p.ProxyPort))
	}
	if c.Account != p.Account {
		notes = append(notes, fmt.Sprintf("! its account %s is not this profile's (%s)", c.Account, p.Account))
	}
	if c.Prefix != p.UsernamePrefix {
		notes = append(notes, fmt.Sprintf("! its prefix %q is not this profile's (%q)", c.Prefix, p.UsernamePrefix))
	}
	return notes
}

func (m *Model) takeReading(at int) tea.Cmd {
	if at < 0 || at >= len(m.pasted.readings) {
		return nil
	}
	c := m.pasted.readings[at].Credential
	left := m.fillCredential(c)
	text := "the form holds zone " + string(c.Zone)
	if n := len(m.pasted.readings); n > 1 {
		text = fmt.Sprintf("the form holds reading %d of %d, zone %s", at+1, n, c.Zone)
	}
	if len(left) > 0 {
		return kit.Warn(text + "; it has no field for " + strings.Join(left, ", "))
	}
	return kit.Info(text)
}

// describe is a reading in one line.
func describe(r model.Reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "zone %q", r.Credential.Zone)
	for _, p := range r.Credential.Params {
		if p.Value == "" {
			fmt.Fprintf(&b, ", %s", p.Name)
		} else {
			fmt.Fprintf(&b, ", %s %q", p.Name, p.Value)
		}
	}
	return b.String()
}
