package sandbox

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// fieldMore is the toggle that shows the folded fields.
const fieldMore field = "more"

// formPane is the form and its outcome.
type formPane struct {
	deps     *Deps
	form     *widget.Form
	request  model.FetchRequest
	problems []problem
	wire     model.WirePreview
	rows     wireView
	from     *outcome      // what request, problems and wire were derived from; nil at first
	scroll   widget.Scroll // of the wire pane
	// refused are the problems the service reported when asked to send; they stay until
	// the form changes.
	refused []problem
	// tried is set after the first attempt to send: only then is a missing address an
	// error.
	tried bool
	// emptied is set once the form was emptied on purpose.
	emptied bool
	before  []draft // earlier contents of the form, oldest first, for undo
	// profile is draft.Profile.
	profile string
	// unset are the variables without a value; answers counts those that were given.
	unset    []ask.Question
	answers  int
	previous previousWay
	// opened is the saved request that the form was filled from, or "".
	opened string
	tools  toolList
	tool   *fetch.Tool // of the form, whose arguments have fields; nil for none
	notice formNotice
}

// formNotice is a notice on what the form holds, which is true as long as it does.
type formNotice struct {
	fresh, visible bool
	draft          draft // the form that it describes
}

// formNotices is what the notices are about; see kit.Toast.
const formNotices = "the form"

// notify says what the form holds now.
func (p *formPane) notify(words string) tea.Cmd {
	p.notice.fresh = true
	return kit.Send(kit.Toast{Kind: kit.ToastInfo, Text: words, About: formNotices})
}

// retract takes the notice away once the form holds something else.
func (p *formPane) retract() tea.Cmd {
	n := &p.notice
	switch {
	case n.fresh:
		*n = formNotice{visible: true, draft: p.draft()}
	case n.visible && p.draft() != n.draft:
		n.visible = false
		return kit.Send(kit.Toast{About: formNotices})
	}
	return nil
}

// maxUndo is how many earlier contents undo can restore.
const maxUndo = 20

func newFormPane(th *kit.Theme) formPane {
	d := firstDraft()
	fields := []widget.Field{
		{Name: string(fieldZone), Label: "Zone", Kind: widget.FieldPick, Value: d.Zone, Placeholder: "choose a zone", Free: true},
		{Name: string(fieldURL), Label: "URL", Kind: widget.FieldText, Value: d.URL, Placeholder: "http://…", Correction: model.WithScheme},
		{Name: string(fieldVia), Label: "Via", Kind: widget.FieldChoice, Value: d.Via, Options: []widget.Option{
			{Value: string(model.ViaAPI), Label: "API"}, {Value: string(model.ViaNative), Label: "Native"},
		}},
		{Name: string(fieldTool), Label: "Tool", Kind: widget.FieldPick, Placeholder: "fetch the URL", Free: true, Hidden: true},
		{Name: string(fieldArgs), Label: "Args", Kind: widget.FieldArea, Rows: 3, Placeholder: "arguments as a JSON object", Hidden: true},
		{Name: string(fieldFormat), Label: "Format", Kind: widget.FieldChoice, Value: d.Format, Options: []widget.Option{
			{Value: string(model.FormatRaw)}, {Value: string(model.FormatJSON)},
		}},
		{Name: string(fieldKey), Label: "Key", Kind: widget.FieldPick, Placeholder: "choose a key"},
		{Name: string(fieldMore), Label: "More", Kind: widget.FieldToggle, Placeholder: "method, body, fields …"},
		{Name: string(fieldMethod), Label: "Method", Kind: widget.FieldPick, Value: d.Method, Options: methods(), Free: true, Hidden: true},
		{Name: string(fieldHeaders), Label: "Headers", Kind: widget.FieldArea, Rows: 3, Placeholder: "Name: value", Help: "One header per line. esc ends editing.", Hidden: true},
		{Name: string(fieldBody), Label: "Body", Kind: widget.FieldArea, Rows: 4, Placeholder: "what is sent to the target", Help: "esc ends editing.", Hidden: true},
		{Name: string(fieldRequired), Label: "Required", Kind: widget.FieldArea, Rows: 3, Placeholder: "what a good answer holds", Hidden: true},
		{Name: string(fieldSession), Label: "Session", Kind: widget.FieldText, Placeholder: "none; a name keeps the exit", Hidden: true},
		{Name: string(fieldTimeout), Label: "Timeout", Kind: widget.FieldText, Placeholder: "the product's; as in 90s", Hidden: true},
	}
	return formPane{form: widget.NewForm(th, slices.Insert(fields, 3, productFields()...)...)}
}

