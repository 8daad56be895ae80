package inbox

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Store is the inbox. Every call may block and is made in a command.
type Store interface {
	// List are the newest webhooks without their headers, and how many there are. Get is one.
	List(ctx context.Context, limit int) (list []model.Delivery, total int, err error)
	Get(ctx context.Context, id string) (model.Delivery, error)
	Bookmark(ctx context.Context, id string, on bool) error
	// Head are the first bytes of a body, as they came.
	Head(d model.Delivery, most int) ([]byte, error)
	// Where is where a process of the user receives, "" where none does; here is true for this one.
	Where(ctx context.Context) (url string, here bool, err error)
	Listen(ctx context.Context, address string) (url string, err error)
	// Stop ends that, and says what was refused until then.
	Stop() (refused []model.HookRefusals, err error)
	// Refused are the runs of webhooks that whoever receives does not store now.
	Refused(ctx context.Context) ([]model.HookRefusals, error)
	// Notice is what the operator must be told, once, or empty.
	Notice() string
	// Replay sends one once more to an address of this machine, with the bytes of a file where
	// that is not empty, and says what the receiver answered.
	Replay(ctx context.Context, d model.Delivery, to, edited string, sign bool) (said string, err error)
	// Editor opens the body in the operator's editor: done is the message after that, with the
	// file of the edited copy. It is nil where no editor is set.
	Editor(d model.Delivery, done func(file string, err error) tea.Msg) tea.Cmd
}

// Deps are the parts the overlay works with.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the overlay lives as long as the program
	Now   func() time.Time
	Theme *kit.Theme
	Store Store
	// Address is where it listens unless another is typed; Warning says why the service may not
	// reach this machine, or is empty.
	Address, Warning string
}

// maxListed bounds the list, maxHead the bytes that are shown of a body.
const (
	maxListed = 1000
	maxHead   = 16 << 10
)

// Inbox is the overlay. See kit.Overlay.
type Inbox struct {
	deps    Deps
	table   widget.Table
	list    []model.Delivery
	total   int
	loaded  bool
	problem string
	refused []model.HookRefusals
	url     string // where somebody receives
	here    bool
	open    *opened // nil for the list
	load    kit.Slot
	work    kit.Slot
}

// opened is the webhook that is shown.
type opened struct {
	delivery model.Delivery
	head     []byte
	err      error
	hex      bool
	scroll   widget.Scroll
}

// Intents, and the results of calls.
type (
	show   struct{}
	back   struct{}
	mark   struct{}
	listen struct{}
	bytes  struct{}
	replay struct{}
	edit   struct{}
	again  struct{}
	ticked struct{}
	listed struct {
		list  []model.Delivery
		total int
		url   string
		here  bool
		// refused is what is not stored.
		refused []model.HookRefusals
		// open is the webhook that is shown, notice what the operator must be told; or empty.
		open   model.Delivery
		notice string
		err    error
	}
	headRead struct {
		id   string
		head []byte
		err  error
	}
	done   struct{}
	edited struct {
		delivery model.Delivery
		file     string
		err      error
	}
)

// New makes the overlay; the list is read when it opens, and every second from then on.
func New(d Deps) *Inbox {
	b := &Inbox{deps: d}
	b.table.Columns = []widget.Column{
		{Title: "VERDICT", Width: 12},
		{Title: "WEBHOOK", Width: 9},
		{Title: "SEEN", Width: 5, Right: true},
		{Title: "JOB", Width: 9},
		{Title: "OUTCOME", Width: 20, Flex: true, Priority: 2},
		{Title: "AGE", Width: 5, Right: true, Priority: 1},
		{Title: "", Width: 1},
	}
	b.table.Empty = "no webhook has come yet"
	return b
}

// Init reads the list.
func (b *Inbox) Init() tea.Cmd { return tea.Batch(b.read(), b.later()) }

// Title is the heading: where it listens.
func (b *Inbox) Title() string {
	title := "Webhooks"
	if b.total > len(b.list) {
		title += fmt.Sprintf(" · the %d newest of %d", len(b.list), b.total)
	}
	switch {
	case b.url == "":
		return title + " · nobody receives"
	case b.here:
		return title + " · received here at " + b.url
	default:
		return title + " · another zonedeck receives at " + b.url
	}
}

