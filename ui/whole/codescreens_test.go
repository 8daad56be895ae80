package whole

import "zonedeck/ui/uitest"

// codeScreens show fetches as code: after a comparison, of a comparison, what is refused,
// and the questions.
func codeScreens() []screen {
	compared := before("compare", "http://lab.test/shop", "--zones", "datacenter_demo,unlocker_demo", "--repeat", "3", "--require", ".price")
	// One cell, whose runs come into the history in their order.
	one := before("compare", "http://lab.test/shop", "--zones", "unlocker_demo", "--via", "native", "--repeat", "3", "--require", ".price")
	shown := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("5", " compared; ") // one cell or several
		p.PressFor("enter", "Comparison · http://lab.test/shop", "winner")
		p.WaitGone("The form holds this request now") // the toast
	}
	code := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("x", "▸curl")
	}
	return []screen{
		{name: "sandbox/code", before: one, steps: func(p *uitest.Whole) {
			shown(p)
			p.PressFor("esc x right", "▸Python", "import os", "ZONEDECK_ZONE_PASSWORD", "# runs compared 20", "3 of 3 ok")
		}},
		{name: "sandbox/code-refused", steps: script(code, see("left left left left", "▸Puppeteer", "choose Native"))},
		{name: "sandbox/code-secret", steps: script(code, see("!", "Copy with the secret?"))},
		{name: "sandbox/code-save", steps: script(code, see("s", "Save the code as", "fetch.sh"))},
		{name: "sandbox/comparison-code", before: compared, steps: script(shown, see("x", "▸Markdown", "Required fields: .price"))},
		{name: "proxy/code", steps: script(ready, see("3", "brd-customer-"), see("x left", "▸PAC", "FindProxyForURL"))},
	}
}
