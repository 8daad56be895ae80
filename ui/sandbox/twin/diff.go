package twin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// diffMarked compares the newest fetches of the two marked cells. Nothing is sent.
func (p *Page) diffMarked() tea.Cmd {
	var names, ids [2]string
	for i, at := range p.marks {
		c := p.twin.Cells[at]
		names[i], ids[i] = c.Place(), c.Runs[len(c.Runs)-1].FetchID
	}
	read := p.readAnswer
	return kit.Load(kit.Sandbox, &p.load, p.deps.Ctx, func(ctx context.Context) (compare.Difference, error) {
		a, errA := read(ctx, names[0], ids[0], compare.MaxText)
		b, errB := read(ctx, names[1], ids[1], compare.MaxText)
		if err := errors.Join(errA, errB); err != nil {
			return compare.Difference{}, err
		}
		return compare.Answers(a, b)
	}, func(d compare.Difference, err error) tea.Cmd { return p.diffed(names, d, err) })
}

// readAnswer loads a fetch with the beginning of its body. It runs in commands.
func (p *Page) readAnswer(ctx context.Context, name, id string, most int64) (compare.Answer, error) {
	res, err := p.deps.LoadFetch(ctx, id)
	if err != nil {
		return compare.Answer{}, fmt.Errorf("%s: %w", name, err)
	}
	src, err := p.deps.Open(ctx, res.Body)
	if err != nil {
		return compare.Answer{}, fmt.Errorf("%s: %w", name, err)
	}
	if src.Close != nil {
		defer func() { _ = src.Close() }() // it was only read
	}
	begin, err := io.ReadAll(io.NewSectionReader(src.Reader, 0, min(src.Size, most)))
	if err != nil {
		return compare.Answer{}, fmt.Errorf("%s: %w", name, err)
	}
	return compare.Answer{Name: name, Result: res, Body: begin}, nil
}

// diffed shows the difference of two marked cells.
func (p *Page) diffed(names [2]string, diff compare.Difference, err error) tea.Cmd {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return kit.Fail("The two cells could not be compared: " + oneLine(err))
	}
	th := p.deps.Theme
	var lines []string // as drawn last: a difference may be long
	width, version := 0, 0
	return kit.OpenOverlay(&widget.Page{
		Heading: "Difference: " + names[0] + " / " + names[1], Width: 160,
		Lines: func(w int) []string {
			if w != width || th.Version != version {
				lines, width, version = diffLines(th, names, diff, w), w, th.Version
			}
			return lines
		},
		Closing: kit.Binding{Keys: []string{"esc", "q", "d"}, Label: "close", Help: "Go back to the comparison.", Intent: kit.Close{}},
	})
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// diffLines draws a difference in lines of w cells.
func diffLines(th *kit.Theme, names [2]string, d compare.Difference, w int) []string {
	if d.IsEmpty() {
		return []string{" " + th.Good.Render("✓") + " both answers are the same: class, status, headers and body"}
	}
	var out []string
	section := func(title string, changes []compare.Change) {
		if len(changes) == 0 {
			return
		}
		out = append(out, " "+th.Strong.Render(title))
		for _, c := range changes {
			out = append(out, widget.Hung("   ", th.Muted, c.Name, w)...)
			out = append(out, widget.Hung("     "+th.Bad.Render("- "), th.Bad, orNone(c.A), w)...)
			out = append(out, widget.Hung("     "+th.Good.Render("+ "), th.Good, orNone(c.B), w)...)
		}
		out = append(out, "")
	}
	out = append(out, " "+th.Bad.Render("- "+names[0])+"   "+th.Good.Render("+ "+names[1]), "")
	section("Verdict", d.Verdict)
	section("Headers", d.Headers)
	section("Structure of the JSON", d.Structure)
	if d.Note != "" {
		out = append(out, widget.Hung(" ", th.Warn, "! "+d.Note, w)...)
	}
	if d.Text != "" {
		out = append(out, " "+th.Strong.Render("Body"))
		for line := range strings.Lines(d.Text) {
			out = append(out, "   "+diffInk(th, line).Render(text.Cut(text.Clean(strings.TrimSuffix(line, "\n")), w-3)))
		}
	}
	return out
}

func diffInk(th *kit.Theme, line string) kit.Ink {
	switch line[0] {
	case '-':
		return th.Bad
	case '+':
		return th.Good
	case '@':
		return th.Accent
	default:
		return th.Text
	}
}

func orNone(s string) string {
	if s == "" {
		return "not there"
	}
	return s
}

// whyNotDiff returns the reason why the marked cells cannot be compared, or "".
func (p *grid) whyNotDiff() string {
	if len(p.marks) < 2 {
		return "mark two cells with space first"
	}
	for _, at := range p.marks {
		if c := p.twin.Cells[at]; len(c.Runs) == 0 {
			return "no run of " + c.Place() + " has ended"
		}
	}
	return ""
}
