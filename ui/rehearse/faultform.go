package rehearse

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/local"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Fields of the form that are not fields of a rule.
const (
	fieldPreset = "preset"
	fieldPoint  = "point"
	fieldAction = "action"
	fieldCalls  = "calls"
)

// customFault is the choice of no preset.
const customFault = "custom"

// everyZone stands for a rule without a zone.
const everyZone = "*"

// faultForm is the overlay that adds a fault.
type faultForm struct {
	*widget.FormDialog
	deps   Deps
	preset string // the preset filled in last
	point  string // the point the fields were shown for
	action string
}

func newFaultForm(d Deps) *widget.FormDialog {
	f := &faultForm{deps: d, preset: customFault}
	f.FormDialog = widget.NewFormDialog(d.Theme, "Add a fault", widget.NewForm(d.Theme, faultFields(d)...))
	f.Intro = "Choose a common fault and change it, or fill in your own. It hits every client of the emulator until it is removed or the emulator ends."
	f.Submit = "add it"
	f.OnSubmit = f.add
	f.OnChange = f.follow
	f.Width = 76
	f.follow(f.Form)
	return f.FormDialog
}

func faultFields(d Deps) []widget.Field {
	presets := []widget.Option{{Value: customFault, Label: "none: your own"}}
	for i, p := range local.Presets() {
		presets = append(presets, widget.Option{Value: strconv.Itoa(i), Label: p.Name, Note: p.Rehearses})
	}
	points := make([]widget.Option, 0, len(local.Points()))
	for _, p := range local.Points() {
		points = append(points, widget.Option{Value: p})
	}
	zones := []widget.Option{{Value: everyZone, Label: "every zone"}}
	for _, z := range d.Zones {
		zones = append(zones, widget.Option{Value: z})
	}
	return []widget.Field{
		{Name: fieldPreset, Label: "Common", Kind: widget.FieldPick, Options: presets, Value: customFault, Help: "Fills in the fields below."},
		{Name: fieldPoint, Label: "Where", Kind: widget.FieldChoice, Options: points, Value: "target"},
		{Name: fieldAction, Label: "What", Kind: widget.FieldPick, Value: "status"},
		{Name: "status", Label: "Status", Placeholder: "such as 503", Check: whole},
		{Name: "retry_after", Label: "Retry after", Placeholder: "such as 2s"},
		{Name: "code", Label: "Error code", Placeholder: "such as reject_block"},
		{Name: "message", Label: "Message"},
		{Name: "after", Label: "After bytes", Placeholder: "such as 1024", Check: whole},
		{Name: "pause", Label: "Pause", Placeholder: "between chunks, such as 50ms"},
		{Name: "chunk", Label: "Chunk bytes", Placeholder: "default 1", Check: whole},
		{Name: "rate", Label: "Rate", Placeholder: "bytes a second, such as 1024", Check: whole},
		{Name: "copies", Label: "Copies", Placeholder: "default 2", Check: whole},
		{Name: "delay", Label: "Delay", Placeholder: "before anything else, such as 300ms"},
		{Name: "accepted", Label: "Accepted", Kind: widget.FieldToggle, Help: "The call takes effect; only its answer is lost or replaced."},
		{Name: "zone", Label: "Zone", Kind: widget.FieldPick, Options: zones, Value: everyZone, Free: true},
		{Name: "host", Label: "Host", Placeholder: "of the target or webhook; * is any text"},
		{Name: "path", Label: "Path", Placeholder: "* is any text"},
		{Name: "dataset", Label: "Dataset", Placeholder: "such as gd_products"},
		{Name: fieldCalls, Label: "Which calls", Placeholder: "all; or from=3 times=5 probability=0.3", Help: strings.Join(callFields(), ", ") + ", as in from=3 times=5", Check: checkCalls},
	}
}

// callFields select the calls that are hit.
func callFields() []string {
	return []string{"nth", "from", "until", "every", "times", "probability", "in", "for"}
}

func whole(v string) error {
	if v = strings.TrimSpace(v); v == "" {
		return nil
	}
	if _, err := strconv.ParseUint(v, 10, 62); err != nil {
		return errors.New("write a whole number")
	}
	return nil
}

func checkCalls(v string) error {
	_, err := parseCalls(v)
	return err
}

