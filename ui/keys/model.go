package keys

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/ui/keys/rotation"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Inventory is the list of keys on disk; *keystore.Inventory is one. List and Get wait for
// nothing, the others are called in commands.
type Inventory interface {
	List() []model.Key
	Get(name string) (model.Key, bool)
	Reload() error
	Add(ctx context.Context, k model.Key) error
	Update(ctx context.Context, name string, f func(model.Key) (model.Key, error)) error
	Remove(ctx context.Context, seen model.Key) error
}

// Rotations are the rotations of keys and passwords.
type Rotations interface {
	rotation.Rotations
	// List has the records.
	List() ([]keystore.RotationPlan, error)
	// ZonePassword is the rotation of a zone's password, by a key.
	ZonePassword(zone, key string) (keys.RotationSubject, error)
}

// Uses finds what uses the keys; keys.Inventory does.
type Uses interface {
	// Uses finds what uses each key; in folders, too, if some are given.
	Uses(ctx context.Context, folders []string, progress func(keys.Progress)) (map[keys.KeyID][]keys.KeyUse, keys.UsesReport, error)
	// LookUp resolves the keys' references, so that Uses knows one value behind several of them; its
	// error is that of ctx.
	LookUp(ctx context.Context) (unknown []string, err error)
	// Used is when each key was used from this console.
	Used(ctx context.Context) (map[keys.KeyID]keys.Dates, error)
	// ScanFolders are those that the configuration names for it.
	ScanFolders() []string
	// Snippets are the check of the keys as text for each program that runs it on schedule.
	Snippets(o keys.SnippetOptions) []keys.Snippet
}

// Service is the service of the profile in use.
type Service interface {
	// Skew is how far its clock is ahead, as last measured.
	Skew() (s keys.Skew, ok bool)
}

// Deps are the parts the tab works with; all but Recorded, Service and Changed are required.
type Deps struct {
	// Ctx ends the tab's work when the program ends.
	Ctx context.Context //nolint:containedctx // the tab lives as long as the program
	Now func() time.Time
	// Recorded is the machine's clock. It dates what is recorded about keys: the
	// inventory is shared by all profiles, and Now may be the moved clock of an
	// emulator. Nil means Now.
	Recorded  func() time.Time
	Theme     *kit.Theme
	Inventory Inventory
	Rotations Rotations
	Uses      Uses
	// Service is nil where nothing is known of its clock.
	Service Service
	// Config is the config file that was named when the console was started; empty for the usual one.
	Config string
	// Changed runs after a change of the inventory, so that the wiring can send a new
	// kit.SessionChanged; it may be nil.
	Changed tea.Cmd
}

// side is the content of the lower right pane.
type side int

const (
	sideDetail side = iota
	sideLint
	sideLevels
	sideRadius
)

// Panes of the tab, in the order of tab.
const (
	paneList = iota
	paneSide
)

// keyList is the keys as they are shown.
type keyList struct {
	derived
	strip  strip // the calendar, drawn for stripW cells
	stripW int
	page   widget.ListPage[int] // of places in keys
	slot   kit.Slot             // deriving the next list, where there are many keys
	stale  bool                 // what is being derived is old already
	// reading is the inventory being read again.
	reading kit.Slot
	goesTo  string // the key that the cursor goes to in the next list
}

// derived holds the keys and what every part of the screen says of them.
type derived struct {
	keys     []model.Key
	unread   error           // why the inventory's are not among them; see kit.Session
	recorded map[string]bool // names in the inventory
	// namesakes are the rows of keys that come with the profile and have the name of one in the
	// inventory: the name that is shown, and the key's own.
	namesakes map[string]string
	findings  []keystore.Finding
	ofKey     map[string][]keystore.Finding
	// unfinished finds a rotation that did not come to its end; see keystore.Unfinished.
	unfinished func(profile, key string) (keystore.RotationPlan, bool)
	// endedBy is the key whose rotation ended a value; see keystore.EndedBy.
	endedBy     func(fingerprint string) (key string)
	searchTexts []searchText // of each key, for the filter
	due         int          // keys that are due: the one count of every part of the screen
	rotating    int          // keys whose rotation is unfinished
	rotatingDue int          // those of them that are due
	within      []int        // model.Within of the keys
	days        days         // when their clocks run out
	nameWidth   int          // of the column of names
	clockWidth  [2]int       // of the columns of the two clocks: neither is cut
	clockTitle  string       // of the column of the rotation clock
	at          time.Time    // the minute of all this
}

// records are the rotations on disk, and what else is known from there.
type records struct {
	onDisk
	slot kit.Slot // reading them
}

// Model is the tab. Use New.
type Model struct {
	deps    Deps
	session kit.Session
	list    keyList
	records records
	panes   widget.Panes
	side    side
	text    widget.Scroll // of the side pane
	dialog  *widget.FormDialog
	page    *rotation.Page
	radius  blast
	// change is the change of the inventory in flight.
	change kit.Slot
}

