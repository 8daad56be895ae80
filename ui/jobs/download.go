package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// downloads are the download in flight, and what became of earlier ones.
type downloads struct {
	m    *Model
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

// ask asks where a result goes, and as what.
func (dl *downloads) ask(j model.Job) tea.Cmd {
	to := dl.ended[j.ID].to
	form := widget.NewForm(dl.m.deps.Theme,
		widget.Field{
			Name: saveFormat, Label: "Format", Kind: widget.FieldChoice, Value: cmp.Or(to.Format, service.Formats()[0]),
			Options: []widget.Option{{Value: "json", Label: "JSON"}, {Value: "ndjson", Label: "NDJSON"}, {Value: "csv", Label: "CSV"}},
			Help:    "JSON is one array, NDJSON has one record per line, CSV one column per field.",
		},
		widget.Field{
			Name: saveFile, Label: "File", Kind: widget.FieldText, Value: to.File, Placeholder: "in the downloads folder",
			Help: "A file or a folder; empty for a file named after the job in the downloads folder. An existing file is replaced only after a question.",
		},
		widget.Field{
			Name: saveRaw, Label: "Raw cells", Kind: widget.FieldToggle, Value: onWhen(to.RawCells), Hidden: to.Format != "csv",
			Help: "Off, a cell that a spreadsheet takes for a formula (= + - @) gets an apostrophe before it. On, cells stay as they came.",
		},
	)
	d := widget.NewFormDialog(dl.m.deps.Theme, "Download "+j.ID, form)
	d.Intro = "The rows are written to NAME.part until all are there. An interrupted download resumes if the service sends the result in parts; otherwise it starts again."
	if kept := dl.ended[j.ID].note; kept != "" {
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
		return tea.Sequence(kit.CloseOverlay(d), dl.begin(doDownload{j, to}))
	}
	return kit.OpenOverlay(d)
}

func onWhen(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func (dl *downloads) begin(d doDownload) tea.Cmd {
	jobs, console := dl.m.deps.Jobs, dl.m.deps.Console
	dl.job, dl.last, dl.note, dl.first, dl.began = d.job.ID, service.Progress{}, "", 0, dl.m.deps.Clock.Now()
	return kit.Follow(kit.Jobs, &dl.slot, dl.m.deps.Ctx, func(ctx context.Context, emit func(service.Progress)) (model.Job, error) {
		to := d.to
		var err error
		if to.File, err = console.Expand(to.File); err != nil {
			return model.Job{}, err
		}
		done, err := jobs.Download(ctx, d.job.ID, to, emit)
		if err != nil || done.Bytes > service.SoonSeen {
			return done, err
		}
		if seen, err := jobs.SeeFields(ctx, done.ID, emit); err == nil { // otherwise whoever follows jobs does it
			done = seen
		}
		return done, nil
	}, dl.progress, func(done model.Job, err error) tea.Cmd { return dl.finish(d, done, err) })
}

func (dl *downloads) progress(p service.Progress) tea.Cmd {
	if p.Note != "" {
		dl.note, dl.first, dl.began = p.Note, p.Bytes, dl.m.deps.Clock.Now()
	}
	dl.last = p
	return nil
}

// stop cancels the download in flight, which says then what it kept.
func (dl *downloads) stop() tea.Cmd {
	dl.slot.Cancel()
	return nil
}

// ended says what became of a download, and asks where one would replace something.
func (dl *downloads) finish(d doDownload, done model.Job, err error) tea.Cmd {
	note := dl.note
	dl.job, dl.note = "", ""
	if done.ID != "" { // one that failed has the verdict
		dl.m.list.put(done)
	}
	var kept *service.PartialError
	if errors.As(err, &kept) {
		dl.ended[d.job.ID] = cutDownload{d.to, kept.Resume()}
	}
	var exists *service.ExistsError
	var foreign *service.ForeignError
	switch {
	case errors.As(err, &exists):
		again := d
		again.to.Replace = true
		return dl.confirm(again, "Replace the file?", exists.File+" exists already.", "replace it")
	case errors.As(err, &foreign):
		again := d
		again.to.DropPartial = true
		return dl.confirm(again, "Discard the partial download?", foreign.File+" holds another result or another format, or cannot be read. Discarding it loses its content.", "discard it")
	case kept != nil && errors.Is(err, context.Canceled):
		return kit.Warn("stopped: " + kept.Resume() + " · " + dl.m.deps.Theme.Key("jobs.download") + " resumes it")
	case errors.Is(err, context.Canceled):
		return kit.Warn("the download was stopped; nothing of it is kept · " + dl.m.deps.Theme.Key("jobs.download") + " downloads it again")
	case errors.Is(err, service.ErrLocked):
		return kit.Warn(err.Error())
	case err != nil:
		return kit.Fail(err.Error())
	}
	delete(dl.ended, d.job.ID)
	said := fmt.Sprintf("downloaded %s to %s", text.Bytes(done.Bytes), done.File)
	if note != "" {
		said += "; " + note
	}
	toast := kit.Info(said)
	if doubt := doubtWords(dl.m.deps.Theme, done); doubt != "" {
		toast = kit.Warn(done.ID + ": " + doubt + " · " + said)
	}
	if j, ok := dl.m.list.selected(); ok && dl.m.records.FileMissing() && j.ID == done.ID {
		return tea.Batch(toast, dl.m.records.Show(j.ID, jobTitle(j)))
	}
	return toast
}

// confirm begins a download that was refused once it is confirmed.
func (dl *downloads) confirm(d doDownload, title, body, yes string) tea.Cmd {
	return widget.Confirm(dl.m.deps.Theme, widget.ConfirmSpec{Title: title, Body: text.Clean(body), Yes: yes, Intent: kit.Call(kit.Jobs, func() tea.Cmd { return dl.begin(d) })})
}

// speed is how far a download is, in a few words.
func (dl *downloads) speed(now time.Time) string {
	out := text.Bytes(dl.last.Bytes)
	if dl.last.Doing != "" {
		return fmt.Sprintf("%s · %s: %d %%", out, dl.last.Doing, dl.last.Done*100/max(dl.last.Bytes, 1))
	}
	if took := now.Sub(dl.began); took >= time.Second && dl.last.Bytes > dl.first {
		out += " · " + text.Bytes(int64(float64(dl.last.Bytes-dl.first)/took.Seconds())) + "/s"
	}
	if dl.last.Parts > 1 {
		out += fmt.Sprintf(" · part %d of %d", dl.last.Part, dl.last.Parts)
	}
	return out
}

// lines are the download of a job: the one in flight, or what an earlier one kept.
func (dl *downloads) lines(j model.Job, w int) []string {
	t := dl.m.deps.Theme
	if dl.job != j.ID {
		if kept := dl.ended[j.ID].note; kept != "" {
			return widget.Wrapped(t.Warn, "! the download is not complete: "+text.Clean(kept)+" · "+t.Key("jobs.download")+" resumes it", w)
		}
		return nil
	}
	out := widget.Wrapped(kit.Ink{}, "downloading · "+dl.speed(dl.m.deps.Clock.Now())+" · "+dl.m.deps.Theme.Key("jobs.download")+" stops it", w)
	if dl.note != "" {
		out = append(out, widget.Wrapped(t.Muted, text.Clean(dl.note), w)...)
	}
	return out
}
