package jobs

import (
	"reflect"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, results and motion keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if cmd, handled := m.records.Update(msg); handled || cmd != nil {
		return cmd
	}
	if cmd, handled := m.drift.Update(msg); handled {
		return cmd
	}
	if cmd, handled := m.filterMsg(msg); handled {
		return cmd
	}
	if m.panes.Update(msg) {
		return nil
	}
	switch msg := msg.(type) {
	case kit.SessionChanged:
		return m.setSession(msg.Session)
	case tea.PasteMsg:
		return m.pasted(msg.Content)
	case kit.Tick:
		return m.watchNewest()
	case kit.OpenJob:
		m.drift.Close()
		return m.open(msg.ID)
	case kit.NewJob:
		m.drift.Close()
		return m.newJob(msg.URLs)
	case intent:
		return m.act(msg)
	case datasetChosen:
		return m.datasetChosen(msg)
	case tea.KeyPressMsg:
		m.scroll(m.panes.At, msg)
		return nil
	case tea.MouseClickMsg:
		m.click(msg)
		return nil
	case tea.MouseWheelMsg:
		if hit, ok := m.panes.Under(msg.Mouse()); ok {
			m.scroll(hit.Pane, msg)
		}
		return nil
	}
	return nil
}

// setSession stores a new session. Jobs of other profiles stay in the list, and are followed too; only
// those of the profile in use can be worked with.
func (m *Model) setSession(s kit.Session) tea.Cmd {
	changed := s.ProfileName != m.session.ProfileName
	was := m.session.Profile
	m.session = s
	m.fill()
	var again tea.Cmd
	if changed {
		m.unfollow()
		m.dataSets.listing = service.Listing{} // of another account
		again = m.drift.Forget()
	}
	if l := m.dialog; l != nil {
		l.setSession(m, s)
		k := m.keyNamed(l.form.Value(fieldKey))
		if !reflect.DeepEqual(was, s.Profile) || k.Name != l.key.Name || k.Level != l.key.Level || k.Secret != l.key.Secret {
			l.changed(m)
		}
	}
	return tea.Batch(again, m.follow(), m.showProgress())
}

func (m *Model) act(i intent) tea.Cmd {
	job, ok := m.selected()
	switch i {
	case intentNew:
		return m.newJob(nil)
	case intentReload:
		return m.load()
	case intentDrift:
		return m.drift.Show()
	case intentInbox:
		return kit.OpenOverlay(m.deps.Console.Inbox())
	case intentAlerts:
		return m.toggleAlerts()
	case intentBack:
		m.back()
	case intentLeft, intentRight:
		m.shift(i)
	}
	if !ok {
		return nil
	}
	switch i {
	case intentOpen:
		m.panes.At = paneDetail
		m.detail = widget.Scroll{}
	case intentDownload:
		return m.askDownload(job)
	case intentStopDownload:
		return m.stopDownload()
	case intentPreview:
		if job.File != "" { // the whole result is on this disk
			return m.records.Show(job.ID, jobTitle(job))
		}
		return m.openPreview(job)
	case intentCancel:
		return m.askCancel(job)
	case intentFollow:
		return m.askNow(job.ID)
	case intentCopy:
		return m.copyMenu(job)
	case intentAgain:
		return m.askAgain(job)
	case intentSettle:
		return m.settle(job)
	case intentKey:
		return kit.GotoTab(kit.Keys, kit.OpenKey{Name: job.KeyName})
	case intentProfile:
		return kit.Send(kit.ShowProfile{})
	}
	return nil
}

func (m *Model) back() {
	switch {
	case m.preview.open:
		m.preview.open = false
		m.preview.slot.Drop()
	case m.panes.Zoomed:
		m.panes.Zoomed = false
	default:
		m.panes.At = paneList
	}
}

func (m *Model) shift(i intent) {
	if !m.preview.open {
		return
	}
	by := 1
	if i == intentLeft {
		by = -1
	}
	m.preview.column = max(0, min(m.preview.column+by, len(m.preview.records.Columns)-1))
	m.layPreview()
}

