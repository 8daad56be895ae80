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
		p.PressFor("3", "brd-customer-hl_demo01-zone-")
	}
	return []screen{
		{name: "proxy/compose", steps: compose},
		{name: "proxy/tested", steps: script(compose, see("ctrl+t", "CONNECT", "addresses in"))},
		{name: "proxy/exits", steps: script(compose, see("alt+e", "Count the exits", "20 calls"), see("ctrl+s", "20 of 20", "repeat rate"))},
		{name: "proxy/trust", steps: script(compose, see("ctrl+t", "CONNECT", "addresses in"), see("c", "Clients on this machine", "Python requests"))},
		{name: "proxy/logins", steps: script(compose, see("M", "has no baseline yet"), see("t", "6 of 6 zones ok"))},
		{name: "proxy/password", steps: script(compose, see("R", "Keys shows what uses the password", "OPS, LIMIT or ADMIN"))},
		{name: "proxy/paste", steps: script(compose, see("p", "Parse a login"))},
	}
}
