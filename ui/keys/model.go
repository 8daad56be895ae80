package keys

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Inventory is the list of keys on disk; *keystore.Inventory is one. List does
// no I/O, the others are called in commands.
type Inventory interface {
	List() []model.Key
	Reload() error
	Add(ctx context.Context, k model.Key) error
	Update(ctx context.Context, name string, f func(model.Key) (model.Key, error)) error
	Remove(ctx context.Context, name string) error
}

// Rotations keeps the records of rotations; *keystore.Rotations is one.
type Rotations interface {
	List() ([]keystore.RotationPlan, error)
	Start(ctx context.Context, p keystore.RotationPlan) error
	Update(ctx context.Context, id string, f func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error)
}

// Secrets resolves and stores behind references; *keystore.Resolver does.
type Secrets interface {
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	Store(ctx context.Context, ref string, s keystore.Secret) error
}

// Deps are the tab's parts, all of them required but Changed.
type Deps struct {
	// Ctx ends the tab's work when the program ends.
	Ctx context.Context //nolint:containedctx // the tab lives as long as the program
	Now func() time.Time
	// Recorded is the machine's clock, for what is written down about keys: the
	// inventory serves every profile, and Now may be an emulator's clock that was
	// moved. Nil means Now.
	Recorded  func() time.Time
	Theme     *kit.Theme
	Inventory Inventory
	Rotations Rotations
	Secrets   Secrets
	// Changed runs after the inventory was changed, so that the wiring can send a
	// new kit.SessionChanged; nil when it needs none.
	Changed tea.Cmd
}

// side is what the lower right pane shows.
type side int

const (
	sideDetail side = iota
	sideLint
	sideLevels
)

// columnName is the column of the key's name.
const columnName = 1

// Panes of the tab, in the order of tab.
const (
	paneList = iota
	paneSide
)

// list is the keys and what was worked out of them at the last beat.
type list struct {
	keys     []model.Key
	own      map[string]bool // names that are in the inventory, not in the demo account
	findings []keystore.Finding
	table    widget.Table
	find     widget.TableFind
	day      time.Time // the day the findings are of
}

// records is the rotations on disk.
type records struct {
	plans []keystore.RotationPlan
	slot  kit.Slot // reading them
	err   string
}

// Model is the tab. Use New.
type Model struct {
	deps    Deps
	session kit.Session
	list    list
	records records
	ring    widget.Ring
	side    side
	top     int // first line of the side pane
	drawn   kit.Regions
	dialog  *widget.FormDialog
	wizard  *wizard
	// change is the one change of the inventory that may be in flight.
	change kit.Slot
}

// New makes the tab.
func New(d Deps) *Model {
	if d.Recorded == nil {
		d.Recorded = d.Now
	}
	m := &Model{deps: d, ring: widget.Ring{N: 2}}
	m.list.table.Columns = []widget.Column{
		{Title: "STATE", Width: 13},
		{Title: "KEY", Width: 12},
		{Title: "LEVEL", Width: 7, Priority: 1},
		{Title: "DUTY", Width: 9, Priority: 4},
		{Title: "EXPIRES", Width: 18},
		{Title: "ROTATED", Width: 15, Priority: 3},
		{Title: "90-DAY", Width: 9},
		{Title: "USED BY", Width: 9, Flex: true, Priority: 2},
	}
	m.list.find = widget.NewTableFind(d.Theme)
	m.fill()
	return m
}

// Init reads the records of rotations.
func (m *Model) Init() tea.Cmd { return m.loadRecords() }

// Title is the tab's word.
func (m *Model) Title() string { return "Keys" }

// CapturingText reports whether a search is being typed.
func (m *Model) CapturingText() bool { return m.list.find.CapturingText() }

// Focus reads the inventory again: another console may have changed it.
func (m *Model) Focus() tea.Cmd { return m.reload() }

// Blur has nothing to stop.
func (m *Model) Blur() {}

// Running counts a change that is being written.
func (m *Model) Running() int {
	if m.change.Running() {
		return 1
	}
	return 0
}

// Status says how many keys ask for work.
func (m *Model) Status() string {
	n := 0
	for _, k := range m.list.keys {
		if k.State(m.deps.Now(), soon) >= model.KeySoon {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return text.Count(n) + " due"
}

// selected is the key under the cursor.
func (m *Model) selected() (model.Key, bool) {
	if at := m.list.table.Cursor(); at < len(m.list.keys) {
		return m.list.keys[at], true
	}
	return model.Key{}, false
}

// fill takes the session's keys and the inventory's, the worst first.
func (m *Model) fill() {
	now := m.deps.Now()
	own := m.deps.Inventory.List()
	m.list.own = map[string]bool{}
	keys := slices.Clone(own)
	for _, k := range own {
		m.list.own[k.Name] = true
	}
	for _, k := range m.session.Keys {
		if !m.list.own[k.Name] {
			keys = append(keys, k)
		}
	}
	for i := range keys {
		keys[i].UsedBy = m.users(keys[i])
	}
	slices.SortStableFunc(keys, func(a, b model.Key) int {
		return int(b.State(now, soon)) - int(a.State(now, soon))
	})
	m.list.keys = keys
	m.list.findings = keystore.Lint(keys, now)
	m.list.day = now.UTC().Truncate(24 * time.Hour)
	m.list.table.Empty = "no keys yet: a records one"
	m.list.table.Columns[columnName].Width = nameWidth(keys)
	// The table asks for the name of the old cursor's row: these are fixed.
	m.list.table.SetRowsKeyed(len(keys), func(i int) string { return keys[i].Name }, m.row)
}

// nameWidth gives the names what they need, within reason: other columns are
// dropped before a name is cut.
func nameWidth(keys []model.Key) int {
	width := 12
	for _, k := range keys {
		width = max(width, text.Width(text.Clean(k.Name)))
	}
	return min(width, 24)
}

// users is what uses a key, with the profile whose default it is.
func (m *Model) users(k model.Key) []string {
	users := slices.Clone(k.UsedBy)
	if k.Name != "" && k.Name == m.session.Key.Name {
		mine := "profile " + m.session.ProfileName
		if !slices.Contains(users, mine) {
			users = append(users, mine)
		}
	}
	return users
}

// running is the rotation of a key that is not over.
func (m *Model) running(name string) (keystore.RotationPlan, bool) {
	for _, p := range m.records.plans {
		if p.Key == name && !p.Over() {
			return p, true
		}
	}
	return keystore.RotationPlan{}, false
}
