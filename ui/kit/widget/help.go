package widget

import (
	"slices"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// HelpSection holds the bindings of one place ("Everywhere", "Sandbox").
type HelpSection struct {
	Title    string
	Bindings []kit.Binding
}

// NewHelp makes the help page from bindings.
func NewHelp(t *kit.Theme, sections []HelpSection) kit.Overlay {
	return &Page{
		Heading: "Keys", Width: 88, Lines: func(w int) []string { return helpLines(t, sections, w) },
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "?", "q"}, Label: "close", Help: "Close the help.", Intent: kit.Close{}},
	}
}

func helpLines(t *kit.Theme, sections []HelpSection, w int) []string {
	const indent = 23
	var out []string
	for _, s := range sections {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, t.Title.Render(s.Title))
		group := ""
		for _, b := range byGroup(s.Bindings) {
			if len(b.Keys) == 0 {
				continue
			}
			if b.Group != group {
				group = b.Group
				out = append(out, "  "+t.Muted.Render(group))
			}
			words := b.Help
			if words == "" {
				words = b.Label
			}
			if b.Disabled != "" {
				words += "  (not now: " + b.Disabled + ")"
			}
			head := "    " + t.KeyHint.Render(text.Fit(kit.KeyNames(b.Keys), indent-5)) + " "
			out = append(out, Hung(head, kit.Ink{}, words, max(w, indent+20))...)
		}
	}
	return out
}

// byGroup sorts the bindings by group, in the order in which the groups first appear.
// Motion comes last: its keys are well known.
func byGroup(list []kit.Binding) []kit.Binding {
	order := map[string]int{"Move": len(list)}
	for i, b := range list {
		if _, known := order[b.Group]; !known {
			order[b.Group] = i
		}
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b kit.Binding) int { return order[a.Group] - order[b.Group] })
	return out
}
