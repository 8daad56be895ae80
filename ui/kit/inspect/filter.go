package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/filter"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

const (
	// typingPause is how long one has to stop typing before a filter runs.
	typingPause = 150 * time.Millisecond
)

// filterLine is the filter that is typed, with its result.
type filterLine struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every run ends with it
	theme *kit.Theme
	kind  filter.Kind // "" for a body without filters
	on    bool        // the filter is on the screen

	prompt  textinput.Model
	typing  bool
	past    filter.History
	loading kit.Slot // of kept, once
	loaded  bool
	history map[filter.Kind][]string // the newest last
	at      int                      // place in the history; its length for what is being typed
	draft   string                   // what was being typed before going back

	doc  *filter.Document   // read once for all runs
	stop context.CancelFunc // ends reading doc
	run  kit.Slot
	ran  string // the filter that the result is of
	res  filter.Result
	err  error
	have bool
	out  *body.View
}

// FilterHistory is where filters of bodies are remembered; its zero value is nowhere.
type FilterHistory = filter.History

// Intents of the filter.
type (
	openFilter   struct{}
	filterIntent int
)

const (
	filterKeep filterIntent = iota
	filterEdit
	filterEnd
	filterOlder
	filterNewer
	filterCopy
)

func newFilterLine(ctx context.Context, view kit.ViewID, theme *kit.Theme) filterLine {
	return filterLine{
		view: view, ctx: ctx, theme: theme, out: body.New(ctx, view, theme),
		prompt: widget.NewInput(theme), history: map[filter.Kind][]string{},
	}
}

// open begins typing a filter of the body.
func (f *filterLine) open(src body.Source) tea.Cmd {
	if f.kind == "" || src.Reader == nil {
		return nil
	}
	f.on = true
	f.prompt.SetValue("")
	if f.doc == nil {
		var life context.Context
		life, f.stop = context.WithCancel(f.ctx)
		f.doc = filter.New(life, f.kind, src.Reader, src.Size)
	}
	return tea.Batch(f.edit(), f.load())
}

// load reads what was kept of earlier sessions, when the first filter is opened.
func (f *filterLine) load() tea.Cmd {
	if f.loaded {
		return nil
	}
	f.loaded = true
	kept := f.past
	return kit.Load(f.view, &f.loading, f.ctx, func(context.Context) (map[filter.Kind][]string, error) { return kept.Load() }, f.earlier)
}

// earlier puts the filters of earlier sessions before those of this one.
func (f *filterLine) earlier(all map[filter.Kind][]string, err error) tea.Cmd {
	for kind, list := range all {
		before := len(f.history[kind])
		for _, expr := range f.history[kind] {
			list = filter.Remember(list, expr)
		}
		f.history[kind] = list
		if kind == f.kind {
			f.at += len(list) - before
		}
	}
	if err != nil {
		return kit.Warn(err.Error())
	}
	return nil
}

func (f *filterLine) edit() tea.Cmd {
	value := f.prompt.Value()
	f.prompt = widget.NewInput(f.theme) // the theme may have changed
	f.prompt.SetValue(value)
	f.prompt.CursorEnd()
	f.typing, f.at = true, len(f.history[f.kind])
	return tea.Batch(f.prompt.Focus(), f.start())
}

// close ends the filter and forgets the body.
func (f *filterLine) close() {
	f.end()
	if f.stop != nil {
		f.stop()
	}
	f.doc, f.stop = nil, nil
}

// end takes the filter off the screen.
func (f *filterLine) end() {
	f.run.Drop()
	f.out.Close()
	f.on, f.typing, f.ran, f.err, f.have, f.res = false, false, "", nil, false, filter.Result{}
}

