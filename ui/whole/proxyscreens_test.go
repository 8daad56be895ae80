package whole

import (
	"regexp"

	"zonedeck/ui/uitest"
)

// certificates are the validity and the fingerprint, on one line or two, of the emulator's
// certificates, which are made by the machine's clock; the fingerprint of a key, which is
// always the same, is matched with its label.
var certificates = regexp.MustCompile(`from \d{4}-\d\d-\d\d until \d{4}-\d\d-\d\d|(Print +)?\b[0-9a-f]{11,64}\b`)

func proxyScreens() []screen {
	compose := func(p *uitest.Whole) {
		ready(p)
		p.Press("3")
		p.WaitFor("brd-customer-hl_demo01-zone-")
	}
	return []screen{
		{name: "proxy/compose", steps: compose},
		{name: "proxy/tested", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("t")
			p.WaitFor("CONNECT", "addresses in")
		}},
		{name: "proxy/rotation", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("n")
			p.WaitFor("Measure the rotation", "20 calls")
			p.Press("ctrl+s")
			p.WaitFor("20 of 20", "repeat rate")
		}},
		{name: "proxy/trust", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("t")
			p.WaitFor("CONNECT", "addresses in")
			p.Press("c")
			p.WaitFor("Clients on this machine", "Python requests")
		}},
		{name: "proxy/matrix", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("M")
			p.WaitFor("has no baseline yet")
			p.Press("t")
			p.WaitFor("6 of 6 zones ok")
		}},
		{name: "proxy/password", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("R")
			p.WaitFor("Keys shows what uses the password", "OPS, LIMIT or ADMIN")
		}},
		{name: "proxy/paste", steps: func(p *uitest.Whole) {
			compose(p)
			p.Press("p")
			p.WaitFor("Parse a login")
		}},
	}
}
