package text

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBytesAndDurations(t *testing.T) {
	for n, want := range map[int64]string{-1: "-", 0: "0 B", 999: "999 B", 1000: "1.0 KB", 18_200: "18.2 KB", 999_999: "1.0 MB", 1_400_000: "1.4 MB", 256 << 20: "268.4 MB", 1 << 62: "4.6 EB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-1: "-", 0: "0 µs", 900 * time.Microsecond: "900 µs", 412 * time.Millisecond: "412 ms", 1400 * time.Millisecond: "1.4 s", 125 * time.Second: "2 min 5 s", 90 * time.Minute: "1 h 30 min", 5 * time.Minute: "5 min", time.Hour: "1 h", time.Hour + 59*time.Second: "1 h"} {
		if got := Duration(d); got != want {
			t.Errorf("Took(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 000", -12345: "-12 345", 1234567: "1 234 567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 4, 31, 0, time.UTC)
	for _, c := range []struct {
		at                time.Time
		ago, clock, whole string
	}{
		{time.Time{}, "-", "-", "-"},
		{now, "now", "12:04:31", "12:04:31 (now)"},
		{now.Add(-4 * time.Minute), "4m", "12:00:31", "12:00:31 (4m)"},
		{now.Add(-30 * time.Hour), "30h", "2026-11-20 06:04", "2026-11-20 06:04 (30h)"},
		{now.Add(-9 * 24 * time.Hour), "9d", "2026-11-12 12:04", "2026-11-12 12:04 (9d)"},
		{now.Add(7 * time.Minute), "7m ahead", "12:11:31", "12:11:31 (7m ahead)"},
	} {
		if got := [3]string{Ago(c.at, now), Clock(c.at, now), ClockAndAge(c.at, now)}; got != [3]string{c.ago, c.clock, c.whole} {
			t.Errorf("%s: %q", c.at, got)
		}
	}
	for at, want := range map[time.Time]string{
		now.Add(-time.Hour): "11:04:31", now.Add(-20 * time.Hour): "2026-11-20", now.Add(-400 * 24 * time.Hour): "2025-10-17", now.Add(time.Second): "12:04:32", now.Add(90 * 24 * time.Hour): "90d ahead",
	} {
		if got := ShortClock(at, now); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestAnAddressKeepsItsEnd(t *testing.T) {
	const long = "isp1 · API · https://shop.test/a/b/c/d/product/12345?v=2"
	for w, want := range map[int]string{
		60: long, 50: "isp1 · API · shop.test/a/b/c/d/product/12345?v=2", 40: "isp1 · API · shop.tes…/product/12345?v=2", 26: "isp1 · API · shop…2345?v=2", 20: "isp1 · API · https:…",
	} {
		if got := Cut(long, w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
	for _, sentence := range []string{"see https://shop.test/a now", "see https://shop.test/a"} {
		if got := Cut(sentence, 20); got != "see https://shop.te…" {
			t.Errorf("a sentence: %q", got)
		}
	}
}

func TestFitIsExactlyItsWidth(t *testing.T) {
	for _, s := range []string{"", "short", "a much longer line than fits", "価格価格価格価格", "\x1b[31mstyled text that is long\x1b[m", "z · https://shop.test/価格価格価格価格/価格価格?q=価格"} {
		for _, w := range []int{0, 1, 2, 5, 12, 40} {
			if got := Width(Fit(s, w)); got != w {
				t.Errorf("Fit(%q, %d) has %d cells", s, w, got)
			}
			if got := Width(FitRight(s, w)); got != w {
				t.Errorf("FitRight(%q, %d) has %d cells", s, w, got)
			}
			if got := Width(Edge(s, "right", w)); got != w {
				t.Errorf("Edge(%q, %d) has %d cells", s, w, got)
			}
		}
	}
}

func TestWrappedTextFitsAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab -/&?,;é価👩🇩\u0301\u200d\ufe0f\n"))).Draw(t, "text")
		w := rapid.IntRange(2, 12).Draw(t, "width")
		lines := Wrap(s, w)
		for _, l := range lines {
			if Width(l) > w {
				t.Errorf("%q at %d cells has the line %q of %d", s, w, l, Width(l))
			}
		}
		words := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := words(strings.Join(lines, "")); got != words(s) {
			t.Errorf("%q at %d cells became %q", s, w, lines)
		}
	})
	for _, c := range []struct {
		text string
		w    int
		want []string
	}{
		{"nothing was searched for; / searches", 26, []string{"nothing was searched for;", "/ searches"}},
		{"see http://lab.test/search?q=a&n=2", 24, []string{"see http://lab.test/", "search?q=a&n=2"}},
		{"what stands after --proxy-user", 27, []string{"what stands after --proxy-", "user"}},
		{"what stands after --proxy-user", 20, []string{"what stands after", "--proxy-user"}},
		{"  indented  words", 10, []string{"  indented", "words"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"one\n\ntwo", 9, []string{"one", "", "two"}},
		{"", 5, []string{""}},
	} {
		if got := Wrap(c.text, c.w); !slices.Equal(got, c.want) {
			t.Errorf("WrapText(%q, %d) = %q, want %q", c.text, c.w, got, c.want)
		}
	}
}