// New makes the tab.
func New(d Deps) *Model {
	if d.Recorded == nil {
		d.Recorded = d.Now
	}
	m := &Model{deps: d, panes: widget.Panes{N: 2}}
	m.page = rotation.New(rotation.Deps{Ctx: d.Ctx, Now: d.Now, Theme: d.Theme, Rotations: d.Rotations, Recorded: m.recordedRotation})
	m.list.page.Rows, m.list.page.Plural = listRows{m}, "keys"
	m.derive(nil)
	m.list.unread = keystore.ErrKeysUnread
	m.showList()
	return m
}

// Init lists the keys, and reads the records of rotations.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.fill(), m.loadRecords()) }

// Title is the tab's name.
func (m *Model) Title() string { return "Keys" }

// CapturingText reports whether the filter is being typed.
func (m *Model) CapturingText() bool { return m.list.page.Filter.Typing() }

// Focus reads the inventory again: another console may have changed it.
func (m *Model) Focus() tea.Cmd { return m.reload() }

// Running counts the changes being written, and the step of a rotation under way.
func (m *Model) Running() int {
	return kit.Running(&m.change, &m.radius.slot, &m.radius.values) + m.page.Running()
}

// Badges are how many keys are due and how many rotations are unfinished, not known while the keys are not.
func (m *Model) Badges() ([]kit.Badge, kit.Ink) {
	if m.list.unread != nil {
		return []kit.Badge{{N: -1}}, m.dueInk()
	}
	return []kit.Badge{{N: m.list.due, Word: "due"}, {N: m.list.rotating, Before: m.list.rotatingDue, Word: "unfinished"}}, m.dueInk()
}

// dueInk is the colour of the count of due keys: that of the worst one, which comes first.
func (m *Model) dueInk() kit.Ink {
	state := model.KeySoon
	if m.list.due > 0 && m.list.unread == nil {
		state = m.list.keys[0].State(m.now(m.list.keys[0]), soon)
	}
	_, ink := m.deps.Theme.KeyMark(state)
	return ink
}

// withDue is a pane's title, with the count of due keys where there are any.
func (m *Model) withDue(title string) []widget.Cell {
	switch {
	case m.list.unread != nil:
		return []widget.Cell{widget.C(title + " · "), {Text: m.unread(), Ink: m.deps.Theme.Warn}}
	case m.list.due == 0:
		return []widget.Cell{widget.C(title)}
	}
	return []widget.Cell{widget.C(title + " · "), {Text: text.Count(m.list.due) + " due", Ink: m.dueInk()}}
}

// unread is what stands where something would be said of the inventory's keys, while they are not known.
func (m *Model) unread() string {
	if m.reading() {
		return "reading keys…"
	}
	return "the inventory could not be read"
}

// selected returns the key under the cursor.
func (m *Model) selected() (model.Key, bool) {
	if i, ok := m.list.page.Selected(); ok {
		return m.list.keys[i], true
	}
	return model.Key{}, false
}

// now is the time by which a key's clocks run.
func (m *Model) now(k model.Key) time.Time { return m.session.KeyNow(k, m.deps.Now()) }

// fill lists the keys of the session and of the inventory anew. Many are derived beside the screen,
// which shows the list before until then.
func (m *Model) fill() tea.Cmd {
	if len(m.list.keys) <= manyKeys && len(m.session.Keys) <= manyKeys {
		if keys := m.deps.Inventory.List(); len(keys) <= manyKeys {
			m.list.slot.Drop()
			m.list.stale = false
			m.derive(keys)
			m.showList()
			return nil
		}
	}
	if m.list.slot.Running() {
		m.list.stale = true
		return nil
	}
	beside := &Model{deps: m.deps, session: m.session, records: records{onDisk: onDisk{uses: m.records.uses, plans: slices.Clone(m.records.plans)}}}
	return kit.Load(kit.Keys, &m.list.slot, m.deps.Ctx, func(context.Context) (derived, error) {
		beside.derive(beside.deps.Inventory.List())
		return beside.list.derived, nil
	}, m.filled)
}

