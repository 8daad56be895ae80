package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// roomy is the width from which the status line has room for details.
const roomy = 80

// maxHints is how many keys the status line names.
const maxHints = 7

// frame is the last drawn screen.
type frame struct {
	dirty bool
	text  string
	tabs  []span // where the tabs' names are in the title line
	// overlay is where the lines of the top overlay are.
	overlay kit.Area
}

type span struct{ from, to int }

func bodyHeight(h int) int { return max(h-2, 0) }

func (a *App) tooSmall() bool { return a.w < kit.MinWidth || a.h < kit.MinHeight }

// View draws the screen; if nothing changed it returns the last drawing.
func (a *App) View() tea.View {
	if a.frame.dirty {
		a.frame.text = a.draw()
		a.frame.dirty = false
	}
	v := tea.NewView(a.frame.text)
	v.AltScreen = true
	v.WindowTitle = "zonedeck"
	if !a.noMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

func (a *App) draw() string {
	if a.w <= 0 || a.h <= 0 {
		return ""
	}
	if a.tooSmall() {
		return text.Cut(fmt.Sprintf("zonedeck needs %d×%d, this is %d×%d", kit.MinWidth, kit.MinHeight, a.w, a.h), a.w)
	}
	above := a.messages()
	if banner := a.banner(); banner != "" {
		above = append([]string{banner}, above...)
	}
	h := bodyHeight(a.h) - len(above)
	body := widget.Block(a.view().Render(a.w, h), a.w, h)
	for _, l := range a.stack {
		body = a.drawOverlay(body, l, h)
	}
	return widget.Stack(a.titleLine(), body, widget.Block(strings.Join(above, "\n"), a.w, len(above)), a.statusLine())
}

// drawOverlay draws an overlay over a body of h lines.
func (a *App) drawOverlay(body string, l layer, h int) string {
	o := l.overlay
	ow, oh := o.Size(a.w, h)
	ow, oh = min(max(ow, 20), a.w-2), min(max(oh, 1), h-2)
	inner := o.Render(ow, oh)
	title := o.Title()
	if l.ignored != "" {
		title += " · " + kit.KeyName(l.ignored) + " ignored, press it again"
	}
	scroller, _ := o.(kit.Scroller)
	box := widget.ScrollPane(a.theme, title, scroller, true, ow+2, oh+2, inner)
	x, y := (a.w-ow-2)/2, max((h-oh-2)/3, 0)
	a.frame.overlay = kit.Area{X: x + 1, Y: y + 2, W: ow, H: oh} // below the title line and the frame
	if a.w < kit.StackBelow || x < 12 {                          // what would be left beside it is too little to be read
		box, x = widget.Block(widget.Row(widget.Block("", x, oh+2), box), a.w, oh+2), 0
	}
	return widget.Over(body, box, x, y)
}

// messages are the lines of the toasts on screen, above the status line. They cover nothing: the body is
// that much shorter.
func (a *App) messages() (above []string) {
	for _, t := range slices.Backward(a.toasts.visible()) {
		lines := a.toastLines(t)
		if len(above)+len(lines) > bodyHeight(a.h)/3 {
			break
		}
		above = append(lines, above...)
	}
	return above
}

// toastLines wraps a toast to at most three lines. The key that dismisses an error
// gets one more line if it does not fit after the text.
func (a *App) toastLines(t toast) []string {
	hint := "esc dismisses"
	if a.stops() {
		hint = "esc cancels, then dismisses"
	}
	w := a.w - 4
	lines := text.Wrap(text.Clean(t.Text)+a.leadsTo(t.In), w)
	if len(lines) > 3 {
		lines = append(lines[:2:2], text.Cut(lines[2]+" "+lines[3], w-1)+"…")
	}
	ink, glyph := a.theme.Accent, "i"
	switch t.Kind {
	case kit.ToastWarn:
		ink, glyph = a.theme.Warn, "!"
	case kit.ToastError:
		ink, glyph = a.theme.Bad, "✗"
		if last := len(lines) - 1; text.Width(lines[last])+2+len(hint) <= w {
			lines[last] += "  " + hint
		} else {
			lines = append(lines, hint)
		}
	}
	for i, l := range lines {
		lines[i] = ink.Render(" " + glyph + " " + l + " ")
		glyph = " "
	}
	return lines
}

// titleLine shows the profile, the tabs, and the key in use with its state. On a
// narrow screen it uses shorter forms, for the tabs last.
func (a *App) titleLine() string {
	profile, key := a.profileWords(), a.keyWords()
	tabs, wide := a.tabLabels(true)
	if text.Width(profile[1])+text.Width(key[max(len(key)-2, 0)]) > a.w-wide-3 {
		tabs, wide = a.tabLabels(false)
	}
	left, right := fitting(profile, key, a.w-wide-3)
	lead := a.w - wide - text.Width(right) - 1
	at := min(max((a.w-wide)/2, text.Width(left)+1), max(lead-1, 0))
	var b strings.Builder
	b.WriteString(text.Fit(left, at))
	a.frame.tabs = a.frame.tabs[:0]
	for _, word := range tabs {
		b.WriteString(word)
		a.frame.tabs = append(a.frame.tabs, span{at, at + text.Width(word)})
		at += text.Width(word)
	}
	return text.Fit(b.String()+text.FitRight(right, max(a.w-at-1, 0)), a.w)
}

func (a *App) tabLabels(words bool) (tabs []string, wide int) {
	for i := range a.tabs {
		tabs = append(tabs, a.tabLabel(i, words))
		wide += text.Width(tabs[i])
	}
	return tabs, wide
}

// tabLabel is a tab in the title line, with its badges: "4 Keys (3 due, 1 unfinished)", or without
// their words "4 Keys !4".
func (a *App) tabLabel(i int, words bool) string {
	word, ink, open, end := kit.KeyName(a.Bindings()[i].Key())+" "+a.tabs[i].View.Title(), a.theme.TabOff, " ", " " // as wide as with brackets, so that nothing moves
	switch narrow := a.w < roomy; {
	case i == a.active && narrow:
		ink, open, end = a.theme.TabOn, " [", "]"
	case i == a.active:
		ink, open, end = a.theme.TabOn, "[", "]"
	case narrow:
		end = ""
	}
	badge, badgeInk := a.badge(i, words)
	return ink.Render(open+word) + badgeInk.Render(badge) + ink.Render(end)
}

// badge says what of a tab waits for the operator.
func (a *App) badge(i int, words bool) (string, kit.Ink) {
	tab, ok := a.tabs[i].View.(kit.Badged)
	if !ok {
		return "", kit.Ink{}
	}
	badges, ink := tab.Badges()
	total, parts := 0, []string(nil)
	for _, b := range badges {
		switch {
		case b.N < 0:
			return " ?", ink
		case b.N > 0:
			total += b.N - b.Before
			parts = append(parts, text.Count(b.N)+" "+b.Word)
		}
	}
	switch {
	case total == 0:
		return "", ink
	case words:
		return " (" + strings.Join(parts, ", ") + ")", ink
	default:
		return " !" + text.Count(total), ink
	}
}

// fitting picks the longest pair that fits w. Both sides are shortened evenly
// before one of them disappears.
func fitting(left, right []string, w int) (l, r string) {
	best := -1
	for i, a := range left {
		for j, b := range right {
			if text.Width(a)+text.Width(b) > w {
				continue
			}
			if rank := 10*(i+j) + max(i, j); best < 0 || rank < best {
				best, l, r = rank, a, b
			}
		}
	}
	if best >= 0 {
		return l, r
	}
	l, r = left[len(left)-1], right[len(right)-1]
	return text.Cut(l, max(w-text.Width(r), 0)), r
}

// profileWords are the forms of the profile's name, longest first.
func (a *App) profileWords() []string {
	t, s := a.theme, a.session
	name, short := t.Text.Render(text.Clean(s.ProfileName)), t.Text.Render(text.Clean(s.ProfileName))
	if s.Local {
		moved := ""
		if s.Ahead != 0 {
			moved = " " + model.Ahead(s.Ahead)
		}
		faults, n := "", ""
		if s.Faults > 0 {
			faults, n = " · "+text.Counted(s.Faults, "fault"), fmt.Sprintf(" !%d", s.Faults)
		}
		name, short = t.Banner.Render("LOCAL EMULATOR"+moved+faults), t.Banner.Render("LOCAL"+moved+n)
	}
	if ink, ok := t.ProfileInk(s.Profile.Color); ok {
		name, short = ink.Render(" "+text.Clean(s.ProfileName)+" "), ink.Render(" "+text.Clean(s.ProfileName)+" ")
	}
	if s.Profile.ReadOnly {
		name += t.Warn.Render(" · read-only")
		short += t.Warn.Render(" r/o")
	}
	if s.Unverified {
		name += t.Bad.Render(" · TLS not verified")
		short += t.Bad.Render(" !TLS")
	}
	return []string{" " + t.Title.Render("zonedeck") + t.Muted.Render(" · ") + name, " " + name, " " + short}
}

// keyWords are the forms of the key in use, longest first.
func (a *App) keyWords() []string {
	t, s := a.theme, a.session
	switch {
	case s.Problem != "":
		return []string{t.Bad.Render("✗ not ready"), t.Bad.Render("✗")}
	case !s.Ready && s.Unread != nil:
		return []string{t.Muted.Render("reading keys …"), t.Muted.Render("…")}
	case !s.Ready:
		return []string{t.Muted.Render("starting …"), t.Muted.Render("…")}
	case s.Key.Name == "" && s.Profile.Key != "":
		return []string{t.Warn.Render("! key " + text.Clean(text.Cut(s.Profile.Key, 24)) + " is not in Keys"), t.Warn.Render("! unknown key"), t.Warn.Render("!")}
	case s.Key.Name == "":
		return []string{t.Warn.Render("! no key"), t.Warn.Render("!")}
	}
	now := s.KeyNow(s.Key, a.deps.Now())
	state := s.Key.State(now, model.SoonDays*24*time.Hour)
	glyph, ink := t.KeyMark(state)
	name := text.Clean(s.Key.Name)
	short := text.Cut(name, 12)
	if own := s.Replaced; own != "" {
		name += ", not " + text.Clean(text.Cut(own, 24))
		short = "env key, not " + text.Clean(text.Cut(own, 12))
	}
	long := t.Text.Render(name) + " " + t.Muted.Render(s.Key.Level.String()+" · "+keyClock(s.Key, state, now)) + " " + ink.Render(glyph)
	return []string{long, t.Text.Render(name) + " " + ink.Render(glyph+" "+state.String()), t.Text.Render(short) + " " + ink.Render(glyph), ink.Render(glyph)}
}

// statusLine has the key hints on the left and the work in flight on the right.
func (a *App) statusLine() string {
	t := a.theme
	right, spent, status := "", "", ""
	if a.w >= roomy && a.deps.Spending != nil {
		spent = t.Muted.Render(a.spent() + " · ")
	}
	if s, ok := a.view().(kit.StatusView); ok {
		status = text.Clean(s.Status())
	}
	n := a.running()
	switch {
	case n == 0 && status == "":
		right += t.Muted.Render("0 running")
	case n == 0:
		right += t.Muted.Render(status)
	case status != "":
		spent = t.Muted.Render(status+" · ") + spent
		fallthrough
	default:
		right += t.Accent.Render("● " + strconv.Itoa(n) + " running")
	}
	if a.noMouse {
		spent = t.Warn.Render("mouse off · ") + spent
	}
	right += " "
	hints, all := a.hintText(a.w - text.Width(spent+right) - 1)
	if !all && (a.w < roomy || len(a.stack) > 0 || capturing(a.target())) { // the keys are said first
		if spent = ""; n == 0 && status == "" {
			right = ""
		}
		hints, _ = a.hintText(a.w - text.Width(right) - 1)
	}
	return text.Edge(hints, spent+right, a.w)
}

// spent is the session's cost as far as it is known. Before the first fetch it says whether
// there is a rate at all.
func (a *App) spent() string {
	s := a.deps.Spending.Spent()
	priced := slices.ContainsFunc(a.session.Zones, func(z model.Zone) bool { return z.Rate.Priced() })
	if s == (model.Spend{}) && !priced {
		return "unpriced"
	}
	return "session " + s.String()
}

// hintText is as many hints as fit, and whether these are all. Help always keeps its place.
func (a *App) hintText(room int) (line string, all bool) {
	t := a.theme
	width := func(h kit.Binding) int { return text.Width(kit.KeyName(h.Key())+" "+h.Label) + 3 }
	list, help := a.hints()
	if help.Label != "" {
		room -= width(help)
	}
	parts := make([]string, 0, len(list)+1)
	draw := func(h kit.Binding) {
		parts = append(parts, t.KeyHint.Render(kit.KeyName(h.Key()))+" "+t.KeyLabel.Render(h.Label))
	}
	used := -2 // a blank before the first, and no dot
	for _, h := range list {
		if used += width(h); used > room {
			break
		}
		draw(h)
	}
	all = len(parts) == len(list)
	if help.Label != "" {
		draw(help)
	}
	return " " + strings.Join(parts, t.Muted.Render(" · ")), all
}

// hides reports whether a dialog has keys that no line of it names, besides those that move.
func hides(v kit.View) bool {
	return slices.ContainsFunc(v.Bindings(), func(b kit.Binding) bool { return b.Hidden && b.Help != "" && b.Group != "Move" && b.Group != "Form" })
}

// hints are the bindings for the status line: those of the target that can act, the way out among the first two, and
// help if it is available. Help lists the others with their reasons.
func (a *App) hints() (out []kit.Binding, help kit.Binding) {
	v := a.target()
	typing, bindings := capturing(v), a.theme.Bound(v.Bindings())
	for _, b := range bindings {
		if typing && b.WhileTyping || b.Dangerous && kit.InForm(bindings) {
			b.Keys = b.Chords()
		}
		if b.Matches("esc") && !b.Stops && a.toasts.standing() >= 0 { // it dismisses the error
			continue
		}
		if !b.Hidden && b.Disabled == "" && len(b.Keys) > 0 && b.Label != "" && (!typing || b.WhileTyping) && !slices.ContainsFunc(out, func(o kit.Binding) bool { return o.Key() == b.Key() }) {
			out = append(out, b)
		}
	}
	if i := slices.IndexFunc(out, func(b kit.Binding) bool { return b.Matches("esc") }); i > 1 {
		esc := out[i]
		out = slices.Insert(slices.Delete(out, i, i+1), 1, esc)
	}
	out = out[:min(len(out), maxHints-1)]
	if !typing && (len(a.stack) == 0 || hides(v)) {
		help = kit.Binding{Keys: []string{a.theme.Key("console.help")}, Label: "help"}
	}
	return out, help
}
