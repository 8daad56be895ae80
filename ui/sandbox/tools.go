package sandbox

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Tools lists the tools of agent access with a key of the inventory, "" for the
// profile's. The diagnosis says how it went.
type Tools interface {
	Tools(ctx context.Context, key string) ([]fetch.Tool, model.Diagnosis, error)
}

// toolList is what is known of the tools of agent access.
type toolList struct {
	address string // of the endpoint that was asked; "" before
	tools   []fetch.Tool
	problem string // why there are none, or ""
}

// listTools lists the tools again.

// toolAnswer is what the endpoint answers; the diagnosis says how it went.
type toolAnswer struct {
	tools []fetch.Tool
	model.Diagnosis
}

// argField begins the names of the fields of a tool's arguments.
const argField = "arg:"

// wantTools lists the tools when the form goes by agent access and they are not known.
func (m *Model) wantTools() tea.Cmd {
	address := m.deps.Profile.CurrentProfile().AgentURL
	if m.form.request.Via != model.ViaAgent || !m.session.Ready || address == "" || address == m.form.tools.address || m.deps.Tools == nil {
		return nil
	}
	return m.listTools()
}

func (m *Model) listTools() tea.Cmd {
	address, key, list := m.deps.Profile.CurrentProfile().AgentURL, m.form.request.Key, m.deps.Tools.Tools
	m.form.tools = toolList{address: address}
	return kit.Load(kit.Sandbox, &m.work.tools, m.deps.Ctx, func(ctx context.Context) (a toolAnswer, err error) {
		a.tools, a.Diagnosis, err = list(ctx, key)
		return a, err
	}, func(a toolAnswer, err error) tea.Cmd {
		m.form.toolsListed(address, a, err)
		return nil
	})
}

func (p *formPane) toolsListed(address string, a toolAnswer, err error) {
	l := toolList{address: address, tools: a.tools}
	switch {
	case err != nil:
		l.problem = err.Error()
	case !a.OK():
		l.problem = a.Summary
		for _, e := range a.Evidence {
			if e.Kind == "error" {
				l.problem += " " + e.Text
			}
		}
	}
	p.tools = l
	options := []widget.Option{{Value: "", Label: "fetch the URL", Note: "by the tool that fetches a page"}}
	for _, t := range l.tools {
		options = append(options, widget.Option{Value: t.Name, Note: text.Clean(toolTitle(t))})
	}
	p.form.SetOptions(string(fieldTool), options)
	p.shapeTool()
	p.from = nil // the fields are others
}

// toolTitle is what a tool says of itself, in a few words.
func toolTitle(t fetch.Tool) string {
	if t.Title != "" && t.Title != t.Name {
		return t.Title
	}
	first, _, _ := strings.Cut(t.Description, ". ")
	return first
}

// shapeTool shows a field for each argument of the form's tool, with the arguments that the
// form holds. Arguments that its schema does not have stay as JSON.
func (p *formPane) shapeTool() {
	name := strings.TrimSpace(p.form.Value(string(fieldTool)))
	p.tool = nil
	if i := slices.IndexFunc(p.tools.tools, func(t fetch.Tool) bool { return t.Name == name }); i >= 0 && name != "" {
		t := p.tools.tools[i]
		if texts, left := t.Texts(p.form.Value(string(fieldArgs))); !left {
			p.tool = &t
			p.spliceArgs(texts)
			return
		}
	}
	p.spliceArgs(nil)
}

func (p *formPane) spliceArgs(texts map[string]string) {
	var fields []widget.Field
	if p.tool != nil {
		for _, in := range p.tool.Inputs {
			fields = append(fields, argumentField(in, texts[in.Name]))
		}
	}
	p.form.Splice(string(fieldArgs), func(name string) bool { return strings.HasPrefix(name, argField) }, fields...)
}

// argumentField is the field of one argument.
func argumentField(in fetch.ToolInput, value string) widget.Field {
	f := widget.Field{Name: argField + in.Name, Label: text.Cut(text.Clean(in.Name), 16), Value: value, Help: text.Clean(in.Description)}
	if in.Required {
		f.Label += " *"
	}
	standard := "not sent"
	if in.Default != "" {
		standard = "default: " + text.Cut(text.Clean(strings.ReplaceAll(in.Default, "\n", ", ")), 40)
	}
	f.Placeholder = standard
	switch in.Kind {
	case fetch.ToolChoice:
		f.Kind = widget.FieldPick
		f.Options = append(f.Options, widget.Option{Value: "", Label: standard})
		for _, c := range in.Choices {
			f.Options = append(f.Options, widget.Option{Value: c, Label: text.Clean(c)})
		}
	case fetch.ToolSwitch:
		f.Kind = widget.FieldChoice
		f.Options = []widget.Option{{Value: "", Label: standard}, {Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
	case fetch.ToolLines:
		f.Kind, f.Rows, f.Placeholder = widget.FieldArea, 3, "one a line; "+standard
	case fetch.ToolJSON:
		f.Kind, f.Rows, f.Placeholder = widget.FieldArea, 3, "JSON; "+standard
	default:
		f.Kind = widget.FieldText
	}
	return f
}

// edited keeps fields that follow from each other together after an edit.
func (p *formPane) edited(before draft) {
	p.follow(before)
	if now := p.draft(); now.Tool != before.Tool {
		p.form.SetValue(string(fieldArgs), "")
		p.shapeTool()
		if args := p.argFields(); len(args) > 0 && p.form.Focused() != string(fieldTool) {
			p.form.FocusOn(string(args[0]), false) // they were not there when the focus went on
		}
	}
	p.takeArgs()
}

// takeArgs writes the arguments from their fields.
func (p *formPane) takeArgs() {
	if p.tool == nil {
		return
	}
	args, _ := p.tool.Args(p.argument)
	p.form.SetValue(string(fieldArgs), args)
}

func (p *formPane) argument(name string) string { return p.form.Value(argField + name) }

// toolProblems are the problems of the arguments' fields, and of the list of tools.
func (p *formPane) toolProblems() []problem {
	if p.request.Via != model.ViaAgent {
		return nil
	}
	var out []problem
	if p.tools.problem != "" {
		out = append(out, problem{fieldTool, note, "the tools could not be listed: " + text.Clean(p.tools.problem)})
	}
	if p.tool == nil {
		return out
	}
	_, wrong := p.tool.Args(p.argument)
	for _, in := range p.tool.Inputs {
		if err := wrong[in.Name]; err != nil {
			out = append(out, problem{field(argField + in.Name), stop, text.Clean(err.Error())})
		}
	}
	return out
}

// argFields are the fields of the tool's arguments.
func (p *formPane) argFields() []field {
	if p.tool == nil {
		return nil
	}
	var out []field
	for _, in := range p.tool.Inputs {
		out = append(out, field(argField+in.Name))
	}
	return out
}

// arguments are the texts of those fields.
func (p *formPane) arguments() []string {
	var out []string
	for _, f := range p.argFields() {
		out = append(out, p.form.Value(string(f)))
	}
	return out
}

// toolHelp is what the endpoint says of the tool, or of one of its arguments.
func (p *formPane) toolHelp(f field) string {
	if p.tool == nil {
		return ""
	}
	if f == fieldTool {
		return text.Cut(text.Clean(p.tool.Description), 160)
	}
	for _, in := range p.tool.Inputs {
		if string(f) == argField+in.Name {
			return text.Clean(in.Description)
		}
	}
	return ""
}
