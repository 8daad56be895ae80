package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rows"
	"zonedeck/service/saved"
	"zonedeck/ui"
	"zonedeck/ui/account"
	"zonedeck/ui/activity"
	"zonedeck/ui/jobs"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/proxy"
	"zonedeck/ui/rehearse"
	"zonedeck/ui/sandbox"
)

// runConsole opens the console, and opens it again while the operator switches
// to another profile.
func (a *app) runConsole(ctx context.Context) error {
	if !a.StdinTTY || !a.StdoutTTY {
		return usage("the console needs a terminal. Without one, run 'zonedeck request URL --zone Z', 'zonedeck keys check' or 'zonedeck jobs list'; 'zonedeck --help' shows them all")
	}
	closeLog := a.openLog()
	defer closeLog()
	for {
		next, err := a.consoleOnce(ctx)
		if err != nil || next == "" {
			return err
		}
		a.flags = globalFlags{profile: next, config: a.flags.config}
	}
}

// openLog sends the log to its file; without one nothing is logged.
func (a *app) openLog() (closeLog func()) {
	paths := profile.FindPaths(a.Getenv)
	if err := os.MkdirAll(filepath.Dir(paths.LogFile()), 0o700); err != nil {
		return func() {}
	}
	f, err := os.OpenFile(paths.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return func() {}
	}
	a.log = slog.New(slog.NewTextHandler(f, nil))
	silence(f)
	return func() {
		silence(io.Discard)
		f.Close()
	}
}

// silence sends what other packages write to the standard logger to w: net/http
// speaks there of connections that went wrong, and standard error is the screen.
func silence(w io.Writer) { log.SetOutput(w) }

// consoleOnce runs the console on one profile; next is the profile to go on
// with, empty when the operator left.
func (a *app) consoleOnce(ctx context.Context) (next string, err error) {
	c, err := a.openConsole(ctx)
	if err != nil {
		return "", err
	}
	program := tea.NewProgram(c.root(), append(ui.Options(c.ctx),
		tea.WithInput(a.Stdin), tea.WithOutput(a.Stdout), tea.WithoutSignalHandler())...)
	var following sync.WaitGroup
	following.Go(func() { c.follow(program.Send) })
	_, err = program.Run()
	c.cancel()
	following.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil // a signal: everything is given back below
	}
	if cerr := c.close(); err == nil {
		err = cerr
	}
	return c.next, err
}

