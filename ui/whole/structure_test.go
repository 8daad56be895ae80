package whole

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/uitest"
)

// mainScreens are the screens that have a golden at every size: the main states of each tab. Every other one has
// a golden at 80x24, and what is drawn of it on a larger terminal is held by its structure alone.
var mainScreens = map[string]bool{
	"sandbox/first-run": true, "sandbox/ok": true, "sandbox/captcha": true, "sandbox/forbidden": true, "sandbox/twin": true, "sandbox/code": true,
	"jobs/empty": true, "jobs/ready": true, "jobs/may-have-started": true, "jobs/new": true, "jobs/drift": true, "jobs/inbox": true,
	"proxy/tested": true, "keys/list": true, "keys/rotate": true, "history/empty": true, "history/filter": true,
	"account/add": true, "root/help": true, "root/palette": true,
}

// drawnWhole waits until the open screen is drawn whole on a terminal of w×h cells.
func drawnWhole(p *uitest.Whole, w, h int) {
	p.Resize(200, 60)
	widest := p.WaitUntil(func(screen string) string {
		if rows := strings.Split(screen, "\n"); len(rows) < 60 || ansi.StringWidth(rows[0]) <= 120 {
			return "wanted to be drawn at 200x60"
		}
		return ""
	})
	p.Resize(w, h)
	p.WaitUntil(func(screen string) string { return strings.Join(structureFaults(screen, widest, w, h), "\n") })
}

// ending are the words that end at the right border of a pane or a dialog in a row of a screen. What ends
// at a left border is behind a dialog, and a body stands in its pane as it came, wherever that breaks it.
func ending(cells [][]rune, row int) (words []string) {
	for column, cell := range cells[row] {
		if cell != '│' {
			continue
		}
		top, found := topOf(cells, row, column)
		if !found || cells[top][column] != '╮' || titleBefore(cells[top], column) == "Response" {
			continue
		}
		start := column
		for start > 0 && !betweenWords(cells[row][start-1]) {
			start--
		}
		if start < column {
			words = append(words, string(cells[row][start:column]))
		}
	}
	return words
}

// topOf is the row in which the border of a column begins.
func topOf(cells [][]rune, row, column int) (top int, found bool) {
	for ; row >= 0 && column < len(cells[row]); row-- {
		if cell := cells[row][column]; cell != '│' && cell != '┤' {
			return row, true
		}
	}
	return 0, false
}

// titleBefore is the first word of the title of the pane whose top border ends in a column.
func titleBefore(border []rune, column int) string {
	for start := column - 1; start >= 0; start-- {
		if border[start] == '╭' {
			first, _, _ := strings.Cut(strings.TrimLeft(string(border[start+1:column]), "▌ "), " ")
			return first
		}
	}
	return ""
}

// structureFaults are what is wrong with a screen of w×h cells: a row that is wider than the terminal or
// whose border is missing, a word cut without "…", no focus, no footer. widest is the same screen on the
// widest terminal, where every word is whole.
func structureFaults(screen, widest string, w, h int) (faults []string) {
	rows := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(rows) != h {
		return []string{fmt.Sprintf("%d rows, want %d", len(rows), h)}
	}
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(widest, betweenWords) {
		words[word] = true
	}
	cells := make([][]rune, len(rows))
	for i, row := range rows {
		cells[i] = []rune(row)
	}
	for i, row := range rows {
		if width := ansi.StringWidth(row); width > w {
			faults = append(faults, fmt.Sprintf("row %d is %d cells wide", i, width))
		}
		if first, _ := utf8.DecodeRuneInString(row); strings.ContainsRune("│╭╰├", first) && !strings.ContainsAny(row[len(row)-3:], "│╮╯┤") {
			faults = append(faults, fmt.Sprintf("row %d has no right border: %q", i, row))
		}
		for _, word := range ending(cells, i) {
			if !strings.HasSuffix(word, "…") && !words[word] && !continued(rows, i, word, words) {
				faults = append(faults, fmt.Sprintf("row %d: %q is cut without a sign of it", i, word))
			}
		}
	}
	if !strings.ContainsAny(screen, "▌›") {
		faults = append(faults, "nothing has the focus")
	}
	if footer := rows[h-1]; strings.TrimSpace(footer) == "" || strings.HasSuffix(footer, "…") {
		faults = append(faults, fmt.Sprintf("the footer is not whole: %q", footer))
	}
	return faults
}

// continued reports whether a long word that fills its row goes on in the next one.
func continued(rows []string, i int, word string, words map[string]bool) bool {
	if i+1 >= len(rows) {
		return false
	}
	for _, next := range strings.FieldsFunc(rows[i+1], betweenWords) {
		for whole := range words {
			if strings.Contains(whole, word+next) {
				return true
			}
		}
	}
	return false
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \n│╮╯╭╰─┤├", r) }

func TestAScreenThatIsNotDrawnWholeIsFound(t *testing.T) {
	const widest = "╭▌Jobs ─────╮\n│ running   │\n╰───────────╯\n q quit"
	for name, c := range map[string]struct{ screen, want string }{
		"a whole one":       {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q quit", ""},
		"a word cut":        {"╭▌Jobs ──╮\n│   runni│\n╰────────╯\n q quit", `row 1: "runni" is cut without a sign of it`},
		"a word cut openly": {"╭▌Jobs ──╮\n│  runni…│\n╰────────╯\n q quit", ""},
		"a word that wraps": {"╭▌Jobs ──╮\n│   runni│\n│ng      │\n q quit", ""},
		"no border":         {"╭▌Jobs ──╮\n│ running\n╰────────╯\n q quit", `row 1 has no right border: "│ running"`},
		"no focus":          {"╭ Jobs ──╮\n│ running│\n╰────────╯\n q quit", "nothing has the focus"},
		"no footer":         {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n ", `the footer is not whole: " "`},
		"a footer cut":      {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q qu…", `the footer is not whole: " q qu…"`},
		"a row too wide":    {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q quit the console", "row 3 is 19 cells wide"},
		"a row missing":     {"╭▌Jobs ──╮\n q quit", "2 rows, want 4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(structureFaults(c.screen, widest, 10, 4), "\n"); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
