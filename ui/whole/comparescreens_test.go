package whole

import "zonedeck/ui/uitest"

// compareScreens show comparisons of the history, with a winner and without, and the dialogs
// about them.
func compareScreens(s scripted) []screen {
	compared := func(path string, more ...string) func(h *home) {
		return before(append([]string{"compare", "http://lab.test" + path, "--zones", "datacenter_demo,unlocker_demo,serp_demo", "--repeat", "3"}, more...)...)
	}
	opened := func(text string) func(p *uitest.Whole) {
		return script(ready, see("5", "cells compared"), see("enter", "Comparison · http://lab.test", text), gone("The form holds this request now"))
	}
	return []screen{
		{name: "sandbox/comparison", before: compared("/captcha"), steps: script(opened("winner: unlocker_demo by API"), shows("The page came: 200 OK."))},
		{name: "sandbox/comparison-none", before: compared("/shop?v=2", "--require", ".price"), steps: opened("no winner")},
		{name: "sandbox/comparison-zones", before: compared("/captcha"), steps: script(opened("winner"), see("e", "What to compare", "ctrl+s"))},
		{name: "sandbox/comparison-asked", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			p.WaitFor("acme", "etl-main", "type the target's")
			p.Press("enter")
			p.Type("https://shop.example/never")
			p.PressFor("enter ctrl+w", "What to compare", "Sends 2 requests at once with profile acme")
		}},
	}
}