// Console is the console without its terminal: the root model on a session of
// its own, and the function that ends the session. Tests and benchmarks run it
// where they have a screen.
func Console(ctx context.Context, p Process) (root tea.Model, closeSession func() error, err error) {
	a := &app{Process: p, log: slog.New(slog.DiscardHandler)}
	c, err := a.openConsole(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.root(), c.close, nil
}

// openConsole opens a session for a console.
func (a *app) openConsole(ctx context.Context) (*console, error) {
	s, err := a.openSession(ctx, sessionNeeds{journal: true, console: true})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &console{session: s, ctx: ctx, cancel: cancel, began: make(chan follower, 1)}, nil
}

// console is the wiring of one run of the console: the parts that the views get
// their functions from.
type console struct {
	session *session
	ctx     context.Context //nolint:containedctx // it lives as long as the program it is made for
	cancel  context.CancelFunc
	began   chan follower // what start found, to go on from
	next    string        // profile to go on with; written on the program's goroutine
}

// close ends what the views have in flight, then the session.
func (c *console) close() error {
	c.cancel()
	return c.session.close(c.ctx)
}

// root builds the tabs and the root model. It does no I/O.
func (c *console) root() *ui.App {
	s := c.session
	theme := kit.NewTheme(true, s.app.Getenv("NO_COLOR") != "" || s.app.Getenv("TERM") == "dumb")
	now, client := s.now, s.client
	tabs := []ui.Tab{
		{ID: kit.Sandbox, View: sandbox.New(sandbox.Deps{
			Ctx: c.ctx, Now: now, Theme: theme, Fetcher: client, History: client,
			Saved: saved.New(s.paths.RequestsDir()), Profile: s.currentProfile, Open: openBody, Edit: editBody(s.app.Getenv),
		})},
		{ID: kit.Jobs, View: jobs.New(jobs.Deps{
			Ctx: c.ctx, Now: now, Theme: theme, Profile: s.currentProfile, Ledger: client,
			ReadInputs: rows.ReadInputs, OpenFile: openInputs,
		})},
		{ID: kit.Proxy, View: proxy.New(proxy.Deps{
			Ctx: c.ctx, Now: now, Theme: theme, Prober: client, Profile: s.currentProfile,
			Reveal: s.zonePassword, ProxyEnv: s.app.proxyInEnvironment(),
		})},
		{ID: kit.Keys, View: keys.New(keys.Deps{
			Ctx: c.ctx, Now: now, Recorded: s.app.Now, Theme: theme, Inventory: s.inventory,
			Rotations: keystore.OpenRotations(s.paths.RotationsDir()), Secrets: s.resolver, Changed: c.sessionChanged,
		})},
		{ID: kit.Activity, View: activity.New(activity.Deps{Ctx: c.ctx, Now: now, Theme: theme, Journal: client, Requests: c.requests()})},
	}
	return ui.New(ui.Deps{
		Ctx: c.ctx, Now: now, Theme: theme, Tabs: tabs, Session: s.describe(),
		Start: tea.Batch(c.start, c.tellNotices()), Commands: c.commands(theme),
		Clipboard: nativeClipboard,
	})
}

// requests is the journal of the emulator, where one is used.
func (c *console) requests() activity.Requests {
	if c.session.embedded == nil {
		return nil
	}
	return rehearsal.New(c.session.embedded.control)
}

// start runs beside the first paint: the emulator, where it is used, and the
// jobs that a killed console left behind.
func (c *console) start() tea.Msg {
	f := follower{c: c}
	msg := f.begin()
	c.began <- f // nobody may follow, so there is room for it
	return msg
}

// sessionChanged tells every view of the session as it is now.
func (c *console) sessionChanged() tea.Msg { return kit.SessionChanged{Session: c.session.describe()} }

// tellNotices shows what the operator must know about the files, and the jobs
// whose outcome is open.
func (c *console) tellNotices() tea.Cmd {
	cmds := make([]tea.Cmd, 0, len(c.session.notices)+1)
	for _, n := range c.session.notices {
		cmds = append(cmds, kit.Warn(n))
	}
	return tea.Batch(append(cmds, func() tea.Msg {
		settled, err := c.session.client.Recover(c.ctx)
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
		return kit.Toast{Kind: kit.ToastError, Text: fmt.Sprintf("%d jobs may have started when the last console ended: look at them in Jobs before you launch them again", open)}
	})...)
}

// commands are the palette's entries that belong to no tab.
func (c *console) commands(theme *kit.Theme) []kit.Binding {
	s := c.session
	return append(account.Commands(account.Deps{
		Ctx: c.ctx, Theme: theme, Profiles: s.profileNames(), Current: s.base.Name,
		Keys: s.inventory.List,
		Add: func(ctx context.Context, a account.Account) error {
			if _, known := s.inventory.Get(a.Key.Name); !known {
				if err := s.inventory.Add(ctx, a.Key); err != nil {
					return err
				}
			}
			return profile.AddProfile(ctx, s.configFile(), a.Profile)
		},
		Switch: func(name string) tea.Cmd {
			return func() tea.Msg {
				c.next = name
				return kit.Quit{}
			}
		},
	}), c.rehearsals(theme)...)
}

// rehearsals are the palette's entries about the emulator.
func (c *console) rehearsals(theme *kit.Theme) []kit.Binding {
	s := c.session
	d := rehearse.Deps{
		Ctx: c.ctx, Now: s.now, Theme: theme, Profile: s.base.Name, StateDir: s.paths.EmulatorDir(),
		Zones: func() (names []string) {
			for _, z := range s.currentProfile().Zones {
				names = append(names, string(z.Name))
			}
			return names
		},
		Moved: func(ctx context.Context) tea.Msg {
			if _, err := s.profile(ctx); err != nil { // its clock is read on the way
				return kit.Toast{Kind: kit.ToastError, Text: err.Error()}
			}
			return c.sessionChanged()
		},
	}
	if s.embedded != nil {
		d.Emulator = rehearsal.New(s.embedded.control)
	}
	return rehearse.Commands(d)
}
