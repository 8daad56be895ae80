package uitest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Key makes the key press that tea.KeyPressMsg.String spells as name. It
// panics on a name it cannot spell back: a test with a typo must not pass.
func Key(name string) tea.KeyPressMsg {
	k := build(name)
	if got := k.String(); got != name {
		panic("uitest: no key is spelled " + name + " (got " + got + ")")
	}
	return k
}

func build(name string) tea.KeyPressMsg {
	var mod tea.KeyMod
	rest := name
	for _, m := range []struct {
		prefix string
		mod    tea.KeyMod
	}{{"ctrl+", tea.ModCtrl}, {"alt+", tea.ModAlt}, {"shift+", tea.ModShift}} {
		if after, ok := strings.CutPrefix(rest, m.prefix); ok && after != "" {
			mod, rest = mod|m.mod, after
		}
	}
	if code, ok := special(rest); ok {
		k := tea.KeyPressMsg{Code: code, Mod: mod}
		if code == tea.KeySpace && mod == 0 {
			k.Text = " "
		}
		return k
	}
	r, n := utf8.DecodeRuneInString(rest)
	if n != len(rest) {
		panic("uitest: no key is called " + name)
	}
	k := tea.KeyPressMsg{Code: r, Mod: mod}
	if mod == 0 {
		k.Text = rest
		if unicode.IsUpper(r) {
			k.Code, k.ShiftedCode, k.Mod = unicode.ToLower(r), r, tea.ModShift
		}
	}
	return k
}

// special is the code of a key that has a name.
func special(name string) (rune, bool) {
	codes := []rune{
		tea.KeyEnter, tea.KeyEscape, tea.KeyTab, tea.KeySpace, tea.KeyBackspace, tea.KeyDelete,
		tea.KeyUp, tea.KeyDown, tea.KeyLeft, tea.KeyRight, tea.KeyHome, tea.KeyEnd, tea.KeyPgUp, tea.KeyPgDown,
	}
	for i := range rune(12) {
		codes = append(codes, tea.KeyF1+i)
	}
	i := slices.IndexFunc(codes, func(c rune) bool { return tea.Key{Code: c}.String() == name })
	if i < 0 {
		return 0, false
	}
	return codes[i], true
}
