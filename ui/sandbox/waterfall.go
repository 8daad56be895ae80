package sandbox

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// phase is one line of the waterfall. Start counts from the start of the attempt.
type phase struct {
	Name   string
	Start  time.Duration
	Length time.Duration // negative if it did not happen or cannot be measured
	Reason string        // why it did not happen, or what it covers if Loose
	// Loose marks time outside all phases; it has no bar.
	Loose bool
}

// phases lists an attempt's phases in order. Time outside the phases (waiting for a free
// slot, writing the body to disk) is a line of its own, so that the numbers add up.
func phases(t model.Timing, r model.FetchRequest) []phase {
	list := []phase{
		{Name: "DNS", Length: t.DNS, Reason: "no name was looked up"},
		{Name: "connect", Length: t.Connect, Reason: "an existing connection was reused"},
	}
	if r.Via == model.ViaNative {
		list = append(list, phase{Name: "CONNECT", Length: t.ProxyConnect, Reason: "no tunnel: the proxy handled the request itself"})
	}
	tls := "no TLS on the way to the service"
	if r.Via == model.ViaNative {
		tls = "no TLS with the target"
	}
	list = append(list,
		phase{Name: "TLS", Length: t.TLS, Reason: tls},
		phase{Name: "wait", Length: t.FirstByte, Reason: "no answer came"},
		phase{Name: "transfer", Length: t.Transfer, Reason: "there was no body"},
	)
	var at time.Duration
	for i := range list {
		list[i].Start = at
		if list[i].Length > 0 {
			at += list[i].Length
		}
	}
	if rest := t.Total - at; t.Total > 0 && rest >= time.Millisecond {
		list = append(list, phase{Name: "other", Start: at, Length: rest, Reason: "preparation, and time between the phases", Loose: true})
	}
	return list
}

// steps lists the steps of an attempt by agent access or in the remote browser.
func steps(all []model.Phase) []phase {
	var list []phase
	var at time.Duration
	for _, p := range all {
		list = append(list, phase{Name: p.Name, Start: at, Length: p.Duration})
		at += p.Duration
	}
	return list
}

// connection says in one line what the first step of several was spent on.
func connection(t model.Timing) string {
	var parts []string
	for _, p := range []phase{{Name: "DNS", Length: t.DNS}, {Name: "connect", Length: t.Connect}, {Name: "TLS", Length: t.TLS}, {Name: "wait", Length: t.FirstByte}} {
		if p.Length >= 0 {
			parts = append(parts, p.Name+" "+duration(p.Length))
		}
	}
	return "the connection: " + strings.Join(parts, ", ")
}

// stepfall draws the steps of a result that has some, and what the connection took.
func stepfall(th *kit.Theme, res model.FetchResult, w int) []string {
	return append(fall(th, steps(res.Phases), res.Timing.Total, 14, w), th.Muted.Render(text.Cut(" "+connection(res.Timing), w)))
}

// waterfall draws the phases in lines of at most w cells: name, duration, bar.
func waterfall(th *kit.Theme, t model.Timing, r model.FetchRequest, w int) []string {
	return fall(th, phases(t, r), t.Total, 9, w)
}

func fall(th *kit.Theme, list []phase, all time.Duration, nameW, w int) []string {
	const lengthW = 9
	barW := max(w-nameW-lengthW-3, 0)
	var total time.Duration
	for _, p := range list {
		if !p.Loose {
			total = max(total, p.Start+max(p.Length, 0))
		}
	}
	lines := make([]string, 0, len(list)+2)
	for _, p := range list {
		head := " " + text.Fit(p.Name, nameW) + text.FitRight(duration(p.Length), lengthW) + "  "
		if p.Length < 0 || p.Loose {
			lines = append(lines, th.Muted.Render(head+text.Cut(p.Reason, barW)))
			continue
		}
		lines = append(lines, head+bar(th, p, total, barW))
	}
	return append(lines, th.Strong.Render(" "+text.Fit("total", nameW)+text.FitRight(duration(all), lengthW)))
}

// duration formats a duration, with a decimal below 10 ms.
func duration(d time.Duration) string {
	if d >= time.Millisecond && d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return text.Duration(d)
}

func bar(th *kit.Theme, p phase, total time.Duration, w int) string {
	if w <= 0 || total <= 0 {
		return ""
	}
	from := int(int64(p.Start) * int64(w) / int64(total))
	to := int(int64(p.Start+p.Length) * int64(w) / int64(total))
	from = min(from, w-1)
	n := min(max(to-from, 1), w-from) // even a very short phase is visible
	if p.Length == 0 {
		n = 0
	}
	return strings.Repeat(" ", from) + th.Accent.Render(strings.Repeat("▇", n))
}
