package whole

import "zonedeck/ui/uitest"

// codeScreens show fetches as code: after a comparison, of a comparison, what is refused,
// and the questions.
func codeScreens() []screen {
	compared := before("twin", "http://lab.test/shop", "--zones", "datacenter_demo,unlocker_demo", "--repeat", "3", "--require", ".price")
	// One cell, whose runs come into the history in their order.
	one := before("twin", "http://lab.test/shop", "--zones", "unlocker_demo", "--via", "native", "--repeat", "3", "--require", ".price")
	twin := func(p *uitest.Whole) {
		ready(p)
		p.Press("5")
		p.WaitFor(" compared; ") // one cell or several
		p.Press("enter")
		p.WaitFor("Twin · http://lab.test/shop", "winner")
		p.WaitGone("The form holds this request now") // the toast
	}
	code := func(p *uitest.Whole) {
		ready(p)
		p.Press("x")
		p.WaitFor("▸curl")
	}
	return []screen{
		{name: "sandbox/code", before: one, steps: func(p *uitest.Whole) {
			twin(p)
			p.Press("esc", "x", "right")
			p.WaitFor("▸Python", "import requests", "ZONEDECK_ZONE_PASSWORD", "# runs compared 20", "3 of 3 ok")
		}},
		{name: "sandbox/code-refused", steps: func(p *uitest.Whole) {
			code(p)
			p.Press("left", "left", "left", "left")
			p.WaitFor("▸Puppeteer", "choose Native")
		}},
		{name: "sandbox/code-secret", steps: func(p *uitest.Whole) {
			code(p)
			p.Press("!")
			p.WaitFor("Copy with the secret?")
		}},
		{name: "sandbox/code-save", steps: func(p *uitest.Whole) {
			code(p)
			p.Press("s")
			p.WaitFor("Save the code as", "fetch.sh")
		}},
		{name: "sandbox/twin-code", before: compared, steps: func(p *uitest.Whole) {
			twin(p)
			p.Press("x")
			p.WaitFor("▸Markdown", "Required fields: .price")
		}},
		{name: "proxy/code", steps: func(p *uitest.Whole) {
			ready(p)
			p.Press("3")
			p.WaitFor("brd-customer-")
			p.Press("x", "left")
			p.WaitFor("▸PAC", "FindProxyForURL")
		}},
	}
}
