package sandbox

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/profile"
	"zonedeck/service/saved"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/widget"
)

// Fetcher sends requests and shows them beforehand; service.Client is one.
type Fetcher interface {
	// Preview is pure; last4 are the last characters of the key's value.
	Preview(p profile.Profile, r model.FetchRequest, last4 string) model.WirePreview
	// Fetch ends with a result, or with an error when it was cancelled or the
	// request cannot be sent (*model.RequestError).
	Fetch(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error)
}

// History is what the journal keeps of fetches; service.Client is one.
type History interface {
	Activity(ctx context.Context, f model.ActivityFilter) ([]model.Activity, error)
	LoadFetch(ctx context.Context, id string) (model.FetchResult, error)
}

// Store keeps saved requests; *saved.Store is one.
type Store interface {
	List(ctx context.Context) ([]saved.Entry, error)
	Load(ctx context.Context, name string) (model.FetchRequest, error)
	Save(ctx context.Context, name string, r model.FetchRequest, replace bool) (omitted []string, err error)
}

// Deps is what the tab needs.
type Deps struct {
	Ctx     context.Context
	Now     func() time.Time
	Theme   *kit.Theme
	Fetcher Fetcher
	History History
	Saved   Store
	// Profile is the profile in use as it is known now; it must not block.
	Profile func() profile.Profile
	// Open opens a body for reading, wherever it lies; it is called in commands.
	Open func(ctx context.Context, b model.BodyRef) (body.Source, error)
	// Edit gives the command that shows a body in the operator's editor; it is
	// called in commands. Nil means that there is no editor.
	Edit func(ctx context.Context, b model.BodyRef, contentType string) (tea.ExecCommand, error)
}

// The panes, in the order of tab.
const (
	paneForm = iota
	paneWire
	paneResult
	paneHistory
	panes
)

// Model is the tab. See kit.View.
type Model struct {
	deps    Deps
	session kit.Session
	form    formPane
	result  resultPane
	history historyPane
	ring    widget.Ring
	work    work
	drawn   kit.Regions
	width   int
}

// work are the loads that can be in flight, one of each kind.
type work struct {
	send, list, load, store, body, edit kit.Slot
}

// New makes the tab with the first request filled in. Nothing is read or sent
// before Init.
func New(d Deps) *Model {
	m := &Model{deps: d, ring: widget.Ring{N: panes}}
	m.form = newFormPane(d.Theme)
	m.history = newHistoryPane()
	m.result.body = body.New(d.Ctx, kit.Sandbox, d.Theme)
	m.refresh()
	return m
}

// Title is the tab's word.
func (m *Model) Title() string { return "Sandbox" }

// Init loads the history.
func (m *Model) Init() tea.Cmd { return m.loadHistory() }

// Focus brings history up to date: other tabs and other processes fetch too.
func (m *Model) Focus() tea.Cmd { return m.loadHistory() }

// Blur is part of kit.Focuser.
func (m *Model) Blur() {}

// CapturingText reports whether a field or a search is being typed.
func (m *Model) CapturingText() bool {
	switch m.ring.At {
	case paneForm:
		return m.form.form.CapturingText()
	case paneResult:
		v := m.viewer()
		return v != nil && v.CapturingText()
	default:
		return false
	}
}

// Running is 1 while a request is on its way.
func (m *Model) Running() int {
	if m.work.send.Running() {
		return 1
	}
	return 0
}

// focus moves the focus to a pane.
func (m *Model) focus(pane int) {
	if m.ring.At != pane {
		m.endEditing()
		m.ring.At = pane
	}
}

// endEditing takes what is being typed as it is.
func (m *Model) endEditing() {
	m.form.form.FocusOn(m.form.form.Focused(), false)
}