func (f *filterLine) bindings() []kit.Binding {
	const group = "Filter"
	if f.typing {
		return []kit.Binding{
			{Name: "body.keep-filter", Keys: []string{"enter"}, Label: "keep", Help: "Stop typing and move in the result.", Group: group, Intent: filterKeep, WhileTyping: true},
			{Name: "body.end-filter", Keys: []string{"esc"}, Label: "end " + string(f.kind), Help: "Show the whole body again.", Group: group, Intent: filterEnd, WhileTyping: true},
			{Name: "body.older-filter", Keys: []string{"up"}, Label: "older", Help: "Take the filter before from the history.", Group: group, Intent: filterOlder, WhileTyping: true},
			{Name: "body.newer-filter", Keys: []string{"down"}, Label: "newer", Help: "Take the filter after it from the history.", Group: group, Intent: filterNewer, WhileTyping: true},
		}
	}
	if f.out.CapturingText() {
		return f.out.Bindings()
	}
	out := []kit.Binding{
		{Name: "body.filter", Keys: []string{"|"}, Label: "edit " + string(f.kind), Help: "Change the filter.", Group: group, Intent: filterEdit},
		{Name: "body.copy-result", Keys: []string{"Y"}, Label: "copy result", Help: "Copy the result of the filter.", Group: group, Intent: filterCopy},
	}
	if f.res.Matches == 0 {
		out[1].Disabled = "the filter has no result"
	}
	out = append(out, f.out.Bindings()...) // esc ends a search first
	return append(out, kit.Binding{Name: "body.end-filter", Keys: []string{"esc"}, Label: "end " + string(f.kind), Help: "Show the whole body again.", Group: group, Intent: filterEnd})
}

func (f *filterLine) act(i filterIntent) tea.Cmd {
	switch i {
	case filterKeep:
		if f.err != nil && !f.have {
			return nil // there is no result to move in
		}
		f.typing = false
		f.prompt.Blur()
		kept := f.remember(f.prompt.Value())
		if strings.TrimSpace(f.prompt.Value()) == "" {
			f.end()
		}
		return kept
	case filterEdit:
		return f.edit()
	case filterEnd:
		kept := f.remember(f.ran)
		f.end()
		return kept
	case filterOlder:
		return f.recall(-1)
	case filterNewer:
		return f.recall(1)
	case filterCopy:
		return kit.CopyText("result of the filter", string(f.res.Text))
	}
	return nil
}

// remember puts a filter that ran without an error at the end of the history.
func (f *filterLine) remember(expr string) tea.Cmd {
	expr = strings.TrimSpace(expr)
	list := f.history[f.kind]
	if expr == "" || expr != f.ran || f.err != nil || len(list) > 0 && list[len(list)-1] == expr {
		return nil
	}
	f.history[f.kind] = filter.Remember(list, expr)
	ctx, kept, kind := f.ctx, f.past, f.kind
	return func() tea.Msg {
		if err := kept.Add(ctx, kind, expr); err != nil {
			return kit.Warn("the filter is remembered for this session only: " + err.Error())()
		}
		return nil
	}
}

// recall goes through the history.
func (f *filterLine) recall(by int) tea.Cmd {
	list := f.history[f.kind]
	to := f.at + by
	if to < 0 || to > len(list) {
		return nil
	}
	if f.at == len(list) {
		f.draft = f.prompt.Value()
	}
	f.at = to
	value := f.draft
	if to < len(list) {
		value = list[to]
	}
	f.prompt.SetValue(value)
	f.prompt.CursorEnd()
	return f.start()
}

// input takes keys and pastes while a filter is typed, and passes on others.
func (f *filterLine) input(msg tea.Msg) tea.Cmd {
	if !f.typing {
		return f.out.Update(msg)
	}
	before := f.prompt.Value()
	cmd := widget.UpdateInput(&f.prompt, msg)
	if f.prompt.Value() == before {
		return cmd
	}
	f.at = len(f.history[f.kind])
	return tea.Batch(cmd, f.start())
}

