package sandbox

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/body/picture"
	"zonedeck/ui/kit/inspect"
	"zonedeck/ui/kit/widget"
)

// Fetcher previews and sends requests.
type Fetcher interface {
	// Preview is pure; last4 are the last characters of the key's value.
	Preview(p model.Profile, r model.FetchRequest, last4 string) model.WirePreview
	// Fetch returns a result, or an error if it was cancelled or the request cannot be
	// sent (*model.RequestError).
	Fetch(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error)
}

// History has the fetches of this machine; *history.History is one.
type History interface {
	Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error)
	compare.History
	LoadFetch(ctx context.Context, id string) (model.FetchResult, error)
	// URLs are the distinct URLs of a profile's fetches, the most recently used first.
	URLs(ctx context.Context, profile string, limit int) ([]string, error)
	// KeepBody copies a result's body to a file that is not pruned, and names it.
	KeepBody(ctx context.Context, res model.FetchResult) (file string, err error)
	// OneHAR writes a fetch to a file, and names it.
	OneHAR(ctx context.Context, id string) (file string, err error)
}

// Store keeps saved requests; *saved.Store is one.
type Store interface {
	Load(ctx context.Context, name string) (model.FetchRequest, error)
	Save(ctx context.Context, name string, r model.FetchRequest, replace bool) (omitted []string, err error)
	// RestoreLast brings back the request that was deleted last, and names it.
	RestoreLast(ctx context.Context) (name string, err error)
}

// Owners know which keys are those of another account; *keys.Owners does.
type Owners interface {
	// Confirm hears that the operator wants a key of another account sent to this profile's service.
	Confirm(key string)
}

// Profile is the profile in use.
type Profile interface {
	// CurrentProfile is what is known of it now; it does not block.
	CurrentProfile() model.Profile
	// Now is the time at its service.
	Now() time.Time
}

// Timeouts are those of the profile in use.
type Timeouts interface {
	// SetTimeout writes the timeout of a product into the profile.
	SetTimeout(ctx context.Context, product model.Product, d time.Duration) error
}

// Collection is the overlay of the saved requests.
type Collection interface {
	// Overlay picks one of them for the form.
	Overlay(form *Model) kit.Overlay
}

// Bodies are the bodies of fetches, in memory or on disk. Commands call it.
type Bodies interface {
	Open(ctx context.Context, b model.BodyRef) (body.Source, error)
	// HasEditor reports whether the operator has set an editor. Edit returns the command that shows a body in it.
	HasEditor() bool
	Edit(ctx context.Context, b model.BodyRef, contentType string) (Editor, error)
}

// Deps are the parts the tab works with.
type Deps struct {
	Ctx     context.Context
	Theme   *kit.Theme
	Fetcher Fetcher
	// Owners may be nil: then no key is that of another account.
	Owners   Owners
	Comparer compare.Comparer
	History  History
	Saved    Store
	// Collection has the saved requests, one of which is picked for the form.
	Collection Collection
	// Variables may be nil: then {{name}} is a text like any other.
	Variables Variables
	// Tools lists the tools of agent access; nil where there is none.
	Tools   Tools
	Profile Profile
	// Timeouts are the profile's own; without any, the form's is set.
	Timeouts Timeouts
	// Pictures is what the terminal is known to draw.
	Pictures picture.Protocol
	Filters  inspect.FilterHistory
	Bodies   Bodies
}

// Editor is a command that shows a body in the operator's editor, once: it is either run
// or closed.
type Editor interface {
	tea.ExecCommand
	io.Closer
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
	flights flights
	compare *compare.Page
	panes   widget.Panes
	zones   widget.Table
	work    work
	width   int
}

// work holds the loads, at most one of each kind in flight.
type work struct {
	list, urls, load, store, body, edit, copy, sample, har, paste, tools, keys kit.Slot
}

// New makes the tab with the first request filled in. Nothing is read or sent
// before Init.
func New(d Deps) *Model {
	m := &Model{deps: d, panes: widget.Panes{N: panes}, session: kit.Session{Profile: d.Profile.CurrentProfile()}}
	m.form = newFormPane(d.Theme)
	m.history = newHistoryPane(d.Theme)
	m.form.deps, m.history.deps, m.result.deps = &m.deps, &m.deps, &m.deps
	m.result.body = inspect.New(d.Ctx, kit.Sandbox, d.Theme, d.Pictures)
	m.result.body.Remember(d.Filters)
	m.result.tab = resultTab(inspect.Body)
	m.compare = compare.New(compare.Deps{Ctx: d.Ctx, Now: d.Profile.Now, Theme: d.Theme, Comparer: d.Comparer, History: d.History, Keys: keyDoubts{m}, View: kit.Sandbox})
	m.refresh()
	return m
}

// Title is the tab's name.
func (m *Model) Title() string { return "Sandbox" }

// Init loads the history.
func (m *Model) Init() tea.Cmd { return m.loadHistory() }

// Focus reloads the history: other tabs and other processes fetch too.
func (m *Model) Focus() tea.Cmd { return m.loadHistory() }

// Blur tells an open comparison that its tab is left, and drops a paste: it may open a finder.
func (m *Model) Blur() {
	m.compare.Blur()
	m.work.paste.Drop()
}

// CapturingText reports whether a field or a search is being typed.
func (m *Model) CapturingText() bool {
	if m.compare.Open() {
		return false
	}
	switch m.panes.At {
	case paneForm:
		return m.form.form.CapturingText()
	case paneResult:
		v := m.viewer()
		return v != nil && v.CapturingText()
	default:
		return false
	}
}

// Running counts the requests in flight.
func (m *Model) Running() int { return m.flights.running() + m.compare.Running() }

// focus moves the focus to a pane; a comparison gives way to it.
func (m *Model) focus(pane int) {
	m.compare.Close()
	if m.panes.At != pane {
		m.endEditing()
		m.panes.At = pane
	}
}

// endEditing ends editing and keeps the typed text.
func (m *Model) endEditing() {
	m.form.form.FocusOn(m.form.form.Focused(), false)
}
