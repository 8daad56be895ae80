package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Fields of the dialog.
const (
	fieldDataset = "dataset"
	fieldSource  = "source"
	fieldPaste   = "paste"
	fieldPath    = "path"
	fieldKey     = "key"
	fieldReason  = "reason"

	sourcePaste = "paste"
	sourceFile  = "file"
	sourceTyped = "typed" // one input, a field of the form for each of its own
)

// launch is the dialog for a new job. It has two steps: the first reads and checks
// every row, the second sends. Changing a field returns to the first step, so that
// only checked inputs are sent.
type launch struct {
	m      *Model
	dialog *widget.FormDialog
	form   *widget.Form
	slot   kit.Slot
	// checked is the result of the first step; valid only while ready is set.
	checked service.Checked
	ready   bool
	base    model.TriggerRequest // what the form was filled with
	picked  bool                 // the data set was picked from the list, which no key in a field shows
	shape   string               // of which data set and method the fields of a typed input are
	typed   []widget.Field
	way     model.CollectMethod // how the form collects, as far as it is known
	key     model.Key           // which it is launched with, as it was when the form changed
	asksWhy bool                // its value is that of an ADMIN key, by whatever name
	// unlaunched says that what jobs of the last hour have was left out of what was checked.
	unlaunched bool
	inbox      struct {
		slot    kit.Slot
		at      string // where it receives, as it was filled in
		auth    bool   // the reference that it checks by was proposed
		product bool   // the job is of a product, which calls nobody
	}
}

// openForm opens the form of a job.
func (n *launches) openForm(urls []string) tea.Cmd {
	l := &launch{m: n.m}
	fields := []widget.Field{
		{Name: fieldDataset, Label: "Dataset", Kind: widget.FieldText, Placeholder: "e.g. gd_products", Check: n.checkDataset},
		{Name: fieldDiscover, Label: "How", Kind: widget.FieldPick, Hidden: true},
		{Name: fieldSource, Label: "Inputs", Kind: widget.FieldChoice, Value: sourcePaste, Options: sources(false)},
		{
			Name: fieldPaste, Label: "Rows", Kind: widget.FieldArea, Rows: 5, Value: strings.Join(urls, "\n"),
			Placeholder: pasteWords(model.CollectMethod{}, false), Help: rowsHelp, Check: widget.Required("paste at least one row"),
		},
		{Name: fieldPath, Label: "File", Kind: widget.FieldText, Hidden: true, Placeholder: "e.g. inputs.csv", Help: pathHelp, Check: widget.Required("name a file")},
		{Name: fieldKey, Label: "Key", Kind: widget.FieldPick, Value: n.m.session.Key.Name, Placeholder: "the profile's"},
		{Name: fieldUnlaunched, Label: "Leave out", Kind: widget.FieldToggle, Hidden: true, Help: "Inputs launched within the last hour are not sent and billed again."},
		{Name: fieldReason, Label: "Why ADMIN", Hidden: true, Placeholder: "why it must be this key", Help: "It is recorded in History."},
	}
	fields = append(fields, settingFields()...)
	l.form = widget.NewForm(n.m.deps.Theme, fields...)
	l.dialog = widget.NewFormDialog(n.m.deps.Theme, "New job", l.form)
	l.dialog.Width = 78
	l.dialog.Owner = l
	l.dialog.OnChange = func(*widget.Form) { l.changed() }
	l.dialog.OnSubmit = func(*widget.Form) tea.Cmd { return n.submit() }
	l.setSession(n.m.session)
	l.changed()
	if n.form != nil { // it was closed: what is being read for it is not for this one
		n.form.slot.Drop()
	}
	n.form = l
	return tea.Batch(kit.OpenOverlay(l.dialog), l.askInbox())
}

// Extra are the keys that pick a data set and preview a result.
func (l *launch) Extra() []kit.Binding {
	extra := []kit.Binding{{Name: "launch.data-sets", Keys: []string{"ctrl+o"}, Label: "data sets", Help: "Pick the data set from a list: by name, identifier or kind.", Intent: kit.Opening(func() (kit.Overlay, tea.Cmd) { return l.m.dataSets.list("Data set", datasetChosen{change: true}) }), WhileTyping: true}}
	return append(extra, l.previewBindings()...)
}

// Handle takes pastes and the intents of Extra.
func (l *launch) Handle(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		return l.paste(msg.Content)
	case askPreview:
		return l.askPreview(), true
	}
	return nil, false
}

// Settled does nothing: fields follow one another as they change.
func (l *launch) Settled(*widget.Form) {}

// Filled reports whether the data set was picked.
func (l *launch) Filled() bool { return l.picked }

// checkDataset requires a name if the dialect sends one. Otherwise it is only the
// operator's name for the job and may be empty.
func (n *launches) checkDataset(s string) error {
	return model.CheckDataset(strings.TrimSpace(s), n.m.session.Profile.Can.Sends())
}

