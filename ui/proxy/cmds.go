package proxy

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// showFor is how long a password is shown.
const showFor = 5 * time.Second

// request is what the operator picked or confirmed in a dialog.
type request interface{ do(m *Model) tea.Cmd }

type (
	beginTest     struct{ pause time.Duration }
	askSecretCopy struct{}
	doSecretCopy  struct{}
)

func (msg beginTest) do(m *Model) tea.Cmd { return m.startTest(msg.pause) }
func (askSecretCopy) do(m *Model) tea.Cmd { return m.askSecretCopy() }
func (doSecretCopy) do(m *Model) tea.Cmd  { return m.resolve(true) }
func (msg doStep) do(m *Model) tea.Cmd    { return m.takeStep(msg.action) }

// tested is what a test found.
type tested struct {
	result model.ProbeResult
	trust  *model.TrustReport // who trusts the chain that was presented; nil without one
}

// askTest tests at once with the emulator, and asks first with an account that pays.
func (m *Model) askTest(pause time.Duration) tea.Cmd {
	if m.session.Local || !m.form.Valid() {
		return m.startTest(pause)
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Test the login?",
		Body:  fmt.Sprintf("Zone %s: %s. %s %s tests without this question.", text.Clean(string(m.zone().Name)), text.Counted(rounds, "call"), m.exits.PriceWords(rounds, m.zone()), m.deps.Theme.Key("proxy.test-now")),
		Yes:   "test it", View: kit.Proxy, Intent: beginTest{pause},
	})
}

// startTest tests the form's login after a pause.
func (m *Model) startTest(pause time.Duration) tea.Cmd {
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
	m.trust.known = false
	d, file := m.deps, m.profile.CA
	return kit.Follow(kit.Proxy, m.test.slot, m.deps.Ctx, func(ctx context.Context, emit func(string)) (out tested, err error) {
		err = wait(ctx, pause, func(left time.Duration) {
			emit("waiting " + text.Duration(left) + " before the next call")
		})
		if err == nil {
			out.result, err = d.Prober.Probe(ctx, q, emit)
		}
		if err == nil {
			out.trust = d.Machine.TrustOf(out.result, file)
		}
		return out, err
	}, func(line string) tea.Cmd {
		m.test.line = line
		return nil
	}, func(t tested, err error) tea.Cmd { return m.tested(z.Name, t, err) })
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

// resolve asks for the password of the form's zone, to copy it or to show it.
func (m *Model) resolve(copies bool) tea.Cmd {
	get, z := m.deps.Profile.ZonePassword, m.zone()
	return kit.Load(kit.Proxy, &m.reveal.slot, m.deps.Ctx, func(ctx context.Context) (keystore.Secret, error) {
		return get(ctx, z)
	}, func(secret keystore.Secret, err error) tea.Cmd { return m.revealed(z, copies, secret, err) })
}

// target is the page of a test and of exports; it may be empty.
func (m *Model) target() string {
	return cmp.Or(strings.TrimSpace(m.form.Value(fieldTarget)), m.testPage())
}

// code is the login as code for other programs.
func (m *Model) code() kit.ShowCode {
	username, _ := m.cred.Username() // whyNotCopy says what is wrong with it
	return kit.ShowCode{Request: model.FetchRequest{Zone: m.zone(), Via: model.ViaNative, URL: m.target()}, Username: username}
}

// curl is the login for curl, or why it cannot be written.
func (m *Model) curl() string {
	if why := m.whyNotCopy(); why != "" {
		return why
	}
	c := m.code()
	of := login{c.Request.Zone, c.Request.URL, c.Username}
	if e := &m.example; e.text == "" || e.login != of {
		page := history.CodePages(history.CodeSource{Profile: m.profile, Request: c.Request, Username: c.Username}, nil, nil)[0]
		if e.login, e.text = of, page.Text; page.Err != nil {
			e.text = page.Err.Error()
		}
	}
	return m.example.text
}

func (m *Model) copyMenu() tea.Cmd {
	username, _ := m.cred.Username()
	return widget.OpenMenu(m.deps.Theme, "Copy the login", kit.Proxy, []widget.MenuItem{
		{Key: "n", Label: "username", Note: "no secret in it", Intent: kit.Copy{Label: "username", Text: username}},
		{Key: "P", Label: "password !", Note: "the password alone", Intent: askSecretCopy{}, Disabled: m.whyNotReveal()},
	})
}

// fillReadings lists the readings of a pasted login.
func (m *Model) fillReadings() {
	t := m.deps.Theme
	m.readings.SetRows(len(m.pasted.readings), func(i int) []widget.Cell {
		r := m.pasted.readings[i]
		return []widget.Cell{{Text: fmt.Sprintf("reading %d", i+1), Ink: t.Strong}, widget.C(describe(r))}
	})
}

// use handles enter in the lower right pane.
func (m *Model) use() tea.Cmd {
	if m.pasted.open {
		return m.takeReading(m.readings.Cursor())
	}
	if why := m.whyNotCopy(); why != "" {
		return kit.Warn("code: " + why)
	}
	return kit.Send(m.code())
}

func (m *Model) askSecretCopy() tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Copy the password?",
		Body: fmt.Sprintf("The password of zone %s goes to the clipboard in clear. Other programs, and over SSH the terminal at the other end, can read the clipboard.",
			text.Clean(string(m.zone().Name))),
		Yes: "copy the password", View: kit.Proxy, Intent: doSecretCopy{},
	})
}
