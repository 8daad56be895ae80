package sandbox

import (
	"slices"

	"zonedeck/model"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/widget"
)

// resultTab is a page of the result.
type resultTab int

// The pages, in order.
const (
	tabBody resultTab = iota
	tabHeaders
	tabTiming
	tabAttempts
	tabFields
)

// String is the page's name.
func (t resultTab) String() string {
	return [...]string{"Body", "Headers", "Timing", "Attempts", "Fields"}[t]
}

// pages are the pages of the result on screen, with Fields only if there are any.
func (p *resultPane) pages() []resultTab {
	list := []resultTab{tabBody, tabHeaders, tabTiming, tabAttempts}
	if len(p.res.Fields) > 0 {
		list = append(list, tabFields)
	}
	return list
}

// turn goes to another page and wraps around.
func (p *resultPane) turn(by int) {
	list := p.pages()
	i := max(slices.Index(list, p.tab), 0)
	p.tab, p.page = list[(i+by+len(list))%len(list)], widget.Scroll{}
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
	res    model.FetchResult
	origin origin
	// profile is the one that the result was sent with, if it is not the one in use.
	profile string
	// draft is the form that the result belongs to.
	draft draft
	tab   resultTab
	body  *body.View
	page  widget.Scroll // of a page that is not the body
	head  []string      // the lines above the page, as drawn last
	// mark is the index of the evidence shown last.
	mark int
	// trouble says why a request has no result: cancelled, refused, not found.
	trouble string
	// flight is the request in flight that is shown in place of the result, or nil.
	flight *flight
}

// have reports whether a result is on screen.
func (p *resultPane) have() bool { return p.origin != fromNothing }

// edited reports whether the form has changed since the result on screen came.
func (m *Model) edited() bool {
	now := m.form.draft()
	now.Profile = m.result.draft.Profile // a yes to another profile is no edit
	return now != m.result.draft
}

// viewer is the body viewer on screen, or nil.
func (m *Model) viewer() *body.View {
	if !m.result.have() || m.result.flight != nil || m.result.tab != tabBody {
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
