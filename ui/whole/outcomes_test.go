package whole

import (
	"fmt"
	"path/filepath"
	"strings"

	"zonedeck/ui/uitest"
)

// acmeReady waits for the console on the scripted account.
func acmeReady(p *uitest.Whole) { p.WaitFor("acme", "etl-main") }

// outcomeScreens show every class and cause that the pages of the lab do not, and
// a request in flight.
func outcomeScreens(s scripted) []screen {
	var out []screen
	for _, c := range []struct{ name, class string }{
		{"key-rejected", "key rejected"},
		{"missing-permission", "access restricted"},
		{"policy", "access restricted"},
		{"nobody-says", "access restricted"},
		{"service-timeout", "timeout"},
		{"service-error", "service error"},
		{"refused", "request refused"},
		{"incomplete", "incomplete"},
		{"unrecognised", "unrecognised"},
	} {
		out = append(out, screen{name: "sandbox/" + c.name, before: func(h *home) {
			s.acme(h, "brightdata")
			h.run("request", "https://shop.example/"+c.name, "--zone", "unlocker1", "--retries", "0")
		}, steps: opened(c.class)})
	}
	for _, c := range []struct{ name, url string }{
		{"login-rejected", "https://login.example/"},
		{"native-forbidden", "https://forbidden.example/"},
		{"native-target-error", "https://gateway.example/"},
	} {
		out = append(out, screen{name: "sandbox/" + c.name, before: func(h *home) {
			s.acme(h, "brightdata")
			h.run("request", c.url, "--zone", "unlocker1", "--via", "native", "--retries", "0")
		}, steps: opened("Native")})
	}
	return append(
		out,
		screen{name: "sandbox/network", before: func(h *home) {
			s.acme(h, "brightdata")
			h.run(append([]string{"request", "https://shop.example/ok", "--zone", "unlocker1", "--retries", "0"}, nobodyListens...)...)
		}, steps: opened("network")},
		screen{name: "sandbox/your-rule", before: func(h *home) {
			h.write("config/zonedeck/rules.toml", `[[rules]]
name = "members-page"
class = "outside"
reason = "The shop shows the page for its members."
match = { domain = ["lab.test"], body = '<h1>[^<]+' }
`)
			h.run("request", "http://lab.test/ok", "--zone", "datacenter_demo", "--retries", "0")
		}, steps: func(p *uitest.Whole) {
			fromHistory(p, "The shop shows the page for its members.", "members-page")
		}},
		screen{name: "sandbox/what-refuses", before: func(h *home) {
			h.run("request", "http://lab.test/forbidden", "--zone", "datacenter_demo", "--retries", "0")
		}, steps: func(p *uitest.Whole) {
			fromHistory(p, "access restricted", "403")
			p.PressFor("I", "The zone, at this site")
		}},
		screen{name: "sandbox/what-refuses-asked", before: func(h *home) {
			s.acme(h, "brightdata")
			h.run("request", "https://shop.example/nobody-says", "--zone", "unlocker1", "--retries", "0")
		}, steps: script(opened("access restricted"), see("I", "sends at most"))},
		screen{name: "sandbox/domain-refused", before: func(h *home) {
			h.env["ACME_KEY"] = "a-key-of-nobody-f2a1"
			h.write("config/zonedeck/config.toml", fmt.Sprintf(`default_profile = "acme"
[profiles.acme]
base_url = %q
key = "etl-main"
allowed_domains = ["shop.example", "*.shop.example"]
[[profiles.acme.zones]]
name = "unlocker1"
product = "unlocker"
`, s.api))
			h.write("data/zonedeck/keys.toml", "[[keys]]\nname = \"etl-main\"\nlevel = \"OPS\"\nexpires = \"2027-12-31\"\nrotated = \"2026-11-01\"\nsecret = \"env:ACME_KEY\"\n")
		}, steps: func(p *uitest.Whole) {
			sending(p, "https://other.example/")
			p.WaitFor("add it to")
		}},
		screen{name: "sandbox/in-flight", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			sending(p, "https://shop.example/never")
			p.WaitFor("1 running", "esc cancel")
		}},
		screen{name: "sandbox/several-in-flight", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			sending(p, "https://shop.example/never")
			p.WaitFor("1 running")
			p.Press("alt+u", "end")
			p.Type("?again")
			p.PressFor("ctrl+j", "2 running", "1 more in flight")
		}},
		screen{name: "sandbox/cancelled", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			sending(p, "https://shop.example/never")
			p.WaitFor("1 running", "attempt 1") // what was not begun is no history
			p.PressFor("esc", "0 running", "Cancelled after")
		}},
		screen{name: "sandbox/back-off", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			sending(p, "https://shop.example/too-fast")
			p.WaitFor("1 running", "left before the next attempt")
		}},
		screen{name: "sandbox/target-status-unknown", before: func(h *home) {
			s.acme(h, "documented")
			h.run("request", "https://shop.example/unsaid", "--zone", "unlocker1", "--retries", "0")
		}, steps: opened("It works")},
	)
}

