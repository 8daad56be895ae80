package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/batch"
	"zonedeck/service/fetch"
	"zonedeck/service/files"
	"zonedeck/service/filter"
	"zonedeck/service/history"
	servicekeys "zonedeck/service/keys"
	"zonedeck/service/local"
	"zonedeck/service/records"
	"zonedeck/service/saved"
	"zonedeck/ui"
	"zonedeck/ui/code"
	"zonedeck/ui/collection"
	historytab "zonedeck/ui/history"
	"zonedeck/ui/inbox"
	"zonedeck/ui/jobs"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/alert"
	"zonedeck/ui/kit/body/picture"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/profiles"
	"zonedeck/ui/proxy"
	"zonedeck/ui/rates"
	"zonedeck/ui/rehearse"
	"zonedeck/ui/sandbox"
)

// Console wires one run of the console: it gives the views their functions.
type Console struct {
	service  *service.Service
	terminal terminal
	theme    *kit.Theme
	asker    *asker
	ctx      context.Context //nolint:containedctx // it lives as long as the program it is made for
	cancel   context.CancelFunc
	began    chan follower // the state that start found; follow continues from it
	next     string        // profile to switch to; written on the program's goroutine
	suspend  tea.Cmd       // back to the shell, nil where none waits
	// Tab is the one to begin on, and after Run the one that was left.
	Tab kit.ViewID
	// Said is told at the start and, after Run, to be told by the next console.
	Said string
}

// Open opens the service for a console.
func Open(ctx context.Context, o service.Options) (*Console, error) {
	theme := kit.NewTheme(true, o.Getenv("NO_COLOR") != "" || o.Getenv("TERM") == "dumb")
	asker := newAsker(theme)
	o.Journal, o.Ledger, o.Rules, o.Unattended, o.Console, o.Ask = true, true, true, false, true, asker
	s, err := service.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	theme.Rebound = s.Configuration().Bindings()
	ctx, cancel := context.WithCancel(ctx)
	return &Console{service: s, terminal: terminal{o}, theme: theme, asker: asker, ctx: ctx, cancel: cancel, began: make(chan follower, 1)}, nil
}

// Run shows the console on a terminal until the operator leaves it. next is the
// profile to switch to; it is empty when the operator quit.
func (c *Console) Run(in io.Reader, out io.Writer) (next string, err error) {
	c.suspend = suspend()
	root := c.Root()
	program := tea.NewProgram(root, append(ui.Options(c.ctx),
		tea.WithInput(newKeyboard(in, c.hangUp)), tea.WithOutput(out), tea.WithoutSignalHandler())...)
	var up screen = program
	c.asker.up.Store(&up)
	var following sync.WaitGroup
	following.Go(func() { c.follow(program.Send) })
	following.Go(func() { c.Watch(program.Send) })
	stop := dumpAfter(program)
	_, err = program.Run()
	stop()
	c.Tab = root.Tab()
	_, _ = io.WriteString(out, alert.Detect(c.terminal.Getenv).Clear()) // what it showed of jobs that go on
	interrupted := c.ctx.Err() != nil
	c.cancel()
	following.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && interrupted {
		err = nil // a signal: Close releases everything
	}
	return c.next, err
}

// hangUp ends a console whose terminal is gone. Where a hangup is ignored, as under nohup, no signal does.
func (c *Console) hangUp(err error) {
	if c.ctx.Err() == nil {
		c.terminal.Log.Error("the console ends: its terminal is gone", "error", err)
		c.cancel()
	}
}

// Close ends the views' work in flight, then the service.
func (c *Console) Close() error {
	c.cancel()
	_, err := c.service.Inbox.Stop()
	return errors.Join(err, c.service.Close(c.ctx))
}

// Passphrase is the one that has opened the secrets, empty if none has.
func (c *Console) Passphrase() keystore.Secret { return c.service.Resolver.Passphrase() }