// contractAlone warns before a launch that the profile cannot follow the job.
func (n *launches) contractAlone() string {
	if n.m.asksForJobs() {
		return ""
	}
	return "! with dialect " + strconv.Quote(n.m.session.Profile.DialectName()) + " the console keeps the identifier it gets and cannot ask for progress or result"
}

// lint lists the findings against using a key for a launch.
func (n *launches) lint(name string) string {
	k := n.keyNamed(name)
	if k.Name == "" {
		return "✗ " + n.m.session.MissingKey(name)
	}
	var out []string
	for _, f := range keystore.CheckUse(k, model.CapUse, true, n.m.session.KeyNow(k, n.m.deps.Clock.Now())) {
		out = append(out, fmt.Sprintf("%s %s: %s", severityMark(f), f.Key, f.Text))
	}
	return strings.Join(out, "\n")
}

// submit handles ctrl+s in the dialog: it checks first, then asks what has to be answered, and sends.
func (n *launches) submit() tea.Cmd {
	l := n.form
	if l == nil {
		return nil
	}
	if !l.ready {
		return l.check()
	}
	if n.keyNamed(l.form.Value(fieldKey)).Name == "" {
		return l.refuse(fieldKey, n.m.session.MissingKey(l.form.Value(fieldKey)))
	}
	r, given := l.chosen().Report, ask.Answers{}
	for _, q := range r.Questions {
		if q.Kind != ask.AdminReason {
			continue
		}
		if l.reason() == "" {
			return l.refuse(fieldReason, q.Text)
		}
		given.With(q, ask.Answer{Text: l.reason()})
	}
	return n.ask(r, r.Questions, given, func() bool { return n.form == l && l.ready })
}

func (l *launch) setSession(s kit.Session) {
	options := make([]widget.Option, 0, len(s.Keys))
	for _, k := range s.Keys {
		o := widget.Option{Value: k.Name, Note: k.Level.String() + " · " + k.State(l.m.session.KeyNow(k, l.m.deps.Clock.Now()), model.SoonDays*24*time.Hour).String()}
		if f, bad := forbidden(k, l.m.session.KeyNow(k, l.m.deps.Clock.Now())); bad && !admin(f) {
			o.Disabled = f.Text
		}
		if of := s.OtherAccounts[k.Name]; of != "" {
			o.Disabled = "it is the key of " + of
		}
		options = append(options, o)
	}
	l.form.SetOptions(fieldKey, options)
	help := "The dataset's identifier."
	if !l.m.asksForJobs() {
		help = "Your name for the job, kept in the ledger. It is not sent: the contract shows no way to name a dataset."
	}
	l.form.SetHelp(fieldDataset, help, false)
}

// changed updates the fields and discards the check.
func (l *launch) changed() {
	rechosen := l.rechosen()
	if !rechosen {
		l.checked = service.Checked{}
		l.form.SetHidden(fieldUnlaunched, true)
	}
	l.describe()
	source := l.form.Value(fieldSource)
	l.form.SetHidden(fieldPaste, source != sourcePaste)
	l.form.SetHidden(fieldPath, source != sourceFile)
	l.hideTyped(source != sourceTyped)
	l.offerAuth()
	l.showSettings()
	key := l.m.launches.keyNamed(l.form.Value(fieldKey))
	l.asksWhy = key.Level == model.LevelAdmin || l.asksWhy && key.Name == l.key.Name
	l.key = key
	l.form.SetHidden(fieldReason, !l.asksWhy)
	l.ready, l.dialog.Deliberate = false, false
	l.dialog.Submit = "check the inputs"
	l.dialog.Problem = ""
	l.slot.Drop()
	l.dialog.Busy = false
	l.note("Nothing is launched yet: the rows are checked first.", l.unlisted(), l.costs(), l.m.launches.contractAlone(), l.m.launches.lint(l.form.Value(fieldKey)))
	if rechosen { // both choices were checked
		_ = l.show()
	}
}

// note sets the text below the form.
func (l *launch) note(lines ...string) {
	kept := lines[:0]
	for _, s := range lines {
		if s != "" {
			kept = append(kept, s)
		}
	}
	l.dialog.Foot = strings.Join(kept, "\n")
}

// check reads the inputs and says what the job comes to.
func (l *launch) check() tea.Cmd {
	l.dialog.Busy = true
	jobs, d, from := l.m.deps.Jobs, l.draft(), l.source()
	return kit.Load(kit.Jobs, &l.slot, l.m.deps.Ctx, func(ctx context.Context) (service.Report, error) {
		return from.check(ctx, jobs, d)
	}, func(r service.Report, err error) tea.Cmd {
		l.dialog.Busy = false
		l.checked = service.Checked{Report: r, Err: err}
		return l.show()
	})
}

// source is where the form's inputs come from.
type source struct {
	in      service.Rows
	text    string // what is read, or a file's path
	kind    string // of the field
	console Console
}

