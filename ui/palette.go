package ui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// SavedRequest is a saved request as the palette lists it.
type SavedRequest struct {
	Name, Zone, URL string
	Problem         string // why it cannot be opened, or empty
}

// runBinding is a binding picked in the palette.
type runBinding struct {
	view    kit.ViewID // empty for the root's
	binding kit.Binding
}

// run carries out a binding, in its tab. The tab may have changed since the palette was
// opened: what the binding means, and whether it can act, is asked again.
func (a *App) run(r runBinding) tea.Cmd {
	if r.view == "" {
		return a.carryOut(nil, r.binding)
	}
	for i, t := range a.tabs {
		if t.ID != r.view {
			continue
		}
		focus := a.activate(i)
		for _, b := range a.theme.Bound(t.View.Bindings()) {
			if b.Label == r.binding.Label && b.Key() == r.binding.Key() {
				return tea.Batch(focus, a.carryOut(t.View, b))
			}
		}
		return tea.Batch(focus, a.addToast(kit.Toast{Kind: kit.ToastWarn, Text: r.binding.Label + " is not available there now"}))
	}
	return nil
}

// palette is everything that can be done: in the active tab, in the others, and with
// profiles and zones. Saved requests and history are found by words.
func (a *App) palette() kit.Overlay {
	active := a.tabs[a.active]
	groups := []widget.CommandGroup{a.commandsOf(active.ID, active.View.Title(), a.theme.Bound(active.View.Bindings()))}
	for i, t := range a.tabs {
		if i != a.active {
			groups = append(groups, a.commandsOf(t.ID, t.View.Title(), a.theme.Bound(t.View.Bindings())))
		}
	}
	for _, b := range a.commands() {
		i := slices.IndexFunc(groups, func(g widget.CommandGroup) bool { return g.Title == groupOf(b) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, widget.CommandGroup{Title: groupOf(b)})
		}
		groups[i].Commands = append(groups[i].Commands, command("", b))
	}
	groups = append(groups, a.commandsOf("", "Everywhere", a.Bindings()), a.zoneCommands())
	groups = slices.DeleteFunc(groups, func(g widget.CommandGroup) bool { return len(g.Commands) == 0 })
	var p *widget.Commands
	p = widget.NewCommands(a.theme, "type to find: action, zone, saved request, history", groups,
		func(words []string) tea.Cmd { return a.find(p, words) })
	return p
}

func groupOf(b kit.Binding) string {
	if b.Group != "" {
		return b.Group
	}
	return "Console"
}

// commandsOf are the bindings that act. Keys that only move, and those that only describe a
// key, are not commands.
func (a *App) commandsOf(view kit.ViewID, title string, bindings []kit.Binding) widget.CommandGroup {
	g := widget.CommandGroup{Title: title}
	for _, b := range bindings {
		switch {
		case b.Label == "", b.Intent == nil && b.Disabled == "", b.Intent == intentPalette, b.Intent == (kit.Close{}):
		case slices.Contains([]string{"Move", "Form", "Panes"}, b.Group) && b.Synonyms == "":
		case slices.ContainsFunc(g.Commands, func(c widget.Command) bool { return c.Label == cmp.Or(b.Command, b.Label) }): // as quit, by two keys
		default:
			c := command(view, b)
			if i, ok := b.Intent.(intent); ok && i >= intentTab {
				c.Label = "go to " + c.Label
			}
			g.Commands = append(g.Commands, c)
		}
	}
	return g
}

func command(view kit.ViewID, b kit.Binding) widget.Command {
	return widget.Command{
		Label: cmp.Or(b.Command, b.Label), Synonyms: b.Synonyms, Note: b.Help, Key: kit.KeyName(b.Key()), Disabled: b.Disabled,
		Pick: kit.Send(runBinding{view: view, binding: b}),
	}
}

