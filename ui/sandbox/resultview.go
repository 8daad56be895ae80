package sandbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/inspect"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// renderResult draws the response pane: the request in flight, the result, or a hint.
func (m *Model) renderResult(on bool, w, h int) string {
	m.result.head = nil
	switch {
	case m.result.flight != nil:
		return widget.Block(strings.Join(m.flightLines(w), "\n"), w, h)
	case !m.result.hasResult():
		return widget.Block(strings.Join(append(m.firstLines(w), m.keyLines(w, h)...), "\n"), w, h)
	}
	head := m.headLines(w, h)
	m.result.head = head
	rest := h - len(head)
	if rest <= 0 {
		return widget.Block(strings.Join(head, "\n"), w, h)
	}
	return strings.Join(head, "\n") + "\n" + m.result.renderPage(on, w, rest)
}

// renderPage draws the open page of the result.
func (p *resultPane) renderPage(on bool, w, h int) string {
	if !p.ofBody() {
		return widget.Block(strings.Join(p.page.Visible(p.pageLines(w), h), "\n"), w, h)
	}
	if why := noBody(p.res); why != "" {
		return widget.Block(" "+p.deps.Theme.Muted.Render(text.Cut(why, w-2)), w, h)
	}
	return p.fillBelow(p.body.Render(on, w, h), w, h)
}

// pageLines are the lines of a page that is not the body.
func (p *resultPane) pageLines(w int) []string {
	switch p.tab {
	case tabTiming:
		if len(p.res.Phases) > 0 {
			return stepfall(p.deps.Theme, p.res, w)
		}
		return waterfall(p.deps.Theme, p.res.Timing, p.res.Request, w)
	case tabAttempts:
		return p.attemptLines(p.res.Attempts, w)
	case tabFields:
		return p.fieldLines(p.res.Fields, w)
	case tabTLS:
		return inspect.ChainLines(p.deps.Theme, p.res.Chain, time.Now(), w) // the handshake was verified by this clock
	case tabHeaders:
		return p.headerLines(w)
	default:
		return nil
	}
}

// noBody says why there is no body to show, or returns "".
func noBody(res model.FetchResult) string {
	switch {
	case res.Body.Size > 0:
		return ""
	case res.Status == 0 && res.ServiceStatus == 0:
		return "No answer came."
	case res.Request.Method == methodHead:
		return "HEAD asks for no body."
	default:
		return "The answer has no body: 0 bytes."
	}
}

// firstLines are shown while there is no result.
func (m *Model) firstLines(w int) []string {
	th := m.deps.Theme
	var lines []string
	add := func(ink kit.Ink, words string) {
		lines = append(lines, widget.Indent(widget.Wrapped(ink, words, w-2))...)
	}
	if m.result.trouble != "" {
		add(th.Warn, "! "+m.result.trouble)
		return append(lines, "", " "+th.Muted.Render(th.Key("sandbox.send")+" sends the request."))
	}
	switch {
	case m.session.Problem != "":
		add(th.Bad, "✗ "+m.session.Problem)
	case m.session.Local && !m.session.Ready:
		add(th.Muted, "Starting the local emulator…")
	case !m.session.Ready:
		add(th.Muted, "Reading the keys…")
	case m.session.Local:
		add(th.Text, "This is the embedded emulator. "+th.Key("sandbox.send")+" sends. "+th.Key("console.palette")+" 'add profile' when you are ready.")
	default:
		add(th.Text, th.Key("sandbox.send")+" sends the request as \"Will be sent\" shows it.")
	}
	return lines
}

// flightLines show the progress of the request in flight.
func (m *Model) flightLines(w int) []string {
	th, f := m.deps.Theme, *m.result.flight
	now := m.deps.Profile.Now()
	line := th.Accent.Render("● "+phaseWord(f)) + "  " + text.Duration(max(now.Sub(f.started), 0)) +
		th.Muted.Render(fmt.Sprintf("  attempt %d", f.n))
	if f.bytes > 0 {
		line += th.Muted.Render("  " + text.Bytes(f.bytes))
	}
	lines := []string{" " + line, " " + th.Muted.Render(text.Cut(text.Clean(fmt.Sprintf("%s · %s · %s", f.request.Zone.Name, f.request.Via, f.request.URL)), w-2))}
	if !f.until.IsZero() {
		left := max(f.until.Sub(now), 0)
		lines = append(lines, " "+th.Warn.Render("! "+fmt.Sprintf("waiting, %.1f s left before the next attempt", left.Seconds())))
	}
	if f.reason != "" {
		lines = append(lines, widget.Indent(widget.Wrapped(th.Warn, "! "+f.reason, w-2))...)
	}
	words := "esc cancels"
	if others := m.flights.running() - 1; others > 0 {
		words += fmt.Sprintf(" · %d more in flight: see History", others)
	}
	lines = append(lines, " "+th.Muted.Render(text.Cut(words, w-2)))
	if len(f.attempts) > 0 {
		lines = append(lines, "")
		lines = append(lines, m.result.attemptLines(f.attempts, w)...)
	}
	return lines
}

