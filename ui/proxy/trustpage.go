package proxy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Panes of the page about trust.
const (
	trustChain = iota
	trustClients
	trustDetail
)

// trustPage shows the chain that the last test was presented, and who trusts it.
type trustPage struct {
	report model.TrustReport
	known  bool // there is a report
	outer  []model.EnvSetting
	panes  widget.Panes
	list   widget.Table
	chain  widget.Scroll
	detail widget.Scroll
}

// whyNotTrust says why there is nothing to show of trust, or is empty.
func (m *Model) whyNotTrust() string {
	switch {
	case m.trust.known:
		return ""
	case m.test.done:
		return "the last test saw no certificate"
	default:
		return "test first: the page shows the certificates that a test saw"
	}
}

// openTrust shows the page; the client that was chosen before stays.
func (m *Model) openTrust() {
	m.page = pageTrust
	m.trust.panes = widget.Panes{At: trustClients, N: 3}
	m.trust.chain, m.trust.detail = widget.Scroll{}, widget.Scroll{}
	m.trust.list.Columns = []widget.Column{{Title: "CLIENT", Width: 18}, {Title: "TRUSTS IT", Width: 12}, {Title: "LOOKS IN", Width: 12, Flex: true}}
	t, list := m.deps.Theme, m.trust.report.Clients
	m.trust.list.SetRows(len(list), func(i int) []widget.Cell {
		c := list[i]
		mark, ink := verdictMark(t, c.Verdict)
		where := ""
		if len(c.Stores) > 0 {
			where = c.Stores[0].Name
		}
		return []widget.Cell{{Text: string(c.Client), Ink: t.Strong}, {Text: mark + " " + string(c.Verdict), Ink: ink}, {Text: where, Ink: t.Muted}}
	})
}

func verdictMark(t *kit.Theme, v model.TrustVerdict) (string, kit.Ink) {
	switch v {
	case model.TrustYes:
		return "✓", t.Good
	case model.TrustNo:
		return "✗", t.Bad
	default:
		return "?", t.Warn
	}
}

func (m *Model) trustAreas(w, h int) []kit.Area {
	rows := min(len(m.trust.report.Clients)+3, h*2/5)
	if w < kit.StackBelow {
		return widget.Stacked(w, h, max(h/4, 4), []int{m.trust.panes.At, trustClients, trustChain},
			widget.Need{Pane: trustChain, Lines: len(m.chainLines(w-4)) + 2}, widget.Need{Pane: trustClients, Lines: len(m.trust.report.Clients) + 3},
			widget.Need{Pane: trustDetail, Lines: len(m.clientLines(w-4)) + 2})
	}
	left, right := widget.SideBySide(w, m.trust.panes.At == trustChain, m.trust.panes.At != trustChain)
	return []kit.Area{
		{Pane: trustChain, W: left, H: h},
		{Pane: trustClients, X: left, W: right, H: rows},
		{Pane: trustDetail, X: left, Y: rows, W: right, H: h - rows},
	}
}

func (m *Model) renderTrust(w, h int) string {
	t, p := m.deps.Theme, &m.trust
	return p.panes.Draw(w, h, m.trustAreas, func(a kit.Area) string {
		focused := p.panes.At == a.Pane
		switch a.Pane {
		case trustChain:
			return p.chain.Pane(t, "Certificates", focused, a.W, a.H, m.chainLines(a.W-4))
		case trustClients:
			iw, ih := widget.Inner(a.W, a.H)
			return widget.ScrollPane(t, "Clients on this machine", &p.list, focused, a.W, a.H, p.list.Render(t, focused, iw, ih))
		default:
			return p.detail.Pane(t, cmp.Or(string(m.client().Client), "Client"), focused, a.W, a.H, m.clientLines(a.W-4))
		}
	})
}

// client is the client under the cursor.
func (m *Model) client() model.ClientTrust {
	if at := m.trust.list.Cursor(); at < len(m.trust.report.Clients) {
		return m.trust.report.Clients[at]
	}
	return model.ClientTrust{}
}

// chainLines are the chain, the authority to trust, the stores, and the outer proxies.
func (m *Model) chainLines(w int) []string {
	t, r := m.deps.Theme, m.trust.report
	out := widget.Wrapped(t.Muted, "presented for "+text.Clean(m.test.result.Target)+" · "+text.ClockAndAge(m.test.result.Started, m.deps.Now()), w)
	for i, c := range m.test.result.Chain.Certificates {
		out = append(out, "")
		out = append(out, widget.Hung(t.Muted.Render(fmt.Sprintf("%-2d ", i+1)), t.Strong, c.Subject, w)...)
		for _, line := range []string{
			"by " + c.Issuer, "from " + c.NotBefore.UTC().Format(time.DateOnly) + " until " + c.NotAfter.UTC().Format(time.DateOnly),
			"for " + strings.Join(c.Names, ", "), "sha256 " + c.SHA256,
		} {
			if line != "for " {
				out = append(out, widget.Hung("   ", t.Text, line, w)...)
			}
		}
	}
	out = append(out, "")
	out = append(out, widget.Fact(t, "CA needed", r.Root, w)...)
	if r.HostMismatch != "" {
		out = append(out, widget.Hung(t.Muted.Render(text.Fit("host", 10)), t.Bad, r.HostMismatch+"; no CA fixes that", w)...)
	}
	out = append(out, m.storeLines("system", r.System, w)...)
	if r.File != nil {
		out = append(out, m.storeLines("CA file", *r.File, w)...)
	} else {
		out = append(out, widget.Fact(t, "CA file", "the profile names none", w)...)
	}
	if m.test.result.Chain.Unchecked {
		out = append(out, widget.Wrapped(t.Warn, "! verify = false in the profile: this console did not check the chain", w)...)
	}
	out = append(out, "")
	return append(out, m.outerLines(w)...)
}