func (m *Model) setJobs(jobs []model.Job, total int, err error) tea.Cmd {
	late := m.ledger.late
	m.ledger.err, m.ledger.loaded, m.ledger.late = err, true, nil
	switch {
	case err != nil && len(m.ledger.jobs) > 0: // keep showing the old list
		return kit.Fail("read the ledger: " + err.Error())
	case err != nil:
		return nil
	}
	m.ledger.jobs, m.ledger.total = slices.Clone(jobs), total
	for _, j := range late {
		m.list(j)
	}
	m.fill()
	m.toWanted()
	if m.want != "" {
		text := "job " + m.want + " is not in the ledger"
		m.want = ""
		return tea.Batch(m.follow(), kit.Warn(text))
	}
	return m.follow()
}

// pasted opens the dialog with the addresses pasted into the tab.
func (m *Model) pasted(text string) tea.Cmd {
	rows := strings.Fields(text)
	for _, r := range rows {
		if !strings.HasPrefix(r, "http://") && !strings.HasPrefix(r, "https://") {
			return kit.Warn("the pasted text is not a list of addresses: n opens the dialog, which also accepts CSV and JSON")
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return m.newJob(rows)
}

// put updates a job in the list, or adds it.
func (m *Model) put(j model.Job) {
	if m.ledger.slot.Running() { // the list that is being read may not have it
		m.ledger.late = append(m.ledger.late, j)
	}
	m.list(j)
	m.fill()
	m.toWanted()
}

// list is put for the list alone. What is older than what it has changes nothing, and neither
// does a job that is older than all of a full list.
func (m *Model) list(j model.Job) {
	listed := m.ledger.jobs
	i := slices.IndexFunc(listed, func(o model.Job) bool { return o.ID == j.ID })
	switch {
	case i >= 0 && listed[i].Updated.After(j.Updated):
	case i >= 0:
		listed[i] = j
	case len(listed) < maxListed || slices.ContainsFunc(listed, func(o model.Job) bool { return o.Created.Before(j.Created) }):
		m.ledger.jobs = append(listed, j)
		m.ledger.total++
	}
}

// fill sorts the jobs, newest first, and passes them to the table.
func (m *Model) fill() {
	slices.SortStableFunc(m.ledger.jobs, func(a, b model.Job) int { return b.Created.Compare(a.Created) })
	m.ledger.jobs = m.ledger.jobs[:min(len(m.ledger.jobs), maxListed)]
	m.ledger.visible = m.ledger.jobs
	filter, err := query.Parse(m.ledger.filter.Text(), service.Fields(m.nowOf))
	if m.ledger.filter.Text() != "" && err == nil {
		m.ledger.visible = nil
		for _, j := range m.ledger.jobs {
			if filter.Match(j) {
				m.ledger.visible = append(m.ledger.visible, j)
			}
		}
	}
	ids := make([]string, len(m.ledger.visible)) // fixed: the table asks for the key of the old cursor's row
	for i, j := range m.ledger.visible {
		ids[i] = j.ID
	}
	m.ledger.files = slices.ContainsFunc(m.ledger.jobs, func(j model.Job) bool { return j.File != "" })
	m.ledger.table.Columns = columns(slices.ContainsFunc(m.ledger.jobs, m.foreign), m.ledger.files)
	m.ledger.table.SetRowsKeyed(len(ids), func(i int) string { return ids[i] }, m.row)
}

// toWanted puts the cursor on the wanted job, if the list has it, and ends a filter that
// hides it.
func (m *Model) toWanted() {
	wanted := func(j model.Job) bool { return j.ID == m.want }
	if m.want == "" || !slices.ContainsFunc(m.ledger.jobs, wanted) {
		return
	}
	if !slices.ContainsFunc(m.ledger.visible, wanted) {
		m.ledger.filter.Clear()
		m.fill()
		m.ledger.table.ForgetNews()
	}
	m.ledger.table.SetCursor(slices.IndexFunc(m.ledger.visible, wanted))
	m.want = ""
}

// open selects a job for another tab.
func (m *Model) open(id string) tea.Cmd {
	m.preview.open = false
	closing := m.records.Hide()
	m.panes.At, m.detail = paneDetail, widget.Scroll{}
	m.want = id
	m.toWanted()
	if m.want == "" {
		return closing
	}
	return tea.Batch(closing, m.load())
}
