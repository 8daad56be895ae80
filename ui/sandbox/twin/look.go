package twin

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// lookBytes is how much of a body is read to show how the page begins.
const lookBytes = 16 << 10

// looked is the newest fetch of the cell under the cursor, and how its page begins.
type looked struct {
	id    string // of the fetch
	done  bool
	res   model.FetchResult
	lines []string
	err   error
}

// Look reads the newest fetch of the cell under the cursor, unless it has been read. The
// Sandbox calls it after each message.
func (p *Page) Look() tea.Cmd {
	i, ok := p.cell()
	if !p.open || !ok || len(p.twin.Cells[i].Runs) == 0 {
		return nil
	}
	c := p.twin.Cells[i]
	id := c.Runs[len(c.Runs)-1].FetchID
	if id == p.lookup.id {
		return nil
	}
	p.lookup = looked{id: id}
	read := p.readAnswer
	return kit.Load(kit.Sandbox, &p.look, p.deps.Ctx, func(ctx context.Context) (looked, error) {
		a, err := read(ctx, "the newest fetch", id, lookBytes)
		body := strings.Split(string(a.Body), "\n")
		lines := make([]string, len(body))
		for i, l := range body {
			lines[i] = text.Clean(strings.TrimSuffix(l, "\r"))
		}
		return looked{id: id, done: true, res: a.Result, lines: lines, err: err}, nil
	}, func(l looked, _ error) tea.Cmd {
		p.lookup = l
		return nil
	})
}

// detailLines are what is known of a cell in h lines: its runs, the evidence of the newest,
// and how its page begins.
func (p *Page) detailLines(c model.Cell, w, h int) []string {
	th := p.deps.Theme
	lines := p.cellLines(c, w, max(min(h, 4), h/3))
	seen := p.lookup
	if !seen.done || len(c.Runs) == 0 || c.Runs[len(c.Runs)-1].FetchID != seen.id || h-len(lines) < 3 {
		return lines
	}
	if seen.err != nil {
		if errors.Is(seen.err, context.Canceled) {
			return lines
		}
		return append(append(lines, ""), widget.Wrapped(th.Warn, "! "+oneLine(seen.err), w)...)
	}
	lines = append(lines, "")
	if s := seen.res.Diagnosis.Summary; s != "" {
		lines = append(lines, widget.Wrapped(th.Strong, s, w)...)
	}
	evidence := kit.Weighed(seen.res.Diagnosis)
	for _, e := range evidence[:min(len(evidence), 4, max(h-len(lines)-2, 1))] { // the page's head and first line stay
		lines = append(lines, text.Cut(th.Muted.Render("evidence")+"  "+strings.ReplaceAll(e.Kind, "_", " ")+": "+text.Clean(e.Text), w))
	}
	if seen.res.Body.Size > 0 {
		const head = "╶ the page begins "
		lines = append(lines, th.Border.Render(head+strings.Repeat("─", max(w-text.Width(head), 0))))
		for _, l := range seen.lines {
			if len(lines) >= h {
				break
			}
			lines = append(lines, text.Cut(l, w))
		}
	}
	return lines[:min(len(lines), h)]
}

// timeLines draw the median times of all cells in lines of w cells, on one scale.
func (p *Page) timeLines(w, h int) []string {
	const nameW, tookW = 25, 9
	th := p.deps.Theme
	barW := max(w-nameW-tookW-3, 4)
	slowest := time.Duration(1)
	for _, c := range p.twin.Cells {
		if total, ok := c.Total(); ok {
			slowest = max(slowest, total)
		}
	}
	lines := []string{th.Muted.Render(text.Cut("░ until the first byte  █ the rest", w))}
	at, _ := p.cell()
	for i, c := range p.twin.Cells[:min(len(p.twin.Cells), max(h-1, 0))] {
		mark := " "
		if i == at {
			mark = "›"
		}
		name := text.Fit(mark+text.Clean(zoneName(c.Zone)), nameW-7) + " " + text.Fit(c.Via.String(), 6)
		total, ran := c.Total()
		if !ran {
			lines = append(lines, th.Muted.Render(text.Cut(name+" -", w)))
			continue
		}
		answered, _ := c.Answered()
		whole := int(total * time.Duration(barW) / slowest)
		wait := min(max(int(answered*time.Duration(barW)/slowest), 0), whole)
		typical, _ := c.Typical()
		_, ink := th.ClassMark(typical.Class)
		bar := ink.Render(strings.Repeat("░", wait) + strings.Repeat("█", whole-wait))
		lines = append(lines, text.Cut(name+" "+text.Fit(bar, barW)+" "+text.FitRight(text.Duration(total), tookW), w))
	}
	return lines
}

// renderCell draws what is known of the cell under the cursor, and on a wide screen the
// times of all cells beside it.
func (p *Page) renderCell(i, w, h int) string {
	th, c := p.deps.Theme, p.twin.Cells[i]
	left := w
	if w >= kit.StackBelow {
		left = w * 6 / 11
	}
	pane := func(title string, w int, lines []string) string {
		return widget.Pane(th, title, false, w, h, strings.Join(widget.Indent(lines), "\n"))
	}
	cell := pane(c.Place(), left, p.detailLines(c, left-4, h-2))
	if left == w {
		return cell
	}
	return widget.Row(cell, pane("Median times", w-left, p.timeLines(w-left-4, h-2)))
}
