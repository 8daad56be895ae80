package uitest

import (
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
	for {
		switch {
		case len(rest) > 5 && strings.HasPrefix(rest, "ctrl+"):
			mod, rest = mod|tea.ModCtrl, rest[5:]
			continue
		case len(rest) > 4 && strings.HasPrefix(rest, "alt+"):
			mod, rest = mod|tea.ModAlt, rest[4:]
			continue
		case len(rest) > 6 && strings.HasPrefix(rest, "shift+"):
			mod, rest = mod|tea.ModShift, rest[6:]
			continue
		}
		break
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

func special(name string) (rune, bool) {
	switch name {
	case "enter":
		return tea.KeyEnter, true
	case "esc":
		return tea.KeyEscape, true
	case "tab":
		return tea.KeyTab, true
	case "space":
		return tea.KeySpace, true
	case "backspace":
		return tea.KeyBackspace, true
	case "delete":
		return tea.KeyDelete, true
	case "up":
		return tea.KeyUp, true
	case "down":
		return tea.KeyDown, true
	case "left":
		return tea.KeyLeft, true
	case "right":
		return tea.KeyRight, true
	case "home":
		return tea.KeyHome, true
	case "end":
		return tea.KeyEnd, true
	case "pgup":
		return tea.KeyPgUp, true
	case "pgdown":
		return tea.KeyPgDown, true
	}
	if len(name) > 1 && name[0] == 'f' {
		n := 0
		for _, c := range name[1:] {
			if c < '0' || c > '9' {
				return 0, false
			}
			n = n*10 + int(c-'0')
		}
		if n >= 1 && n <= 12 {
			return tea.KeyF1 + rune(n-1), true
		}
	}
	return 0, false
}
