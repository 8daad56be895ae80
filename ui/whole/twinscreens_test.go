package whole

import "zonedeck/ui/uitest"

// twinScreens show comparisons of the history, with a winner and without, and the dialogs
// about them.
func twinScreens(s scripted) []screen {
	compared := func(path string, more ...string) func(h *home) {
		return before(append([]string{"twin", "http://lab.test" + path, "--zones", "datacenter_demo,unlocker_demo,serp_demo", "--repeat", "3"}, more...)...)
	}
	opened := func(text string) func(p *uitest.Whole) {
		return script(ready, see("5", "cells compared"), see("enter", "Twin · http://lab.test", text), gone("The form holds this request now"))
	}
	return []screen{
		{name: "sandbox/twin", before: compared("/captcha"), steps: script(opened("winner: unlocker_demo by API"), shows("the page begins"))},
		{name: "sandbox/twin-none", before: compared("/shop?v=2", "--require", ".price"), steps: opened("no winner")},
		{name: "sandbox/twin-zones", before: compared("/captcha"), steps: script(opened("winner"), see("z", "What to compare", "ctrl+s"))},
		{name: "sandbox/twin-asked", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			p.WaitFor("acme", "etl-main", "type the target's")
			p.Press("enter")
			p.Type("https://shop.example/never")
			p.PressFor("enter w", "Compare 1 zone?", "2 requests to profile acme")
		}},
	}
}
