package kit

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"zonedeck/service/config"
)

// luminance is the relative luminance of WCAG 2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	lin := func(v uint32) float64 {
		f := float64(v) / 0xffff
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestTextCanBeReadOnItsBackground(t *testing.T) {
	for name, c := range map[string]struct {
		palette palette
		back    color.Color
	}{
		"dark":  {darkPalette(), lipgloss.Color("#1e1e1e")},
		"light": {lightPalette(), lipgloss.Color("#ffffff")},
	} {
		p := c.palette
		for ink, fg := range map[string]color.Color{
			"text": p.text, "muted": p.muted, "accent": p.accent, "good": p.good, "warn": p.warn,
			"bad": p.bad, "note": p.note, "keyword": p.keyword, "str": p.str, "num": p.num,
		} {
			if got := contrast(fg, c.back); got < 4.5 {
				t.Errorf("%s on a %s background has a contrast of %.1f, want 4.5", ink, name, got)
			}
		}
		if got := contrast(p.selText, p.selBack); got < 4.5 {
			t.Errorf("the cursor row on a %s background has a contrast of %.1f, want 4.5", name, got)
		}
	}
}

func TestThemeWithoutColourUsesNone(t *testing.T) {
	th := NewTheme(true, true)
	for name, ink := range map[string]Ink{"bad": th.Bad, "selected": th.Selected, "border": th.BorderFocus, "tab": th.TabOn} {
		if s := ink.Render("x"); strings.Contains(s, "38;") || strings.Contains(s, "48;") || strings.Contains(s, "[3") {
			t.Errorf("%s has a colour: %q", name, s)
		}
	}
	if th.Selected.Render("x") == "x" {
		t.Error("the cursor row looks like the others without colour")
	}
	before := th.Version
	th.Set(false, false)
	if th.Version == before || th.Dark {
		t.Error("setting a theme does not count")
	}
}

// The terminal says what its background is after the start.
func TestAnotherBackgroundLeavesTheOperatorsKeys(t *testing.T) {
	theme := NewTheme(true, false)
	theme.Rebound = config.Bindings{"jobs.download": {"v"}}
	theme.Set(false, false)
	if got := theme.Key("jobs.download"); got != "v" {
		t.Errorf("the download is at %q", got)
	}
}
