package keys

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, results and motion keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if cmd, handled := m.list.find.Update(&m.list.table, msg); handled {
		m.ring.At = paneList
		return cmd
	}
	switch msg := msg.(type) {
	case kit.SessionChanged:
		m.session = msg.Session
		m.fill()
	case kit.Tick:
		if day := m.deps.Now().UTC().Truncate(24 * time.Hour); !day.Equal(m.list.day) {
			m.fill() // a new day: the clocks have moved
		}
	case kit.OpenKey:
		return m.open(msg.Name)
	case intent:
		return m.act(msg)
	case tea.KeyPressMsg:
		m.move(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case kit.Copy:
		return func() tea.Msg { return msg }
	case wizardIntent, startRefresh, abandonPlan, planSaved, storeChecked:
		return m.wizardMsg(msg)
	default:
		return m.result(msg)
	}
	return nil
}

func (m *Model) act(i intent) tea.Cmd {
	switch i {
	case intentAdd:
		return m.openForm(model.Key{}, false)
	case intentReload:
		return m.reload()
	case intentLint:
		m.show(sideLint)
	case intentLevels:
		m.show(sideLevels)
	case intentDetails:
		m.show(sideDetail)
	case intentNextPane:
		m.ring.Next()
	case intentPrevPane:
		m.ring.Prev()
	case intentZoom:
		m.ring.Zoomed = !m.ring.Zoomed
	case intentBack:
		m.back()
	default:
		if k, ok := m.selected(); ok {
			return m.actOn(k, i)
		}
	}
	return nil
}

func (m *Model) actOn(k model.Key, i intent) tea.Cmd {
	switch i {
	case intentEdit:
		return m.openForm(k, true)
	case intentRemove:
		return m.askRemove(k)
	case intentRotate:
		return m.rotate(k)
	case intentRefresh:
		return m.askRefresh(k)
	case intentCopy:
		return m.copyMenu(k)
	}
	return nil
}

// show changes the content of the side pane and focuses it, or goes back to the list
// if it was already shown.
func (m *Model) show(s side) {
	if m.side == s && m.ring.At == paneSide {
		m.side, m.ring.At = sideDetail, paneList
	} else {
		m.side, m.ring.At = s, paneSide
	}
	m.top = 0
}

func (m *Model) back() {
	switch {
	case m.ring.Zoomed:
		m.ring.Zoomed = false
	default:
		m.side, m.ring.At, m.top = sideDetail, paneList, 0
	}
}

func (m *Model) move(msg tea.Msg) {
	if m.ring.At == paneSide {
		m.top = max(0, m.top+widget.ScrollBy(msg))
		return
	}
	m.moveList(msg)
}

func (m *Model) moveList(msg tea.Msg) {
	before := m.list.table.Cursor()
	m.list.table.Update(msg)
	if m.list.table.Cursor() != before && m.side == sideDetail {
		m.top = 0
	}
}

// open selects a key for another tab.
func (m *Model) open(name string) tea.Cmd {
	for i, k := range m.list.keys {
		if k.Name == name {
			m.list.table.SetCursor(i)
			m.side, m.ring.At, m.top = sideDetail, paneList, 0
			return nil
		}
	}
	return kit.Warn("key " + name + " is not recorded: a records it")
}

// result handles the results of commands.
func (m *Model) result(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case reloaded:
		m.fill()
		if msg.err != "" {
			return kit.Fail("read the key inventory: " + msg.err)
		}
	case recordsLoaded:
		m.records.plans, m.records.err = msg.plans, msg.err
		if msg.err != "" {
			return kit.Fail("read the records of rotations: " + msg.err)
		}
	case changed:
		return m.changed(msg)
	case removeKey:
		return m.remove(msg.name)
	}
	return nil
}

// changed handles the result of a change of the inventory.
func (m *Model) changed(msg changed) tea.Cmd {
	if m.dialog != nil {
		m.dialog.Busy = false
	}
	if msg.err != "" {
		// The dialog may have been closed meanwhile, so the message is shown too.
		if m.dialog != nil && msg.form {
			m.dialog.Problem = msg.err
		}
		return kit.Fail(msg.err)
	}
	if msg.gone != "" {
		// The session has the key until the wiring sends a new one. If its row stayed
		// until then, the cursor would move when it disappears.
		m.session.Keys = slices.DeleteFunc(slices.Clone(m.session.Keys), func(k model.Key) bool { return k.Name == msg.gone })
	}
	m.fill()
	cmds := []tea.Cmd{kit.Info(msg.done), m.deps.Changed}
	if msg.form && m.dialog != nil {
		d := m.dialog
		m.dialog = nil
		cmds = append(cmds, func() tea.Msg { return kit.Close{Overlay: d} })
	}
	if msg.name != "" {
		for i, k := range m.list.keys {
			if k.Name == msg.name {
				m.list.table.SetCursor(i)
			}
		}
	}
	return tea.Batch(cmds...)
}

func (m *Model) askRemove(k model.Key) tea.Cmd {
	body := fmt.Sprintf("%s is removed from the inventory, with its dates. The key itself stays valid at the service, and its value stays where it is.", text.Clean(k.Name))
	if len(k.UsedBy) > 0 {
		body += "\nIt is used by: " + text.Clean(strings.Join(k.UsedBy, ", ")) + "."
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Forget the key?", Body: body, Yes: "forget it", View: kit.Keys, Intent: removeKey{name: k.Name},
	})
}

func (m *Model) copyMenu(k model.Key) tea.Cmd {
	item := func(key, what, text string) widget.MenuItem {
		it := widget.MenuItem{Key: key, Label: what, Note: text, Intent: kit.Copy{What: what, Text: text}}
		if text == "" {
			it.Disabled = "not recorded"
		}
		return it
	}
	reference := item("r", "reference", k.Secret)
	reference.Note = refLabel(k.Secret)
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Keys, []widget.MenuItem{
		item("n", "name", k.Name),
		reference,
		item("f", "fingerprint", k.Fingerprint),
	})
}

// refLabel describes a reference for display: a command's arguments may hold more
// than the operator wants on a screen.
func refLabel(ref string) string {
	if ref == "" {
		return ""
	}
	r, err := keystore.ParseRef(ref)
	if err != nil {
		return "not a reference"
	}
	return r.Label()
}
