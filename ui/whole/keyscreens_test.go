package whole

import (
	"fmt"
	"strconv"

	"zonedeck/ui/uitest"
)

func keyScreens() []screen {
	list := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("4", "old-admin", "90 days")
	}
	then := func(key string, texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			list(p)
			p.Press(key)
			p.WaitFor(texts...)
		}
	}
	return []screen{
		{name: "keys/list", steps: list},
		{name: "keys/levels", steps: then("v", "5.3")},
		{name: "keys/lint", steps: then("l", "fix:")},
		{name: "keys/add", steps: then("a", "Level")},
		{name: "keys/rotate", steps: then("R", "delete the old")},
		{name: "keys/uses", steps: script(list, see("j b", "Blast radius", "the console can prove it"))},
		{name: "keys/uses-unmeasured", steps: then("b", "Blast radius", "old crawler", "? ")},
		{name: "keys/filter", steps: func(p *uitest.Whole) {
			list(p)
			p.Press("/")
			p.Type("state:due level:user")
			p.PressFor("enter", "esc shows all")
		}},
		{name: "keys/scan", steps: then("s", "Search folders")},
		{name: "keys/automate", steps: then("x", "a line of a crontab")},
	}
}

// dueScreens are tabs while the key in use is due within the week: each has the banner.
func dueScreens(silent string) []screen {
	before := func(h *home) {
		h.write("config/zonedeck/config.toml", fmt.Sprintf("default_profile = \"acme\"\n[profiles.acme]\nbase_url = \"%s\"\nkey = \"etl\"\n[keys.rotation_days]\nUSER = 30\n", silent))
		h.write("data/zonedeck/keys.toml", "[[keys]]\nname = \"etl\"\nlevel = \"USER\"\nduty = \"batch job\"\nexpires = \"2027-06-01\"\nrotated = \"2026-10-27\"\nsecret = \"env:ACME_KEY\"\n")
	}
	screens := make([]screen, 0, 5)
	for i, tab := range []string{"sandbox", "jobs", "proxy", "keys", "history"} {
		screens = append(screens, screen{name: tab + "/key-due", before: before, steps: func(p *uitest.Whole) {
			p.WaitFor("etl is due for rotation: 5 d left")
			p.Press("esc", strconv.Itoa(i+1))
			p.WaitFor("["+strconv.Itoa(i+1), "etl is due for rotation: 5 d left")
		}})
	}
	return screens
}
