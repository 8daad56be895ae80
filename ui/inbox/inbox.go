package inbox

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/inbox"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Store is the inbox. Every call may block and is made in a command.
type Store interface {
	// Changes returns a number that grows with each change of the inbox.
	Changes(ctx context.Context) (int64, error)
	// Numbers returns the numbers of all matching webhooks, newest first, and how many webhooks there are.
	Numbers(ctx context.Context, f inbox.Filter) (numbers []int64, total int, err error)
	// Rows returns the webhooks with those numbers, without headers. Get returns one, with headers.
	Rows(ctx context.Context, numbers []int64) ([]model.Webhook, error)
	Get(ctx context.Context, id string) (model.Webhook, error)
	Bookmark(ctx context.Context, id string, on bool) error
	// Head returns the first bytes of a body.
	Head(ctx context.Context, d model.Webhook, most int64) (inbox.Head, error)
	// Listening returns where a process of the user receives, "" if none does; here is true for this process.
	Listening(ctx context.Context) (url string, here bool, err error)
	Listen(ctx context.Context, address string) (url string, err error)
	// Stop ends that, and returns the runs of refusals that were not over.
	Stop() (refused []model.WebhookRefusals, err error)
	// Refused returns the runs of refusals, not yet over, of the process that receives.
	Refused(ctx context.Context) ([]model.WebhookRefusals, error)
	// Notice returns what the operator must be told, once, or "".
	Notice() string
	// Replay sends a webhook again, to an address of this machine. It returns the receiver's answer, which is remote
	// text, and whether the receiver accepted the webhook.
	Replay(ctx context.Context, d model.Webhook, to string) (said string, taken bool, err error)
}

// Deps are the parts the overlay works with.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the overlay lives as long as the program
	Now   func() time.Time
	Theme *kit.Theme
	Store Store
	// Address is the default address for receiving. Warning says why the service may not reach this
	// machine, or is empty.
	Address, Warning string
}

// maxHead is how many bytes of a body are shown.
const maxHead = 16 << 10

// Inbox is the overlay. See kit.Overlay.
type Inbox struct {
	deps         Deps
	table        widget.Table
	filter       widget.ListFilter
	list         listing
	loaded       bool
	problem      string
	refused      []model.WebhookRefusals
	url          string // where a process receives, or empty
	receivesHere bool
	open         *opened // nil for the list
	to           string  // where the last replay went
	load         kit.Slot
	neighbours   kit.Slot // of the rows about the cursor
	work         kit.Slot
}

// opened is the shown webhook.
type opened struct {
	webhook model.Webhook
	load    kit.Slot
	head    *inbox.Head // nil until it is read
	err     error
	hex     bool
	scroll  widget.Scroll
	bytesAt int // the line of the bytes in the last frame
}

// Intents.
type (
	show      struct{}
	back      struct{}
	mark      struct{}
	listen    struct{}
	bytes     struct{}
	replay    struct{}
	readAgain struct{}
	ticked    struct{}
	reread    struct{} // after a change
)

// state is the result of reading the inbox.
type state struct {
	list listing
	// unchanged says that the list has not changed, so it was not read.
	unchanged bool
	url       string
	here      bool
	// refused are the runs of refusals that are not over.
	refused []model.WebhookRefusals
	// open is the shown webhook, notice what the operator must be told. Either may be empty.
	open   model.Webhook
	notice string
}

// New makes the overlay. It reads the list when it opens, and then every second.
func New(d Deps) *Inbox {
	b := &Inbox{deps: d, list: listing{changes: -1}}
	b.table.Columns = []widget.Column{
		{Title: "VERDICT", Width: 12},
		{Title: "WEBHOOK", Width: 9},
		{Title: "SEEN", Width: 5, Right: true},
		{Title: "JOB", Width: 9},
		{Title: "OUTCOME", Width: 20, Flex: true, Priority: 2},
		{Title: "AGE", Width: 5, Right: true, Priority: 1},
		{Title: "", Width: 1},
	}
	return b
}

// Init reads the list.
func (b *Inbox) Init() tea.Cmd { return tea.Batch(b.read(true), b.later()) }

// Title is the heading, with where webhooks are received.
func (b *Inbox) Title() string {
	title := "Webhooks" + b.table.News()
	switch {
	case b.url == "":
		return title + " · not receiving"
	case b.receivesHere:
		return title + " · received here at " + b.url
	default:
		return title + " · another zonedeck receives at " + b.url
	}
}

// Hidden are the rows, or the lines of the open webhook, that were not drawn last.
func (b *Inbox) Hidden() (above, below int) {
	if b.open != nil {
		return b.open.scroll.Hidden()
	}
	return b.table.Hidden()
}

// CapturingText reports whether the filter is being typed.
func (b *Inbox) CapturingText() bool { return b.open == nil && b.filter.Typing() }

// Size is most of the screen.
func (b *Inbox) Size(w, h int) (int, int) { return min(120, w-4), max(h-6, 10) }

