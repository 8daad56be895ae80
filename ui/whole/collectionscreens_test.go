package whole

import (
	"os"
	"path/filepath"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/ui/uitest"
)

// collection writes saved requests, one with a variable.
func collection(h *home) {
	h.t.Helper()
	for name, text := range map[string]string{
		"start.toml":        "zone = \"datacenter_demo\"\nurl = \"http://lab.test/ok\"\n",
		"shop/cart.toml":    "zone = \"unlocker_demo\"\nurl = \"http://lab.test/{{page}}?market={{market}}\"\n",
		"shop/de/list.toml": "zone = \"residential_demo\"\nurl = \"http://lab.test/shop\"\nvia = \"native\"\ncountry = \"de\"\n",
	} {
		h.write("data/zonedeck/requests/"+name, text)
		at := h.now.Add(-3 * time.Hour)
		noerr.Must(h.t, os.Chtimes(filepath.Join(h.dir, "data/zonedeck/requests", name), at, at))
	}
}

// collectionScreens show saved requests, their variables, and requests that were pasted.
func collectionScreens() []screen {
	opened := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("ctrl+o", "Saved requests", "start")
	}
	return []screen{
		{name: "sandbox/collection", before: collection, steps: opened},
		{name: "sandbox/collection-filter", before: collection, steps: script(opened, typed("list residential"), shows("1 request", "by Native"))},
		{name: "sandbox/collection-empty", steps: script(ready, see("ctrl+o", "No request is saved."))},
		{name: "sandbox/variables-asked", before: collection, steps: func(p *uitest.Whole) {
			opened(p)
			p.Type("cart")
			p.PressFor("enter", "no value yet")
			p.WaitGone("Nothing was sent") // the toast
			p.PressFor("ctrl+j", "Values for this request", "market")
		}},
		{name: "sandbox/save-again", before: collection, steps: func(p *uitest.Whole) {
			opened(p)
			p.Type("start")
			p.PressFor("enter", "Nothing was sent")
			p.WaitGone("Nothing was sent")
			p.PressFor("ctrl+s end", "Save the request", "start")
			p.PressFor("ctrl+s", "Replace start?")
		}},
		{name: "sandbox/pasted", steps: func(p *uitest.Whole) {
			ready(p)
			p.Send(tea.PasteMsg{Content: `curl -s -x http://127.0.0.1 -U brd-customer-hl_demo01-zone-residential_demo-country-de-city-berlin:hunter2 -H 'X-A: 1' -b 'sid=1' -L 'http://lab.test/ok'`})
			p.WaitFor("Pasted: curl, Native Access", "Left out")
		}},
	}
}
