package proxy

import (
	"slices"
	"strings"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// intent is the meaning of a key.
type intent int

const (
	intentTest intent = iota // asks first where it is billed
	intentTestNow
	intentStop
	intentPaste
	intentReveal
	intentCopy
	intentUse
	intentSandbox
	intentBack
	intentExits
	intentTrust
	intentLogins
	intentRotate
	intentZone
)

// noProxyHost says why nothing can be tested, and what to do.
const noProxyHost = "the profile has no proxy host: 'edit profile' adds it"

// Bindings are the keys that work now.
func (m *Model) Bindings() []kit.Binding {
	switch {
	case m.comparison() != nil:
		return m.comparison().Bindings()
	case m.page == pageTrust:
		return m.trustBindings()
	}
	out := append(m.loginBindings(), m.stepBindings()...)
	out = append(out, m.panes.Bindings(true)...)
	if m.panes.At == paneForm {
		out = slices.Insert(out, 1, m.form.Bindings()...)
	}
	switch {
	case m.form.CapturingText():
		return out
	case m.Running() > 0:
		out = append([]kit.Binding{{Name: "proxy.stop", Keys: []string{"esc"}, Label: "stop", Help: "Stop the test.", Group: "Credential", Intent: intentStop, Stops: true}}, out...)
	case m.pasted.open || m.panes.Zoomed || m.panes.At != paneForm:
		out = append(out, kit.Binding{Name: "proxy.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the form.", Group: "Panes", Intent: intentBack})
	}
	switch m.panes.At {
	case paneForm:
		return out
	case paneUse:
		out = append(out, kit.Binding{Name: "proxy.open", Keys: []string{"enter"}, Label: "open", Help: "Show the code in full, or use the reading.", Group: "Credential", Intent: intentUse})
	}
	return append(out, widget.MotionBindings()...)
}

// loginBindings are the keys of the login, the tests first.
func (m *Model) loginBindings() []kit.Binding {
	return []kit.Binding{
		{Name: "proxy.test", Keys: []string{"t", "ctrl+t"}, Label: "test", Command: "test the login", Help: "Log in to the proxy and fetch the test page, several times.", Group: "Credential", Intent: intentTest, Disabled: m.whyNotTest(), Dangerous: true, WhileTyping: true},
		{Name: "proxy.test-now", Keys: []string{"ctrl+j", "f5"}, Label: "test", Command: "test the login", Help: "Log in and fetch the test page without asking first.", Group: "Credential", Intent: intentTestNow, Disabled: m.whyNotTest(), WhileTyping: true, Hidden: true},
		{Name: "proxy.exits", Keys: []string{"alt+e"}, Label: "exits", Command: "exits of the login (rotation)", Help: "Make many calls and count the exit addresses; with a session, check that it keeps its address.", Group: "Credential", Intent: intentExits, Disabled: m.whyNotTest(), WhileTyping: true},
		{Name: "proxy.all-logins", Keys: []string{"M", "ctrl+w"}, Label: "all logins", Command: "compare all logins (matrix)", Help: "Test every zone's login, and compare with the baseline.", Group: "Credential", Intent: intentLogins, WhileTyping: true},
		{Name: "proxy.paste", Keys: []string{"p"}, Label: "paste", Command: "paste a login", Help: "Parse a login: a URL, host:port:user:password, user:password@host:port, or a username.", Group: "Credential", Intent: intentPaste},
		{Name: "proxy.code", Keys: []string{"x", "ctrl+x"}, Label: "code", Synonyms: "export snippet", Help: "Show the login as code for curl, Python, Go, Node, Scrapy, Playwright, Puppeteer, a shell or a browser.", Group: "Credential", Intent: m.code(), Disabled: m.whyNotCopy(), WhileTyping: true},
		{Name: "proxy.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the username or the password.", Group: "Credential", Intent: intentCopy, Disabled: m.whyNotCopy()},
		{Name: "proxy.password", Keys: []string{"v"}, Label: "password", Help: "Show the password for five seconds.", Group: "Credential", Intent: intentReveal, Disabled: m.whyNotReveal(), Hidden: true},
		{Name: "proxy.trust", Keys: []string{"c"}, Label: "CA trust", Help: "Show the chain of the last test, and which stores and clients trust it.", Group: "Credential", Intent: intentTrust, Disabled: m.whyNotTrust(), Hidden: true},
		{Name: "proxy.rotate", Keys: []string{"R"}, Label: "new password", Help: "Rotate the zone's password in Keys, by the key that is chosen: add, set, test, remove. Continues an unfinished rotation.", Group: "Credential", Intent: intentRotate, Disabled: m.whyNotRotate(), Hidden: true},
		{Name: "proxy.zone", Keys: []string{"alt+z", "/"}, Label: "zone", Help: "Filter the zones and choose one, from anywhere.", Group: "Panes", Intent: intentZone, WhileTyping: true, Hidden: true},
		{Name: "proxy.sandbox", Keys: []string{"o"}, Label: "to the Sandbox", Help: "Fetch the test page with this login in the Sandbox, by Native; nothing is sent yet.", Group: "Credential", Intent: intentSandbox, Hidden: true},
	}
}

// whyNotTest returns the reason why the login cannot be tested, or "".
func (m *Model) whyNotTest() string {
	switch why := m.session.NotReady(); {
	case m.test.slot.Running():
		return "a test is running: esc stops it"
	case m.Running() > 0:
		return "logins are being compared: esc stops it"
	case why != "":
		return why
	case m.testPage() == "" && strings.TrimSpace(m.form.Value(fieldTarget)) == "":
		return "write the test page: the contract shows none"
	}
	return m.whyNotCopy()
}

// whyNotCopy returns the reason why the login cannot be copied, or "".
func (m *Model) whyNotCopy() string {
	if m.profile.ProxyHost == "" {
		if m.session.Local && !m.session.Ready {
			return "the local emulator is still starting"
		}
		return noProxyHost
	}
	if !m.zone().Product.NativeAccess() {
		return m.zone().Product.Label() + " has no native access (contract 5.2)"
	}
	if _, err := m.cred.Username(); err != nil {
		return err.Error()
	}
	return ""
}

func (m *Model) whyNotReveal() string {
	switch {
	case m.zone().Password == "":
		return "the profile has no password reference for this zone"
	case m.reveal.slot.Running():
		return "the password is being fetched"
	}
	return ""
}