// Root builds the tabs and the root model. It does no I/O.
func (c *Console) Root() *ui.App {
	s := c.service
	theme := c.theme
	inventory := s.Keys.Inventory()
	rotations := s.Rotations(inventory)
	now, store := s.Now, saved.New(s.Paths.RequestsDir())
	tabs := []ui.Tab{
		{ID: kit.Sandbox, View: sandbox.New(sandbox.Deps{
			Ctx: c.ctx, Theme: theme, Fetcher: s.Fetch, Owners: s.Keys.Owners(), Comparer: s.Fetch, Tools: s.Fetch, History: s.History,
			Saved: store, Variables: s.Variables, Collection: savedRequests{collection.Deps{Ctx: c.ctx, Now: c.terminal.Now, Theme: theme, Store: store}},
			Profile: s, Timeouts: s.Profiles, Bodies: bodies{s.History, c.terminal},
			Pictures: picture.Detect(c.terminal.Getenv), Filters: filter.History{File: s.Paths.FiltersFile()},
		})},
		{ID: kit.Jobs, View: jobs.New(jobs.Deps{
			Ctx: c.ctx, Clock: s, Theme: theme, Jobs: s.Jobs, Console: jobsConsole{c, theme}, Inbox: s.Inbox, Drift: s.Drift, Batches: s.Batches,
			Terminal: alert.Detect(c.terminal.Getenv), Notify: s.Configuration().Notify(),
		})},
		{ID: kit.Proxy, View: proxy.New(proxy.Deps{
			Ctx: c.ctx, Now: now, Theme: theme, Prober: s.Fetch, History: s.History, Profile: s,
			Machine: s.Machine(), Passwords: s.Passwords,
		})},
		{ID: kit.Keys, View: keys.New(keys.Deps{
			Ctx: c.ctx, Now: now, Recorded: c.terminal.Now, Theme: theme, Inventory: s.Keys.Inventory(),
			Rotations: rotating{rotations, s}, Uses: inventory, Service: s, Config: c.terminal.Config, Changed: c.sessionChanged,
		})},
		{ID: kit.History, View: historytab.New(historytab.Deps{Ctx: c.ctx, Now: now, Theme: theme, Journal: s.History, Requests: c.requests()})},
	}
	return ui.New(ui.Deps{
		Ctx: c.ctx, Now: now, Theme: theme, Tabs: tabs, First: c.Tab, Session: c.describe(),
		Start: tea.Batch(c.start, c.readKeys, c.tellNotices()), Commands: func() []kit.Binding { return c.commands(theme) }, Switch: func() tea.Cmd { return profiles.Switcher(c.profileDeps(theme)) },
		Search: search{s.History, s.Paths.RequestsDir()}, Spending: spending{s.Overview.Wire, c}, Clipboard: native{},
		Multiplexer: c.terminal.multiplexer(), Buffers: c.terminal.pasteBuffers(),
		Suspend: c.suspend, Code: code.New(code.Deps{Ctx: c.ctx, Theme: theme, Fetches: exported{s}}).Open,
	})
}

// savedRequests are the saved requests as the Sandbox picks from them.
type savedRequests struct{ collection.Deps }

// Overlay implements sandbox.Collection.
func (s savedRequests) Overlay(form *sandbox.Model) kit.Overlay {
	s.Form = form
	return collection.New(s.Deps)
}

// rotating are the rotations as the tab of keys works with them.
type rotating struct {
	servicekeys.Rotations
	service *service.Service
}

func (r rotating) Resolve(ctx context.Context, ref string) (keystore.Secret, error) {
	return r.service.Resolver.Resolve(ctx, ref)
}

func (r rotating) Rehearse(ctx context.Context, k model.Key, method keystore.RotationMethod) (keystore.RotationPlan, error) {
	return r.service.RehearseRotation(ctx, k, method, r.service.Keys.Inventory())
}

// inbox is the inbox of webhooks on the screen.
func (c *Console) inbox(theme *kit.Theme) kit.Overlay {
	in := c.service.Inbox
	return inbox.New(inbox.Deps{Ctx: c.ctx, Now: c.service.Now, Theme: theme, Store: in, Address: in.Address(), Warning: in.Unreachable()})
}

