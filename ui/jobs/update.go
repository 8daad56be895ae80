package jobs

import (
	"context"
	"fmt"
	"reflect"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/jobs/batches"
	"zonedeck/ui/jobs/drift"
	"zonedeck/ui/jobs/records"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Update handles intents, results and motion keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Resized:
		return m.records.Resize(msg)
	case kit.SessionChanged:
		return m.setSession(msg.Session)
	case records.Intent:
		return m.records.Act(msg)
	case drift.Intent:
		return m.drift.Act(msg)
	case batches.Intent:
		return m.batches.Act(msg)
	case kit.NewBatch:
		return m.toBatches(m.batches.New(msg.Request))
	case kit.OpenBatch:
		return m.toBatches(m.batches.Find(msg.ID))
	case widget.FilterIntent:
		return m.list.filterMsg(msg)
	case kit.Tick:
		return tea.Batch(m.list.watchNewest(), m.batches.Tick())
	case kit.OpenJob:
		m.closePages()
		opening := m.open(msg.ID)
		if job, ok := m.list.selected(); msg.Drift && ok && job.ID == msg.ID && job.Rows.Drift.Text != "" && !m.foreign(job) {
			return tea.Batch(opening, m.drift.ShowJob(job))
		}
		return opening
	case kit.NewJob:
		m.closePages()
		return kit.Send(m.launches.begin(msg.URLs))
	case intent:
		return m.act(msg)
	case datasetChosen:
		return m.dataSets.chosen(msg)
	default:
		return m.move(msg)
	}
}

// move passes a key that is no binding, a paste or the mouse to what has the focus or lies under the pointer.
func (m *Model) move(msg tea.Msg) tea.Cmd {
	paste, pasted := msg.(tea.PasteMsg)
	switch {
	case m.records.Open():
		return m.records.Update(msg)
	case m.batches.Open():
		m.batches.Update(msg)
		return nil
	case !m.drift.Open():
	case pasted:
		return m.launches.pasted(paste.Content)
	default:
		m.drift.Update(msg)
		return nil
	}
	switch msg := msg.(type) {
	case widget.PaneIntent:
		m.panes.Update(msg)
	case tea.PasteMsg:
		if m.CapturingText() {
			return m.list.filterMsg(msg)
		}
		return m.launches.pasted(msg.Content)
	case tea.KeyPressMsg:
		if m.CapturingText() && m.list.page.Filter.Takes(msg) {
			return m.list.filterMsg(msg)
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

// setSession stores a new session. Jobs of other profiles stay in the list, and are followed too; only
// those of the profile in use can be worked with.
func (m *Model) setSession(s kit.Session) tea.Cmd {
	changed := s.ProfileName != m.session.ProfileName
	was := m.session.Profile
	m.session = s
	waiting := m.batches.SetSession(s)
	m.list.fill()
	var again tea.Cmd
	if changed {
		m.follow.drop()
		m.dataSets.listing = service.Listing{} // of another account
		again = m.drift.Forget()
	}
	if l := m.launches.form; l != nil {
		l.setSession(s)
		k := m.launches.keyNamed(l.form.Value(fieldKey))
		if !reflect.DeepEqual(was, s.Profile) || k.Name != l.key.Name || k.Level != l.key.Level || k.Secret != l.key.Secret {
			l.changed()
		}
	}
	return tea.Batch(waiting, again, m.follow.begin(), m.follow.showProgress())
}

func (m *Model) act(i intent) tea.Cmd {
	job, ok := m.list.selected()
	switch i {
	case intentReload:
		return m.list.load()
	case intentDrift:
		if job.Rows.Drift.Text != "" && !m.foreign(job) {
			return m.drift.ShowJob(job)
		}
		return m.drift.Show()
	case intentBatches:
		return m.batches.Show()
	case intentInbox:
		return kit.OpenOverlay(m.deps.Console.Inbox())
	case intentAlerts:
		return m.follow.toggleAlerts()
	case intentBack:
		m.leavePage()
	case intentRecord:
		return m.preview.record()
	case intentLeft, intentRight:
		m.preview.shift(i)
	}
	if !ok {
		return nil
	}
	switch i {
	case intentOpen:
		m.panes.At = paneDetail
		m.detail.scroll = widget.Scroll{}
	case intentDownload:
		return m.downloads.ask(job)
	case intentStopDownload:
		return m.downloads.stop()
	case intentPreview:
		if job.ResultHere() {
			return m.records.Show(job.ID, jobTitle(job))
		}
		return m.preview.show(job)
	case intentCancel:
		return m.askCancel(job)
	case intentFollow:
		return m.follow.askNow(job.ID)
	case intentCopy:
		return m.copyMenu(job)
	case intentAgain:
		return m.repeats.ask(job)
	case intentSettle:
		return m.settling.begin(job)
	case intentKey:
		return kit.GotoTab(kit.Keys, kit.OpenKey{Name: job.KeyName})
	case intentProfile:
		return kit.Send(kit.ShowProfile{})
	}
	return nil
}

// closePages shows the jobs again.
func (m *Model) closePages() {
	m.drift.Close()
	m.batches.Close()
}

// toBatches closes what would lie over the page of batches.
func (m *Model) toBatches(open tea.Cmd) tea.Cmd {
	m.preview.open = false
	m.drift.Close()
	return tea.Batch(m.records.Hide(), open)
}

func (m *Model) leavePage() {
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

// open selects a job for another tab.
func (m *Model) open(id string) tea.Cmd {
	m.preview.open = false
	closing := m.records.Hide()
	m.panes.At, m.detail.scroll = paneDetail, widget.Scroll{}
	m.list.want = id
	m.list.toWanted()
	if m.list.want == "" {
		return closing
	}
	return tea.Batch(closing, m.list.load())
}

// maxListed is how many jobs the list holds, the newest.
const maxListed = 1000

// previewRecords is how many records a preview reads.
const previewRecords = 100

func (m *Model) askCancel(j model.Job) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Cancel the job?",
		Body: fmt.Sprintf("%s on %s, %s, %s.\nThe service is asked to stop it. What it has already collected may be billed, and a cancelled job cannot be resumed.",
			j.ID, datasetWords(j.Dataset), text.Counted(j.Inputs, "input"), j.State.Label()),
		Yes: "cancel the job", Intent: kit.Call(kit.Jobs, func() tea.Cmd { return m.cancelJob(j) }),
	})
}

func (m *Model) cancelJob(j model.Job) tea.Cmd {
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &m.cancel, m.deps.Ctx, func(ctx context.Context) (model.Job, error) {
		return jobs.CancelJob(ctx, j.ID)
	}, func(job model.Job, err error) tea.Cmd {
		if job.ID != "" { // it has the verdict
			m.list.put(job)
		}
		if err != nil {
			return kit.Fail(j.ID + " was not cancelled: " + err.Error())
		}
		return tea.Batch(m.follow.begin(), kit.Info(job.ID+": "+job.State.Label()))
	})
}