func methods() []widget.Option {
	out := []widget.Option{}
	for _, m := range []string{methodGet, "POST", "PUT", "PATCH", "DELETE", methodHead} {
		out = append(out, widget.Option{Value: m})
	}
	return out
}

// folded are the fields that fieldMore shows.
func folded() []field {
	return []field{fieldMethod, fieldHeaders, fieldBody, fieldRequired, fieldCountry, fieldSession, fieldTimeout}
}

// draft reads the form.
func (p *formPane) draft() draft {
	v := func(f field) string { return p.form.Value(string(f)) }
	return draft{
		Zone: v(fieldZone), URL: v(fieldURL), Via: v(fieldVia), Format: v(fieldFormat), Key: v(fieldKey),
		Method: v(fieldMethod), Headers: v(fieldHeaders), Body: v(fieldBody), Required: v(fieldRequired),
		Country: v(fieldCountry), Session: v(fieldSession), Timeout: v(fieldTimeout),
		Options: p.options(), Tool: v(fieldTool), Args: v(fieldArgs),
		Profile: p.profile,
	}
}

// untouched reports whether the form has its initial content.
func (p *formPane) untouched() bool {
	d := p.draft()
	d.Key = ""
	return d == firstDraft()
}

// values are the texts of the fields.
func (d draft) values() map[field]string {
	out := map[field]string{
		fieldZone: d.Zone, fieldURL: d.URL, fieldVia: d.Via, fieldFormat: d.Format, fieldKey: d.Key,
		fieldMethod: d.Method, fieldHeaders: d.Headers, fieldBody: d.Body, fieldRequired: d.Required,
		fieldCountry: d.Country, fieldSession: d.Session, fieldTimeout: d.Timeout,
		fieldTool: d.Tool, fieldArgs: d.Args,
	}
	for _, o := range model.AllOptions() {
		out[field(o.Name)] = o.Or(d.Options)
	}
	return out
}

// fill writes the form and unfolds it if a folded field is in use.
func (p *formPane) fill(d draft) {
	d.Key = cmp.Or(d.Key, p.form.Value(string(fieldKey))) // without one, keep the current key
	for f, v := range d.values() {
		p.form.SetValue(string(f), v)
	}
	p.shapeTool()
	p.profile = d.Profile
	if d.Options != (model.Options{}) {
		d.Country = "" // it stands beside them
	}
	if len(d.extras()) > 0 {
		p.unfold()
	}
}

func (p *formPane) unfold() {
	p.form.SetValue(string(fieldMore), "true")
	p.fold()
}

// fold shows or hides the folded fields, depending on the toggle.
func (p *formPane) fold() {
	for _, f := range folded() {
		if f != fieldCountry { // whose place the product decides, too
			p.form.SetHidden(string(f), p.folded())
		}
	}
}

// folded reports whether the folded fields are hidden.
func (p *formPane) folded() bool { return !p.form.On(string(fieldMore)) }

// hidden names what the fields hold that are folded now.
func (p *formPane) hidden() string {
	if !p.folded() {
		return ""
	}
	d := p.from.draft
	if p.shaped() {
		d.Country = ""
	}
	return strings.Join(d.extras(), ", ")
}

// outcome is everything the form's display depends on.
type outcome struct {
	draft   draft
	folded  bool
	refused []problem
	tried   bool
	session kit.Session
	profile model.Profile
	minute  time.Time // keys expire
	answers int
	args    []string // the texts of a tool's fields
}

