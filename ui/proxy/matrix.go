package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Panes of the matrix.
const (
	matrixTable = iota
	matrixChanges
)

// matrixPage is the page with a test of every zone, beside the baseline.
type matrixPage struct {
	slot    kit.Slot // the calls
	load    kit.Slot // the baseline, read or written
	now     model.Grid
	have    bool // there is a matrix
	problem string
	base    model.Baseline
	based   bool // there is a baseline
	panes   widget.Panes
	table   widget.Table
	foot    widget.Scroll
}

// matrixCalls is how many calls each zone gets.
const matrixCalls = 3

// matrixIntent is what a key of the matrix does.
type matrixIntent int

// rowMeasured is a row that has changed.
type rowMeasured struct {
	i    int
	cell model.Cell
}

const (
	matrixRun matrixIntent = iota
	matrixBegin
	matrixSave
	matrixReplace
	matrixStop
	matrixOpen
)

// openMatrix shows the page and loads the baseline.
func (m *Model) openMatrix() tea.Cmd {
	p := &m.matrix
	m.page = pageMatrix
	p.panes = widget.Panes{N: 2}
	p.table.Columns = []widget.Column{
		{Title: "ZONE", Width: 14, Flex: true},
		{Title: "RESULT", Width: 14},
		{Title: "OK", Width: 6},
		{Title: "TCP", Width: 6, Priority: 2},
		{Title: "CONNECT", Width: 7},
		{Title: "TLS", Width: 7},
		{Title: "MEDIAN", Width: 6},
		{Title: "EXITS", Width: 6},
		{Title: "IN", Width: 8, Priority: 1},
		{Title: "SIGNED BY", Width: 16, Flex: true, Priority: 3},
	}
	m.fillMatrix()
	load, name := m.deps.Prober.LoadBaseline, m.profile.Name
	return kit.Load(kit.Proxy, &p.load, m.deps.Ctx, func(ctx context.Context) (model.Baseline, error) {
		return load(ctx, name)
	}, func(base model.Baseline, err error) tea.Cmd {
		p.base, p.based = base, err == nil
		if err != nil && !errors.Is(err, database.ErrNotFound) {
			return kit.Fail("the baseline: " + err.Error())
		}
		return nil
	})
}

// fillMatrix lists the rows: of the last matrix, or the profile's zones.
func (m *Model) fillMatrix() {
	t, p := m.deps.Theme, &m.matrix
	if !p.have {
		zones := m.nativeZones()
		p.table.SetRows(len(zones), func(i int) []widget.Cell {
			return []widget.Cell{{Text: string(zones[i].Name), Ink: t.Muted}, {Text: "not tested", Ink: t.Muted}}
		})
		return
	}
	p.table.SetRows(len(p.now.Cells), func(i int) []widget.Cell { return m.matrixCells(p.now.Cells[i].LoginRow()) })
}

func (m *Model) matrixCells(r model.LoginRow) []widget.Cell {
	t := m.deps.Theme
	name := widget.Cell{Text: string(r.Zone), Ink: t.Strong}
	switch {
	case r.Problem != "":
		return []widget.Cell{name, {Text: "- not called", Ink: t.Muted}}
	case r.Made == 0 && m.matrix.slot.Running():
		return []widget.Cell{name, {Text: "● calling", Ink: t.Accent}}
	case r.Made == 0:
		return []widget.Cell{name, {Text: "- not called", Ink: t.Muted}}
	}
	mark, ink := t.ClassMark(r.Class)
	trust := t.Text
	if r.Trust == model.ChainUntrusted || r.Trust == model.ChainUnchecked {
		trust = t.Warn
	}
	return []widget.Cell{
		name,
		{Text: mark + " " + model.ClassWord(r.Class, r.Cause), Ink: ink},
		widget.C(fmt.Sprintf("%d/%d", r.OK, m.matrix.now.Repeat)),
		widget.C(tookOr(r.Connect)), widget.C(fmt.Sprint(r.ConnectStatus)),
		{Text: cmp.Or(string(r.Trust), "-"), Ink: trust},
		widget.C(tookOr(r.Median)), widget.C(fmt.Sprintf("%d/%d", r.Unique, r.Known)), widget.C(cmp.Or(strings.Join(r.Countries, " "), "-")),
		{Text: cmp.Or(r.Root, "-"), Ink: t.Muted},
	}
}