func (m *Model) copyMenu(j model.Job) tea.Cmd {
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("s", "snapshot", j.Snapshot),
		widget.CopyItem("i", "job", j.ID),
		widget.CopyItem("f", "file", j.File),
		widget.CopyItem("w", "watch command", service.CommandAbout(j, "watch")),
	})
}

// areas places the panes at w by h: the list beside the detail, or above it on
// narrow screens. The preview, or the reason why there is no list, fills the tab.
func (m *Model) areas(w, h int) []kit.Area {
	switch {
	case m.preview.open || m.list.unreadable():
		return []kit.Area{{Pane: paneList, W: w, H: h}}
	case w < kit.StackBelow:
		return widget.Stacked(w, h, h/3, []int{m.panes.At, paneDetail},
			widget.Need{Pane: paneList, Lines: max(len(m.list.jobs), 1) + 3}, widget.Need{Pane: paneDetail, Lines: h})
	}
	left, right := widget.SideBySide(w, m.panes.At == paneList, m.panes.At == paneDetail)
	return []kit.Area{{Pane: paneList, W: left, H: h}, {Pane: paneDetail, X: left, W: right, H: h}}
}

// click focuses the pane under the pointer and selects a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	hit, ok := m.panes.Under(c.Mouse())
	switch {
	case !ok:
	case m.preview.open:
		m.preview.table.Click(hit.Line)
	default:
		m.panes.At = hit.Pane
		if hit.Pane == paneList && m.list.page.Click(hit.Line) {
			m.detail.scroll = widget.Scroll{}
		}
	}
}

// scroll passes a motion key or the mouse wheel to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) {
	switch {
	case m.preview.open:
		m.preview.table.Update(msg)
	case pane == paneDetail:
		m.detail.scroll.Update(msg)
	default:
		before := m.list.page.Cursor()
		m.list.page.Update(msg)
		if m.list.page.Cursor() != before {
			m.detail.scroll = widget.Scroll{}
		}
	}
}
