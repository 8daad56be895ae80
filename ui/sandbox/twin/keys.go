package twin

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Intents of the comparison's keys.
type (
	closePage   struct{}
	openCell    struct{}
	adoptWinner struct{}
	markCell    struct{}
	diffCells   struct{}
	runAgain    struct{} // everything anew
	addRun      struct{}
	cancelCell  struct{}
	chooseZones struct{}
	moveColumn  struct{ by int }
	// compareZones starts a comparison of a request, or with more adds a run to the one on screen.
	// from is the profile that the request was sent with, if it is another one.
	compareZones struct {
		request model.FetchRequest
		from    string
		addRun  bool
		preset  model.Preset
	}
	// sendPlanned sends what was asked about.
	sendPlanned struct{ planned }
)

// Bindings are the keys of the comparison on screen.
func (p *Page) Bindings() []kit.Binding {
	const group = "Comparison"
	none, idle, busy := "no run of this cell has ended", "this cell is not running", ""
	if i, ok := p.cell(); ok {
		if len(p.twin.Cells[i].Runs) > 0 {
			none = ""
		}
		if p.twin.Cells[i].Active {
			idle = ""
		}
	}
	if p.running() > 0 {
		busy = "cells are still running; c cancels one"
	}
	again, winner := p.whyNotAgain(), busy
	if winner == "" && p.winner < 0 {
		winner = p.reason
	}
	more := again
	if more == "" && p.twin.Repeat >= model.MaxRuns {
		more = fmt.Sprintf("%d runs are the most", model.MaxRuns)
	}
	mark := kit.Binding{Keys: []string{"space"}, Label: "mark", Help: "Mark the cell, or take the mark away; d shows how two marked ones differ.", Group: group, Intent: markCell{}, Disabled: none}
	out := []kit.Binding{
		{Keys: []string{"enter"}, Label: "open", Help: "Show the newest fetch of the cell in the Sandbox. Nothing is sent.", Group: group, Intent: openCell{}, Disabled: none},
		{Keys: []string{"a"}, Label: "adopt winner", Help: "Fill the form with the winner's zone and method.", Group: group, Intent: adoptWinner{}, Disabled: winner},
		{Keys: []string{"f5", "ctrl+j"}, Label: "again", Help: "Send everything anew.", Group: group, Intent: runAgain{}, Disabled: again, Dangerous: true},
		mark,
		{Keys: []string{"d"}, Label: "difference", Help: "Show how the answers of the two marked cells differ: headers, structure of JSON, text.", Group: group, Intent: diffCells{}, Disabled: p.whyNotDiff()},
		{Keys: []string{"+"}, Label: "one more run", Help: "Send one more run of every cell.", Group: group, Intent: addRun{}, Disabled: more, Dangerous: true},
		{Keys: []string{"z"}, Label: "zones", Help: "Choose zones, methods and the number of runs, and send.", Group: group, Intent: chooseZones{}, Disabled: again, Dangerous: true},
		{Keys: []string{"c"}, Label: "cancel", Help: "Cancel the cell that is running.", Group: group, Intent: cancelCell{}, Disabled: idle, Hidden: idle != ""},
		{Keys: []string{"x"}, Label: "report, code", Help: "Show the comparison as Markdown and JSON, and the cell's fetch as code for other programs.", Group: group, Intent: p.code(), Disabled: busy},
		{Keys: []string{"esc", "w"}, Label: "back", Help: "Go back to the form. What runs goes on, and w shows it again.", Group: group, Intent: closePage{}},
		{Keys: []string{"right", "l"}, Label: "right", Help: "Move one column right.", Group: "Move", Intent: moveColumn{1}, Hidden: true},
		{Keys: []string{"left", "h"}, Label: "left", Help: "Move one column left.", Group: "Move", Intent: moveColumn{-1}, Hidden: true},
	}
	for _, b := range widget.MotionBindings() {
		if !b.Matches("space") {
			out = append(out, b)
		}
	}
	return out
}

// act carries out the intent of a key of the comparison.
func (p *Page) act(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case compareZones:
		return p.try(msg), true
	case sendPlanned:
		if p.deps.Confirmed != nil {
			p.deps.Confirmed(msg.request.Key)
		}
		return p.start(msg.planned), true
	case closePage:
		p.Close()
	case openCell:
		return p.openCell(), true
	case adoptWinner:
		return p.adopt(), true
	case markCell:
		p.mark()
	case diffCells:
		return p.diffMarked(), true
	case runAgain:
		return p.try(compareZones{request: p.twin.Base, preset: p.chosen(p.twin.Repeat)}), true
	case addRun:
		return p.try(compareZones{addRun: true, request: p.twin.Base, preset: p.chosen(1)}), true
	case cancelCell:
		if i, ok := p.cell(); ok {
			p.deps.Twins.StopCell(p.twin.ID, i)
		}
	case chooseZones:
		return p.chooseZones(), true
	case moveColumn:
		p.col = min(max(p.col+msg.by, 0), len(p.ways)-1)
	default:
		return nil, false
	}
	return nil, true
}

// code is the comparison as a report, and the fetch of the cell under the cursor as code for
// other programs, of the winner where the cursor is on none.
func (p *Page) code() kit.ShowCode {
	i, ok := p.cell()
	if !ok {
		i = p.winner
	}
	t := p.twin
	c := kit.ShowCode{Request: t.Base, Twin: &t}
	if i >= 0 && i < len(t.Cells) {
		c.Request.Zone, c.Request.Via = t.Cells[i].Zone, t.Cells[i].Via
	}
	return c
}