// commands are those of no tab, as they are now.
func (a *App) commands() []kit.Binding {
	if a.deps.Commands == nil {
		return nil
	}
	return a.deps.Commands()
}

// zoneCommands choose a zone in the Sandbox.
func (a *App) zoneCommands() widget.CommandGroup {
	g := widget.CommandGroup{Title: "Zones"}
	for _, z := range a.session.Zones {
		g.Commands = append(g.Commands, widget.Command{
			Label: string(z.Name), Note: "Use this zone in the Sandbox: " + string(z.Product) + ".",
			Pick: kit.GotoTab(kit.Sandbox, kit.OpenURL{Zone: string(z.Name)}),
		})
	}
	return g
}

// The bounds of what a search adds to the palette.
const (
	maxFound   = 12
	findLetter = 2 // letters from which on it searches
)

// find looks for words among the saved requests and in the history, for the palette p.
func (a *App) find(p *widget.Commands, words []string) tea.Cmd {
	if len(strings.Join(words, "")) < findLetter {
		a.finding.Drop()
		return nil
	}
	search, s, now := a.deps.Search, a.session, a.deps.Now()
	if search == nil {
		return nil
	}
	return kit.Load(kit.InOverlay(p), &a.finding, a.deps.Ctx, func(ctx context.Context) (out widget.FoundCommands, _ error) {
		requests, err := search.Saved(ctx)
		out.Groups = append(out.Groups, savedCommands(requests, err, words))
		events, err := search.Entries(ctx, model.HistoryFilter{Words: words, Limit: 8 * maxFound})
		out.Groups = append(out.Groups, historyCommands(events, err, func(e model.HistoryEntry) string { return widget.DateAndAge(s, e.Profile, e.At, now) }))
		return out, nil
	}, func(found widget.FoundCommands, _ error) tea.Cmd { return p.Update(found) })
}

func savedCommands(list []SavedRequest, err error, words []string) widget.CommandGroup {
	g := widget.CommandGroup{Title: "Saved requests"}
	if err != nil {
		return failed(g, err)
	}
	for _, r := range list {
		in := strings.ToLower(r.Name + " " + r.Zone + " " + r.URL + " saved request")
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(in, w) }) || len(g.Commands) == maxFound {
			continue
		}
		g.Commands = append(g.Commands, widget.Command{
			Label: r.Name, Note: r.Zone + "  " + r.URL, Disabled: r.Problem,
			Pick: kit.GotoTab(kit.Sandbox, kit.OpenSaved{Name: r.Name}),
		})
	}
	return g
}

// historyCommands open what happened, the newest of those that look the same.
func historyCommands(list []model.HistoryEntry, err error, when func(model.HistoryEntry) string) widget.CommandGroup {
	g := widget.CommandGroup{Title: "History"}
	if err != nil {
		return failed(g, err)
	}
	seen := map[string]bool{}
	for _, e := range list {
		note := strings.Join([]string{e.Zone, e.Via.String(), e.URL}, "  ")
		switch e.Kind {
		case model.HistoryFetch:
		case model.HistoryComparison:
			note = e.URL + "  " + e.Text
		default:
			note = e.Text
		}
		note = strings.TrimSpace(note)
		label := cmp.Or(e.Outcome(), e.Kind.Word())
		pick := kit.OpenEntry(e)
		if same := label + "\x00" + note; pick == nil || e.Ref == "" || seen[same] || len(g.Commands) == maxFound {
			continue
		} else {
			seen[same] = true
		}
		g.Commands = append(g.Commands, widget.Command{Label: label, Note: text.Clean(note), Key: when(e), Pick: pick})
	}
	return g
}

// failed is a group that could not be read.
func failed(g widget.CommandGroup, err error) widget.CommandGroup {
	if errors.Is(err, context.Canceled) { // the search was replaced
		return g
	}
	g.Commands = append(g.Commands, widget.Command{Label: "cannot be searched", Disabled: err.Error()})
	return g
}
