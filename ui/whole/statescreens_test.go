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
	added := adding(s, "a-key-of-beta-0123456789abf2a1")
	// asking is the form while an account is asked that does not answer.
	asking := script(added, func(p *uitest.Whole) {
		p.Press("shift+tab", "shift+tab", "shift+tab", "ctrl+u")
		p.Type(silent + "/slow")
		p.PressFor("ctrl+r", "the account is being asked", "esc stop asking")
	})
	moving := func(ref, label string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			palette("move secrets", "Move secrets", "(-) keyring")(p)
			p.Press("enter")
			p.Type(ref)
			p.WaitFor(label)
			p.Press("enter", "ctrl+s")
		}
	}
	return []screen{
		{name: "profiles/asking", before: acme, steps: asking},
		{name: "profiles/asking-save", before: acme, steps: script(asking, see("ctrl+s", "still asking the account"))},
		{name: "profiles/plain-http", before: acme, steps: func(p *uitest.Whole) {
			palette("add profile", "(-) keyring")(p)
			p.Type("beta")
			p.Press("tab", "tab")
			p.Type("http://api.example.com")
			p.WaitFor("the key travels in clear")
		}},
		{name: "profiles/moved", before: acme, steps: script(moving("etl", "env:ACME_KEY"), shows("moved 1 secret"))},
		{name: "profiles/move-failed", before: func(h *home) {
			acme(h)
			delete(h.env, "ACME_PASSWORD")
		}, steps: script(moving("zone", "env:ACME_PASSWORD"), shows("✗ "))},
		{name: "profiles/refused", before: acme, steps: script(adding(s, refusedKey), see("ctrl+r", "✗ ", "refuses the key"))},
		{name: "profiles/discard", before: acme, steps: script(added, see("esc esc", "Discard what you filled in?"))},
		{name: "profiles/typed-password", before: acme, steps: func(p *uitest.Whole) {
			added(p)
			p.PressFor(strings.Repeat("tab ", 8), "›Zones")
			p.Type("isp1 isp env:ISP_PASSWORD")
			p.Press("enter")
			p.Type("unlocker1 unlocker hunter2-hunter2")
			p.WaitFor("unlocker1 unlocker •••••••••••••••")
		}},
		{name: "profiles/edit-read-only", before: func(h *home) {
			s.acme(h, "brightdata")
			h.write("config/zonedeck/config.toml", "[profiles.acme]\nbase_url = \"https://api.example.com\"\ndialect = \"brightdata\"\nkey = \"etl-main\"\nread_only = true\n")
		}, steps: palette("edit profile acme", "Edit profile acme", "nothing is saved unless", "(-) keyring")},
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
			p.PressFor("ctrl+j", "It works")
			p.PressFor("esc esc 4", "[4 Keys", "ahead") // the first esc dismisses the error
		}},
		{name: "keys/changed-elsewhere", before: acme, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.PressFor("esc 4", "[4 Keys", "etl-main")
			p.PressFor("e", "Correct etl-main")
			for range 7 {
				p.Press("down")
			}
			p.Type("from the console")
			p.WaitFor("from the console")
		}, after: func(h *home, p *uitest.Whole) {
			h.append("data/zonedeck/keys.toml", "note = \"from another window\"\n")
			p.PressFor("ctrl+s", "changed elsewhere meanwhile", "ctrl+s again replaces it with yours")
		}},
		{name: "root/profile-removed", before: func(h *home) {
			acme(h)
			h.watched = true
		}, steps: acmeReady, after: func(h *home, p *uitest.Whole) {
			h.run("profiles", "remove", "acme", "--yes")
			p.WaitFor("✗ nothing is sent with profile acme")
			p.WaitGone("! nothing is sent with profile acme")
		}},
		{name: "keys/read-only", before: readOnly, steps: script(acmeReady, see("esc 4", "[4 Keys", "etl-main"), see("a", "is read-only", "allow it"))},
		{name: "jobs/read-only", before: readOnly, steps: script(acmeReady, see("esc 2", "[2 Jobs", "no job"), see("n", "is read-only", "allow it"))},
	}
}