// storeLines are the verdict of one store.
func (m *Model) storeLines(name string, s model.TrustStore, w int) []string {
	mark, ink := verdictMark(m.deps.Theme, s.Verdict)
	parts := []string{mark + " " + string(s.Verdict)}
	for _, p := range []string{s.Path, s.Reason} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return widget.Hung(m.deps.Theme.Muted.Render(text.Fit(name, 10)), ink, strings.Join(parts, " · "), w)
}

// outerLines say which outer proxies are in force, and that the console uses none.
func (m *Model) outerLines(w int) []string {
	t := m.deps.Theme
	if len(m.trust.outer) == 0 {
		return widget.Fact(t, "outer", "no proxy is set in the environment", w)
	}
	var out []string
	for i, s := range m.trust.outer {
		name := ""
		if i == 0 {
			name = "outer"
		}
		out = append(out, widget.Hung(t.Muted.Render(text.Fit(name, 10)), t.Note, s.Name+"="+s.Value, w)...)
	}
	return append(out, widget.Fact(t, "", "not used by this console, which connects directly; programs started from the same shell may use it", w)...)
}

// clientLines say where a client looks, what is set, and how it is made to trust the CA.
func (m *Model) clientLines(w int) []string {
	t, c := m.deps.Theme, m.client()
	var out []string
	for _, s := range c.Stores {
		out = append(out, widget.Wrapped(t.Text, s.Name, w)...)
		out = append(out, m.storeLines("", s, w)...)
	}
	for _, s := range c.Settings {
		out = append(out, widget.Fact(t, "set", s.Name+"="+s.Value, w)...)
	}
	if c.Note != "" {
		out = append(out, widget.Wrapped(t.Muted, c.Note, w)...)
	}
	out = append(out, "")
	what := "to make it trust the CA (" + t.Key("trust.copy") + " copies it):"
	if m.profile.CA == "" {
		what = "to make it trust the CA, saved as " + model.CAPlace + " (" + t.Key("trust.copy") + " copies it):"
	}
	out = append(out, widget.Wrapped(t.Muted, what, w)...)
	for _, line := range c.Install {
		out = append(out, widget.Wrapped(t.Strong, line, w)...)
	}
	if c.Client != model.ClientCurl { // the system's store is curl's and Go's; said once
		return out
	}
	out = append(out, "")
	out = append(out, widget.Wrapped(t.Muted, "or the whole system ("+t.Key("trust.copy-system")+" copies it):", w)...)
	for _, line := range m.systemInstall() {
		out = append(out, widget.Wrapped(t.Strong, line, w)...)
	}
	return out
}

func (m *Model) systemInstall() []string {
	return m.deps.Machine.InstallSystem(cmp.Or(m.profile.CA, model.CAPlace))
}

// Intents of the page.
const (
	trustCopy trustIntent = iota
	trustCopySystem
)

type trustIntent int

func (m *Model) trustBindings() []kit.Binding {
	out := []kit.Binding{
		{Name: "trust.copy", Keys: []string{"y"}, Label: "copy the install commands", Help: "Copy the lines that make the client trust the CA.", Group: "CA trust", Intent: trustCopy},
		{Name: "trust.copy-system", Keys: []string{"s"}, Label: "copy for the system", Help: "Copy the lines that put the CA into the system's store.", Group: "CA trust", Intent: trustCopySystem},
		{Name: "trust.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the login.", Group: "CA trust", Intent: intentBack},
	}
	return append(append(out, m.trust.panes.Bindings(false)...), widget.MotionBindings()...)
}

// copyInstall copies the lines that make the client under the cursor, or the system, trust the CA.
func (m *Model) copyInstall(i trustIntent) tea.Cmd {
	if i == trustCopySystem {
		return kit.CopyText("way to install the CA", strings.Join(m.systemInstall(), "\n"))
	}
	c := m.client()
	return kit.CopyText("way to install the CA for "+string(c.Client), strings.Join(c.Install, "\n"))
}

// updateTrust moves in the page, by keys and the mouse.
func (m *Model) updateTrust(msg tea.Msg) {
	p := &m.trust
	before := p.list.Cursor()
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			if p.panes.At = hit.Pane; hit.Pane == trustClients && p.list.Click(hit.Line) {
				p.detail = widget.Scroll{}
			}
		}
	case tea.MouseWheelMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			p.scroll(hit.Pane, msg)
		}
	case tea.KeyPressMsg:
		p.scroll(p.panes.At, msg)
	default:
		p.panes.Update(msg)
	}
	if p.list.Cursor() != before {
		p.detail = widget.Scroll{}
	}
}

func (p *trustPage) scroll(pane int, msg tea.Msg) {
	switch pane {
	case trustClients:
		p.list.Update(msg)
	case trustDetail:
		p.detail.Update(msg)
	default:
		p.chain.Update(msg)
	}
}
