package batches

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Fields of the form.
const (
	fieldFile   = "input"
	fieldZone   = "zone"
	fieldVia    = "via"
	fieldURL    = "url"
	fieldColumn = "column"
	fieldLimit  = "limit"
	fieldRate   = "rate"
	fieldCap    = "cap"
	fieldOnce   = "once"
	fieldRules  = "rule"
	fieldBad    = "bad"
)

// draft is the form for a new batch. It has two steps: the first plans all of it, the second begins it. Changing a field
// returns to the first.
type draft struct {
	dialog *widget.FormDialog
	base   model.FetchRequest // what the form does not show is its
	slot   kit.Slot
	report batch.Report
	ready  bool // report is what the form comes to
}

// New opens the form with a request as the template of what is sent for each row.
func (p *Page) New(r model.FetchRequest) tea.Cmd {
	p.open = true
	p.forgetPlan()
	via := model.ViaAPI
	if r.Via == model.ViaNative {
		via = r.Via
	}
	url := ""
	if len(model.Variables(r.URL)) > 0 {
		url = r.URL
	}
	form := widget.NewForm(p.deps.Theme,
		widget.Field{Name: fieldFile, Label: "File", Placeholder: "e.g. urls.txt or shop.csv", Help: "Addresses, one a line, or a table (CSV), JSON or NDJSON.", Check: widget.Required("name a file")},
		widget.Field{Name: fieldZone, Label: "Zone", Kind: widget.FieldPick, Value: string(r.Zone.Name), Options: p.zones(), Free: true, Check: widget.Required("name a zone")},
		widget.Field{Name: fieldVia, Label: "Via", Kind: widget.FieldChoice, Value: string(via), Options: []widget.Option{{Value: string(model.ViaAPI), Label: "API"}, {Value: string(model.ViaNative), Label: "Native"}}},
		widget.Field{Name: fieldURL, Label: "URL", Value: url, Placeholder: "the row's url", Help: "Columns are written as {{name}}, as in headers and body."},
		widget.Field{Name: fieldColumn, Label: "Column", Placeholder: "the one that looks like URLs", Help: "The column of a table that holds the addresses."},
		widget.Field{Name: fieldLimit, Label: "At once", Placeholder: "what the product allows", Check: check(batch.ParseAtOnce)},
		widget.Field{Name: fieldRate, Label: "Rate", Placeholder: "no limit, e.g. 20/s", Check: check(batch.ParseRate)},
		widget.Field{Name: fieldCap, Label: "Cap", Placeholder: "none, e.g. $5", Help: "The most that the batch may spend, in dollars.", Check: check(batch.ParseCap)},
		widget.Field{Name: fieldOnce, Label: "Name", Placeholder: "none", Help: "A name that is unique in the profile."},
		widget.Field{Name: fieldRules, Label: "Rules", Placeholder: "none, e.g. captcha x2 -> zone=NAME,host", Help: "After so many results of a class, another zone takes over the host or, with ',item', the item. Separate rules with ;"},
		widget.Field{Name: fieldBad, Label: "Bad rows", Kind: widget.FieldToggle, Help: "On: rows that cannot be used are left out. Off: one such row refuses the file."},
	)
	d := widget.NewFormDialog(p.deps.Theme, "New batch", form)
	d.Intro, d.Submit, d.Width, d.Deliberate = template(r), "check the rows", 78, true
	p.draft.dialog, p.draft.base = d, r
	d.OnChange = func(*widget.Form) {
		p.forgetPlan()
		d.Submit, d.Foot, d.Problem = "check the rows", "", ""
	}
	d.OnSubmit = func(*widget.Form) tea.Cmd {
		if p.draft.ready {
			return p.start()
		}
		return p.plan()
	}
	return kit.OpenOverlay(d)
}

// template says what of a request is sent for each row beside its address.
func template(r model.FetchRequest) string {
	out := "The Sandbox's request is sent for each row: " + cmp.Or(r.Method, "GET")
	if n := len(r.Header); n > 0 {
		out += ", " + text.Counted(n, "header")
	}
	if r.Body != "" {
		out += ", a body of " + text.Bytes(int64(len(r.Body)))
	}
	if n := len(r.Required); n > 0 {
		out += ", " + text.Counted(n, "required field")
	}
	return out + ". Nothing is sent before its rows are checked."
}

// check makes a field's check of what reads its text.
func check[T any](read func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := read(s)
		return err
	}
}

func (p *Page) zones() []widget.Option {
	out := make([]widget.Option, len(p.session.Zones))
	for i, z := range p.session.Zones {
		out[i] = widget.Option{Value: string(z.Name), Note: string(z.Product)}
	}
	return out
}

// forgetPlan discards what was planned and not begun.
func (p *Page) forgetPlan() {
	p.draft.slot.Drop()
	if p.draft.ready {
		p.draft.ready = false
		_ = p.deps.Batches.Discard(p.draft.report) // a leftover is swept when the program starts
	}
}

