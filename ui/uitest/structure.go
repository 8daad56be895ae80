package uitest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

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

// StructureFaults are what is wrong with a screen of w×h cells: a row that is wider than the terminal or
// whose border is missing, a word cut without "…", no focused frame that is whole, no footer or half a hint in it. widest is the same screen on the
// widest terminal, where every word is whole.
func StructureFaults(screen, widest string, w, h int) (faults []string) {
	rows := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(rows) != h {
		return []string{fmt.Sprintf("%d rows, want %d", len(rows), h)}
	}
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(widest, betweenWords) {
		words[word] = true
		if _, address, ok := strings.Cut(word, "://"); ok {
			words[address] = true // what an address is without its scheme
		}
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
			if !strings.Contains(word, "…") && !words[word] && !continued(rows, i, word, words) {
				faults = append(faults, fmt.Sprintf("row %d: %q is cut without a sign of it", i, word))
			}
		}
	}
	if !focused(cells) {
		faults = append(faults, "nothing has the focus")
	}
	if footer := rows[h-1]; strings.TrimSpace(footer) == "" || strings.HasSuffix(footer, "…") || len(halfHints(footer, widest)) > 0 {
		faults = append(faults, fmt.Sprintf("the footer is not whole: %q", footer))
	}
	return faults
}

// focused reports whether a pane with the mark of the focus, or a dialog, has its whole frame: what is drawn over it, or
// beyond it, would break that.
func focused(cells [][]rune) bool {
	for top, row := range cells {
		for left := range row {
			if left+1 < len(row) && row[left] == '╭' && row[left+1] == '▌' && framed(cells, top, left) {
				return true
			}
		}
	}
	return false
}

// framed reports whether the frame that begins in a cell is whole.
func framed(cells [][]rune, top, left int) bool {
	right := left + 1
	for right < len(cells[top]) && !strings.ContainsRune("╭╮", cells[top][right]) {
		right++
	}
	if right == len(cells[top]) || cells[top][right] != '╮' {
		return false
	}
	for _, row := range cells[top+1:] {
		if right >= len(row) {
			return false
		}
		switch string([]rune{row[left], row[right]}) {
		case "╰╯":
			return true
		case "││", "├┤":
		default:
			return false
		}
	}
	return false
}

// halfHints are the hints at the left of a footer that the footer of the widest terminal does not have.
func halfHints(footer, widest string) (half []string) {
	rows := strings.Split(strings.TrimSuffix(widest, "\n"), "\n")
	hints := func(footer string) []string {
		left, _, _ := strings.Cut(strings.TrimLeft(footer, " "), "  ")
		return strings.Split(strings.TrimSpace(left), " · ")
	}
	whole := hints(rows[len(rows)-1])
	for _, hint := range hints(footer) {
		if slices.ContainsFunc(whole, func(w string) bool { return strings.HasPrefix(hint, w+" ") }) {
			break // what stands at the right comes after one blank
		}
		if !slices.Contains(whole, hint) {
			half = append(half, hint)
		}
	}
	return half
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
