package history

import (
	"slices"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Intents of the tab's keys.
type (
	openRow       struct{}
	otherProfiles struct{} // or no longer
	refresh       struct{}
	lastRow       struct{}
	copyMenu      struct{}
	toggleLog     struct{}
	openRequest   struct{}
	copyRequest   struct{}
)

// Bindings are the tab's keys.
func (m *Model) Bindings() []kit.Binding {
	if m.filter.Typing() {
		return m.filterBindings()
	}
	if m.log.on {
		return m.logBindings()
	}
	row, on := m.current()
	open := kit.Binding{Name: "history.open", Keys: []string{"enter"}, Label: "open", Help: "Open the fetch or the comparison in the Sandbox, the job in Jobs, the key in Keys. Nothing is sent.", Group: "History", Intent: openRow{}}
	cpy := kit.Binding{Name: "history.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the line, its address or its identifier.", Group: "History", Intent: copyMenu{}}
	if !on {
		open.Disabled, cpy.Disabled = "no entry is selected", "no entry is selected"
	} else if why := cannotOpen(row); why != "" {
		open.Disabled = why
	}
	profiles := "all profiles"
	if m.filter.every {
		profiles = "one profile"
	}
	filter := m.filterBindings()
	return widget.WithMotion(slices.Concat([]kit.Binding{
		open, filter[0],
		{Name: "history.profiles", Keys: []string{"p"}, Label: profiles, Help: "Show the entries of all profiles with the cost of each, or of one profile again.", Group: "Filter", Intent: otherProfiles{}},
		{Name: "history.requests", Keys: []string{"w"}, Label: "emulator", Command: "what the emulator saw", Help: "Show every request as the local emulator saw it: headers, body, answer, fault.", Group: "History", Intent: toggleLog{}, Disabled: m.logUnavailable()},
	}, filter[1:], []kit.Binding{
		cpy,
		{Name: "history.har", Keys: []string{"E"}, Label: "HAR", Help: "Write the fetches that match the filter as a HAR file, credentials redacted.", Group: "History", Intent: writeHAR{}, Hidden: true},
		{Name: "history.reload", Keys: []string{"r", "ctrl+r"}, Label: "reload", Help: "Read the newest entries again.", Group: "History", Intent: refresh{}},
		{Name: "history.oldest", Keys: []string{"end", "G"}, Label: "oldest", Help: "Go to the oldest entry.", Group: "Move", Intent: lastRow{}, Hidden: true},
	}))
}

// filterBindings are the filter's keys, by the names that they have here.
func (m *Model) filterBindings() []kit.Binding {
	names := map[string]string{"filter.keep": "history.apply", "filter.leave": "history.leave", "filter.open": "history.filter", "filter.show-all": "history.clear-filter"}
	out := m.filter.Bindings("entries", terms, true)
	for i := range out {
		out[i].Name, out[i].Hidden = names[out[i].Name], false
	}
	return out
}

// logBindings are the keys for the emulator's journal.
func (m *Model) logBindings() []kit.Binding {
	const group = "What the emulator saw"
	none := kit.Reason(m.log.table.Len() == 0, "no request is selected")
	return append([]kit.Binding{
		{Name: "log.open", Keys: []string{"enter"}, Label: "open", Help: "Show the whole request: its headers and the beginning of its body.", Group: group, Intent: openRequest{}, Disabled: none},
		{Name: "log.back", Keys: []string{"w", "esc"}, Label: "timeline", Help: "Go back to the timeline.", Group: group, Intent: toggleLog{}},
		{Name: "log.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the address, headers or body.", Group: group, Intent: copyRequest{}, Disabled: none},
	}, widget.MotionBindings()...)
}

// cannotOpen returns the reason why an entry cannot be opened, or "".
func cannotOpen(a model.HistoryEntry) string {
	switch a.Kind {
	case model.HistoryFetch, model.HistoryComparison, model.HistoryJob, model.HistoryKey:
		if a.Ref == "" {
			return "the journal kept only this line"
		}
		return ""
	case model.HistoryProbe:
		if a.Zone == "" {
			return "the journal kept only this line"
		}
		return ""
	default:
		return "an entry of this kind cannot be opened"
	}
}

// current returns the selected entry.
func (m *Model) current() (model.HistoryEntry, bool) {
	if m.table.Len() == 0 {
		return model.HistoryEntry{}, false
	}
	return m.win.at(m.table.Cursor())
}
