package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// download is the download in flight, and what became of earlier ones.
type download struct {
	slot kit.Slot
	job  string // ID of the job, "" while none is in flight
	last service.Progress
	note string // the last one that it told
	// first is how much was there when it began to grow, at began.
	first int64
	began time.Time
	// ended are those that did not come to their end, by the job.
	ended map[string]cutDownload
}

// cutDownload is a download that left a part of its result.
type cutDownload struct {
	to   service.Destination
	note string // what is kept, and how to go on
}

// doDownload is a download that was asked for.
type doDownload struct {
	job model.Job
	to  service.Destination
}

// The fields of the dialog.
const (
	saveFormat = "format"
	saveFile   = "file"
	saveRaw    = "raw"
)

// askDownload asks where a result goes, and as what.
func (m *Model) askDownload(j model.Job) tea.Cmd {
	to := m.work.download.ended[j.ID].to
	form := widget.NewForm(m.deps.Theme,
		widget.Field{
			Name: saveFormat, Label: "Format", Kind: widget.FieldChoice, Value: cmp.Or(to.Format, service.Formats()[0]),
			Options: []widget.Option{{Value: "json", Label: "JSON"}, {Value: "ndjson", Label: "NDJSON"}, {Value: "csv", Label: "CSV"}},
			Help:    "JSON is one array, NDJSON has one record a line, CSV a column for every field of any record.",
		},
		widget.Field{
			Name: saveFile, Label: "File", Kind: widget.FieldText, Value: to.File, Placeholder: "in the folder of downloads",
			Help: "A file or a folder; empty for a file named after the job in the folder of downloads. A file that is there is replaced only after a question.",
		},
		widget.Field{
			Name: saveRaw, Label: "Raw cells", Kind: widget.FieldToggle, Value: onWhen(to.RawCells), Hidden: to.Format != "csv",
			Help: "Off, a cell that a spreadsheet takes for a formula (= + - @) gets an apostrophe before it. On, cells stay as they came.",
		},
	)
	d := widget.NewFormDialog(m.deps.Theme, "Download "+j.ID, form)
	d.Intro = "The rows are kept beside the file as NAME.part until all are there. A download that breaks off goes on with what is missing if the service gives the result in parts; otherwise it starts again."
	if kept := m.work.download.ended[j.ID].note; kept != "" {
		d.Intro = text.Clean(kept) + "."
	}
	d.Submit = "download"
	endings := widget.Endings{File: saveFile, Format: saveFormat, FormatOf: service.FormatOf, Before: to.File}
	d.OnChange = func(f *widget.Form) {
		endings.Agree(f)
		f.SetHidden(saveRaw, f.Value(saveFormat) != "csv")
	}
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		format := f.Value(saveFormat)
		to := service.Destination{File: strings.TrimSpace(f.Value(saveFile)), Format: format, RawCells: format == "csv" && f.On(saveRaw)}
		return tea.Sequence(kit.CloseOverlay(d), m.download(doDownload{j, to}))
	}
	return kit.OpenOverlay(d)
}