// source is what the form reads.
func (l *launch) source() source {
	columns, _ := columnMap(l.form.Value(fieldColumns)) // the form was checked
	s := source{kind: l.form.Value(fieldSource), console: l.m.deps.Console, in: service.Rows{Map: columns}}
	switch s.kind {
	case sourceFile:
		s.text = strings.TrimSpace(l.form.Value(fieldPath))
		s.in.Name, s.in.Kind = s.text, strings.TrimPrefix(filepath.Ext(s.text), ".")
	case sourceTyped:
		s.text, s.in.Name, s.in.Kind = l.typedInput(), "the form", service.NDJSON
	default:
		s.text, s.in.Name = l.form.Value(fieldPaste), "what was pasted"
	}
	return s
}

// check checks a draft with the inputs of the source.
func (s source) check(ctx context.Context, jobs Jobs, d service.Draft) (service.Report, error) {
	list, saved := strings.CutPrefix(s.text, "list:")
	switch {
	case s.kind != sourceFile:
		s.in.Reader = strings.NewReader(s.text)
	case saved:
		d.From = service.SavedList{Name: list, Map: s.in.Map}
		return jobs.Check(ctx, d)
	default:
		f, err := s.console.OpenInputs(s.text)
		if err != nil {
			return service.Report{}, model.BadField("source", "%w", err)
		}
		defer f.Close()
		s.in.Reader = f
	}
	d.From = s.in
	return jobs.Check(ctx, d)
}

// show shows what the form comes to.
func (l *launch) show() tea.Cmd {
	l.offerUnlaunched()
	r := l.chosen()
	in := r.Rows
	wrong := l.markTyped(in.Problems)
	bad := fmt.Sprintf("%s of %s cannot be used; nothing was sent", text.Counted(in.Bad, "row"), r.Source)
	switch field, why := l.refusal(r); {
	case errors.Is(r.Err, service.ErrNoGoodRow):
		l.note(problemLines(in.Problems))
		if wrong.Field != "" {
			l.dialog.Problem = bad
			return l.refuse(typedField+wrong.Field, wrong.Text)
		}
		return l.refuse(l.sourceField(), bad)
	case why != "":
		l.note("Nothing was sent.", problemLines(in.Problems))
		return l.refuse(field, why)
	}
	if slices.ContainsFunc(r.Questions, func(q ask.Question) bool { return q.Kind == ask.AdminReason }) {
		l.asksWhy = true
		l.form.SetHidden(fieldReason, false)
	}
	l.ready, l.dialog.Deliberate = true, true
	l.dialog.Submit = "launch " + text.Counted(len(r.Request.Inputs), "input")
	if in.Bad > 0 {
		l.dialog.Problem = bad
		l.dialog.Submit = fmt.Sprintf("launch the %s", text.Counted(len(r.Request.Inputs), "good row"))
	}
	k := l.m.launches.keyNamed(l.form.Value(fieldKey))
	l.note(fmt.Sprintf("✓ %s from %s · key %s %s%s", text.Counted(len(r.Request.Inputs), "input"), r.Source, cmp.Or(k.Name, "of the profile"), k.Level, partWords(r.Report)),
		estimateLine(r.Estimate), columnWords(in.Columns), problemLines(in.Problems), l.m.launches.contractAlone(), l.m.launches.lint(l.form.Value(fieldKey)))
	return nil
}

// partWords say what of the source is not launched.
func partWords(r service.Report) string {
	in, out := r.Rows, ""
	if in.Folded > 0 {
		out += " · " + text.Counted(in.Folded, "repeated row") + " folded"
	}
	rows := len(in.Rows) - r.LeftOut.Inputs
	if r.LeftOut.Inputs > 0 {
		out += fmt.Sprintf(" · %d left out", r.LeftOut.Inputs)
	}
	if len(r.Request.Inputs) < rows {
		out += fmt.Sprintf(" · a sample of %d", rows)
	}
	if in.Bad > 0 {
		out += " · bad rows are kept in a file"
	}
	return out
}

// columnWords say which columns fill which fields, where that is not plain.
func columnWords(columns []service.Column) string {
	var out []string
	for _, c := range columns {
		if c.Field != "" && c.Field != c.Name {
			out = append(out, c.Name+"="+c.Field)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "columns " + strings.Join(out, ", ")
}

// failed shows why a launch did not begin.
func (l *launch) failed(text string) {
	l.dialog.Busy = false
	l.dialog.Problem = text
}

// maxProblems is how many problems are listed; the rest are counted.
const maxProblems = 6

// problemLines lists the bad rows first: notes may be on every row.
func problemLines(problems []service.Problem) string {
	var out []string
	rest := 0
	for _, notes := range []bool{false, true} {
		for _, p := range problems {
			switch {
			case p.Warning != notes:
			case len(out) < maxProblems:
				out = append(out, problemLine(p))
			default:
				rest += p.Rows()
			}
		}
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("… and %d more", rest))
	}
	return strings.Join(out, "\n")
}

func problemLine(p service.Problem) string {
	mark, at := "✗ ", p.Location()
	if p.Warning {
		mark = "! "
	}
	if at != "" {
		at += ": "
	}
	return mark + at + p.Text
}
