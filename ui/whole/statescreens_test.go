package whole

import (
	"fmt"
	"strings"

	"zonedeck/ui/uitest"
)

// refusedKey is a key that the scripted account refuses.
const refusedKey = "a-refused-key-0123456789abc40d"

// accountStateScreens are the form of an account when something is in the way.
func accountStateScreens(s scripted, silent string) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	adding := func(p *uitest.Whole, key string) {
		acmeReady(p)
		p.Press("esc", "ctrl+p")
		p.Type("add account")
		p.Press("enter")
		p.WaitFor("Base URL")
		p.WaitFor("(-) keyring")
		p.Type("beta")
		p.Press("tab", "space", "tab")
		p.Type(s.api)
		p.Press("tab", "tab")
		p.Type(key)
		p.Press("tab")
		p.WaitFor("stored when you save")
	}
	moving := func(ref, label string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "ctrl+p")
			p.Type("move secrets")
			p.Press("enter")
			p.WaitFor("Move secrets", "(-) keyring")
			p.Press("enter")
			p.Type(ref)
			p.WaitFor(label)
			p.Press("enter", "ctrl+s")
		}
	}
	return []screen{
		// It is asked, and the service does not answer.
		{name: "account/asking", before: acme, steps: func(p *uitest.Whole) {
			adding(p, "a-key-of-beta-0123456789abf2a1")
			p.Press("shift+tab", "shift+tab", "shift+tab", "ctrl+u")
			p.Type(silent + "/slow")
			p.Press("ctrl+r")
			p.WaitFor("the account is being asked", "esc stop asking")
		}},
		{name: "account/asking-save", before: acme, steps: func(p *uitest.Whole) {
			adding(p, "a-key-of-beta-0123456789abf2a1")
			p.Press("shift+tab", "shift+tab", "shift+tab", "ctrl+u")
			p.Type(silent + "/slow")
			p.Press("ctrl+r")
			p.WaitFor("the account is being asked", "esc stop asking")
			p.Press("ctrl+s")
			p.WaitFor("still asking the account")
		}},
		{name: "account/plain-http", before: acme, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "ctrl+p")
			p.Type("add account")
			p.Press("enter")
			p.WaitFor("(-) keyring")
			p.Type("beta")
			p.Press("tab", "tab")
			p.Type("http://api.example.com")
			p.WaitFor("the key travels in clear")
		}},
		{name: "account/moved", before: acme, steps: func(p *uitest.Whole) {
			moving("etl", "env:ACME_KEY")(p)
			p.WaitFor("moved 1 secret")
		}},
		{name: "account/move-failed", before: func(h *home) {
			acme(h)
			delete(h.env, "ACME_PASSWORD")
		}, steps: func(p *uitest.Whole) {
			moving("zone", "env:ACME_PASSWORD")(p)
			p.WaitFor("✗ ")
		}},
		{name: "account/refused", before: acme, steps: func(p *uitest.Whole) {
			adding(p, refusedKey)
			p.Press("ctrl+r")
			p.WaitFor("✗ ", "refuses it")
		}},
		{name: "account/discard", before: acme, steps: func(p *uitest.Whole) {
			adding(p, "a-key-of-beta-0123456789abf2a1")
			p.Press("esc", "esc")
			p.WaitFor("Discard what was filled in?")
		}},
		{name: "account/typed-password", before: acme, steps: func(p *uitest.Whole) {
			adding(p, "a-key-of-beta-0123456789abf2a1")
			for range 8 {
				p.Press("tab")
			}
			p.WaitFor("›Zones")
			p.Type("isp1 isp env:ISP_PASSWORD")
			p.Press("enter")
			p.Type("unlocker1 unlocker hunter2-hunter2")
			p.WaitFor("unlocker1 unlocker •••••••••••••••")
		}},
		{name: "account/edit-read-only", before: func(h *home) {
			s.acme(h, "brightdata")
			h.write("config/zonedeck/config.toml", "[profiles.acme]\nbase_url = \"https://api.example.com\"\ndialect = \"brightdata\"\nkey = \"etl-main\"\nread_only = true\n")
		}, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "ctrl+p")
			p.Type("edit account acme")
			p.Press("enter")
			p.WaitFor("Edit account acme", "nothing is saved unless")
			p.WaitFor("(-) keyring")
		}},
	}
}

// keyStateScreens are what the tabs say of the key and the profile in use.
func keyStateScreens(s scripted, silent string) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	const config = "config/zonedeck/config.toml"
	readOnly := func(h *home) {
		acme(h)
		h.write(config, strings.Replace(h.read(config), "[profiles.acme]\n", "[profiles.acme]\nread_only = true\n", 1))
	}
	key := func(expires, rotated string) func(h *home) {
		return func(h *home) {
			h.write("config/zonedeck/config.toml", fmt.Sprintf("default_profile = \"acme\"\n[profiles.acme]\nbase_url = %q\nkey = \"etl\"\n", silent))
			h.write("data/zonedeck/keys.toml", fmt.Sprintf("[[keys]]\nname = \"etl\"\nlevel = \"USER\"\nduty = \"batch job\"\nexpires = %q\nrotated = %q\nsecret = \"env:ACME_KEY\"\n", expires, rotated))
		}
	}
	return []screen{
		{name: "sandbox/key-expired", before: key("2026-11-19", "2026-10-27"), steps: func(p *uitest.Whole) { p.WaitFor("etl", "expired") }},
		{name: "sandbox/key-overdue", before: key("2027-06-01", "2026-08-01"), steps: func(p *uitest.Whole) { p.WaitFor("etl", "over") }},
		{name: "keys/skew", before: func(h *home) {
			s.acme(h, "brightdata")
		}, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("enter")
			p.Type("https://shop.example/skewed")
			p.Press("ctrl+j")
			p.WaitFor("It works")
			p.Press("esc", "4")
			p.WaitFor("[4 Keys", "ahead")
		}},
		{name: "keys/changed-elsewhere", before: acme, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "4")
			p.WaitFor("[4 Keys", "etl-main")
			p.Press("e")
			p.WaitFor("Correct etl-main")
			for range 7 {
				p.Press("down")
			}
			p.Type("from the console")
			p.WaitFor("from the console")
		}, after: func(h *home, p *uitest.Whole) {
			h.append("data/zonedeck/keys.toml", "note = \"from another window\"\n")
			p.Press("ctrl+s")
			p.WaitFor("changed elsewhere meanwhile", "ctrl+s again puts yours there")
		}},
		{name: "root/profile-removed", before: func(h *home) {
			acme(h)
			h.watched = true
		}, steps: acmeReady, after: func(h *home, p *uitest.Whole) {
			h.run("profiles", "remove", "acme", "--yes")
			p.WaitFor("✗ nothing is sent by profile acme")
			p.WaitGone("! nothing is sent by profile acme")
		}},
		{name: "keys/read-only", before: readOnly, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "4")
			p.WaitFor("[4 Keys", "etl-main")
			p.Press("a")
			p.WaitFor("is read-only", "lifts it")
		}},
		{name: "jobs/read-only", before: readOnly, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "2")
			p.WaitFor("[2 Jobs", "no job")
			p.Press("n")
			p.WaitFor("is read-only", "lifts it")
		}},
	}
}
