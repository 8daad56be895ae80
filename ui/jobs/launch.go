package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
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
	dialog *widget.FormDialog
	form   *widget.Form
	slot   kit.Slot
	// checked is the result of the first step; valid only while ready is set.
	checked checkedInputs
	ready   bool
	base    model.TriggerRequest // what the form was filled with
	picked  bool                 // the data set was picked from the list, which no key in a field shows
	shape   string               // of which data set and method the fields of a typed input are
	typed   []widget.Field
	way     model.CollectMethod // how the form collects, as far as it is known
	key     model.Key           // which it is launched with, as it was when the form changed
	agreed  bool                // the operator confirmed the launch
	same    []model.Job         // the jobs with the same inputs that the question named
	partly  bool                // the operator confirmed launching the good rows alone
	// unlaunched says that what jobs of the last hour have was left out of what was checked.
	unlaunched bool
	inbox      struct {
		slot    kit.Slot
		at      string // where it receives, as it was filled in
		auth    bool   // the reference that it checks by was proposed
		product bool   // the job is of a product, which calls nobody
	}
}

// checkedInputs is the result of reading the inputs.
type checkedInputs struct {
	source string
	// request is what will be sent; estimate is what it is expected to cost.
	request  model.TriggerRequest
	in       rows.Inputs
	estimate service.Estimate
	launched launched
	err      error
	at       string // the field that err is about, fieldSource for that of the inputs; "" for none
}

type (
	// inputsRead is the result of the first step.
	inputsRead struct{ checkedInputs }
	// sameFound lists earlier jobs with the same inputs.
	sameFound struct {
		request model.TriggerRequest
		jobs    []model.Job
		shared  service.EarlierJobs // jobs with some of them, or that may have some
		err     error
	}
	// launchNow confirms a launch: what it is expected to cost, or the same inputs again.
	launchNow struct{}
	// launchGood confirms launching the good rows without the bad ones.
	launchGood struct{}
)

// newJob begins with the list of data sets where the dialect sends which one it is.
func (m *Model) newJob(urls []string) tea.Cmd {
	if why := m.whyNotLaunch(); why != "" {
		return kit.Warn("new job: " + why)
	}
	if d, err := dialect.Find(m.profile.Dialect); err == nil && d.Sends().Dataset {
		return m.openCatalogue(urls)
	}
	return m.openForm(urls)
}

// openForm opens the form of a job.
func (m *Model) openForm(urls []string) tea.Cmd {
	l := &launch{}
	fields := []widget.Field{
		{Name: fieldDataset, Label: "Dataset", Kind: widget.FieldText, Placeholder: "e.g. gd_products", Check: m.checkDataset},
		{Name: fieldDiscover, Label: "How", Kind: widget.FieldPick, Hidden: true},
		{Name: fieldSource, Label: "Inputs", Kind: widget.FieldChoice, Value: sourcePaste, Options: sources(false)},
		{
			Name: fieldPaste, Label: "Rows", Kind: widget.FieldArea, Rows: 5, Value: strings.Join(urls, "\n"),
			Placeholder: pasteWords(model.CollectMethod{}, false), Help: rowsHelp, Check: widget.Required("paste at least one row"),
		},
		{Name: fieldPath, Label: "File", Kind: widget.FieldText, Hidden: true, Placeholder: "e.g. inputs.csv", Help: pathHelp, Check: widget.Required("name a file")},
		{Name: fieldKey, Label: "Key", Kind: widget.FieldPick, Value: m.session.Key.Name, Placeholder: "the profile's"},
		{Name: fieldUnlaunched, Label: "Leave out", Kind: widget.FieldToggle, Hidden: true, Help: "What a job of the last hour has is not sent and billed again."},
		{Name: fieldReason, Label: "Why ADMIN", Hidden: true, Placeholder: "why it must be this key", Help: "It stands in History."},
	}
	fields = append(fields, settingFields()...)
	l.form = widget.NewForm(m.deps.Theme, fields...)
	l.dialog = widget.NewFormDialog(m.deps.Theme, "New job", l.form)
	l.dialog.Width = 78
	l.dialog.Filled = func() bool { return l.picked }
	l.dialog.Extra = func() []kit.Binding {
		extra := []kit.Binding{{Keys: []string{"ctrl+o"}, Label: "data sets", Help: "Pick the data set from a list: by name, identifier or kind.", Intent: chooseDataset{}, WhileTyping: true}}
		return append(extra, l.previewBindings(m)...)
	}
	l.dialog.Handle = func(msg tea.Msg) (tea.Cmd, bool) {
		switch msg := msg.(type) {
		case tea.PasteMsg:
			return l.paste(m, msg.Content)
		case chooseDataset:
			return m.openCollectors(), true
		case askPreview:
			return m.askPreview(l), true
		}
		return nil, false
	}
	l.dialog.OnChange = func(*widget.Form) { l.changed(m) }
	l.dialog.OnSubmit = func(*widget.Form) tea.Cmd { return m.submit() }
	l.setSession(m, m.session)
	l.changed(m)
	if m.dialog != nil { // it was closed: what is being read for it is not for this one
		m.dialog.slot.Drop()
	}
	m.dialog = l
	return tea.Batch(kit.OpenOverlay(l.dialog), m.askInbox(l))
}