// derive puts the most urgent keys first, and derives from them, once, what every part of the
// screen says.
func (m *Model) derive(recorded []model.Key) {
	m.list.recorded, m.list.namesakes = map[string]bool{}, map[string]string{}
	for _, k := range recorded {
		m.list.recorded[k.Name] = true
	}
	m.list.unread = m.session.Unread
	all := slices.Clone(recorded)
	for _, k := range m.session.ProfileKeys {
		if m.list.recorded[k.Name] {
			name := k.Name
			k.Name = m.namesakeName(name)
			m.list.namesakes[k.Name] = name
		}
		all = append(all, k)
	}
	model.SortKeys(all, m.now, soon)
	m.list.unfinished, m.list.endedBy = keystore.Unfinished(m.records.plans), keystore.EndedBy(m.records.plans)
	m.list.findings = keystore.Checks{Now: m.now, Usage: m.usage}.Lint(all)
	m.list.ofKey = map[string][]keystore.Finding{}
	for _, f := range m.list.findings {
		m.list.ofKey[f.Key] = append(m.list.ofKey[f.Key], f)
	}
	m.list.due, m.list.rotating, m.list.rotatingDue, m.list.within = 0, 0, 0, model.Within(all, m.now)
	m.list.clockWidth = [2]int{15, 9}
	m.list.searchTexts = make([]searchText, len(all))
	for i, k := range all {
		all[i].UsedBy = keys.UsersOf(k, m.usesOf(k))
		now := m.now(k)
		due := k.Due(now)
		if due {
			m.list.due++
		}
		if _, unfinished := m.unfinished(k); unfinished {
			if m.list.rotating++; due {
				m.list.rotatingDue++
			}
		}
		expires, clock := expiresCell(k, now), widget.RotationCell(k, now)
		m.list.clockWidth[0], m.list.clockWidth[1] = max(m.list.clockWidth[0], text.Width(expires)), max(m.list.clockWidth[1], text.Width(clock))
		m.list.searchTexts[i] = m.wordsOf(all[i], m.stateWord(k, now), due, expires, widget.RotatedCell(k, now), clock)
	}
	m.list.days, m.list.nameWidth, m.list.clockTitle = daysOf(all, m.now), nameWidth(all), widget.RotationTitle(all)
	m.list.keys = all
	m.list.at = m.minute()
}

// filled takes a list that was derived beside the screen, and derives the next one if it is old.
func (m *Model) filled(list derived, _ error) tea.Cmd {
	m.list.derived = list
	m.showList()
	if !m.list.stale {
		return nil
	}
	m.list.stale = false
	return m.fill()
}

// showList shows what was derived.
func (m *Model) showList() {
	m.list.stripW = 0
	places := make([]int, len(m.list.keys))
	for i := range places {
		places[i] = i
	}
	m.list.page.Columns, _ = m.columns(model.Key{})
	m.list.page.Set(places)
	m.list.page.KeepFirst() // until they are seen: keys of the inventory and of the profile come one after the other
	if name := m.list.goesTo; name != "" && (m.selectKey(name) || !m.list.stale && !m.reading()) {
		m.list.goesTo = ""
	}
}

// reading reports whether keys are still to come.
func (m *Model) reading() bool { return errors.Is(m.list.unread, keystore.ErrKeysUnread) }

// manyKeys are so many that the list is made beside the screen, and not anew every minute.
const manyKeys = 5000

// minute is the time of a list: the clocks of a long one are read again every hour.
func (m *Model) minute() time.Time {
	if len(m.list.keys) > manyKeys {
		return m.deps.Now().Truncate(time.Hour)
	}
	return m.deps.Now().Truncate(time.Minute)
}

// id is a key as what uses it is known by.
func (m *Model) id(k model.Key) keys.KeyID {
	return keys.KeyID{Name: m.ownName(k), Profile: m.origin(k.Name)}
}

// usesUnknown says why it is not known what uses the keys; empty where it is.
func (m *Model) usesUnknown() string {
	switch {
	case m.records.uses != nil:
		return ""
	case m.records.slot.Running():
		return "what uses it is still being looked up"
	}
	return "what uses it could not be looked up"
}

// usesOf is what is known to use a key.
func (m *Model) usesOf(k model.Key) []keys.KeyUse { return m.records.uses[m.id(k)] }

// usage is what was seen of a key's uses, for the rules.
func (m *Model) usage(k model.Key) keystore.KeyUsage {
	seen := keys.UsageOf(k, m.usesOf(k))
	seen.Rotation, _ = m.unfinished(k)
	if m.origin(k.Name) == "" {
		seen.EndedBy = m.list.endedBy(k.Fingerprint)
	}
	return seen
}

// unfinished is the last rotation of a key that did not come to its end.
func (m *Model) unfinished(k model.Key) (keystore.RotationPlan, bool) {
	return m.list.unfinished(m.origin(k.Name), m.ownName(k))
}

// ownName is a key's name, which may be shown with its profile.
func (m *Model) ownName(k model.Key) string { return cmp.Or(m.list.namesakes[k.Name], k.Name) }

// namesakeName is what a key of the profile is shown as beside one of the inventory.
func (m *Model) namesakeName(name string) string { return name + " (" + m.session.ProfileName + ")" }

// nameWidth is the width the names need, within limits: other columns are dropped
// before a name is cut.
func nameWidth(keys []model.Key) int {
	width := 12
	for _, k := range keys {
		width = max(width, text.Width(text.Clean(k.Name)))
	}
	return min(width, 24)
}

// running returns the unfinished rotation of a key.
func (m *Model) running(name string) (keystore.RotationPlan, bool) {
	for _, p := range m.records.plans {
		if p.OfKey(m.origin(name), name) && !p.Over() {
			return p, true
		}
	}
	return keystore.RotationPlan{}, false
}

// origin is the profile that a key comes with; empty for one of the inventory.
func (m *Model) origin(name string) string {
	if m.list.recorded[name] {
		return ""
	}
	return m.session.ProfileName
}
