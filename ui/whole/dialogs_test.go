package whole

import (
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// proxyFailureScreens are tests of a login that fail, each in its way.
func proxyFailureScreens(s scripted) []screen {
	tested := func(target string, texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			acmeReady(p)
			p.PressFor("esc 3", "[3 Proxy]", "Test page")
			p.Press("j", "j", "j", "j", "enter", "ctrl+u")
			p.Type(target)
			p.PressFor("enter ctrl+j", texts...)
			p.WaitGone("running ")
		}
	}
	acme := func(h *home) { s.acme(h, "brightdata") }
	return []screen{
		{name: "proxy/login-rejected", before: acme, steps: tested("https://login.example/", "407")},
		{name: "proxy/forbidden", before: acme, steps: tested("https://forbidden.example/", "403")},
		{name: "proxy/bad-gateway", before: acme, steps: tested("https://gateway.example/", "502")},
		{name: "proxy/tls", before: acme, steps: tested("https://tls.example/", "CONNECT 200", "certificate")},
		{name: "proxy/network", before: func(h *home) {
			scripted{api: s.api, proxy: 1}.acme(h, "brightdata") // nobody listens on port 1
		}, steps: tested("https://shop.example/", "connect")},
		{name: "proxy/test-running", before: acme, steps: tested("https://silent.example/", "esc stop")},
		{name: "proxy/copy", before: acme, steps: script(acmeReady, see("esc 3", "[3 Proxy]", "Test page"), see("y", "Copy"))},
	}
}

// keyDialogScreens are the dialogs of the Keys tab, and inventories without keys.
func keyDialogScreens(s scripted) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	on := func(keys ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			acmeReady(p)
			p.PressFor("esc 4", "[4 Keys", "etl-main", "profile acme") // what uses it is read
			p.Press(keys...)
		}
	}
	dialog := func(name, text string, keys ...string) screen {
		return screen{name: "keys/" + name, before: acme, steps: script(on(keys...), shows(text))}
	}
	return []screen{
		dialog("edit", "Level", "e"),
		dialog("forget", "Forget the key?", "X"),
		dialog("refresh", "Rotation of etl-main by refresh", "!"),
		dialog("copy", "Copy", "y"),
		{name: "keys/rotate-value", before: acme, steps: func(p *uitest.Whole) {
			on("R")(p)
			p.WaitFor("Rotation of etl-main")
			p.PressFor("enter", "enter asks for the value")
			p.PressFor("enter", "New value")
		}},
		{name: "keys/rotate-give-up", before: acme, steps: func(p *uitest.Whole) {
			on("R")(p)
			p.WaitFor("Rotation of etl-main")
			p.PressFor("enter", "enter asks for the value") // a rotation that has begun can be given up
			p.PressFor("X", "Give up the rotation?")
		}},
		{name: "keys/empty", before: func(h *home) {
			h.write("config/zonedeck/config.toml", fmt.Sprintf("default_profile = \"acme\"\n[profiles.acme]\nbase_url = %q\n", s.api))
		}, steps: script(shows("acme"), see("esc 4", "[4 Keys"))},
		// The inventory is damaged under the console's eyes.
		{name: "keys/unreadable", before: acme, steps: on(), after: func(h *home, p *uitest.Whole) {
			h.write("data/zonedeck/keys.toml", "[[keys]]\nname = \"etl-main\"\nlevel = \"OPERATOR\"\n")
			p.PressFor("ctrl+r", "keys.toml")
		}},
	}
}

// toastScreens are messages over a tab.
func toastScreens(s scripted) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	return []screen{
		{name: "root/toast-disabled-key", before: acme, steps: script(acmeReady, see("esc 2", "[2 Jobs]"), see("d", "no job is selected"))},
		{name: "root/toast-errors", before: acme, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.PressFor("esc 4", "etl-main")
			p.Send(toast("the inventory could not be written: no space left on the device"))
			p.Send(toast("a second message stands above the first: " + strings.Repeat("it is long ", 12)))
			p.WaitFor("esc dismisses", "no space left")
		}},
	}
}

// jobDialogScreens are the questions of the Jobs tab.
func jobDialogScreens(s scripted) []screen {
	// launched shows a dialog about a job that this console has launched.
	launched := func(name string, dialog func(p *uitest.Whole)) screen {
		return screen{name: name, before: func(h *home) { s.acme(h, "brightdata") }, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "2")
			checkPasted(p, "gd_products", "https://shop.example/product/1")
		}, after: func(h *home, p *uitest.Whole) {
			h.yes(p, "Launch 1 input?")
			p.WaitFor("✓ ready")
			p.WaitGone("is ready: d downloads") // the toasts of the launch
			dialog(p)
		}}
	}
	return []screen{
		launched("jobs/same-inputs", func(p *uitest.Whole) {
			checkPasted(p, "gd_products", "https://shop.example/product/1")
			p.WaitFor("Launch the same inputs again?")
		}),
		launched("jobs/download", script(see("d", "Download job-1"), see("right right", "Raw cells"))),
		launched("jobs/copy", see("y", "Copy")),
	}
}