// nobodyListens sends the scripted account's key where no service is.
var nobodyListens = []string{"--base-url", "http://127.0.0.1:1", "--allow-key", "etl-main=http://127.0.0.1:1"}

// opened opens the only fetch of the scripted account's history.
func opened(texts ...string) func(p *uitest.Whole) {
	return script(acmeReady, see("esc 5", "last 1"), see("enter", append(texts, "from history")...), gone("The form holds this request now"))
}

// sending sends a request by API on the scripted account.
func sending(p *uitest.Whole, address string) {
	p.WaitFor("acme", "etl-main", "type the target's") // the address has the focus
	p.Press("enter")
	p.Type(address)
	p.Press("ctrl+j")
}

// jobStateScreens show every state of the ledger, and the dialogs about jobs.
func jobStateScreens(s scripted) []screen {
	trigger := func(h *home, dataset string, more ...string) {
		h.write("urls.txt", "https://shop.example/product/1\nhttps://shop.example/product/2\nhttps://shop.example/product/3\n")
		h.run(append([]string{"jobs", "trigger", dataset, "--input", filepath.Join(h.dir, "urls.txt"), "--again"}, more...)...)
	}
	list := func(p *uitest.Whole) {
		acmeReady(p)
		p.PressFor("esc 2", "[2 Jobs]", "STATE")
	}
	one := func(dataset, state string, more ...string) screen {
		return screen{name: "jobs/" + strings.ReplaceAll(state, " ", "-"), before: func(h *home) {
			s.acme(h, "brightdata")
			trigger(h, dataset, more...)
		}, steps: script(list, shows(state, dataset))}
	}
	notSent := screen{name: "jobs/not-sent", before: func(h *home) {
		s.acme(h, "brightdata")
		trigger(h, "gd_products", nobodyListens...)
	}, steps: script(list, shows("not sent"))}
	accepted := screen{name: "jobs/accepted", before: func(h *home) {
		s.acme(h, "documented")
		trigger(h, "products")
	}, steps: script(list, shows("accepted"))}
	running := screen{name: "jobs/running", before: func(h *home) {
		s.acme(h, "brightdata")
		trigger(h, "gd_running")
	}, steps: script(list, shows("running", "2 of 3"))}
	cancel := running
	cancel.name = "jobs/cancel-confirm"
	cancel.steps = func(p *uitest.Whole) {
		running.steps(p)
		p.PressFor("X", "Cancel")
	}
	sendingJob := screen{name: "jobs/sending", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
		acmeReady(p)
		p.Press("esc", "2")
		checkPasted(p, "gd_sending", "https://shop.example/product/1")
	}, after: func(h *home, p *uitest.Whole) {
		h.yes(p, "Launch 1 input?")
		p.WaitFor("sending", "1 running")
	}}
	badRows := screen{name: "jobs/bad-rows", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
		acmeReady(p)
		p.Press("esc", "2")
		fillJob(p, "gd_products", "shop.example/product/1")
		p.PressFor("ctrl+s", "row 1")
	}}
	confirm := screen{name: "jobs/confirm", before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
		acmeReady(p)
		p.Press("esc", "2")
		checkPasted(p, "gd_products", "https://shop.example/product/1")
		p.WaitFor("Launch 1 input?")
	}}
	return []screen{
		one("gd_products", "ready", "--wait"), one("gd_refused", "refused"), one("gd_failed", "failed", "--wait"), one("gd_canceled", "canceled", "--wait"),
		notSent, accepted, running, cancel, sendingJob, badRows, confirm,
	}
}

// fillJob opens the dialog for a new job and fills it with pasted inputs.
func fillJob(p *uitest.Whole, dataset, inputs string) {
	p.WaitFor("[2 Jobs]")
	p.PressFor("n", "New job", "data sets")
	p.Type(dataset)
	p.WaitFor("› " + dataset)
	p.PressFor("enter", "Dataset", "Rows")
	p.Type(inputs)
}

// checkPasted goes past the check of a job's inputs, to the question before the launch.
func checkPasted(p *uitest.Whole, dataset, inputs string) {
	fillJob(p, dataset, inputs)
	p.PressFor("ctrl+s", "1 input from")
	p.Press("ctrl+s")
}
