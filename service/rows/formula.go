package rows

import (
	"strconv"
	"strings"
)

// Defuse is a text as a cell that no sheet takes for a formula: with an apostrophe before it, where it needs one.
// A plain number, as -3, is no formula.
func Defuse(text string) (cell string, defused bool) {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n", rune(text[0])) || isNumber(text) {
		return text, false
	}
	return "'" + text, true
}

// Fused is the text of a cell that Defuse made.
func Fused(cell string) string {
	if text, ok := strings.CutPrefix(cell, "'"); ok {
		if _, defused := Defuse(text); defused {
			return text
		}
	}
	return cell
}

func isNumber(text string) bool {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