// Size is most of the screen.
func (b *Inbox) Size(w, h int) (int, int) { return min(120, w-4), max(h-6, 10) }

func (b *Inbox) read() tea.Cmd {
	store, open := b.deps.Store, ""
	if b.open != nil {
		open = b.open.delivery.ID
	}
	return kit.Do("", &b.load, b.deps.Ctx, func(ctx context.Context) tea.Msg {
		var out listed
		out.list, out.total, out.err = store.List(ctx, maxListed)
		var err error
		if open != "" && out.err == nil {
			if out.open, err = store.Get(ctx, open); err != nil {
				out.open = model.Delivery{} // it may be cleaned up by now, and stays as it is
			}
		}
		out.notice = store.Notice()
		if out.url, out.here, err = store.Where(ctx); out.err == nil {
			out.err = err
		}
		if out.refused, err = store.Refused(ctx); out.err == nil {
			out.err = err
		}
		return kit.ForOverlay{Overlay: b, Msg: out}
	})
}

// does makes a call that changes something, and says how it went, also when the inbox is closed by
// then.
func (b *Inbox) does(call func(ctx context.Context) (says string, err error)) tea.Cmd {
	return kit.Do("", &b.work, b.deps.Ctx, func(ctx context.Context) tea.Msg {
		says, err := call(ctx)
		said := kit.Info(says)
		if err != nil {
			said = kit.Fail(err.Error())
		}
		return tea.Batch(said, kit.Send(kit.ForOverlay{Overlay: b, Msg: done{}}))
	})
}

// selected is the webhook that a key acts on.
func (b *Inbox) selected() (model.Delivery, bool) {
	if b.open != nil {
		return b.open.delivery, true
	}
	if i := b.table.Cursor(); i < len(b.list) {
		return b.list[i], true
	}
	return model.Delivery{}, false
}

// Bindings are the overlay's keys.
func (b *Inbox) Bindings() []kit.Binding {
	const group = "Webhooks"
	d, ok := b.selected()
	none, busy := "", ""
	if !ok {
		none = "no webhook is selected"
	}
	if b.work.Running() {
		busy = "it is being worked on"
	}
	receive := kit.Binding{Keys: []string{"s"}, Label: "receive", Help: "Begin to receive webhooks here, at an address of this machine.", Group: group, Intent: listen{}, Disabled: busy}
	switch {
	case b.here:
		receive.Label, receive.Help = "stop", "Receive no more webhooks here."
	case b.url != "":
		receive.Disabled = "another zonedeck receives already, at " + b.url
	}
	bookmark := kit.Binding{Keys: []string{"b"}, Label: "bookmark", Help: "Keep the webhook from being cleaned up, or no longer.", Group: group, Intent: mark{}, Disabled: cmp.Or(none, busy)}
	if d.Bookmarked {
		bookmark.Label = "no bookmark"
	}
	rest := []kit.Binding{
		receive, bookmark,
		{Keys: []string{"R"}, Label: "replay", Help: "Send its bytes once more, to an address of this machine.", Group: group, Intent: replay{}, Disabled: cmp.Or(none, busy)},
		{Keys: []string{"e"}, Label: "edit, replay", Help: "Edit a copy of its body and send that, to an address of this machine.", Group: group, Intent: edit{}, Disabled: cmp.Or(none, busy), Hidden: b.open == nil},
		{Keys: []string{"r"}, Label: "reload", Help: "Read the inbox again.", Group: group, Intent: again{}, Hidden: true},
	}
	if b.open != nil {
		return append(append(rest,
			kit.Binding{Keys: []string{"x"}, Label: "bytes", Help: "Show the bytes in hexadecimal digits, or as text.", Group: group, Intent: bytes{}},
			kit.Binding{Keys: []string{"esc"}, Label: "back", Help: "Go back to the list.", Group: group, Intent: back{}}), widget.MotionBindings()...)
	}
	return append(append([]kit.Binding{
		{Keys: []string{"enter"}, Label: "open", Help: "Show its headers, its bytes and what came of it.", Group: group, Intent: show{}, Disabled: none},
	}, rest...), append([]kit.Binding{{Keys: []string{"esc", "i"}, Label: "close", Help: "Go back to the jobs.", Group: group, Intent: kit.Close{}}}, widget.MotionBindings()...)...)
}