func phaseWord(f flight) string {
	if !f.until.IsZero() {
		return "waiting"
	}
	return cmp.Or(f.phase, "sending")
}

// attemptLines is the table of attempts.
func (p *resultPane) attemptLines(list []model.Attempt, w int) []string {
	th := p.deps.Theme
	lines := []string{th.Muted.Render(text.Fit("  #  CLASS                STATUS      WAITED       TOOK", w))}
	for _, a := range list {
		glyph, ink := th.OutcomeMark(a.Class, a.Cause)
		status := "-"
		if a.Status > 0 {
			status = fmt.Sprint(a.Status)
		}
		lines = append(lines, text.Cut(fmt.Sprintf(" %2d  ", a.N)+ink.Render(text.Fit(glyph+" "+model.ClassWord(a.Class, a.Cause), 19))+
			"  "+text.FitRight(status, 6)+"  "+text.FitRight(waited(a.Wait), 10)+" "+text.FitRight(text.Duration(a.Total), 10), w))
	}
	return lines
}

// fieldLines list the required fields, each with its value or "missing".
func (p *resultPane) fieldLines(list []model.Field, w int) []string {
	th := p.deps.Theme
	pathW := 8
	for _, f := range list {
		pathW = max(pathW, text.Width(text.Clean(f.Path)))
	}
	pathW = min(pathW, max(w/2, 8))
	lines := []string{th.Muted.Render(text.Fit("   "+text.Fit("REQUIRED", pathW)+"  VALUE", w))}
	for _, f := range list {
		mark, value := th.Good.Render("✓"), text.Clean(f.Value)
		if !f.Found {
			mark, value = th.Bad.Render("✗"), th.Bad.Render("missing")
		}
		lines = append(lines, text.Cut(" "+mark+" "+text.Fit(text.Clean(f.Path), pathW)+"  "+value, w))
	}
	return lines
}

// waited is the back-off before an attempt, or "-".
func waited(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return text.Duration(d)
}

// headLines are the verdict, evidence, next steps and page names, as many as fit above
// at least three lines of the page.
func (m *Model) headLines(w, h int) []string {
	th := m.deps.Theme
	d := m.result.res.Diagnosis
	var lines []string
	if m.result.trouble != "" { // the result below is an earlier one
		notice := widget.Hung(" ", th.Warn, "! "+strings.TrimRight(m.result.trouble, ".")+"; below is the previous result.", w-1)
		lines = notice[:min(len(notice), max(h-5, 1))] // the verdict, the pages' line, and three lines of the page
	}
	if m.result.origin == fromHistory {
		when := widget.DateAndAge(m.session, m.result.profile, m.result.res.Started, m.deps.Profile.Now())
		lines = append(lines, " "+th.Muted.Render(text.Cut("from history, "+when+", nothing was sent", w-1)))
	}
	if of := m.result.res.Proves; of != "" {
		lines = append(lines, " "+th.Muted.Render(text.Cut(text.Clean("proof for "+of), w-1)))
	}
	lines = append(lines, m.result.statusLines(w, h)...)
	steps := m.stepLines(w)
	room := h - len(lines) - 1 - 3 // the pages' line, and three lines of the page
	evidence, most := m.result.evidenceLines(kit.Weighed(d), w, h)
	var summary []string
	if d.Summary != "" && !d.OK() {
		summary = widget.Hung(" ", th.Strong, d.Summary, w-1)
	}
	take := func(from []string, most int) {
		n := min(len(from), most, max(room, 0))
		lines = append(lines, from[:n]...)
		room -= n
	}
	if d.OK() {
		take(evidence, 1)
	} else {
		stepRoom := min(len(steps), 3)
		room -= stepRoom
		take(summary, 2)
		take(evidence, most)
		room += stepRoom
		take(steps, 3)
	}
	return append(lines, m.result.pagesLine(w))
}

// roomy is the height from which evidence is shown in full.
const roomy = 18

// evidenceLines returns the lines of the evidence, the most important first, and how
// many to show: one line for each, or two for each of the first three if h allows it.
func (p *resultPane) evidenceLines(list []model.Evidence, w, h int) (lines []string, most int) {
	const indent = 11
	head := " " + p.deps.Theme.Muted.Render("evidence") + "  "
	if h < roomy {
		for _, e := range list {
			lines = append(lines, text.Cut(head+evidenceText(e), w))
		}
		return lines, 3
	}
	for _, e := range list[:min(len(list), 3)] {
		whole := evidenceText(e)
		words := text.Wrap(whole, max(w-indent-1, 1))
		if len(words) > 2 {
			rest := strings.TrimLeft(strings.TrimPrefix(whole, words[0]), " ")
			words = []string{words[0], text.Cut(rest, w-indent-1)}
		}
		lines = append(lines, head+words[0])
		for _, l := range words[1:] {
			lines = append(lines, strings.Repeat(" ", indent)+l)
		}
	}
	return lines, len(lines)
}

