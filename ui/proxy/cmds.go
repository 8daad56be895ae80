package proxy

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/export"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// showFor is how long a password is shown.
const showFor = 5 * time.Second

// form is the format of an export, as named in the menu.
type form string

const (
	formCurl     form = "curl"
	formEnv      form = "env"
	formURL      form = "URL"
	formUsername form = "username"
	formPassword form = "password"
)

// Results of commands, and the operator's confirmations. A nil err is success.
type (
	testLine struct{ text string }
	tested   struct {
		zone   model.ZoneName
		result model.ProbeResult
		err    error
	}
	revealed struct {
		zone   model.Zone
		form   form // what to copy, or empty to show it
		secret keystore.Secret
		err    error
	}
	hidePassword  struct{ gen int }
	askSecretCopy struct{ form form }
	doSecretCopy  struct{ form form }
)

// startTest tests the form's login after a pause. It ends the editing of a field, so
// that the next keys are commands.
func (m *Model) startTest(pause time.Duration) tea.Cmd {
	m.form.FocusOn(m.form.Focused(), false)
	if !m.form.Valid() {
		m.panes.At = paneForm
		return nil
	}
	z := m.zone()
	q := fetch.ProbeRequest{Zone: z, Params: m.cred.Params, Target: strings.TrimSpace(m.form.Value(fieldTarget)), Rounds: rounds, Session: strings.TrimSpace(m.form.Value("session"))}
	username, err := m.cred.Username()
	if err != nil {
		return kit.Warn(err.Error())
	}
	m.test = test{slot: m.test.slot, username: username, started: m.deps.Now(), line: "connecting to " + m.profile.ProxyAddr()}
	p := m.deps.Prober
	return kit.Stream(kit.Proxy, m.test.slot, m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		var res model.ProbeResult
		err := wait(ctx, pause, func(left time.Duration) {
			emit(testLine{text: "waiting " + text.Took(left) + " before the next call"})
		})
		if err == nil {
			res, err = p.Probe(ctx, q, func(s string) { emit(testLine{text: s}) })
		}
		return tested{z.Name, res, err}
	})
}

// wait waits for d and reports the time left every second.
func wait(ctx context.Context, d time.Duration, on func(left time.Duration)) error {
	for ; d > 0; d -= time.Second {
		on(d)
		timer := time.NewTimer(min(d, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
	return nil
}

// resolve asks for the password of the form's zone, to copy it in a format or, without
// one, to show it.
func (m *Model) resolve(f form) tea.Cmd {
	get, z := m.deps.Reveal, m.zone()
	return kit.Do(kit.Proxy, &m.reveal.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		s, err := get(ctx, z)
		return revealed{z, f, s, err}
	})
}

// login is the login to export, without the password.
func (m *Model) login() export.Login {
	username, _ := m.cred.Username()
	l := export.LoginOf(m.profile, m.zone(), username)
	if l.Target = strings.TrimSpace(m.form.Value(fieldTarget)); l.Target == "" {
		l.Target = m.testPage()
	}
	return l
}

// exportText formats a login.
func exportText(l export.Login, f form, s keystore.Secret) string {
	switch f {
	case formCurl:
		return l.Curl()
	case formEnv:
		return l.Env()
	case formURL:
		return l.URL()
	case formPassword:
		return s.Reveal()
	default:
		return l.Username
	}
}

// use is one line of "Use it in".
type use struct {
	key    string
	form   form
	secret bool // with the password, after a question
	note   string
}

// label marks an export that contains the password.
func (e use) label() string {
	if e.secret && e.form != formPassword {
		return string(e.form) + " !"
	}
	return string(e.form)
}

func (m *Model) exports() []use {
	return []use{
		{key: "c", form: formCurl, note: "login on standard input, password from $" + export.PasswordEnv},
		{key: "e", form: formEnv, note: "export lines, password from $" + export.PasswordEnv},
		{key: "u", form: formURL, note: "password from $" + export.PasswordEnv},
		{key: "n", form: formUsername, note: "no secret in it"},
		{key: "C", form: formCurl, secret: true, note: "with the password in it"},
		{key: "E", form: formEnv, secret: true, note: "with the password in it"},
		{key: "U", form: formURL, secret: true, note: "with the password in it"},
		{key: "P", form: formPassword, secret: true, note: "the password alone"},
	}
}

func (m *Model) intentOf(e use) tea.Msg {
	if e.secret {
		return askSecretCopy{form: e.form}
	}
	return kit.Copy{What: string(e.form), Text: exportText(m.login(), e.form, keystore.Secret{})}
}

func (m *Model) copyMenu() tea.Cmd {
	var items []widget.MenuItem
	for _, e := range m.exports() {
		it := widget.MenuItem{Key: e.key, Label: e.label(), Note: e.note, Intent: m.intentOf(e)}
		if e.secret {
			it.Disabled = m.whyNotReveal()
		}
		items = append(items, it)
	}
	return widget.OpenMenu(m.deps.Theme, "Copy the login", kit.Proxy, items)
}

// fillUses lists the exports, or the readings of a pasted login.
func (m *Model) fillUses() {
	t := m.deps.Theme
	if m.pasted.open {
		m.uses.SetRows(len(m.pasted.readings), func(i int) []widget.Cell {
			r := m.pasted.readings[i]
			return []widget.Cell{{Text: fmt.Sprintf("reading %d", i+1), Ink: t.Strong}, widget.C(describe(r))}
		})
		return
	}
	list := m.exports()
	m.uses.SetRows(len(list), func(i int) []widget.Cell {
		e := list[i]
		ink := t.Text
		if e.secret {
			ink = t.Warn
		}
		return []widget.Cell{{Text: e.label(), Ink: t.KeyHint}, {Text: e.note, Ink: ink}}
	})
}

// use handles enter on a line of the lower right pane.
func (m *Model) use() tea.Cmd {
	at := m.uses.Cursor()
	if m.pasted.open {
		return m.takeReading(at)
	}
	if why := m.whyNotCopy(); why != "" {
		return kit.Warn("copy: " + why)
	}
	e := m.exports()[at]
	if e.secret {
		if why := m.whyNotReveal(); why != "" {
			return kit.Warn("copy: " + why)
		}
	}
	return m.Update(m.intentOf(e))
}

func (m *Model) askSecretCopy(f form) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Copy with the password?",
		Body: fmt.Sprintf("The %s for zone %s goes to the clipboard with the password in clear. Other programs, and over SSH the terminal at the other end, can read the clipboard.",
			f, text.Clean(string(m.zone().Name))),
		Yes: "copy the password", View: kit.Proxy, Intent: doSecretCopy{form: f},
	})
}
