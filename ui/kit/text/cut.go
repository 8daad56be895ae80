package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the width of a line in cells.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens a line to w cells and ends it with "…" if anything was cut. An address at its end keeps its own end: it
// loses its scheme, and then its middle.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	return shortened(s, w)
}

// shortened is Cut for a line that is too long.
func shortened(s string, w int) string {
	at := strings.LastIndexByte(s, ' ') + 1
	scheme, address, _ := strings.Cut(s[at:], "://")
	n, room := Width(address), w-Width(s[:at])
	inSentence := at > 1 && s[at-2] >= 'a' && s[at-2] <= 'z'
	if scheme != "http" && scheme != "https" || inSentence || strings.Contains(address, "\x1b") || room < 12 {
		return ansi.Truncate(s, w, "…")
	}
	if n <= room {
		return s[:at] + address
	}
	end := ansi.TruncateLeft(address, n-room*2/3, "")
	return s[:at] + ansi.Truncate(address, room-Width(end), "…") + end
}

// Fit cuts or pads a line to exactly w cells.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s, rest := fitting(s, w)
	return s + Spaces(rest)
}

// FitRight is Fit with the padding on the left.
func FitRight(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s, rest := fitting(s, w)
	return Spaces(rest) + s
}

// fitting is Cut for a positive w, and the cells that are left.
func fitting(s string, w int) (cut string, rest int) {
	n := Width(s)
	if n > w {
		s = shortened(s, w)
		n = Width(s)
	}
	return s, w - n
}

// Edge puts left and right at the two ends of a line of w cells. If both do not fit,
// left is cut.
func Edge(left, right string, w int) string {
	rw := Width(right)
	if rw >= w {
		return Fit(right, w)
	}
	return Fit(left, w-rw) + right
}

// Spaces returns n spaces; "" if n is not positive.
func Spaces(n int) string {
	const blank = "                                                                                                                                "
	if n <= 0 {
		return ""
	}
	if n <= len(blank) {
		return blank[:n]
	}
	return strings.Repeat(" ", n)
}

// breakAfter are the characters after which a line may break, besides spaces.
const breakAfter = "-/&?,;"

// Wrap breaks sanitised, unstyled text into lines of at most w cells: at
// spaces, after "-/&?,;", and inside words longer than a line. Only spaces at a break
// are dropped. (ansi.Wrap lets a line overflow when one of those characters would be
// in its last cell.)
func Wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = appendWrapped(out, line, w)
	}
	return out
}

func appendWrapped(out []string, s string, w int) []string {
	start, width := 0, 0 // the line being filled, and its cells
	cut, next := 0, 0    // the last possible break, and where the next line would begin
	prev := " "
	for i := 0; i < len(s); {
		c, cells := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		space := c == " "
		if !space && width+cells > w && i > start {
			if cut <= start {
				cut, next = i, i // no place to break: inside the word
			}
			out = append(out, strings.TrimRight(s[start:cut], " "))
			start, width = next, Width(s[next:i])
			cut = start
			continue
		}
		i, width = i+len(c), width+cells
		switch {
		case space && prev == " ":
			next = i
		case space:
			cut, next = i-1, i
		case c == "-" && strings.ContainsAny(prev, " -"): // the beginning of an option: --proxy
		case strings.Contains(breakAfter, c):
			cut, next = i, i
		}
		prev = c
	}
	if width > w {
		return append(out, strings.TrimRight(s[start:], " "))
	}
	return append(out, s[start:])
}