// read reads the inbox; the list only if it has changed, or anew is set.
func (b *Inbox) read(anew bool) tea.Cmd {
	store, open, was, at := b.deps.Store, "", b.list, b.at()
	if b.open != nil {
		open = b.open.webhook.ID
	}
	asked := b.filter.Text()
	anew = anew || asked != was.filter
	filter, wrong := query.Parse(asked, inbox.Fields(b.deps.Now()))
	return kit.Load(kit.InOverlay(b), &b.load, b.deps.Ctx, func(ctx context.Context) (out state, err error) {
		if err = wrong; wrong == nil {
			out.list, out.unchanged, err = readList(ctx, store, filter, was, at, anew)
			out.list.filter = asked
		}
		var after error
		if open != "" && err == nil {
			if out.open, after = store.Get(ctx, open); after != nil {
				out.open = model.Webhook{} // it may have been cleaned up; keep showing it
			}
		}
		out.notice = store.Notice()
		if out.url, out.here, after = store.Listening(ctx); err == nil {
			err = after
		}
		if out.refused, after = store.Refused(ctx); err == nil {
			err = after
		}
		return out, err
	}, func(s state, err error) tea.Cmd {
		b.apply(s, err)
		if s.notice != "" {
			return tea.Batch(kit.Warn(s.notice), b.nearby())
		}
		return b.nearby()
	})
}

// act makes a call that changes something, and shows the result in a toast, even if the inbox is closed by then. The
// next toast with the same about replaces it. then may be nil.
func (b *Inbox) act(about string, call func(ctx context.Context) (kit.Toast, error), then func(err error) tea.Cmd) tea.Cmd {
	return kit.Load(kit.Root, &b.work, b.deps.Ctx, call, func(said kit.Toast, err error) tea.Cmd {
		if err != nil {
			said = kit.Toast{Kind: kit.ToastError, Text: err.Error()}
		}
		said.About = about
		all := []tea.Cmd{kit.Send(said), kit.Send(kit.ForOverlay{Overlay: b, Msg: reread{}})}
		if then != nil {
			all = append(all, then(err))
		}
		return tea.Batch(all...)
	})
}

// selected is the webhook that a key acts on.
func (b *Inbox) selected() (model.Webhook, bool) {
	if b.open != nil {
		return b.open.webhook, true
	}
	d, ok := b.list.rows[b.at()]
	return d, ok
}

// Update handles intents and motions.
func (b *Inbox) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case widget.FilterIntent:
		return b.filterMsg(msg)
	case ticked:
		if b.load.Running() { // on a slow disk, a new load would cancel it again and again
			return b.later()
		}
		return tea.Batch(b.read(false), b.later())
	case reread:
		return b.read(false)
	case readAgain:
		return b.read(true)
	case back:
		b.open = nil
		return nil
	case bytes:
		if b.open != nil {
			b.open.hex = !b.open.hex
			b.open.scroll.To(b.open.bytesAt)
		}
		return nil
	case listen:
		return b.askListen()
	case show, mark, replay:
		if d, ok := b.selected(); ok {
			return b.actOn(d, msg)
		}
		return nil
	}
	switch {
	case b.open != nil:
		b.open.scroll.Update(msg)
		return nil
	case b.filter.Takes(msg):
		return b.filterMsg(msg)
	}
	b.table.Update(msg)
	return b.nearby()
}

// actOn opens, bookmarks or replays a webhook.
func (b *Inbox) actOn(d model.Webhook, msg tea.Msg) tea.Cmd {
	store := b.deps.Store
	switch msg.(type) {
	case show:
		o := &opened{webhook: d}
		b.open = o
		head := kit.Load(kit.InOverlay(b), &o.load, b.deps.Ctx, func(ctx context.Context) (inbox.Head, error) {
			return store.Head(ctx, d, maxHead)
		}, func(head inbox.Head, err error) tea.Cmd {
			o.head, o.err = &head, err
			return nil
		})
		return tea.Batch(b.read(false), head)
	case mark:
		return b.act("", func(ctx context.Context) (kit.Toast, error) {
			if d.Bookmarked {
				return kit.Toast{Text: d.ID + " is no longer bookmarked"}, store.Bookmark(ctx, d.ID, false)
			}
			return kit.Toast{Text: d.ID + " is bookmarked"}, store.Bookmark(ctx, d.ID, true)
		}, nil)
	default:
		return b.askReplay(d)
	}
}

// refreshEvery is how often the list is read, because another process may receive.
const refreshEvery = time.Second

func (b *Inbox) later() tea.Cmd {
	return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return kit.ForOverlay{Overlay: b, Msg: ticked{}} })
}

func (b *Inbox) apply(s state, err error) {
	b.loaded, b.problem = true, ""
	if err != nil {
		b.problem = err.Error()
		return
	}
	b.url, b.receivesHere, b.refused = s.url, s.here, s.refused
	if !s.unchanged {
		b.takeList(s.list)
	}
	if b.open != nil && b.open.webhook.ID == s.open.ID {
		b.open.webhook = s.open
	}
}