// parseCalls parses words like from=3.
func parseCalls(v string) (map[string]string, error) {
	out := map[string]string{}
	for word := range strings.FieldsSeq(v) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || value == "" || !slices.Contains(callFields(), name) {
			return nil, fmt.Errorf("%q: write %s, each with = and a value", word, strings.Join(callFields(), ", "))
		}
		out[name] = value
	}
	return out, nil
}

// known are the fields, besides those of the calls, that a point knows.
func known(point string) []string {
	switch point {
	case "webhook":
		return []string{"host", "path"}
	case "job":
		return []string{"dataset", "host", "path"}
	case "api":
		return []string{"zone", "host", "path", "dataset"}
	default:
		return []string{"zone", "host", "path"}
	}
}

// follow updates the fields after a choice.
func (f *faultForm) follow(values *widget.Form) {
	if p := values.Value(fieldPreset); p != f.preset {
		f.preset = p
		f.fillIn(values, p)
	}
	point := values.Value(fieldPoint)
	if point != f.point {
		f.point = point
		var options []widget.Option
		actions := local.Rule{Point: point}.Actions()
		for _, a := range actions {
			options = append(options, widget.Option{Value: a, Note: meaning(a)})
		}
		values.SetOptions(fieldAction, options)
		if !slices.Contains(actions, values.Value(fieldAction)) {
			values.SetValue(fieldAction, actions[0])
		}
	}
	f.action = values.Value(fieldAction)
	shown := append((local.Rule{Point: f.point, Action: f.action}).Values(), known(point)...)
	for _, name := range valueFields() {
		values.SetHidden(name, !slices.Contains(shown, name))
	}
}

// valueFields are the fields that only some faults have.
func valueFields() []string {
	return []string{"status", "retry_after", "code", "message", "after", "pause", "chunk", "rate", "copies", "accepted", "zone", "host", "path", "dataset"}
}

func (f *faultForm) fillIn(values *widget.Form, preset string) {
	i, err := strconv.Atoi(preset)
	if err != nil || i < 0 || i >= len(local.Presets()) {
		return
	}
	r := local.Presets()[i].Rule
	values.SetValue(fieldPoint, r.Point)
	values.SetValue(fieldAction, r.Action)
	for _, name := range append(valueFields(), "delay") {
		values.SetValue(name, r.Fields[name])
	}
	if r.Fields["zone"] == "" {
		values.SetValue("zone", everyZone)
	}
	var calls []string
	for _, name := range callFields() {
		if v := r.Fields[name]; v != "" {
			calls = append(calls, name+"="+v)
		}
	}
	values.SetValue(fieldCalls, strings.Join(calls, " "))
}

// meaning describes an action in a few words.
func meaning(action string) string {
	return map[string]string{
		"latency":   "wait, then go on",
		"status":    "answer with a status",
		"too_fast":  "answer 429",
		"error":     "refuse with an error code",
		"drop":      "close without an answer",
		"reset":     "reset the connection",
		"hang":      "never answer",
		"cut":       "end the body early",
		"dribble":   "send the body in small pieces",
		"bandwidth": "limit the body's rate",
		"malformed": "answer with garbage",
		"empty":     "no body",
		"captcha":   "a CAPTCHA page with status 200",
		"drift":     "other class and id names",
		"late":      "the webhook waits",
		"twice":     "the webhook comes again",
		"never":     "no webhook",
		"fail":      "the job fails",
	}[action]
}

// rule returns the rule that a valid form describes. Hidden fields are ignored.
func (f *faultForm) rule(values *widget.Form) (local.Rule, error) {
	fields, err := parseCalls(values.Value(fieldCalls))
	if err != nil {
		return local.Rule{}, err
	}
	r := local.Rule{Point: values.Value(fieldPoint), Action: values.Value(fieldAction), Fields: fields}
	for _, name := range append(slices.Concat(r.Values(), known(r.Point)), "delay") {
		r.Fields[name] = strings.TrimSpace(values.Value(name))
	}
	if r.Fields["zone"] == everyZone {
		delete(r.Fields, "zone")
	}
	return r, nil
}

// add sets the fault; the dialog stays open until the emulator has accepted it.
func (f *faultForm) add(values *widget.Form) tea.Cmd {
	r, err := f.rule(values)
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	d := f.deps
	return f.Run(func() (tea.Msg, error) {
		added, err := d.Emulator.AddFault(d.Ctx, r)
		return kit.Toast{Text: fmt.Sprintf("added %s at the %s: %s, %s", added.ID, added.Point, added.Effect(), added.Scope())}, err
	})
}