// refresh derives the request, the problems of the fields, and the bytes to send.
// AfterMsg calls it; it does nothing if its inputs have not changed. It is pure and
// fast.
func (m *Model) refresh() {
	p := &m.form
	now := m.deps.Profile.Now()
	from := outcome{p.draft(), p.folded(), p.refused, p.tried, m.session, m.deps.Profile.CurrentProfile(), now.Truncate(time.Minute), p.answers, p.arguments()}
	if p.from != nil && reflect.DeepEqual(*p.from, from) {
		return
	}
	p.from = &from
	report, problems := m.check(from.draft)
	p.request = report.Request
	p.unset = slices.DeleteFunc(report.Questions, func(q ask.Question) bool { return q.Kind != ask.Value })
	p.problems = append(append(problems, p.toolProblems()...), p.refused...)
	m.shape()
	for _, f := range append(allFields(), p.argFields()...) {
		p.form.SetError(string(f), "")
		p.form.SetHelp(string(f), p.fieldHelp(f), false)
	}
	for _, pr := range p.problems {
		if p.folded() && slices.Contains(folded(), pr.Field) && (pr.Field != fieldCountry || !p.shaped()) {
			pr.Field, pr.Text = fieldMore, string(pr.Field)+": "+pr.Text
		}
		if pr.Severity == note || pr.Field == fieldURL && m.form.untyped() {
			p.form.SetHelp(string(pr.Field), "! "+pr.Text, true)
		} else {
			p.form.SetError(string(pr.Field), pr.Text)
		}
	}
	p.wire, p.rows = model.WirePreview{}, wireView{}
	if m.session.Ready {
		key, _ := pickKey(m.session, p.request.Key)
		p.wire = m.deps.Fetcher.Preview(from.profile, p.request, key.Last4)
	}
}

// untyped reports whether the address has not been typed yet.
func (p *formPane) untyped() bool { return p.request.URL == "" && !p.tried }

func allFields() []field {
	return append(optionFields(),
		fieldTool, fieldArgs, fieldZone, fieldURL, fieldVia, fieldFormat, fieldKey, fieldMethod, fieldHeaders, fieldBody,
		fieldRequired, fieldCountry, fieldSession, fieldTimeout)
}

func (p *formPane) fieldHelp(f field) string {
	switch f {
	case fieldHeaders:
		return "One header per line. esc ends editing."
	case fieldBody:
		return "esc ends editing."
	case fieldRequired:
		return "One CSS selector or JSON path per line; a missing one is parsing drift. esc ends editing."
	default:
		return cmp.Or(optionHelp(f), p.toolHelp(f))
	}
}

// manyKeys are so many that what is offered of them is made beside the screen, and not anew every second.
const manyKeys = 1000

// zoneOptions offers the zones of the session, with what the history says of them.
func (m *Model) zoneOptions() {
	zones := make([]widget.Option, 0, len(m.session.Zones))
	for _, z := range m.session.Zones {
		o := widget.Option{Value: string(z.Name), Note: z.Product.String()}
		if strip, words := m.history.strip(m.history.recent[string(z.Name)]); strip.Text != "" {
			o.Cells = []widget.Cell{strip, words}
		}
		zones = append(zones, o)
	}
	m.form.form.SetOptions(string(fieldZone), zones)
}

// offerKeys offers the keys of the session.
func (m *Model) offerKeys() tea.Cmd {
	s, now := m.session, m.deps.Profile.Now()
	if len(s.Keys) <= manyKeys {
		m.work.keys.Drop()
		m.form.form.SetOptions(string(fieldKey), keyOptions(s, now))
		return nil
	}
	return kit.Load(kit.Sandbox, &m.work.keys, m.deps.Ctx, func(context.Context) ([]widget.Option, error) {
		return keyOptions(s, now), nil
	}, func(options []widget.Option, _ error) tea.Cmd {
		m.form.form.SetOptions(string(fieldKey), options)
		return nil
	})
}

func keyOptions(s kit.Session, now time.Time) []widget.Option {
	keys := make([]widget.Option, 0, len(s.Keys)+1)
	known := false
	for _, k := range s.Keys {
		o := widget.Option{Value: k.Name, Note: keyNote(s, k, now)}
		if k.Name == s.Key.Name {
			known = true
			o.Note += " · the profile's"
		}
		keys = append(keys, o)
	}
	if k := s.Key; k.Name != "" && !known {
		keys = append([]widget.Option{{Value: k.Name, Note: keyNote(s, k, now) + " · the profile's"}}, keys...)
	}
	return keys
}

func keyNote(session kit.Session, k model.Key, now time.Time) string {
	parts := []string{k.Level.String()}
	if s := k.State(now, model.SoonDays*24*time.Hour); s != model.KeyOK {
		parts = append(parts, s.String())
	}
	if session.OtherAccounts[k.Name] != "" { // whose it is, is said when it is chosen
		parts = append([]string{"another account's"}, parts...)
	}
	if k.Secret == "" {
		parts = append(parts, "tracked only")
	}
	return strings.Join(parts, " · ")
}
