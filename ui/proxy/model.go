package proxy

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Prober is the part of the service the tab measures with.
type Prober interface {
	Probe(ctx context.Context, q fetch.ProbeRequest, on func(string)) (model.ProbeResult, error)
	compare.Comparer
}

// Profile is the profile in use.
type Profile interface {
	// CurrentProfile does no I/O; it is called when the session changes.
	CurrentProfile() model.Profile
	// ZonePassword returns a zone's password. It is called in a command, and only if the
	// operator asks to see or to copy the password.
	ZonePassword(ctx context.Context, z model.Zone) (keystore.Secret, error)
}

// Passwords changes the passwords of zones; *password.Changer does.
type Passwords interface {
	// Refusal says why a zone's password cannot be changed by a key, or is nil. It does no I/O.
	Refusal(p model.Profile, z model.Zone, k model.Key) error
}

// Machine is this machine as other clients see it.
type Machine interface {
	// TrustOf finds out who trusts the chain that a test was presented; file is the profile's CA file. It reads files.
	TrustOf(r model.ProbeResult, file string) *model.TrustReport
	// InstallSystem are the lines of a shell that put a file into the system's store.
	InstallSystem(file string) []string
	OuterProxies() []model.EnvSetting
}

// Deps are the parts the tab works with; all are required.
type Deps struct {
	// Ctx ends the tab's work when the program ends.
	Ctx    context.Context //nolint:containedctx // the tab lives as long as the program
	Now    func() time.Time
	Theme  *kit.Theme
	Prober Prober
	// History has the baseline that the logins are compared with.
	History compare.History
	Profile Profile
	// Machine is where other clients look for CAs, and the environment with the outer proxies.
	Machine   Machine
	Passwords Passwords
}

// Panes of the tab, in the order of tab.
const (
	paneForm = iota
	paneName
	paneTest
	paneUse
)

// Pages of the tab.
type page int

const (
	pageLogin page = iota
	pageTrust
)

// rounds is how many calls a test makes to see the exits rotate.
const rounds = 5

// test is the running test, or the last one.
type test struct {
	slot     *kit.Slot
	line     string // progress of the running test
	started  time.Time
	username string // the tested username
	result   model.ProbeResult
	done     bool
	problem  string
	text     widget.Scroll
}

// reveal is the password while it is shown.
type reveal struct {
	zone   model.ZoneName
	secret keystore.Secret
	gen    int
	slot   kit.Slot
}

// pasted is a parsed login.
type pasted struct {
	open     bool
	readings []model.Reading
	notes    []string
}

// Model is the tab. Use New.
type Model struct {
	deps      Deps
	session   kit.Session
	profile   model.Profile
	form      *widget.Form
	allFields bool // the fields beyond country and session are shown
	cred      model.Credential
	test      test
	reveal    reveal
	pasted    pasted
	// readings of a pasted login; example is the login as code while none was pasted.
	readings widget.Table
	example  example
	name     widget.Scroll // of the username pane
	panes    widget.Panes
	paste    *widget.FormDialog

	page   page
	trust  trustPage
	logins *compare.Page
	exits  *compare.Page // of one login
}

// example is the login as code for curl: it is written once for a login and a profile, and drawn in
// every frame.
type example struct {
	widget.Scroll
	login login
	text  string
}

type login struct {
	zone          model.Zone
	url, username string
}

// New makes the tab.
func New(d Deps) *Model {
	m := &Model{deps: d, panes: widget.Panes{N: 4}, test: test{slot: new(kit.Slot)}}
	pages := compare.Deps{Ctx: d.Ctx, Now: d.Now, Theme: d.Theme, Comparer: d.Prober, History: d.History, View: kit.Proxy}
	m.logins, m.exits = compare.New(pages), compare.New(pages)
	m.form = newForm(d.Theme)
	m.readings.Columns = []widget.Column{{Width: 10}, {Width: 20, Flex: true}}
	m.trust.outer = d.Machine.OuterProxies()
	m.setProfile()
	return m
}

// Init does nothing: the session comes as a message.
func (m *Model) Init() tea.Cmd { return nil }

// Title is the tab's name.
func (m *Model) Title() string { return "Proxy" }

// CapturingText reports whether a field is being edited.
func (m *Model) CapturingText() bool {
	return m.form.CapturingText() && m.page == pageLogin && m.comparison() == nil
}

// AfterMsg has the form take what is typed while it has the focus.
func (m *Model) AfterMsg() tea.Cmd {
	return m.form.Attend(m.panes.At == paneForm)
}

// Running is how many tests and measurements run.
func (m *Model) Running() int {
	return kit.Running(m.test.slot) + m.logins.Running() + m.exits.Running()
}

// comparison is the page that fills the tab, nil for none.
func (m *Model) comparison() *compare.Page {
	for _, p := range []*compare.Page{m.exits, m.logins} {
		if p.Open() {
			return p
		}
	}
	return nil
}

// closeComparisons goes back to the login. What runs goes on.
func (m *Model) closeComparisons() {
	m.logins.Close()
	m.exits.Close()
}

// Status says what runs.
func (m *Model) Status() string {
	return kit.Reason(m.Running() > 0, "testing")
}

// Blur hides the password.
func (m *Model) Blur() { m.hide() }

func (m *Model) hide() {
	m.reveal.gen++
	m.reveal.secret = keystore.Secret{}
	m.reveal.slot.Drop()
}

// zone is the form's zone. A zone unknown to the profile has no product and no
// password.
func (m *Model) zone() model.Zone {
	name := m.form.Value(fieldZone)
	if z, ok := m.profile.Zone(name); ok {
		return z
	}
	return model.Zone{Name: model.ZoneName(name)}
}

// setProfile reads the profile and lists its zones. The operator's input stays, unless
// its zone has gone.
func (m *Model) setProfile() {
	m.profile = m.deps.Profile.CurrentProfile()
	m.example.text = ""
	options := make([]widget.Option, 0, len(m.profile.Zones))
	var first string // with native access, if possible residential
	for _, z := range m.profile.Zones {
		o := widget.Option{Value: string(z.Name), Note: z.Product.Label()}
		if !z.Product.NativeAccess() {
			o.Disabled = "no native access to this product (contract 5.2)"
		} else if first == "" {
			first = string(z.Name)
		}
		options = append(options, o)
	}
	m.form.SetOptions(fieldZone, options)
	m.showTestPage()
	known := slices.ContainsFunc(options, func(o widget.Option) bool { return o.Value == m.form.Value(fieldZone) })
	if !known && len(options) > 0 {
		if z, ok := kit.ZoneOf(m.profile.Zones, model.ProductResidential); ok {
			first = string(z.Name)
		}
		m.form.SetValue(fieldZone, first)
	}
	m.compose()
}

// compose builds the credential from the form.
func (m *Model) compose() {
	c := model.Credential{Prefix: m.profile.UsernamePrefix, Account: m.profile.Account, Zone: model.ZoneName(m.form.Value(fieldZone))}
	for _, name := range paramFields() {
		if v := strings.TrimSpace(m.form.Value(name)); v != "" {
			c.Params = append(c.Params, model.Param{Name: name, Value: v})
		}
	}
	m.cred = c
}