// checkDataset requires a name if the dialect sends one. Otherwise it is only the
// operator's name for the job and may be empty.
func (m *Model) checkDataset(s string) error {
	d, err := dialect.Find(m.profile.Dialect)
	if err != nil {
		return err
	}
	return model.CheckDataset(strings.TrimSpace(s), d.Sends())
}

func (l *launch) setSession(m *Model, s kit.Session) {
	options := make([]widget.Option, 0, len(s.Keys))
	for _, k := range s.Keys {
		o := widget.Option{Value: k.Name, Note: k.Level.String() + " · " + k.State(m.session.KeyNow(k, m.deps.Now()), model.SoonDays*24*time.Hour).String()}
		if f, bad := forbidden(k, m.session.KeyNow(k, m.deps.Now())); bad && !admin(f) {
			o.Disabled = f.Text
		}
		if of := s.Elsewhere[k.Name]; of != "" {
			o.Disabled = "it is the key of " + of
		}
		options = append(options, o)
	}
	l.form.SetOptions(fieldKey, options)
	help := "The dataset's identifier."
	if !m.asksForJobs() {
		help = "Your name for the job, kept in the ledger. It is not sent: the contract shows no way to name a dataset."
	}
	l.form.SetHelp(fieldDataset, help)
}

// contractAlone warns before a launch that the profile cannot follow the job.
func (m *Model) contractAlone() string {
	if m.asksForJobs() {
		return ""
	}
	return "! with dialect " + strconv.Quote(m.profile.DialectName()) + " the console keeps the identifier it gets and cannot ask for progress or result"
}