func tookOr(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return text.Duration(d)
}

// nativeZones are the zones that a matrix calls.
func (m *Model) nativeZones() []model.Zone {
	var out []model.Zone
	for _, z := range m.profile.Zones {
		if z.Product.NativeAccess() {
			out = append(out, z)
		}
	}
	return out
}

// whyNotMatrix says why no matrix can be made now, or is empty.
func (m *Model) whyNotMatrix() string {
	switch why := m.session.NotReady(); {
	case m.matrix.slot.Running():
		return "the zones are being tested: esc stops it"
	case why != "":
		return why
	case m.profile.ProxyHost == "":
		return "the profile names no proxy_host"
	case len(m.nativeZones()) == 0:
		return "the profile names no zone with native access"
	case m.testPage() == "" && strings.TrimSpace(m.form.Value(fieldTarget)) == "":
		return "write the test page in the form: the contract shows none"
	}
	return ""
}

func (m *Model) whyNotSave() string {
	switch {
	case m.matrix.slot.Running():
		return "the zones are being tested"
	case !m.matrix.have || m.matrix.problem != "":
		return "test the zones first"
	case m.matrix.load.Running():
		return "the baseline is being read or written"
	}
	return ""
}

// askMatrix begins at once with the emulator, and asks first with an account that pays.
func (m *Model) askMatrix() tea.Cmd {
	if m.session.Local {
		return m.startMatrix()
	}
	zones := m.nativeZones()
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Test every zone?",
		Body:  fmt.Sprintf("%s to each of %s, all at once within the limits. %s", text.Counted(matrixCalls, "call"), text.Counted(len(zones), "zone"), m.priceWords(matrixCalls, zones...)),
		Yes:   "test them", View: kit.Proxy, Intent: matrixBegin,
	})
}

func (m *Model) startMatrix() tea.Cmd {
	if why := m.whyNotMatrix(); why != "" {
		return kit.Warn("matrix: " + why)
	}
	preset := model.Preset{Kind: model.CompareLogins, Zones: m.nativeZones(), Repeat: matrixCalls}
	base := model.FetchRequest{URL: strings.TrimSpace(m.form.Value(fieldTarget))}
	p := &m.matrix
	p.now, p.have, p.problem = model.Grid{Kind: preset.Kind, Started: m.deps.Now(), Repeat: matrixCalls}, true, ""
	for _, z := range preset.Zones {
		p.now.Cells = append(p.now.Cells, model.Cell{Vary: model.Vary{Zone: z}})
	}
	prober := m.deps.Prober
	cmd := kit.Follow(kit.Proxy, &p.slot, m.deps.Ctx, func(ctx context.Context, emit func(rowMeasured)) (model.Grid, error) {
		g, err := prober.Plan(ctx, preset, base)
		if err == nil {
			g, err = prober.Compare(ctx, g, func(i int, c model.Cell) { emit(rowMeasured{i, c}) })
		}
		return g, err
	}, func(r rowMeasured) tea.Cmd {
		if r.i < len(p.now.Cells) {
			p.now.Cells[r.i] = r.cell
		}
		return nil
	}, m.matrixMeasured)
	m.fillMatrix()
	return cmd
}

// askBaseline keeps the first baseline at once, and asks before it replaces one.
func (m *Model) askBaseline() tea.Cmd {
	if !m.matrix.based {
		return m.keepBaseline()
	}
	old := m.matrix.base
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Replace the baseline?",
		Body:  fmt.Sprintf("Profile %s has one of %s, of %s. It cannot be brought back.", old.Profile, text.Clock(old.Started, m.deps.Now()), text.Counted(len(old.Rows), "zone")),
		Yes:   "replace it", View: kit.Proxy, Intent: matrixReplace,
	})
}

// keepBaseline keeps the matrix as the baseline.
func (m *Model) keepBaseline() tea.Cmd {
	keep, now := m.deps.Prober.KeepBaseline, m.matrix.now.Baseline()
	return kit.Load(kit.Proxy, &m.matrix.load, m.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, keep(ctx, now)
	}, func(_ struct{}, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("the baseline was not kept: " + err.Error())
		}
		m.matrix.base, m.matrix.based = now, true
		return kit.Info("kept as the baseline of profile " + now.Profile)
	})
}

