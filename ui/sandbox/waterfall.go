package sandbox

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// phase is one line of the waterfall: what took how long, and from when on,
// counted from the start of the attempt.
type phase struct {
	Name  string
	Start time.Duration
	Took  time.Duration // negative when it did not happen or cannot be seen
	Why   string        // for a phase that did not happen, and for one without a place
	// Loose is time that no phase explains: it has no place of its own, and no bar.
	Loose bool
}

// phases lays an attempt's timing end to end. What the phases do not explain of
// the total (a wait for a free place, the body's way to the disk) is its own
// line, so that the numbers add up.
func phases(t model.Timing, r model.FetchRequest) []phase {
	list := []phase{
		{Name: "DNS", Took: t.DNS, Why: "no name was looked up"},
		{Name: "connect", Took: t.Connect, Why: "a connection was used again"},
	}
	if r.Via == model.ViaNative {
		list = append(list, phase{Name: "CONNECT", Took: t.ProxyConnect, Why: "no tunnel: the proxy read the request itself"})
	}
	tls := "no TLS on the way to the service"
	if r.Via == model.ViaNative {
		tls = "no TLS with the target"
	}
	list = append(list,
		phase{Name: "TLS", Took: t.TLS, Why: tls},
		phase{Name: "wait", Took: t.FirstByte, Why: "no answer came"},
		phase{Name: "transfer", Took: t.Transfer, Why: "there was no body"},
	)
	var at time.Duration
	for i := range list {
		list[i].Start = at
		if list[i].Took > 0 {
			at += list[i].Took
		}
	}
	if rest := t.Total - at; t.Total > 0 && rest >= time.Millisecond {
		list = append(list, phase{Name: "other", Start: at, Took: rest, Why: "getting ready, and between the phases", Loose: true})
	}
	return list
}

// waterfall draws the phases in lines of at most w cells: name, duration, bar.
// The numbers say it all; the bars show it.
func waterfall(th *kit.Theme, t model.Timing, r model.FetchRequest, w int) []string {
	const nameW, tookW = 9, 9
	barW := max(w-nameW-tookW-3, 0)
	list := phases(t, r)
	var total time.Duration
	for _, p := range list {
		if !p.Loose {
			total = max(total, p.Start+max(p.Took, 0))
		}
	}
	lines := make([]string, 0, len(list)+2)
	for _, p := range list {
		head := " " + text.Fit(p.Name, nameW) + text.FitRight(took(p.Took), tookW) + "  "
		if p.Took < 0 || p.Loose {
			lines = append(lines, th.Muted.Render(head+text.Cut(p.Why, barW)))
			continue
		}
		lines = append(lines, head+bar(th, p, total, barW))
	}
	return append(lines, th.Strong.Render(" "+text.Fit("total", nameW)+text.FitRight(took(t.Total), tookW)))
}

// took is a duration with a decimal where a millisecond is a large part of it.
func took(d time.Duration) string {
	if d >= time.Millisecond && d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return text.Took(d)
}

func bar(th *kit.Theme, p phase, total time.Duration, w int) string {
	if w <= 0 || total <= 0 {
		return ""
	}
	from := int(int64(p.Start) * int64(w) / int64(total))
	to := int(int64(p.Start+p.Took) * int64(w) / int64(total))
	from = min(from, w-1)
	n := min(max(to-from, 1), w-from) // what happened is seen, however short
	if p.Took == 0 {
		n = 0
	}
	return strings.Repeat(" ", from) + th.Accent.Render(strings.Repeat("▇", n))
}
