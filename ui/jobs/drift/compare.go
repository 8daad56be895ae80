package drift

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	service "zonedeck/service/drift"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// compare opens the samples before and after.
func (p *Page) compare() tea.Cmd {
	th, d := p.deps.Theme, p.detail.Detail
	pairs := d.Pairs()
	var lines []string
	width, version := 0, 0
	return kit.OpenOverlay(&widget.Page{
		Heading: "Before and after: " + text.Clean(d.Run.Name), Width: 140,
		Lines: func(w int) []string {
			if w != width || th.Version != version {
				lines, width, version = pairLines(th, d, pairs, w), w, th.Version
			}
			return lines
		},
		Closing: kit.Binding{Keys: []string{"esc", "q", "enter"}, Label: "close", Help: "Go back to the fields.", Intent: kit.Close{}},
	})
}

// pairLines draws samples in lines of w cells.
func pairLines(th *kit.Theme, d service.Detail, pairs []service.Pair, w int) []string {
	before, several := beforeRun(d, pairs)
	out := []string{" " + th.Bad.Render("- before: "+text.Clean(before)) + "   " + th.Good.Render("+ after: "+text.Clean(d.Run.Ref)), ""}
	if why := d.Unpaired(); why != "" {
		out = append(append(out, widget.Hung(" ", th.Warn, "! "+why, w)...), "")
	}
	for _, p := range pairs {
		out = append(out, widget.Hung(" ", th.Strong, p.Key, w)...)
		switch {
		case p.Fails != "":
			out = append(out, widget.Hung("   ", th.Warn, "! "+p.Failure(), w)...)
		case p.Before == "":
			out = append(out, widget.Hung("   ", th.Muted, "only in the newest run", w)...)
		case p.After == "":
			out = append(out, widget.Hung("   ", th.Muted, "only in the run before", w)...)
		}
		if several && p.Run != "" {
			out = append(out, widget.Hung("   ", th.Muted, "before: "+p.Run, w)...)
		}
		if p.Pages[0] != "" {
			out = append(out, widget.Hung("   ", th.Warn, fmt.Sprintf("! of two pages: before %s, after %s", p.Pages[0], p.Pages[1]), w)...)
		}
		for line := range strings.Lines(service.Difference(p.Before, p.After)) {
			ink := th.Text
			switch line[0] {
			case '-':
				ink = th.Bad
			case '+':
				ink = th.Good
			}
			out = append(out, "   "+ink.Render(text.Cut(text.Clean(strings.TrimSuffix(line, "\n")), w-3)))
		}
		out = append(out, "")
	}
	return out
}

// beforeRun says which run the samples before are of, and whether they are of several.
func beforeRun(d service.Detail, pairs []service.Pair) (said string, several bool) {
	for _, p := range pairs {
		switch {
		case p.Run == "" || p.Run == said:
		case said == "":
			said = p.Run
		default:
			return "the last run in which each matched", true
		}
	}
	switch {
	case said != "":
		return said, false
	case d.Good.Seq > 0:
		return d.Good.Ref, false
	default:
		return "no good run is stored", false
	}
}
