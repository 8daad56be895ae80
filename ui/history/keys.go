package history

import (
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Intents of the tab's keys.
type (
	openRow       struct{}
	openFilter    struct{}
	applyFilter   struct{}
	closeFilter   struct{}
	otherProfiles struct{} // or no longer
	clearFilter   struct{}
	refresh       struct{}
	lastRow       struct{}
	copyMenu      struct{}
	toggleLog     struct{}
	openRequest   struct{}
	copyRequest   struct{}
)

// Bindings are the tab's keys.
func (m *Model) Bindings() []kit.Binding {
	if m.filter.open {
		return []kit.Binding{
			{Name: "history.apply", Keys: []string{"enter"}, Label: "apply", Help: "Keep the filter.", Group: "Filter", Intent: applyFilter{}, WhileTyping: true},
			{Name: "history.leave", Keys: []string{"esc"}, Label: "close", Help: "Close the field, with the filter as it was before.", Group: "Filter", Intent: closeFilter{}, WhileTyping: true},
		}
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
	clr := kit.Binding{Name: "history.clear-filter", Keys: []string{"esc"}, Label: "clear filter", Help: "Show everything again.", Group: "Filter", Intent: clearFilter{}}
	if m.filter.text == "" {
		clr.Disabled, clr.Hidden = "no filter is set", true
	}
	profiles := "all profiles"
	if m.filter.every {
		profiles = "one profile"
	}
	return widget.WithMotion([]kit.Binding{
		open,
		{Name: "history.filter", Keys: []string{"/"}, Label: "filter", Help: "Filter by the beginnings of words, and class:, zone:, key:, kind:, profile:, by:agent, by:rotation, since:2h.", Group: "Filter", Intent: openFilter{}},
		{Name: "history.profiles", Keys: []string{"p"}, Label: profiles, Help: "Show the entries of all profiles with the cost of each, or of one profile again.", Group: "Filter", Intent: otherProfiles{}},
		{Name: "history.requests", Keys: []string{"w"}, Label: "emulator", Command: "what the emulator saw", Help: "Show every request as the local emulator saw it: headers, body, answer, fault.", Group: "History", Intent: toggleLog{}, Disabled: m.logUnavailable()},
		clr, cpy,
		{Name: "history.har", Keys: []string{"E"}, Label: "HAR", Help: "Write the fetches that match the filter as a HAR file, credentials redacted.", Group: "History", Intent: writeHAR{}, Hidden: true},
		{Name: "history.reload", Keys: []string{"r", "ctrl+r"}, Label: "reload", Help: "Read the newest entries again.", Group: "History", Intent: refresh{}},
		{Name: "history.oldest", Keys: []string{"end", "G"}, Label: "oldest", Help: "Go to the oldest entry.", Group: "Move", Intent: lastRow{}, Hidden: true},
	})
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