// jobQuestionScreens are what the Jobs tab asks before a job is launched, settled or replaced on disk.
func jobQuestionScreens(s scripted) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	lost := func(h *home) {
		acme(h)
		seedJob(h, model.JobMayHave, func(j *model.Job) {
			j.Profile, j.KeyName, j.Snapshot, j.Detail = "acme", "etl-main", "", "the call broke after sending: the connection was reset"
		})
	}
	settle := func(p *uitest.Whole) {
		acmeReady(p)
		p.PressFor("esc 2", "may have")
		p.PressFor("s", "2 candidates in the service's list")
	}
	// unlisted is one of a product whose jobs no list of the service has.
	unlisted := func(h *home) {
		acme(h)
		seedJob(h, model.JobMayHave, func(j *model.Job) {
			j.Profile, j.KeyName, j.Snapshot, j.Detail, j.Dataset = "acme", "etl-main", "", "the call broke after sending: the connection was reset", "deep_lookup"
		})
	}
	unread := func(p *uitest.Whole) {
		acmeReady(p)
		p.PressFor("esc 2", "may have")
		p.PressFor("s", "ervice's list could not be read")
	}
	lookupOf := func(query string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			acmeReady(p)
			p.PressFor("esc 2", "[2 Jobs]")
			p.PressFor("n", "data sets")
			p.Type("deep_lookup")
			p.WaitFor("› deep_lookup")
			p.PressFor("enter", "query *")
			p.Type(query)
			p.WaitFor(query)
			p.PressFor("ctrl+l", "Ask for a preview?")
		}
	}
	lookup := lookupOf("lamps below 20 euros")
	tooFast := func(h *home) {
		acme(h)
		h.write("urls.txt", "https://shop.example/product/1\n")
		h.run("jobs", "trigger", "gd_too_fast", "--input", filepath.Join(h.dir, "urls.txt"))
	}
	// noPreview is the page of a preview that came to nothing.
	noPreview := func(name, query, says string) screen {
		return screen{name: name, before: acme, steps: lookupOf(query), after: func(h *home, p *uitest.Whole) {
			h.yes(p, "Ask for a preview?")
			p.WaitFor("No preview", says)
		}}
	}
	// download leaves a ready job, with files in the place of its result.
	download := func(name, asks string, files ...string) screen {
		return screen{name: name, before: func(h *home) {
			acme(h)
			seedJob(h, model.JobReady, func(j *model.Job) { j.Profile, j.KeyName, j.Snapshot = "acme", "etl-main", "sd_products" })
			for _, file := range files {
				h.write(file, "{\"kept\":true}\n")
			}
		}, steps: script(acmeReady, see("esc 2", "ready"), see("d", "Download job-1")), after: func(h *home, p *uitest.Whole) {
			p.Press("tab")
			p.Type(filepath.Join(h.dir, "out.ndjson"))
			p.WaitFor("/out.ndjson")
			p.PressFor("ctrl+s", asks)
		}}
	}
	return []screen{
		{name: "jobs/ask-preview", before: acme, steps: lookup},
		{name: "jobs/lookup-preview", before: acme, steps: lookup, after: func(h *home, p *uitest.Whole) {
			h.yes(p, "Ask for a preview?")
			p.WaitFor("Preview: take these columns?", "2 records in the sample")
		}},
		noPreview("jobs/preview-too-fast", "lamps, too fast", "too fast: "),
		noPreview("jobs/preview-failed", "everything", "service error: "),
		{name: "jobs/preview-failed-form", before: acme, steps: lookupOf("everything"), after: func(h *home, p *uitest.Whole) {
			h.yes(p, "Ask for a preview?")
			p.WaitFor("No preview")
			p.PressFor("esc", "and may be billed", "check the inputs")
		}},
		{name: "jobs/candidates-too-fast", before: func(h *home) {
			acme(h)
			seedJob(h, model.JobMayHave, func(j *model.Job) {
				j.Profile, j.KeyName, j.Snapshot, j.Detail, j.Dataset = "acme", "etl-main", "", "the call broke after sending: the connection was reset", "gd_too_fast"
			})
		}, steps: script(unread, shows("too fast: "))},
		{name: "jobs/too-fast", before: tooFast, steps: script(acmeReady, see("esc 2", "too fast (trigger)"))},
		{name: "history/job-too-fast", before: tooFast, steps: script(acmeReady, see("esc 5", "gd_too_fast, 1 input: refused", "· job · too fast ·"))},
		{name: "jobs/candidates", before: lost, steps: settle},
		{name: "jobs/candidates-unread", before: unlisted, steps: unread},
		{name: "jobs/not-started", before: unlisted, steps: script(unread, see("x", "Mark job-1 as not started?"))},
		{name: "jobs/claim", before: lost, steps: script(settle, see("2", "Is it sd_"))},
		{name: "jobs/launch-again", before: lost, steps: script(acmeReady, see("esc 2", "may have"), see("a", "the whole job"), see("w", "Launch it again?"))},
		{name: "jobs/good-rows", before: acme, steps: func(p *uitest.Whole) {
			acmeReady(p)
			p.Press("esc", "2")
			fillJob(p, "gd_products", "https://shop.example/product/1")
			p.Send(tea.PasteMsg{Content: "\nshop.example/product/2\n"})
			p.WaitFor("product/2")
			p.PressFor("ctrl+s", "cannot be used")
			p.PressFor("ctrl+s", "Launch the 1 good row?")
		}},
		download("jobs/replace", "Replace the file?", "out.ndjson"),
		download("jobs/drop-partial", "Discard the partial download?", "out.ndjson.part"),
	}
}