// requests is the emulator's journal; nil with a real account.
func (c *Console) requests() historytab.Requests {
	if c.service.Local == nil {
		return nil
	}
	return c.service.Local.Rehearse()
}

// start runs while the first frame is drawn: it starts or finds the emulator.
func (c *Console) start() tea.Msg {
	f := follower{c: c}
	msg := f.begin()
	c.began <- f // buffered: Run may not be following
	return msg
}

// readKeys has the inventory read, where that takes longer than the first frame may, and says so.
func (c *Console) readKeys() tea.Msg {
	s := c.service
	inventory := s.Keys.Inventory()
	late := errors.Is(inventory.Unread(), keystore.ErrKeysUnread)
	if err := inventory.Read(); err != nil {
		return tea.BatchMsg{c.sessionChanged, kit.Send(kit.KeysFault(err.Error()))}
	}
	if !late {
		return nil
	}
	if unknown := s.Keys.UnknownRotations(); unknown != "" {
		return tea.BatchMsg{c.sessionChanged, kit.Warn(unknown)}
	}
	return c.sessionChanged()
}

// describe is the service's state as the views see it. It waits for nothing.
func (c *Console) describe() kit.Session {
	s := c.service.State()
	p := s.Profile
	return kit.Session{
		ProfileName: p.Name, Zones: p.Zones, Keys: s.Keys, ProfileKeys: s.Supplied, Unread: s.Unread, Key: s.Key, Profile: p, Turn: s.Turn,
		Problem: s.Problem, Notes: s.Notes, Ready: s.Ready, Local: p.Local, Unverified: !p.Verify && !p.Local,
		Ahead: s.Ahead, Faults: s.Faults, Replaced: s.Replaced, OtherAccounts: s.OtherAccounts,
	}
}

// refusal is why no profile is added, or empty. It waits for nothing.
func (c *Console) refusal() string {
	err := c.service.Profiles.Refusal()
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*model.ReadOnlyError)):
		return err.Error() + kit.WayOut(c.service.CurrentProfile().Name)
	default:
		return err.Error()
	}
}

// sessionChanged sends the current session to every view.
func (c *Console) sessionChanged() tea.Msg { return kit.SessionChanged{Session: c.describe()} }

// tellNotices shows what the operator must know about the files, and about jobs
// that an earlier console left with an open outcome.
func (c *Console) tellNotices() tea.Cmd {
	var cmds []tea.Cmd
	if c.Said != "" {
		cmds, c.Said = append(cmds, kit.Info(c.Said)), ""
	}
	for _, n := range slices.Concat(c.service.Warnings, c.service.Notices) {
		cmds = append(cmds, kit.Warn(n))
	}
	return tea.Batch(append(cmds, func() tea.Msg {
		settled, err := c.service.Jobs.Recover(c.ctx)
		if err != nil {
			return kit.Toast{Kind: kit.ToastError, Text: fmt.Sprintf("the ledger of jobs cannot be read: %v", err)}
		}
		open := 0
		for _, j := range settled {
			if j.State == model.JobMayHave {
				open++
			}
		}
		if open == 0 {
			return nil
		}
		return kit.Toast{Kind: kit.ToastError, In: kit.Jobs, Text: text.Counted(open, "job") + " may have started when an earlier zonedeck ended: look in the service's list before you launch the same inputs again"}
	})...)
}

// commands are the palette's entries that belong to no tab.
func (c *Console) commands(theme *kit.Theme) []kit.Binding {
	schedule := kit.Binding{
		Label: "schedule a batch", Group: "Jobs", Synonyms: "cron systemd timer daily",
		Disabled: "in a shell, 'zonedeck schedule batch ID' prints the text for cron or systemd",
	}
	paste := kit.Binding{
		Label: "paste a request (curl, HAR)", Group: "Sandbox", Synonyms: "import curl har",
		Disabled: "paste a curl command, the text of a HAR file or a URL anywhere in the Sandbox: it fills the form",
	}
	return slices.Concat(profiles.Commands(c.profileDeps(theme)), rates.Commands(c.ratesDeps()), c.rehearsals(theme), []kit.Binding{schedule, paste})
}