// changed updates the fields and discards the check.
func (l *launch) changed(m *Model) {
	rechosen := l.rechosen()
	if !rechosen {
		l.checked = checkedInputs{}
		l.form.SetHidden(fieldUnlaunched, true)
	}
	l.describe(m)
	source := l.form.Value(fieldSource)
	l.form.SetHidden(fieldPaste, source != sourcePaste)
	l.form.SetHidden(fieldPath, source != sourceFile)
	l.hideTyped(source != sourceTyped)
	l.offerAuth(m)
	l.showSettings(m)
	l.key = m.keyNamed(l.form.Value(fieldKey))
	l.form.SetHidden(fieldReason, l.key.Level != model.LevelAdmin)
	l.ready, l.dialog.Deliberate = false, false
	l.disagree()
	l.dialog.Submit = "check the inputs"
	l.dialog.Problem = ""
	l.slot.Drop()
	l.dialog.Busy = false
	l.note("Nothing is launched yet: the rows are checked first.", m.unlisted(l), l.costs(), m.contractAlone(), m.lint(l.form.Value(fieldKey)))
	if rechosen { // both choices were checked
		_ = l.inputsRead(m, l.checked)
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

// keyNamed finds a key of the session; an empty name is the profile's key.
func (m *Model) keyNamed(name string) model.Key {
	if i := slices.IndexFunc(m.session.Keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		return m.session.Keys[i]
	}
	return m.session.Key
}

// lint lists the findings against using a key for a launch.
func (m *Model) lint(name string) string {
	k := m.keyNamed(name)
	if k.Name == "" {
		return "✗ " + m.session.MissingKey(name)
	}
	var out []string
	for _, f := range keystore.CheckUse(k, model.CapUse, true, m.session.KeyNow(k, m.deps.Now())) {
		out = append(out, fmt.Sprintf("%s %s: %s", severityMark(f), f.Key, f.Text))
	}
	return strings.Join(out, "\n")
}

// submit handles ctrl+s in the dialog: it checks first, then sends.
func (m *Model) submit() tea.Cmd {
	l := m.dialog
	if l == nil {
		return nil
	}
	if !l.ready {
		return m.readInputs(l)
	}
	if m.keyNamed(l.form.Value(fieldKey)).Name == "" {
		return l.refuse(m, fieldKey, m.session.MissingKey(l.form.Value(fieldKey)))
	}
	key := m.keyNamed(l.form.Value(fieldKey))
	if f, bad := forbidden(key, m.session.KeyNow(key, m.deps.Now())); bad {
		if !admin(f) {
			return l.refuse(m, fieldKey, f.Text+"; "+f.Fix)
		}
		if l.reason() == "" {
			return l.refuse(m, fieldReason, "a job is automation, which never uses ADMIN (contract 5.4): pick a USER key, or say why it must be this one")
		}
	}
	if l.checked.in.Bad > 0 && !l.partly {
		return m.askPartly(l.checked)
	}
	l.dialog.Busy = true
	r := l.checked.request
	if l.agreed {
		r.Guard = guardOf(l.same)
		return m.trigger(r, l.kept())
	}
	ledger := m.deps.Ledger
	return kit.Do(kit.Jobs, &l.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		out := sameFound{request: r}
		if out.jobs, out.err = ledger.SameInputs(ctx, r, recent); out.err == nil && len(out.jobs) == 0 {
			out.shared, out.err = ledger.SharedInputs(ctx, r, recent)
		}
		return out
	})
}

func (m *Model) readInputs(l *launch) tea.Cmd {
	d, err := dialect.Find(m.profile.Dialect)
	if err != nil {
		l.failed(err.Error())
		return nil
	}
	l.dialog.Busy = true
	deps, sends := m.deps, d.Sends()
	text, path := l.form.Value(fieldPaste), strings.TrimSpace(l.form.Value(fieldPath))
	source := l.form.Value(fieldSource)
	if source == sourceTyped {
		text = l.typedInput()
	}
	r, shape, sample := l.asked()
	return kit.Do(kit.Jobs, &l.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		out := deps.inputsOf(ctx, sends, r, shape, sample, func() (io.ReadCloser, string, error) {
			switch source {
			case sourceFile:
				f, err := deps.OpenFile(path)
				return f, strings.TrimPrefix(filepath.Ext(path), "."), err
			case sourceTyped:
				return io.NopCloser(strings.NewReader(text)), rows.InputNDJSON, nil
			default:
				return io.NopCloser(strings.NewReader(text)), "", nil
			}
		})
		out.source = map[string]string{sourceFile: path, sourcePaste: "what was pasted", sourceTyped: "the form"}[source]
		return inputsRead{out}
	})
}

// dialogResult handles the messages of the dialog and of the questions.
func (m *Model) dialogResult(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case inputsRead:
		if m.dialog != nil {
			return m.dialog.inputsRead(m, msg.checkedInputs), true
		}
	case sameFound:
		if m.dialog != nil {
			return m.sameFound(m.dialog, msg), true
		}
	case launchGood:
		if m.dialog != nil {
			m.dialog.partly = m.dialog.ready // else it is checked once more
			return m.submit(), true
		}
	case launchNow:
		if m.dialog != nil {
			m.dialog.agreed = m.dialog.ready
			return m.submit(), true
		}
	case inboxReceives:
		m.inboxReceives(msg)
	case previewLookup:
		if m.dialog != nil {
			return m.previewLookup(m.dialog), true
		}
	case lookupPreviewed:
		if m.dialog != nil {
			return m.dialog.previewed(m, msg), true
		}
	case takeColumns:
		if m.dialog != nil {
			m.dialog.takeColumns(m, msg)
		}
	case collectorsLoaded:
		m.collectorsLoaded(msg)
	case datasetChosen:
		return m.datasetChosen(msg), true
	case doCancel:
		return m.cancelJob(msg.job), true
	case doDownload:
		return m.download(msg), true
	default:
		return nil, false
	}
	return nil, true
}