func onWhen(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func (m *Model) download(d doDownload) tea.Cmd {
	jobs, console := m.deps.Jobs, m.deps.Console
	w := &m.work.download
	w.job, w.last, w.note, w.first, w.began = d.job.ID, service.Progress{}, "", 0, m.deps.Clock.Now()
	return kit.Follow(kit.Jobs, &w.slot, m.deps.Ctx, func(ctx context.Context, emit func(service.Progress)) (model.Job, error) {
		to := d.to
		var err error
		if to.File, err = console.Expand(to.File); err != nil {
			return model.Job{}, err
		}
		return jobs.Download(ctx, d.job.ID, to, emit)
	}, m.downloadProgress, func(done model.Job, err error) tea.Cmd { return m.downloaded(d, done, err) })
}

func (m *Model) downloadProgress(p service.Progress) tea.Cmd {
	w := &m.work.download
	if p.Note != "" {
		w.note, w.first, w.began = p.Note, p.Bytes, m.deps.Clock.Now()
	}
	w.last = p
	return nil
}

// stopDownload cancels the download in flight, which says then what it kept.
func (m *Model) stopDownload() tea.Cmd {
	m.work.download.slot.Cancel()
	return nil
}

// downloaded says what became of a download, and asks where one would replace something.
func (m *Model) downloaded(d doDownload, done model.Job, err error) tea.Cmd {
	w := &m.work.download
	note := w.note
	w.job, w.note = "", ""
	if done.ID != "" { // one that failed has the verdict
		m.put(done)
	}
	var kept *service.PartialError
	if errors.As(err, &kept) {
		w.ended[d.job.ID] = cutDownload{d.to, kept.Resume()}
	}
	var exists *service.ExistsError
	var foreign *service.ForeignError
	switch {
	case errors.As(err, &exists):
		again := d
		again.to.Replace = true
		return m.confirmDownload(again, "Replace the file?", exists.File+" exists already.", "replace it")
	case errors.As(err, &foreign):
		again := d
		again.to.DropPartial = true
		return m.confirmDownload(again, "Drop what is there?", foreign.File+" holds another result, one for another format, or none. What is in it is lost.", "drop it")
	case kept != nil && errors.Is(err, context.Canceled):
		return kit.Warn("stopped: " + kept.Resume() + " (d goes on)")
	case errors.Is(err, context.Canceled):
		return kit.Warn("the download was stopped; nothing of it is kept")
	case errors.Is(err, textfile.ErrLocked):
		return kit.Warn(err.Error())
	case err != nil:
		return kit.Fail(err.Error())
	}
	delete(w.ended, d.job.ID)
	said := fmt.Sprintf("downloaded %s to %s", text.Bytes(done.Bytes), done.File)
	if note != "" {
		said += "; " + note
	}
	if j, ok := m.selected(); ok && m.records.FileMissing() && j.ID == done.ID {
		return tea.Batch(kit.Info(said), m.records.Show(j.ID, jobTitle(j)))
	}
	return kit.Info(said)
}

// confirmDownload begins a download that was refused once it is confirmed.
func (m *Model) confirmDownload(d doDownload, title, body, yes string) tea.Cmd {
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{Title: title, Body: text.Clean(body), Yes: yes, Intent: kit.Call(kit.Jobs, func() tea.Cmd { return m.download(d) })})
}

// speed is how far a download is, in a few words.
func (d *download) speed(now time.Time) string {
	out := text.Bytes(d.last.Bytes)
	if d.last.Doing != "" {
		return fmt.Sprintf("%s · %s: %d %%", out, d.last.Doing, d.last.Done*100/max(d.last.Bytes, 1))
	}
	if took := now.Sub(d.began); took >= time.Second && d.last.Bytes > d.first {
		out += " · " + text.Bytes(int64(float64(d.last.Bytes-d.first)/took.Seconds())) + "/s"
	}
	if d.last.Parts > 1 {
		out += fmt.Sprintf(" · part %d of %d", d.last.Part, d.last.Parts)
	}
	return out
}

// downloadLines are the download of a job: the one in flight, or what an earlier one kept.
func (m *Model) downloadLines(j model.Job, w int) []string {
	t, d := m.deps.Theme, &m.work.download
	if d.job != j.ID {
		if kept := d.ended[j.ID].note; kept != "" {
			return widget.Wrapped(t.Warn, "! the download did not end: "+text.Clean(kept)+" · d goes on", w)
		}
		return nil
	}
	out := widget.Wrapped(kit.Ink{}, "downloading · "+d.speed(m.deps.Clock.Now())+" · d stops it", w)
	if d.note != "" {
		out = append(out, widget.Wrapped(t.Muted, text.Clean(d.note), w)...)
	}
	return out
}