// toast is an error that stays until it is dismissed.
func toast(text string) kit.Toast { return kit.Toast{Kind: kit.ToastError, Text: text} }

// palette runs a command of the palette on the scripted account.
func palette(command string, texts ...string) func(p *uitest.Whole) {
	return func(p *uitest.Whole) {
		acmeReady(p)
		p.Press("esc", "ctrl+p")
		p.Type(command)
		p.PressFor("enter", texts...)
	}
}

// adding fills the form of a new account with a key.
func adding(s scripted, key string) func(p *uitest.Whole) {
	return func(p *uitest.Whole) {
		palette("add profile", "Base URL", "(-) keyring")(p)
		p.Type("beta")
		p.Press("tab", "space", "tab")
		p.Type(s.api)
		p.Press("tab", "tab")
		p.Type(key)
		p.PressFor("tab", "stored when you save")
	}
}

// accountScreens are the form of accounts in its states, the question before one is removed, and the
// choice between profiles.
func accountScreens(s scripted) []screen {
	acme := func(h *home) { s.acme(h, "brightdata") }
	asked := script(adding(s, "a-key-of-beta-0123456789abf2a1"), see("ctrl+r", "••••f2a1", "accepts it"))
	return []screen{
		{name: "profiles/asked", before: acme, steps: asked},
		{name: "profiles/asked-zones", before: acme, steps: script(asked, see(strings.Repeat("tab ", 10), "isp_old"))},
		{name: "profiles/each-zone", before: acme, steps: script(asked, see("ctrl+l", "Zones by the account"))},
		{name: "profiles/move", before: acme, steps: script(palette("move secrets", "Move secrets"), shows("(-) keyring"))},
		{name: "profiles/edit", before: func(h *home) {
			s.acme(h, "brightdata")
			h.write("config/zonedeck/config.toml", "[profiles.acme]\nbase_url = \"https://api.example.com\"\ndialect = \"brightdata\"\nkey = \"etl-main\"\ncolor = \"red\"\n[[profiles.acme.zones]]\nname = \"unlocker1\"\nproduct = \"unlocker\"\n")
		}, steps: palette("edit profile acme", "Edit profile acme")},
		{name: "profiles/remove", before: acme, steps: palette("remove profile acme", "Goes: profile acme")},
		{name: "root/use-profile", before: acme, steps: script(acmeReady, see("esc @", "Use profile"))},
	}
}

// otherProfileScreens show a fetch of a profile that is not the one in use.
func otherProfileScreens(s scripted) []screen {
	return []screen{{name: "sandbox/other-profile", before: func(h *home) {
		s.acme(h, "brightdata")
		h.run("request", "https://shop.example/ok", "--zone", "unlocker1")
		h.env["BETA_KEY"] = "another-key-of-nobody-c0de"
		h.write("config/zonedeck/config.toml", fmt.Sprintf(`default_profile = "beta"
[profiles.beta]
base_url = %q
username_prefix = "abc"
account = "hl_5678beta"
dialect = "brightdata"
key = "beta-key"
[[profiles.beta.zones]]
name = "unlocker1"
product = "unlocker"
`, s.api))
		h.write("data/zonedeck/keys.toml", `[[keys]]
name = "beta-key"
level = "OPS"
duty = "batch job"
expires = "2027-01-20"
rotated = "2026-11-01"
secret = "env:BETA_KEY"
`)
	}, steps: func(p *uitest.Whole) {
		p.WaitFor("beta", "beta-key")
		p.PressFor("esc 5", "p shows what other profiles did")
		p.PressFor("p", "last 1", "acme")
		p.PressFor("enter", "Response of profile acme", "It works")
		p.WaitGone("The form holds this request now") // the toast
		p.PressFor("ctrl+j", "was sent with profile acme", "With profile beta it uses key beta-key")
	}}}
}