// matrixMeasured takes a matrix when its last zone has ended, whether the page is open or not.
func (m *Model) matrixMeasured(result model.Grid, err error) tea.Cmd {
	p := &m.matrix
	if len(result.Cells) > 0 {
		p.now = result
	}
	m.fillMatrix()
	switch {
	case errors.Is(err, context.Canceled):
		p.problem = "stopped: not every call was made"
	case err != nil:
		p.problem = err.Error()
		return kit.Fail("matrix: " + err.Error())
	}
	return nil
}

func (m *Model) matrixBindings() []kit.Binding {
	const group = "Matrix"
	out := []kit.Binding{
		{Keys: []string{"t", "r", "f5"}, Label: "test every zone", Help: fmt.Sprintf("Make %d calls to each zone with native access, all at once within the limits.", matrixCalls), Group: group, Intent: matrixRun, Disabled: m.whyNotMatrix(), Dangerous: true},
		{Keys: []string{"b"}, Label: "keep as baseline", Help: "Keep this matrix as the one that later ones of this profile are compared with.", Group: group, Intent: matrixSave, Disabled: m.whyNotSave(), Dangerous: true},
	}
	if m.matrix.slot.Running() {
		out = append(out, kit.Binding{Keys: []string{"esc"}, Label: "stop", Help: "Stop the calls.", Group: group, Intent: matrixStop})
	} else {
		out = append(out, kit.Binding{Keys: []string{"esc"}, Label: "back", Help: "Go back to the login.", Group: group, Intent: intentBack})
	}
	out = append(out, kit.Binding{Keys: []string{"enter"}, Label: "login of the zone", Help: "Compose the login of the zone under the cursor.", Group: group, Intent: matrixOpen})
	return append(append(out, m.matrix.panes.Bindings(false)...), widget.MotionBindings()...)
}

// updateMatrix handles a message of the page; false for one that is not the page's.
func (m *Model) updateMatrix(msg tea.Msg) (tea.Cmd, bool) {
	p := &m.matrix
	if p.panes.Update(msg) {
		return nil, true
	}
	scroll := func(pane int, msg tea.Msg) {
		if pane == matrixTable {
			p.table.Update(msg)
		} else {
			p.foot.Update(msg)
		}
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			if p.panes.At = hit.Pane; hit.Pane == matrixTable {
				p.table.Click(hit.Line)
			}
		}
		return nil, true
	case tea.MouseWheelMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			scroll(hit.Pane, msg)
		}
		return nil, true
	case tea.KeyPressMsg:
		scroll(p.panes.At, msg)
		return nil, true
	}
	return nil, false
}

func (m *Model) matrixAct(i matrixIntent) tea.Cmd {
	switch i {
	case matrixRun:
		return m.askMatrix()
	case matrixBegin:
		return m.startMatrix()
	case matrixSave:
		return m.askBaseline()
	case matrixReplace:
		return m.keepBaseline()
	case matrixStop:
		m.matrix.slot.Cancel()
	case matrixOpen:
		return m.openRow()
	}
	return nil
}

// openRow composes the login of the zone under the cursor.
func (m *Model) openRow() tea.Cmd {
	at := m.matrix.table.Cursor()
	name := ""
	switch {
	case m.matrix.have && at < len(m.matrix.now.Cells):
		name = string(m.matrix.now.Cells[at].Zone.Name)
	case !m.matrix.have && at < len(m.nativeZones()):
		name = string(m.nativeZones()[at].Name)
	default:
		return nil
	}
	m.page = pageLogin
	m.form.SetValue(fieldZone, name)
	m.changed()
	m.panes.At = paneForm
	return nil
}

func (m *Model) matrixAreas(w, h int) []kit.Area {
	top := min(m.matrix.table.Len()+3, h-max(6, h/3))
	return []kit.Area{{Pane: matrixTable, W: w, H: top}, {Pane: matrixChanges, Y: top, W: w, H: h - top}}
}