// plan reads and checks the rows.
func (p *Page) plan() tea.Cmd {
	d := p.draft.dialog
	f := d.Form
	r := p.draft.base
	r.Zone = model.Zone{Name: model.ZoneName(f.Value(fieldZone))}
	r.Via, r.URL, r.Retries = model.Via(f.Value(fieldVia)), f.Value(fieldURL), -1
	batched := batch.Draft{Draft: fetch.Draft{Request: r, Headers: text.HeaderLines(r.Header), Fitting: true}, Once: f.Value(fieldOnce), SkipBad: f.On(fieldBad)}
	batched.Input.Column = f.Value(fieldColumn)
	for rule := range strings.SplitSeq(f.Value(fieldRules), ";") {
		if strings.TrimSpace(rule) != "" {
			batched.Rules = append(batched.Rules, rule)
		}
	}
	batched.AtOnce, _ = batch.ParseAtOnce(f.Value(fieldLimit)) // the fields have checked them
	batched.Rate, _ = batch.ParseRate(f.Value(fieldRate))
	batched.Cap, _ = batch.ParseCap(f.Value(fieldCap))
	d.Busy, d.Doing, d.Problem = true, "the rows are read", ""
	planner, file := p.deps.Planner, f.Value(fieldFile)
	return kit.Load(kit.InOverlay(d), &p.draft.slot, p.deps.Ctx, func(ctx context.Context) (batch.Report, error) {
		return planner.PlanBatch(ctx, file, batched)
	}, func(r batch.Report, err error) tea.Cmd { return p.planned(d, r, err) })
}

// planned shows what a draft comes to.
func (p *Page) planned(d *widget.FormDialog, r batch.Report, err error) tea.Cmd {
	d.Busy, d.Doing = false, ""
	if fault, is := errors.AsType[*model.RequestError](err); is {
		if cmd, ok := d.Form.Refuse(fault.Field(), fault.Problems[0].Err.Error()); ok {
			return cmd
		}
	}
	if err != nil {
		d.Problem = err.Error()
		return nil
	}
	p.draft.report, p.draft.ready = r, true
	lines := []string{text.Counted(int(r.Planned.Items), "item"), "cost: " + r.CostWords()}
	if n := r.Planned.Duplicates; n > 0 {
		lines[0] += ", " + count(n) + " of them duplicates, which are fetched once"
	}
	for _, note := range append(r.Notes, r.Problems...) {
		lines = append(lines, strings.TrimPrefix(note.Location()+": "+note.Text, ": "))
	}
	for _, of := range r.First {
		lines = append(lines, "· "+cmp.Or(of.Method, "GET")+" "+of.URL)
	}
	for i := range lines {
		lines[i] = text.Cut(text.Clean(lines[i]), 74)
	}
	d.Foot, d.Submit = strings.Join(lines, "\n"), "begin "+text.Counted(int(r.Planned.Items-r.Planned.Duplicates), "fetch")
	return nil
}

// start begins what was planned.
func (p *Page) start() tea.Cmd {
	b, ctx, d, r := p.deps.Batches, p.deps.Ctx, p.draft.dialog, p.draft.report
	p.draft.ready = false
	d.Busy, d.Doing = true, "it is begun"
	return kit.Load(kit.InOverlay(d), &p.draft.slot, ctx, func(ctx context.Context) (batch.State, error) {
		s, err := b.Start(ctx, r)
		if err == nil {
			err = b.Begin(ctx, s.ID)
		}
		return s, err
	}, func(s batch.State, err error) tea.Cmd {
		if d.Busy, d.Doing = false, ""; err != nil {
			d.Problem = err.Error()
			return nil
		}
		return tea.Sequence(kit.CloseOverlay(d), kit.Send(kit.Call(kit.Jobs, func() tea.Cmd { return tea.Batch(p.load(), p.show(s)) })))
	})
}

// do changes what may change while a batch runs.
func (change) do(p *Page, s batch.State) tea.Cmd {
	typed := func(n float64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	form := widget.NewForm(p.deps.Theme,
		widget.Field{Name: fieldLimit, Label: "At once", Value: typed(float64(s.AtOnce)), Replace: true, Placeholder: "what the product allows", Check: check(batch.ParseAtOnce)},
		widget.Field{Name: fieldRate, Label: "Rate", Value: typed(s.Rate), Replace: true, Placeholder: "no limit, e.g. 20/s", Check: check(batch.ParseRate)},
		widget.Field{Name: fieldCap, Label: "Cap", Value: typed(batch.Dollars(s.Cap)), Replace: true, Placeholder: "none, e.g. $5", Help: "A cap below what is already spent stops the batch.", Check: check(batch.ParseCap)},
	)
	d := widget.NewFormDialog(p.deps.Theme, "Limits of "+name(s), form)
	d.Submit, d.Intro = "change", "Typing replaces a value, an arrow key edits it. An empty one sets no limit."
	b, ctx := p.deps.Batches, p.deps.Ctx
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		atOnce, _ := batch.ParseAtOnce(f.Value(fieldLimit)) // the fields have checked them
		rate, _ := batch.ParseRate(f.Value(fieldRate))
		limit, _ := batch.ParseCap(f.Value(fieldCap))
		to := batch.Settings{AtOnce: &atOnce, Rate: &rate, Cap: &limit}
		return d.Run(func() (tea.Msg, error) {
			now, err := b.Set(ctx, s.ID, to)
			return kit.Call(kit.Jobs, func() tea.Cmd { return p.ended(now, nil, "the limits of "+name(now)+" are changed") }), err
		})
	}
	return kit.OpenOverlay(d)
}