// start runs the filter once typing has paused; a run before is cancelled.
func (f *filterLine) start() tea.Cmd {
	expr := strings.TrimSpace(f.prompt.Value())
	if expr == "" {
		f.run.Drop()
		f.out.Close()
		f.ran, f.err, f.have, f.res = "", nil, false, filter.Result{}
		return nil
	}
	kind, doc := f.kind, f.doc
	return kit.Load(f.view, &f.run, f.ctx, func(ctx context.Context) (filter.Result, error) {
		pause := time.NewTimer(typingPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return filter.Result{}, ctx.Err()
		}
		if err := filter.Check(kind, expr); err != nil { // said before the body was read
			return filter.Result{}, err
		}
		return doc.Run(ctx, expr)
	}, func(res filter.Result, err error) tea.Cmd { return f.filtered(expr, res, err) })
}

// filtered shows a result. An error leaves the result before it on the screen.
func (f *filterLine) filtered(expr string, res filter.Result, err error) tea.Cmd {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if f.err = err; err != nil {
		if f.typing || f.have {
			return nil
		}
		f.typing = true // enter came before the error, and there is nothing else to move in
		return f.prompt.Focus()
	}
	f.ran, f.res, f.have = expr, res, true
	var kept tea.Cmd
	if !f.typing { // enter came within the pause
		kept = f.remember(f.ran)
	}
	return tea.Batch(kept, f.out.Open(body.Source{Reader: bytes.NewReader(res.Text), Size: int64(len(res.Text)), Type: res.Type}))
}

// render draws the page and, below it, the line that is typed with the beginning of its result; then the whole result.
func (f *filterLine) render(page func(h int) string, focused bool, w, h int) string {
	line, preview := f.line(focused, w), f.preview(w)
	switch {
	case f.typing && h > 3 && preview != "":
		return page(h-2) + "\n" + preview + "\n" + line
	case h < 2:
		return line
	case f.typing || !f.have:
		return page(h-1) + "\n" + line
	case f.res.Matches == 0:
		return preview + blank(w, h-2) + "\n" + line
	}
	return f.out.Render(focused, w, h-1) + "\n" + line
}

// preview is the beginning of the result in a line, "" without one.
func (f *filterLine) preview(w int) string {
	if !f.have {
		return ""
	}
	words := strings.Join(strings.Fields(string(f.res.Text[:min(len(f.res.Text), 8*w)])), " ")
	return text.Fit(" "+f.theme.Muted.Render("→ ")+cmp.Or(text.Clean(words), "nothing matches"), w)
}

// hint stands in the empty line: the filter that up recalls, else what a filter looks like.
func (f *filterLine) hint() string {
	switch list := f.history[f.kind]; {
	case len(list) > 0:
		return "up recalls " + text.Clean(list[len(list)-1])
	case f.kind == filter.CSS:
		return "such as a[href], .price, table tr:nth-child(2)"
	}
	return "such as .items[0], .items[].name, keys"
}

// line is the filter, and what came of it.
func (f *filterLine) line(focused bool, w int) string {
	t := f.theme
	right := ""
	switch {
	case f.err != nil:
		right = t.Bad.Render("✗ " + text.Cut(text.Clean(f.err.Error()), w*2/3))
	case f.run.Running():
		right = t.Muted.Render("…")
	case f.have:
		words := text.Counted(f.res.Matches, "result")
		if f.res.Note != "" {
			words += "; " + f.res.Note
		}
		right = t.Muted.Render(text.Cut(words, w*2/3))
	}
	left := " " + t.KeyHint.Render(string(f.kind)+" ›") + " "
	room := max(w-text.Width(left)-text.Width(right)-3, 8)
	if f.typing && focused {
		f.prompt.SetWidth(room)
		f.prompt.Placeholder = f.hint()
		left += widget.ViewInput(f.prompt)
	} else {
		left += t.Accent.Render(text.Cut(text.Clean(f.prompt.Value()), room))
	}
	return text.Edge(left, right+" ", w)
}