// Update handles intents, results of calls and motions.
func (b *Inbox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		b.take(msg)
		if msg.notice != "" {
			return kit.Warn(msg.notice)
		}
		return nil
	case ticked:
		if b.load.Running() { // on a slow disk: a new one would cancel it, again and again
			return b.later()
		}
		return tea.Batch(b.read(), b.later())
	case headRead:
		if b.open != nil && b.open.delivery.ID == msg.id {
			b.open.head, b.open.err = msg.head, msg.err
		}
		return nil
	case done:
		return b.read()
	case edited:
		return b.askEdited(msg)
	case again:
		return b.read()
	case back:
		b.open = nil
		return nil
	case bytes:
		if b.open != nil {
			b.open.hex = !b.open.hex
		}
		return nil
	case listen:
		return b.askListen()
	}
	if d, ok := b.selected(); ok {
		if cmd, handled := b.actOn(d, msg); handled {
			return cmd
		}
	}
	if b.open != nil {
		b.open.scroll.Update(msg)
		return nil
	}
	b.table.Update(msg)
	return nil
}

// actOn handles the intents about a webhook.
func (b *Inbox) actOn(d model.Delivery, msg tea.Msg) (cmd tea.Cmd, handled bool) {
	store := b.deps.Store
	switch msg.(type) {
	case show:
		b.open = &opened{delivery: d}
		return tea.Batch(b.read(), func() tea.Msg {
			head, err := store.Head(d, maxHead)
			return kit.ForOverlay{Overlay: b, Msg: headRead{d.ID, head, err}}
		}), true
	case mark:
		return b.does(func(ctx context.Context) (string, error) {
			if d.Bookmarked {
				return d.ID + " is no longer bookmarked", store.Bookmark(ctx, d.ID, false)
			}
			return d.ID + " is bookmarked", store.Bookmark(ctx, d.ID, true)
		}), true
	case replay:
		return b.askReplay(d, ""), true
	case edit:
		cmd := store.Editor(d, func(file string, err error) tea.Msg {
			return kit.ForOverlay{Overlay: b, Msg: edited{d, file, err}}
		})
		if cmd == nil {
			cmd = kit.Warn("no editor is set: VISUAL or EDITOR names one")
		}
		return cmd, true
	}
	return nil, false
}

// refreshEvery is how often the list is read: another process may receive.
const refreshEvery = time.Second

func (b *Inbox) later() tea.Cmd {
	return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return kit.ForOverlay{Overlay: b, Msg: ticked{}} })
}

func (b *Inbox) take(l listed) {
	b.loaded, b.problem = true, ""
	if l.err != nil {
		b.problem = l.err.Error()
		return
	}
	selected, _ := b.selected()
	b.list, b.total, b.url, b.here, b.refused = l.list, l.total, l.url, l.here, l.refused
	b.table.SetRows(len(b.list), b.cells)
	for i, d := range b.list {
		if d.ID != selected.ID {
			continue
		}
		b.table.SetCursor(i)
	}
	if b.open != nil && b.open.delivery.ID == l.open.ID {
		b.open.delivery = l.open
	}
}

func (b *Inbox) cells(i int) []widget.Cell {
	d, t := b.list[i], b.deps.Theme
	glyph, ink := b.mark(d.Verdict)
	star := ""
	if d.Bookmarked {
		star = "★"
	}
	return []widget.Cell{
		{Text: glyph + " " + string(d.Verdict), Ink: ink},
		widget.C(d.ID), widget.C(fmt.Sprintf("×%d", d.Seen)), widget.C(cmp.Or(d.Job, "-")),
		widget.C(cmp.Or(d.Outcome, "-")),
		{Text: text.Ago(d.Last, b.deps.Now()), Ink: t.Muted},
		widget.C(star),
	}
}

func (b *Inbox) mark(v model.HookVerdict) (string, kit.Ink) {
	t := b.deps.Theme
	switch v {
	case model.HookVerified:
		return "✓", t.Good
	case model.HookRejected:
		return "✗", t.Bad
	case model.HookUnverified:
		return "?", t.Warn
	default:
		return "·", t.Muted
	}
}

// maxFoot bounds the lines below the list.
const maxFoot = 4