func (m *Model) renderMatrix(w, h int) string {
	t, p := m.deps.Theme, &m.matrix
	return p.panes.Draw(w, h, m.matrixAreas, func(a kit.Area) string {
		focused := p.panes.At == a.Pane
		if a.Pane == matrixTable {
			iw, ih := widget.Inner(a.W, a.H)
			return widget.Pane(t, m.matrixTitle(), focused, a.W, a.H, p.table.Render(t, focused, iw, ih))
		}
		return p.foot.Pane(t, "Beside the baseline", focused, a.W, a.H, m.matrixLines(a.W-4))
	})
}

func (m *Model) matrixTitle() string {
	if !m.matrix.have {
		return "Matrix · " + text.Counted(len(m.nativeZones()), "zone") + " with native access"
	}
	title := "Matrix · " + m.matrix.now.Verdict().Text
	if spent := m.matrix.now.Spend(); spent != (model.Spend{}) {
		title += " · " + spent.String()
	}
	return title + " · " + text.ClockAndAge(m.matrix.now.Started, m.deps.Now())
}

// matrixLines compare with the baseline and say more of the zone under the cursor.
func (m *Model) matrixLines(w int) []string {
	t, p := m.deps.Theme, &m.matrix
	var out []string
	switch {
	case p.problem != "":
		out = widget.Wrapped(t.Warn, "! "+p.problem, w)
	case p.slot.Running():
		out = widget.Wrapped(t.Accent, "● "+m.elapsed(p.now.Started)+" · esc stops it", w)
	case !p.have:
		out = widget.Wrapped(t.Muted, fmt.Sprintf("t makes %d calls to each zone with native access, all at once within the limits", matrixCalls), w)
	}
	switch {
	case !p.based:
		out = append(out, widget.Wrapped(t.Muted, "profile "+m.profile.Name+" has no baseline yet: b keeps a matrix as one", w)...)
	case !p.have || p.slot.Running():
		out = append(out, widget.Wrapped(t.Muted, "the baseline is of "+text.ClockAndAge(p.base.Started, m.deps.Now())+": "+p.base.Verdict(), w)...)
	default:
		out = append(out, m.changeLines(w)...)
	}
	if at := p.table.Cursor(); p.have && at < len(p.now.Cells) {
		out = append(out, "")
		out = append(out, m.rowLines(p.now.Cells[at].LoginRow(), w)...)
	}
	return out
}

// changeLines are the differences from the baseline.
func (m *Model) changeLines(w int) []string {
	t, p := m.deps.Theme, &m.matrix
	when := text.ClockAndAge(p.base.Started, m.deps.Now())
	changes := model.CompareBaseline(p.base, p.now.Baseline())
	if len(changes) == 0 {
		return widget.Wrapped(t.Good, "✓ nothing differs from the baseline of "+when, w)
	}
	out := widget.Wrapped(t.Muted, "since the baseline of "+when+":", w)
	for _, c := range changes {
		ink := t.Note
		switch c.Kind {
		case model.ChangeWorse:
			ink = t.Bad
		case model.ChangeBetter:
			ink = t.Good
		}
		head := ink.Render(text.Fit(string(c.Kind), 8)) + t.Strong.Render(text.Fit(text.Clean(string(c.Zone)), 22)) + " "
		out = append(out, widget.Hung(head, t.Text, c.Text, w)...)
	}
	return out
}

// rowLines say what the table has no room for.
func (m *Model) rowLines(r model.LoginRow, w int) []string {
	t := m.deps.Theme
	out := widget.Wrapped(t.Strong, string(r.Zone)+" · "+r.Product.Label(), w)
	switch {
	case r.Problem != "":
		return append(out, widget.Wrapped(t.Muted, r.Problem, w)...)
	case r.Class != model.ClassOK && r.Summary != "":
		out = append(out, widget.Wrapped(t.Text, r.Summary, w)...)
	}
	if r.Code != "" {
		out = append(out, widget.Fact(t, "reason", reasonWords(r.Code, ""), w)...)
	}
	if r.Root != "" {
		out = append(out, widget.Fact(t, "signed by", r.Root, w)...)
	}
	if r.Spend != (model.Spend{}) {
		out = append(out, widget.Fact(t, "cost", r.Spend.String()+" for "+text.Counted(r.Made, "call"), w)...)
	}
	return out
}
