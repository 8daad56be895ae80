package sandbox

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestPhasesFollowEachOtherAndAddUpToTheTotal(t *testing.T) {
	timing := model.Timing{DNS: -1, Connect: ms(10), ProxyConnect: ms(20), TLS: ms(30), FirstByte: ms(100), Transfer: ms(40), Total: ms(260)}
	list := phases(timing, model.FetchRequest{Via: model.ViaNative})
	var names []string
	var at, sum time.Duration
	for _, p := range list {
		names = append(names, p.Name)
		if p.Start != at {
			t.Errorf("%s begins at %v, want %v", p.Name, p.Start, at)
		}
		if p.Length > 0 {
			at += p.Length
			sum += p.Length
		}
	}
	if got := strings.Join(names, " "); got != "DNS connect CONNECT TLS wait transfer other" {
		t.Errorf("phases %q", got)
	}
	if sum != timing.Total {
		t.Errorf("the phases add up to %v, the total is %v", sum, timing.Total)
	}
}

func TestByAPIThereIsNoConnect(t *testing.T) {
	for _, p := range phases(model.Timing{Total: ms(1)}, model.FetchRequest{Via: model.ViaAPI}) {
		if p.Name == "CONNECT" {
			t.Error("CONNECT is listed for a call of the API")
		}
	}
}

func TestTheWaterfallFitsAndSaysWhatDidNotHappen(t *testing.T) {
	th := kit.NewTheme(true, true)
	timing := model.Timing{DNS: -1, Connect: ms(1), ProxyConnect: -1, TLS: -1, FirstByte: ms(400), Transfer: ms(1), Total: ms(402)}
	for _, w := range []int{20, 30, 60, 120} {
		lines := waterfall(th, timing, model.FetchRequest{Via: model.ViaNative}, w)
		for _, l := range lines {
			if text.Width(l) > max(w, 23) {
				t.Errorf("at %d cells a line takes %d: %q", w, text.Width(l), l)
			}
		}
	}
	text := strings.Join(waterfall(th, timing, model.FetchRequest{Via: model.ViaNative}, 80), "\n")
	for _, want := range []string{"no name was looked up", "no tunnel", "400 ms", "total       402 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	connect := strings.Split(text, "\n")[1]
	if !strings.Contains(connect, "▇") {
		t.Errorf("a short phase is not seen: %q", connect)
	}
}

func TestHardWrapLosesNothing(t *testing.T) {
	for _, s := range []string{"", "abc", strings.Repeat("x", 100), "日本語日本語日本語", "a b  c", strings.Repeat("☁️", 9), strings.Repeat("👩‍🚀e\u0301", 5)} {
		parts := hardWrap(s, 7)
		if strings.Join(parts, "") != s {
			t.Errorf("%q comes back as %q", s, parts)
		}
		for _, p := range parts {
			if text.Width(p) > 7 {
				t.Errorf("%q is wider than 7", p)
			}
		}
	}
}

func TestShortPhasesKeepADecimal(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{{370 * time.Microsecond, "370 µs"}, {1949 * time.Microsecond, "1.9 ms"}, {ms(9), "9.0 ms"}, {ms(22), "22 ms"}, {-1, "-"}} {
		if got := duration(c.d); got != c.want {
			t.Errorf("%v is drawn as %q, want %q", c.d, got, c.want)
		}
	}
}

func TestTimeThatNoPhaseExplainsHasNoBar(t *testing.T) {
	timing := model.Timing{DNS: -1, Connect: ms(1), ProxyConnect: -1, TLS: -1, FirstByte: ms(1), Transfer: -1, Total: ms(20)}
	lines := waterfall(kit.NewTheme(true, true), timing, model.FetchRequest{Via: model.ViaAPI}, 60)
	other := lines[len(lines)-2]
	if !strings.Contains(other, "18 ms  preparation") || strings.Contains(other, "▇") {
		t.Errorf("drawn as %q", other)
	}
	if wait := lines[3]; !strings.HasSuffix(wait, strings.Repeat("▇", 19)) {
		t.Errorf("the phases do not fill the page: %q", wait)
	}
}