// stepLines are the next steps that can be taken, each with its key.
func (m *Model) stepLines(w int) []string {
	th := m.deps.Theme
	var words []string
	used := map[string]bool{}
	for _, s := range m.result.res.Diagnosis.Steps {
		key := kit.StepKey(s.Action)
		if !used[key] && m.stepDisabled(s) == "" {
			used[key] = true
			words = append(words, th.KeyHint.Render("["+th.Key(kit.StepName(s.Action))+"]")+" "+m.stepLabel(s))
		}
	}
	var lines []string
	line := " " + th.Muted.Render("do next ")
	start := text.Width(line)
	for _, word := range words {
		if text.Width(line)+2+text.Width(word) > w && text.Width(line) > start {
			lines = append(lines, line)
			line = strings.Repeat(" ", start)
		}
		line += "  " + word
	}
	if len(words) > 0 {
		lines = append(lines, line)
	}
	return lines
}

// pagesLine names the pages and marks the open one.
func (p *resultPane) pagesLine(w int) string {
	th := p.deps.Theme
	var b strings.Builder
	b.WriteByte(' ')
	for _, t := range p.pages() {
		if t == p.tab {
			shown := string(t)
			if by := p.body.Filtered(); by != "" && p.ofBody() {
				shown = text.Cut(text.Clean(by), w/3)
			}
			b.WriteString(th.TabOn.Render("╶ "+shown+" ╴") + " ")
		} else {
			b.WriteString(th.TabOff.Render(" "+string(t)+" ") + "  ")
		}
	}
	hint := th.KeyHint.Render(th.Key("sandbox.next-page")) + th.Muted.Render(" next page ")
	if text.Width(b.String())+text.Width(hint) > w {
		return text.Fit(b.String(), w)
	}
	return text.Edge(b.String(), hint, w)
}

// statusLines are the coloured status line, in several where there is room.
func (p *resultPane) statusLines(w, h int) []string {
	glyph, ink := p.deps.Theme.OutcomeMark(p.res.Diagnosis.Class, p.res.Diagnosis.Cause)
	head := glyph + " " + model.ClassWord(p.res.Diagnosis.Class, p.res.Diagnosis.Cause)
	rest := strings.TrimPrefix(p.statusLine(), head)
	if h < roomy {
		return []string{" " + ink.Render(head) + rest}
	}
	return widget.Hung(" "+ink.Render(head)+"   ", kit.Ink{}, strings.TrimSpace(rest), w-1)
}

// statusLine is the verdict in one line: class, status, method, time, size, cost; then what a
// narrow screen may cut off, the type and the exit last.
func (p *resultPane) statusLine() string {
	res := p.res
	glyph, _ := p.deps.Theme.OutcomeMark(res.Diagnosis.Class, res.Diagnosis.Cause)
	status := "no answer"
	switch {
	case res.Status > 0:
		status = fmt.Sprint(res.Status)
	case res.ServiceStatus > 0:
		status = fmt.Sprintf("service %d", res.ServiceStatus)
	}
	parts := []string{status, res.Request.Via.String(), text.Duration(res.Timing.Total), text.Bytes(res.Body.Size), res.CostWords()}
	if n := len(res.Fields); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", n-len(model.MissingFields(res.Fields)), text.Counted(n, "field")))
	}
	if n := len(res.Attempts); n > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", n))
	}
	if res.Body.Cut {
		parts = append(parts, "cut")
	}
	if res.Body.Incomplete {
		parts = append(parts, "ended early")
	}
	if res.ContentType != "" {
		kind, _, _ := strings.Cut(res.ContentType, ";")
		parts = append(parts, text.Clean(strings.TrimSpace(kind)))
	}
	if res.Exit != "" {
		parts = append(parts, "exit "+text.Clean(res.Exit))
	}
	return glyph + " " + model.ClassWord(res.Diagnosis.Class, res.Diagnosis.Cause) + "   " + strings.Join(parts, " · ")
}

// evidenceText describes one piece of evidence, with its place in the body.
func evidenceText(e model.Evidence) string {
	if note := e.Note(); note != "" {
		return "note: " + text.Clean(note)
	}
	text := text.Clean(e.Text)
	if e.Length > 0 {
		return fmt.Sprintf("body bytes %d-%d: %s", e.Offset, e.Offset+e.Length-1, text)
	}
	return strings.ReplaceAll(e.Kind, "_", " ") + ": " + text
}