func (l *launch) inputsRead(m *Model, c checkedInputs) tea.Cmd {
	l.dialog.Busy = false
	c = l.offerUnlaunched(c)
	l.checked = c
	in := c.in
	wrong := l.markTyped(in.Problems)
	bad := fmt.Sprintf("%s of %s cannot be used; nothing was sent", text.Counted(in.Bad, "row"), c.source)
	switch {
	case c.err != nil:
		l.note("Nothing was sent.", problemLines(in.Problems))
		return l.refuse(m, l.refusedField(c), c.err.Error())
	case len(in.Rows) == 0 && in.Bad > 0:
		l.note(problemLines(in.Problems))
		if wrong.Field != "" {
			l.dialog.Problem = bad
			return l.refuse(m, typedField+wrong.Field, wrong.Text)
		}
		return l.refuse(m, l.sourceField(), bad)
	case len(in.Rows) == 0:
		l.note()
		return l.refuse(m, l.sourceField(), c.source+" holds no inputs; nothing was sent")
	}
	l.ready, l.dialog.Deliberate = true, true
	l.dialog.Submit = "launch " + text.Counted(len(c.request.Inputs), "input")
	if in.Bad > 0 {
		l.dialog.Problem = bad
		l.dialog.Submit = fmt.Sprintf("launch the %s", text.Counted(len(c.request.Inputs), "good row"))
	}
	k := m.keyNamed(l.form.Value(fieldKey))
	l.note(fmt.Sprintf("✓ %s from %s · key %s %s%s", text.Counted(len(c.request.Inputs), "input"), c.source, cmp.Or(k.Name, "of the profile"), k.Level, l.partWords()),
		estimateLine(c.estimate), columnWords(in.Columns), problemLines(in.Problems), m.contractAlone(), m.lint(l.form.Value(fieldKey)))
	return nil
}

// partWords say what of the source is not launched.
func (l *launch) partWords() string {
	in, out := l.checked.in, ""
	if in.Folded > 0 {
		out += " · " + text.Counted(in.Folded, "repeated row") + " folded"
	}
	rows := len(in.Rows)
	if l.unlaunched {
		rows -= l.checked.launched.out
		out += fmt.Sprintf(" · %d left out", l.checked.launched.out)
	}
	if len(l.checked.request.Inputs) < rows {
		out += fmt.Sprintf(" · a sample of %d", rows)
	}
	if in.Bad > 0 {
		out += " · bad rows are kept in a file"
	}
	return out
}

// columnWords say which columns fill which fields, where that is not plain.
func columnWords(columns []rows.Column) string {
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

// disagree takes back what the operator agreed to: it was for one launch.
func (l *launch) disagree() { l.agreed, l.partly, l.same = false, false, nil }

// failed shows why a launch did not begin.
func (l *launch) failed(text string) {
	l.disagree()
	l.dialog.Busy = false
	l.dialog.Problem = text
}

func (m *Model) closeDialog() tea.Cmd {
	if m.dialog == nil {
		return nil
	}
	d := m.dialog.dialog
	m.dialog = nil
	return kit.CloseOverlay(d)
}

// maxProblems is how many problems are listed; the rest are counted.
const maxProblems = 6

// problemLines lists the bad rows first: notes may be on every row.
func problemLines(problems []rows.Problem) string {
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

func problemLine(p rows.Problem) string {
	mark, at := "✗ ", p.Where()
	if p.Warning {
		mark = "! "
	}
	if at != "" {
		at += ": "
	}
	return mark + at + p.Text
}