// profileDeps are what the commands about profiles work with.
func (c *Console) profileDeps(theme *kit.Theme) profiles.Deps {
	return profiles.Deps{Ctx: c.ctx, Theme: theme, Profiles: c.service.Profiles, Program: c, Refused: c.refusal()}
}

// Switch ends the program, which goes on with another profile.
func (c *Console) Switch(name, said string) tea.Cmd {
	return func() tea.Msg {
		c.next, c.Said = name, said
		return kit.Quit{}
	}
}

// rehearsals are the palette's entries for the emulator.
func (c *Console) rehearsals(theme *kit.Theme) []kit.Binding {
	s := c.service
	d := rehearse.Deps{
		Ctx: c.ctx, Now: s.Now, Theme: theme, Profile: s.Base.Name,
		Zones: model.ZoneNames(s.CurrentProfile().Zones),
	}
	if s.Local != nil {
		d.Emulator = rehearsed{s.Local.Rehearse(), c}
	}
	return rehearse.Commands(d)
}

// rehearsed is the emulator, whose time the console follows.
type rehearsed struct {
	*local.Control
	console *Console
}

func (r rehearsed) Advance(ctx context.Context, by time.Duration) (tea.Msg, error) {
	if _, err := r.Control.Advance(ctx, by); err != nil {
		return nil, err
	}
	if _, err := r.console.service.Profile(ctx); err != nil { // this reads the emulator's clock
		return kit.Toast{Kind: kit.ToastError, Text: err.Error()}, nil //nolint:nilerr // the time has moved; this says what is old
	}
	return r.console.sessionChanged(), nil
}

// search is what the palette finds: history, and the saved requests in a folder.
type search struct {
	*history.History
	dir string
}

func (s search) Saved(ctx context.Context) ([]ui.SavedRequest, error) {
	entries, err := saved.New(s.dir).List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]ui.SavedRequest, len(entries))
	for i, e := range entries {
		out[i] = ui.SavedRequest{Name: e.Name, Zone: string(e.Request.Zone.Name), URL: e.Request.URL, Problem: e.Problem}
	}
	return out, nil
}

// jobsConsole is what the console does for the Jobs tab.
type jobsConsole struct {
	*Console

	theme *kit.Theme
}

// OpenInputs opens a file of job inputs; a leading ~ is the home folder.
func (jobsConsole) OpenInputs(path string) (io.ReadCloser, error) {
	path, err := files.ExpandHome(path)
	if err != nil {
		return nil, err
	}
	return textfile.Open(path)
}

// PlanBatch plans a batch of the rows of a file.
func (j jobsConsole) PlanBatch(ctx context.Context, path string, d batch.Draft) (batch.Report, error) {
	rows, err := j.OpenInputs(path)
	if err == nil {
		defer rows.Close()
		path, err = j.Expand(path)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return batch.Report{}, err
	}
	p, err := j.service.Profile(ctx)
	if err != nil {
		return batch.Report{}, err
	}
	d.Input = fetch.NewInput(rows, path, "", d.Input.Column)
	d.Input.Path = path
	known := j.service.Known(p)
	known.Variables = j.service.Variables
	return j.service.Batches.Check(ctx, known, d, nil)
}

func (jobsConsole) Expand(path string) (string, error) { return files.ExpandHome(path) }

func (j jobsConsole) OpenResult(ctx context.Context, name string) (*records.File, error) {
	return j.service.OpenNamedResult(ctx, name)
}

func (jobsConsole) SaveRows(path string, fill func(io.Writer) error) (string, error) {
	return saveNew(path, fill)
}

func (j jobsConsole) Editor() func(file string) tea.ExecCommand { return j.terminal.editFile() }

func (j jobsConsole) Inbox() kit.Overlay { return j.inbox(j.theme) }