// Render draws the list with a sentence on the selected webhook, or one webhook.
func (b *Inbox) Render(w, h int) string {
	t := b.deps.Theme
	switch {
	case b.problem != "":
		return widget.Block("\n"+strings.Join(widget.Hung(" "+t.Bad.Render("✗ "), kit.Ink{}, b.problem, w-1), "\n"), w, h)
	case !b.loaded:
		return widget.Block("\n "+t.Muted.Render("reading…"), w, h)
	case b.open != nil:
		lines := b.lines(w)
		return widget.Block(strings.Join(b.open.scroll.Visible(lines, h), "\n"), w, h)
	}
	foot := "Type inbox as the Notify or Endpoint address of a new job, and its webhook comes here."
	if d, ok := b.selected(); ok {
		foot = d.Why
		if d.Outcome != "" {
			foot += " · " + d.Outcome
		}
	}
	if b.here && b.deps.Warning != "" {
		foot = b.deps.Warning
	}
	var above []string
	for _, r := range b.refused {
		above = append(above, widget.Hung(t.Bad.Render("✗ "), t.Bad, b.refusal(r), w)...)
	}
	below := widget.Foot(t, w, text.Wrap(text.Clean(foot), max(w-2, 8))...)
	below = below[:min(len(below), 1+maxFoot)]
	return widget.Stack(strings.Join(append(above, b.table.Render(t, true, w, max(h-len(above)-len(below), 1))), "\n"), strings.Join(below, "\n"))
}

func (b *Inbox) refusal(r model.HookRefusals) string {
	return text.Clean(r.Text(func(at time.Time) string { return text.Clock(at, b.deps.Now()) }))
}

// lines are one webhook: its verdict, what came of it, headers and bytes.
func (b *Inbox) lines(w int) []string {
	t, d, now := b.deps.Theme, b.open.delivery, b.deps.Now()
	glyph, ink := b.mark(d.Verdict)
	out := []string{ink.Render(glyph + " " + string(d.Verdict))}
	for _, f := range [][2]string{
		{"why", d.Why},
		{"job", cmp.Or(d.Job, "-")},
		{"snapshot", cmp.Or(d.Snapshot, "-")},
		{"outcome", cmp.Or(d.Outcome, "-")},
		{"received", text.Clock(d.At, now)},
		{"seen", fmt.Sprintf("×%d, last %s", d.Seen, text.Clock(d.Last, now))},
		{"from", d.Remote},
		{"target", d.Target},
		{"bytes", text.Bytes(d.Size) + ", sha256 " + d.SHA256},
		{"file", d.File},
	} {
		out = append(out, widget.Fact(t, f[0], text.Clean(f[1]), w)...)
	}
	for _, r := range d.Repeats {
		out = append(out, widget.Fact(t, "also", text.Clean(text.Clock(r.Last, now)+" "+r.Text()), w)...)
	}
	out = append(out, "")
	for _, h := range d.Headers {
		out = append(out, widget.Hung(t.Muted.Render(text.Clean(h.Name)+": "), kit.Ink{}, text.Clean(h.Value), w)...)
	}
	return append(append(out, ""), b.byteLines(w)...)
}

// byteLines are the first bytes of the body.
func (b *Inbox) byteLines(w int) []string {
	t, o := b.deps.Theme, b.open
	switch {
	case o.err != nil:
		return widget.Wrapped(t.Bad, "its bytes cannot be read: "+text.Clean(o.err.Error()), w)
	case o.head == nil:
		return []string{t.Muted.Render("reading its bytes…")}
	}
	var out []string
	if o.hex {
		const row = 16
		for at := 0; at < len(o.head); at += row {
			part := o.head[at:min(at+row, len(o.head))]
			out = append(out, t.Muted.Render(fmt.Sprintf("%06x  ", at))+fmt.Sprintf("%-48s", fmt.Sprintf("% x", part)))
		}
	} else {
		for _, line := range strings.Split(string(o.head), "\n") {
			out = append(out, widget.Wrapped(kit.Ink{}, text.Clean(line), w)...)
		}
	}
	if more := o.delivery.Size - int64(len(o.head)); more > 0 {
		out = append(out, t.Muted.Render(text.Bytes(more)+" more are in the file"))
	}
	return out
}
