package whole

import "zonedeck/ui/uitest"

// twinScreens show comparisons of the history, with a winner and without, and the dialogs
// about them.
func twinScreens(s scripted) []screen {
	compared := func(path string, more ...string) func(h *home) {
		return before(append([]string{"twin", "http://lab.test" + path, "--zones", "datacenter_demo,unlocker_demo,serp_demo", "--repeat", "3"}, more...)...)
	}
	opened := func(text string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			ready(p)
			p.Press("5")
			p.WaitFor("cells compared")
			p.Press("enter")
			p.WaitFor("Twin · http://lab.test", text)
			p.WaitGone("The form holds this request now")
		}
	}
	return []screen{
		{name: "sandbox/twin", before: compared("/captcha"), steps: func(p *uitest.Whole) {
			opened("winner: unlocker_demo by API")(p)
			p.WaitFor("the page begins")
		}},
		{name: "sandbox/twin-none", before: compared("/shop?v=2", "--require", ".price"), steps: opened("no winner")},
		{name: "sandbox/twin-zones", before: compared("/captcha"), steps: func(p *uitest.Whole) {
			opened("winner")(p)
			p.Press("z")
			p.WaitFor("What to compare", "ctrl+s")
		}},
		{name: "sandbox/twin-asked", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			p.WaitFor("acme", "etl-main", "type the target's")
			p.Press("enter")
			p.Type("https://shop.example/never")
			p.Press("enter", "w")
			p.WaitFor("Compare 1 zone?", "2 requests to profile acme")
		}},
	}
}
