package history

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zonedeck/service/local"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// renderLog draws the emulator's journal.
func (m *Model) renderLog(w, h int) string {
	th, s := m.deps.Theme, &m.log
	iw, ih := widget.Inner(w, h)
	head := "What the emulator saw"
	if n := s.table.Len(); n > 0 {
		head += fmt.Sprintf("  %s of %s", text.Count(s.table.Cursor()+1), text.Count(n))
	}
	if s.dropped > 0 {
		head += fmt.Sprintf("  (%s arrived too fast to be read)", text.Count(int(min(s.dropped, 1<<30))))
	}
	var body string
	m.drawn = kit.Regions{{W: w, H: h}}
	switch {
	case s.problem != "":
		body = widget.Trouble(th, s.problem, "Retrying every second.", iw, ih)
	case !s.loaded:
		body = widget.Block("\n "+th.Muted.Render("asking the emulator…"), iw, ih)
	case s.table.Len() == 0:
		body = widget.Block(m.emptyLog(iw), iw, ih)
	default:
		detail := m.logLines(iw)
		s.table.SetRows(s.table.Len(), m.logRow)
		body = s.table.Render(th, true, iw, ih-len(detail)) + "\n" + strings.Join(detail, "\n")
	}
	return widget.ScrollPane(th, head, &s.table, true, w, h, body)
}

// emptyLog explains what will be listed and where to send requests.
func (m *Model) emptyLog(w int) string {
	p := m.session.Profile
	words := "The emulator has seen no request yet. Everything a client sends will be listed here as it arrived: method, address, headers and body, zone and key, the answer, and the fault that hit it.\n\n" +
		"API    " + p.BaseURL + "\nproxy  " + p.ProxyHost + ":" + strconv.Itoa(p.ProxyPort)
	return "\n" + strings.Join(widget.Indent(widget.Wrapped(m.deps.Theme.Muted, words, w-2)), "\n")
}

func (m *Model) logRow(i int) []widget.Cell {
	r, ok := m.log.at(i)
	if !ok {
		return nil
	}
	th := m.deps.Theme
	answer, good := answerOf(r)
	glyph, ink := "✓ ", th.Good
	if !good {
		glyph, ink = "✗ ", th.Bad
	}
	return []widget.Cell{
		{Text: text.ShortClock(r.Time, m.deps.Now()), Ink: th.Muted},
		widget.C(r.Point), widget.C(r.Method),
		{Text: glyph + answer, Ink: ink},
		widget.C(r.Zone),
		{Text: r.Key, Ink: th.Muted},
		{Text: r.Fault, Ink: th.Warn},
		widget.C(targetCell(r)),
	}
}

// answerOf says in at most seven cells how a request ended, and whether it ended
// well. The target's status follows the service's.
func answerOf(r local.Request) (text string, good bool) {
	switch {
	case r.Status == 0:
		return "none", false
	case r.Cut:
		return strconv.Itoa(r.Status) + " cut", false
	case r.Inner != 0 && r.Inner != r.Status:
		return strconv.Itoa(r.Status) + "›" + strconv.Itoa(r.Inner), r.Status < 400 && r.Inner < 400
	}
	return strconv.Itoa(r.Status), r.Status < 400
}

// address is the requested URL, and the target page if there is one.
func address(r local.Request) string {
	if r.Target != "" {
		return r.URL + " → " + r.Target
	}
	return r.URL
}

// targetCell is a row's last cell: the page comes first, because the row may be cut.
func targetCell(r local.Request) string {
	if r.Target != "" {
		return r.Target + " (" + r.URL + ")"
	}
	return r.URL
}

// logLines shows the selected request in two lines below the list.
func (m *Model) logLines(w int) []string {
	r, ok := m.log.at(m.log.table.Cursor())
	if !ok {
		return nil
	}
	return widget.Foot(m.deps.Theme, w, append(text.Wrap(text.Clean(m.requestFacts(r)), max(w-2, 8)), address(r))...)
}

// requestFacts is everything known about a request except its address, in one line.
func (m *Model) requestFacts(r local.Request) string {
	answer, _ := answerOf(r)
	parts := []string{"#" + strconv.FormatUint(r.Seq, 10) + " " + r.Method + " by " + r.Point, "answer " + answer}
	for _, f := range []struct{ name, v string }{{"code", r.Code}, {"fault", r.Fault}, {"key", r.Key}} {
		if f.v != "" {
			parts = append(parts, f.name+" "+f.v)
		}
	}
	return strings.Join(append(parts, traffic(r)), " · ")
}

// traffic is the bytes in both directions, and the duration.
func traffic(r local.Request) string {
	return text.Bytes(r.BytesIn) + " in · " + text.Bytes(r.BytesOut) + " out · " + text.Duration(r.Duration())
}

// headerLines are the headers, sorted by name.
func headerLines(r local.Request) []string {
	out := make([]string, 0, len(r.Header))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		out = append(out, name+": "+r.Header[name])
	}
	return out
}

// requestLines are a request in full. All of it may come from a client or a target.
func (m *Model) requestLines(r local.Request, w int) []string {
	t := m.deps.Theme
	var out []string
	fact := func(name, v string) {
		if v != "" {
			out = append(out, widget.Fact(t, " "+name, v, w-1)...)
		}
	}
	answer, _ := answerOf(r)
	switch {
	case r.Status == 0:
		answer = "none: the connection ended first"
	case r.Cut:
		answer = strconv.Itoa(r.Status) + ", broken off"
	case r.Inner != 0:
		answer = fmt.Sprintf("%d, inner status %d", r.Status, r.Inner)
	}
	fact("request", r.Method+" "+r.URL)
	fact("target", r.Target)
	fact("came", text.ClockAndAge(r.Time, m.deps.Now())+" by "+r.Point+" from "+r.Remote)
	fact("zone", r.Zone)
	fact("key", r.Key)
	fact("username", r.User)
	fact("answer", answer)
	fact("code", r.Code)
	fact("fault", r.Fault)
	fact("traffic", traffic(r))
	fact("basis", r.Basis)
	out = append(out, "", " "+t.Title.Render("Headers")+t.Muted.Render("  keys and passwords are masked"))
	if len(r.Header) == 0 {
		out = append(out, " "+t.Muted.Render("no headers were recorded"))
	}
	for _, l := range headerLines(r) {
		out = append(out, widget.Hung(" ", kit.Ink{}, l, w-1)...)
	}
	if r.Body != "" {
		head := "Body"
		if r.BodyCut {
			head = "Beginning of the body"
		}
		out = append(out, "", " "+t.Title.Render(head))
		out = append(out, widget.Indent(widget.Wrapped(kit.Ink{}, r.Body, w-2))...)
	}
	return out
}
