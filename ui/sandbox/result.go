package sandbox

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit/inspect"
	"zonedeck/ui/kit/widget"
)

// resultTab is a page of the result: one of inspect's, or one of those below.
type resultTab string

// The pages that are not of the body.
const (
	tabHeaders  resultTab = "Headers"
	tabTiming   resultTab = "Timing"
	tabAttempts resultTab = "Attempts"
	tabFields   resultTab = "Fields"
	tabTLS      resultTab = "TLS"
)

// pages are the pages of the result on screen: those of its body, and Fields and TLS only
// if there is something on them.
func (p *resultPane) pages() []resultTab {
	var list []resultTab
	for _, page := range p.body.Pages() {
		list = append(list, resultTab(page))
	}
	list = append(list, tabHeaders, tabTiming, tabAttempts)
	if len(p.res.Fields) > 0 {
		list = append(list, tabFields)
	}
	if p.res.Chain.HasCertificates() {
		list = append(list, tabTLS)
	}
	return list
}

// ofBody reports whether the open page is one of the body's.
func (p *resultPane) ofBody() bool { return slices.Contains(p.body.Pages(), inspect.Page(p.tab)) }

// turn goes to another page and wraps around.
func (p *resultPane) turn(by int) tea.Cmd {
	list := p.pages()
	i := max(slices.Index(list, p.tab), 0)
	return p.open(list[(i+by+len(list))%len(list)])
}

// open goes to a page, or to the first one if there is no such page.
func (p *resultPane) open(t resultTab) tea.Cmd {
	list := p.pages()
	if !slices.Contains(list, t) {
		t = list[0]
	}
	p.tab, p.page = t, widget.Scroll{}
	if !p.ofBody() {
		return p.body.Leave()
	}
	return p.body.Show(inspect.Page(t))
}

// origin says where the result on screen comes from.
type origin int

const (
	fromNothing origin = iota
	fromSending
	fromHistory
)

// resultPane is the result on screen, or a request in flight.
type resultPane struct {
	deps   *Deps
	res    model.FetchResult
	origin origin
	// profile is the one that the result was sent with, if it is not the one in use.
	profile string
	// draft is the form that the result belongs to.
	draft draft
	tab   resultTab
	body  *inspect.View
	page  widget.Scroll // of a page that is not the body
	head  []string      // the lines above the page, as drawn last
	// mark is the index of the evidence shown last.
	mark int
	// trouble says why a request has no result: cancelled, refused, not found.
	trouble string
	// flight is the request in flight that is shown in place of the result, or nil.
	flight *flight
}

// shown reports whether a result is on screen.
func (p *resultPane) hasResult() bool { return p.origin != fromNothing }

// edited reports whether the form has changed since the result on screen came.
func (m *Model) edited() bool {
	now := m.form.draft()
	now.Profile = m.result.draft.Profile // a yes to another profile is no edit
	return now != m.result.draft
}

// viewer is the view of the body on screen, or nil.
func (m *Model) viewer() *inspect.View {
	if !m.result.hasResult() || m.result.flight != nil || !m.result.ofBody() {
		return nil
	}
	return m.result.body
}

// marks are the diagnosis's evidence in the body.
func (p *resultPane) marks() []model.Evidence {
	var out []model.Evidence
	for _, e := range p.res.Diagnosis.Evidence {
		if e.Kind == "body" && e.Length > 0 {
			out = append(out, e)
		}
	}
	return out
}