func (b *Inbox) cells(i int) []widget.Cell {
	d, known := b.list.rows[b.list.numbers[i]]
	t := b.deps.Theme
	if !known {
		return []widget.Cell{{Text: "…", Ink: t.Muted}, widget.C(model.WebhookID(b.list.numbers[i]))}
	}
	glyph, ink := b.mark(d.Verdict)
	star := ""
	if d.Bookmarked {
		star = "★"
	}
	return []widget.Cell{
		{Text: glyph + " " + string(d.Verdict), Ink: ink},
		widget.C(d.ID), widget.C(fmt.Sprintf("×%d", d.Times)), widget.C(cmp.Or(d.Job, "-")),
		widget.C(cmp.Or(d.CameOf(), "-")),
		{Text: text.Ago(d.Last, b.deps.Now()), Ink: t.Muted},
		widget.C(star),
	}
}

func (b *Inbox) mark(v model.WebhookVerdict) (string, kit.Ink) {
	t := b.deps.Theme
	switch v {
	case model.WebhookVerified:
		return "✓", t.Good
	case model.WebhookRejected:
		return "✗", t.Bad
	case model.WebhookUnverified:
		return "?", t.Warn
	default:
		return "·", t.Muted
	}
}

// maxFoot is how many lines of text may be below the list.
const maxFoot = 4

// Render draws the list, with a sentence on the selected webhook below it, or the open webhook.
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
	foot := ""
	if b.list.total == 0 {
		foot = "Type inbox as the Notify or Endpoint address of a new job to get its webhook here."
	}
	if d, ok := b.selected(); ok {
		foot = d.Reason
		if came := d.CameOf(); came != "" {
			foot += " · " + came
		}
	}
	if b.receivesHere && b.deps.Warning != "" {
		foot = b.deps.Warning
	}
	if problem := b.filter.Problem(); problem != "" {
		foot = problem
	}
	var above []string
	for _, r := range b.refused {
		above = append(above, widget.Hung(t.Bad.Render("✗ "), t.Bad, b.refusal(r), w)...)
	}
	b.table.Empty = "no webhooks yet"
	switch shown := b.filter.Text() == b.list.filter; {
	case !shown:
		b.table.Empty = "looking…"
	case b.list.total > 0:
		b.table.Empty = "nothing matches: esc shows all webhooks"
	}
	below := widget.Foot(t, w, text.Wrap(text.Clean(foot), max(w-2, 8))...)
	below = below[:min(len(below), 1+maxFoot)]
	if line := b.filterLine(w); line != "" {
		below = append([]string{line}, below...)
	}
	return widget.Stack(strings.Join(append(above, b.table.Render(t, true, w, max(h-len(above)-len(below), 1))), "\n"), strings.Join(below, "\n"))
}

func (b *Inbox) refusal(r model.WebhookRefusals) string {
	return text.Clean(r.Text(func(at time.Time) string { return text.Clock(at, b.deps.Now()) }))
}

// lines draws one webhook: its verdict, outcome, headers and bytes.
func (b *Inbox) lines(w int) []string {
	t, d, now := b.deps.Theme, b.open.webhook, b.deps.Now()
	glyph, ink := b.mark(d.Verdict)
	out := []string{ink.Render(glyph + " " + string(d.Verdict))}
	for _, f := range [][2]string{
		{"why", d.Reason},
		{"job", cmp.Or(strings.TrimSuffix(d.Job+" · "+d.JobState.Label(), " · "), "-")},
		{"snapshot", cmp.Or(d.Snapshot, "-")},
		{"outcome", cmp.Or(d.CameOf(), "-")},
		{"received", text.Clock(d.At, now)},
		{"seen", fmt.Sprintf("×%d, last %s", d.Times, text.Clock(d.Last, now))},
		{"from", d.Remote},
		{"target", d.Target},
		{"bytes", text.Bytes(d.Size) + ", sha256 " + d.SHA256},
		{"file", model.FileOn(d.File, d.Machine)},
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
	b.open.bytesAt = len(out) + 1
	return append(append(out, ""), b.byteLines(w)...)
}

// byteLines draws the first bytes of the body.
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
		for at := 0; at < len(o.head.Raw); at += row {
			part := o.head.Raw[at:min(at+row, len(o.head.Raw))]
			out = append(out, t.Muted.Render(fmt.Sprintf("%06x  ", at))+fmt.Sprintf("%-48s", fmt.Sprintf("% x", part)))
		}
	} else {
		shown := o.head.Raw
		if o.head.Plain != nil {
			shown = o.head.Plain
			out = append(out, t.Muted.Render(text.Cut("inflated from gzip; "+t.Key("inbox.bytes")+" shows the bytes as they came", w)))
		}
		for _, line := range strings.Split(string(shown), "\n") {
			out = append(out, widget.Wrapped(kit.Ink{}, text.Clean(line), w)...)
		}
	}
	if more := o.webhook.Size - int64(len(o.head.Raw)); more > 0 {
		out = append(out, t.Muted.Render(text.Bytes(more)+" more are in the file"))
	} else if len(o.head.Plain) == maxHead && !o.hex {
		out = append(out, t.Muted.Render("more of it is in the file"))
	}
	return out
}
