package keys

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/keys/rotation"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Update handles intents and motion keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.SessionChanged:
		m.session = msg.Session
		return tea.Batch(m.fill(), m.loadRecords())
	case kit.Tick:
		if !m.minute().Equal(m.list.at) {
			return m.fill() // the clocks have moved
		}
	case RotationsChanged:
		return m.loadRecords()
	case kit.OpenKey:
		return m.open(msg.Name)
	case kit.RotatePassword:
		return m.rotatePassword(msg)
	case rotation.Intent:
		return m.page.Act(msg)
	case widget.FilterIntent, tea.PasteMsg:
		return m.filter(msg)
	case widget.PaneIntent:
		if m.page.Open() {
			m.page.Update(msg)
		} else {
			m.panes.Update(msg)
		}
	case intent:
		return m.act(msg)
	case tea.KeyPressMsg, tea.MouseClickMsg, tea.MouseWheelMsg:
		return m.move(msg)
	case startScan:
		return m.scan(msg.folders)
	case removeKey:
		return m.remove(msg.key)
	}
	return nil
}

// move passes a key that is no binding, or the mouse, to what has the focus or lies under the pointer.
func (m *Model) move(msg tea.Msg) tea.Cmd {
	if m.page.Open() {
		m.page.Update(msg)
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if m.list.page.Filter.Takes(msg) {
			return m.filter(msg)
		}
		m.scroll(m.panes.At, msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseWheelMsg:
		if hit, ok := m.panes.Under(msg.Mouse()); ok {
			m.scroll(hit.Pane, msg)
		}
	}
	return nil
}

func (m *Model) act(i intent) tea.Cmd {
	m.list.page.Move(0) // what is done with a key is not seen done with another
	switch i {
	case intentAdd:
		return m.openForm(model.Key{}, false)
	case intentReload:
		return m.reload()
	case intentLint:
		m.show(sideLint)
	case intentLevels:
		m.show(sideLevels)
	case intentRadius:
		m.show(sideRadius)
		return m.lookUp()
	case intentScan:
		return m.askScan()
	case intentSnippets:
		return m.snippets()
	case intentDetails:
		m.show(sideDetail)
	case intentBack:
		m.leavePage()
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
		return m.rotate(k, keystore.RotateByNewKey)
	case intentRefresh:
		return m.rotate(k, keystore.RotateByRefresh)
	case intentEnded:
		if p, ok := m.ended(k); ok {
			return m.page.Show(k, p)
		}
	case intentCopy:
		return m.copyMenu(k)
	}
	return nil
}

// show changes the content of the side pane and focuses it, or goes back to the list
// if it was already shown.
func (m *Model) show(s side) {
	if m.side == s && m.panes.At == paneSide {
		m.side, m.panes.At = sideDetail, paneList
	} else {
		m.side, m.panes.At = s, paneSide
	}
	m.text = widget.Scroll{}
}

func (m *Model) leavePage() {
	if m.radius.slot.Running() && m.side == sideRadius {
		m.radius.slot.Cancel()
		return
	}
	if m.panes.Zoomed {
		m.panes.Zoomed = false
		return
	}
	m.side, m.panes.At, m.text = sideDetail, paneList, widget.Scroll{}
}

// open selects a key for another tab: of two with the name the profile's, which calls use.
func (m *Model) open(name string) tea.Cmd {
	if !m.selectKey(m.namesakeName(name)) && !m.selectKey(name) {
		switch {
		case m.list.slot.Running() || m.reading():
			m.list.goesTo = name
			return nil
		case m.list.unread != nil:
			return kit.Warn(m.list.unread.Error())
		}
		return kit.Warn("key " + name + " is not recorded: " + m.deps.Theme.Key("keys.add") + " records it")
	}
	m.side, m.panes.At, m.text = sideDetail, paneList, widget.Scroll{}
	return nil
}

// selectKey puts the cursor on a key, and clears a filter that hides it; false if it is not in the
// list.
func (m *Model) selectKey(name string) bool {
	filter := m.list.page.Filter.Text()
	there := m.list.page.Go(name)
	if m.list.page.Filter.Text() != filter && m.side == sideDetail {
		m.text = widget.Scroll{}
	}
	return there
}

// changed handles the result of a change of the inventory.
func (m *Model) changed(c change, err error) tea.Cmd {
	if m.dialog != nil {
		m.dialog.Busy = false
	}
	if err != nil {
		// The dialog may have been closed meanwhile, so the message is shown too.
		if m.dialog != nil && c.form {
			m.dialog.Problem = err.Error()
			if conflict := (*keystore.ConflictError)(nil); c.base != nil && errors.As(err, &conflict) {
				*c.base = conflict.Base
				m.dialog.Problem += "; " + m.deps.Theme.Key("dialog.submit") + " again replaces it with yours"
			}
		}
		return kit.Fail(err.Error())
	}
	m.list.goesTo = c.name
	cmds := []tea.Cmd{m.fill(), kit.Info(c.done), m.deps.Changed}
	if c.form && m.dialog != nil {
		cmds = append(cmds, kit.CloseOverlay(m.dialog))
		m.dialog = nil
	}
	return tea.Batch(cmds...)
}

func (m *Model) askRemove(k model.Key) tea.Cmd {
	body := fmt.Sprintf("%s is removed from the inventory, with its dates. The key itself stays valid at the service, and its value stays where it is.", text.Clean(k.Name))
	seen, _ := m.recorded(k.Name)
	if len(k.UsedBy) > 0 {
		body += "\nIt is used by: " + text.Clean(strings.Join(k.UsedBy, ", ")) + "."
	}
	if unknown := m.usesUnknown(); unknown != "" {
		body += "\n" + strings.ToUpper(unknown[:1]) + unknown[1:] + "."
	} else if len(k.UsedBy) == 0 {
		body += "\nNothing known uses it."
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Forget the key?", Body: body, Yes: "forget it", View: kit.Keys, Intent: removeKey{key: seen},
	})
}

func (m *Model) copyMenu(k model.Key) tea.Cmd {
	reference := widget.CopyItem("r", "reference", k.Secret)
	reference.Note = kit.RefLabel(k.Secret)
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Keys, []widget.MenuItem{
		widget.CopyItem("n", "name", m.ownName(k)),
		reference,
		widget.CopyItem("f", "fingerprint", k.Fingerprint),
	})
}
