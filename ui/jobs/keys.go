package jobs

import (
	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// intent is the meaning of a key.
type intent int

const (
	intentNew intent = iota
	intentOpen
	intentDownload
	intentStopDownload
	intentPreview
	intentRecord
	intentCancel
	intentFollow
	intentReload
	intentCopy
	intentBack
	intentLeft
	intentRight
	intentKey
	intentProfile
	intentAgain
	intentSettle
	intentDrift
	intentInbox
	intentAlerts
	intentBatches
)

// Bindings are the keys that work now.
func (m *Model) Bindings() []kit.Binding {
	if m.records.Open() {
		if m.records.FileMissing() {
			return append(m.records.Bindings(), m.downloadBinding())
		}
		return m.records.Bindings()
	}
	if m.drift.Open() {
		return m.drift.Bindings()
	}
	if m.batches.Open() {
		return m.batches.Bindings()
	}
	if m.preview.open {
		return append([]kit.Binding{
			{Name: "jobs.record", Keys: []string{"enter"}, Label: "open", Help: "Show the whole record under the cursor.", Group: "Records", Intent: intentRecord, Disabled: kit.Reason(len(m.preview.records.Rows) == 0, "there are no records")},
			{Name: "jobs.back", Keys: []string{"esc", "p"}, Label: "back", Help: "Go back to the jobs.", Group: "Records", Intent: intentBack},
			{Name: "records.column-right", Keys: []string{"right", "l"}, Label: "columns", Help: "Scroll one column to the right.", Group: "Records", Intent: intentRight},
			{Name: "records.column-left", Keys: []string{"left", "h"}, Label: "columns back", Help: "Scroll one column to the left.", Group: "Records", Intent: intentLeft, Hidden: true},
			m.downloadBinding(),
		}, widget.MotionBindings()...)
	}
	if m.list.page.Filter.Typing() {
		return m.list.filterBindings()
	}
	out := append([]kit.Binding{
		{Name: "jobs.new", Keys: []string{"n"}, Label: "new", Command: "new job", Synonyms: "trigger launch csv", Help: "Launch a job: its inputs are checked before anything is sent.", Group: "Job", Intent: m.launches.begin(nil), Disabled: m.whyNot(intentNew)},
		{Name: "jobs.open", Keys: []string{"enter"}, Label: "open", Help: "Show the job's history.", Group: "Job", Intent: intentOpen, Disabled: m.whyNot(intentOpen)},
		m.downloadBinding(),
		m.previewBinding(),
		{Name: "jobs.cancel", Keys: []string{"X"}, Label: "cancel", Help: "Ask the service to stop the job.", Group: "Job", Intent: intentCancel, Disabled: m.whyNot(intentCancel), Dangerous: true},
		{Name: "jobs.again", Keys: []string{"a"}, Label: "again", Help: "Launch it again, whole or only what is missing; asks first.", Group: "Job", Intent: intentAgain, Disabled: m.whyNot(intentAgain), Hidden: true},
		{Name: "jobs.settle", Keys: []string{"s"}, Label: "settle", Help: "Look for a job that may have started in the service's list.", Group: "Job", Intent: intentSettle, Disabled: m.whyNot(intentSettle), Hidden: m.whyNot(intentSettle) != ""},
		{Name: "jobs.follow", Keys: []string{"f"}, Label: "follow", Help: "Ask the service for the job's state again, until it is final.", Group: "Job", Intent: intentFollow, Disabled: m.whyNot(intentFollow), Hidden: true},
		{Name: "jobs.drift", Keys: []string{"D"}, Label: "drift", Help: "Show which data sets and targets have changed, or give no useful rows.", Group: "Job", Intent: intentDrift, Hidden: true},
		{Name: "jobs.batches", Keys: []string{"b"}, Label: "batches", Help: "Show the batches, which fetch a page for each row of a file.", Group: "Job", Intent: intentBatches, Hidden: true},
		{Name: "jobs.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy an identifier, the file's path, or a command.", Group: "Job", Intent: intentCopy, Disabled: m.whyNot(intentCopy)},
		{Name: "jobs.inbox", Keys: []string{"i"}, Label: "inbox", Help: "Show the webhooks that came, and start or stop receiving them.", Group: "Job", Intent: intentInbox, Hidden: true},
		{Name: "jobs.reload", Keys: []string{"r"}, Label: "reload", Help: "Read the ledger again.", Group: "Job", Intent: intentReload, Hidden: true},
		{Name: "jobs.notify", Keys: []string{"N"}, Label: "notify", Command: "notify when jobs end", Help: "Switch job notifications in the terminal on or off: progress, a notification and a bell.", Group: "Job", Intent: intentAlerts, Hidden: true},
	}, m.panes.Bindings(false)...)
	out = append(append(out, m.detail.stepBindings()...), m.list.filterBindings()...)
	if m.panes.At == paneDetail || m.panes.Zoomed {
		out = append(out, kit.Binding{Name: "jobs.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the list.", Group: "Panes", Intent: intentBack})
	}
	return append(out, widget.MotionBindings()...)
}

// previewBinding is the key that shows records: all of them, once they are on this disk.
func (m *Model) previewBinding() kit.Binding {
	b := kit.Binding{Name: "jobs.preview", Keys: []string{"p"}, Label: "preview", Help: "Show the first records as a table, or all once it is downloaded.", Group: "Job", Intent: intentPreview, Disabled: m.whyNot(intentPreview)}
	if j, ok := m.list.selected(); ok && j.ResultHere() {
		b.Label, b.Help = "records", "Show all records as a table: filter, sort, export, compare."
	}
	return b
}

// downloadBinding downloads the selected job's result, or stops that.
func (m *Model) downloadBinding() kit.Binding {
	b := kit.Binding{Name: "jobs.download", Keys: []string{"d"}, Label: "download", Synonyms: "export save result csv", Help: "Download the result to a file.", Group: "Job"}
	if j, ok := m.list.selected(); ok && j.ID == m.downloads.job {
		b.Label, b.Intent = "stop", intentStopDownload
		return b
	}
	b.Intent, b.Disabled = intentDownload, m.whyNot(intentDownload)
	return b
}

// noResults says why a dialect limited to the contract cannot ask about jobs.
func noResults() string {
	return "the contract shows no way to ask for a job's state or result; a profile with dialect " + service.WithJobs() + " can"
}

// asksForJobs reports whether the profile's dialect knows how to ask for a job.
func (m *Model) asksForJobs() bool {
	can := m.session.Profile.Can
	return can == nil || can.AsksForJobs()
}

// whyNot returns the reason why an intent cannot act on the selected job, or "".
func (m *Model) whyNot(i intent) string {
	if i == intentNew {
		return m.launches.whyNot()
	}
	j, ok := m.list.selected()
	if !ok {
		return "no job is selected"
	}
	switch i {
	case intentOpen, intentCopy:
		return ""
	case intentDownload, intentPreview:
		return m.whyNotFetch(j, i)
	case intentAgain:
		return m.repeats.whyNot(j)
	case intentSettle:
		return m.settling.whyNot(j)
	}
	switch { // cancel and follow
	case j.State.Final() && (i != intentFollow || !j.Forgotten()):
		return "the job " + j.State.Predicate()
	case i == intentCancel && m.session.Profile.ReadOnly:
		return m.session.Refused("cancel jobs")
	case i == intentCancel && !m.cancels(j):
		return "public sources show no way to cancel a job of " + text.Clean(j.Dataset)
	case i == intentCancel && m.cancel.Running():
		return "it is already being cancelled"
	case i == intentFollow && m.follow.jobs[j.ID].On:
		return "it is already being followed"
	case i == intentFollow && m.foreign(j) && j.Snapshot != "": // its own dialect decides
		return m.session.NotReady()
	}
	return m.whyNotAsk(j)
}

// cancels reports whether it is known how a job is cancelled.
func (m *Model) cancels(j model.Job) bool {
	can := m.session.Profile.Can
	return can == nil || can.Cancels(j.Dataset)
}

// foreign reports whether a job is known to belong to another profile than the one in use.
func (m *Model) foreign(j model.Job) bool {
	return j.Profile != "" && m.session.ProfileName != "" && j.Profile != m.session.ProfileName
}

// whyNotAsk returns the reason why the service cannot be asked about a job, or "".
func (m *Model) whyNotAsk(j model.Job) string {
	switch {
	case j.Snapshot == "" && !j.InAnswer():
		return "no identifier was received for this job"
	case m.foreign(j):
		return "it belongs to profile " + j.Profile + m.foreignKey()
	case j.InAnswer():
		return "" // its rows are on this disk
	case !m.session.Ready:
		return m.session.NotReady()
	case !m.asksForJobs():
		return noResults()
	}
	return ""
}

func (m *Model) whyNotFetch(j model.Job, i intent) string {
	switch {
	case j.ResultHere() && i == intentPreview:
		return ""
	case j.InAnswer() && j.Rows.Machine != "":
		return "its rows came in the answer and are on machine " + j.Rows.Machine
	case !j.State.HasResult():
		return "the job " + j.State.Predicate() + ": there is no result to fetch"
	case i == intentDownload && m.downloads.slot.Running():
		return "the result of " + m.downloads.job + " is being downloaded"
	}
	return m.whyNotAsk(j)
}
