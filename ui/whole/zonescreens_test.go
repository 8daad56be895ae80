package whole

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/ui/uitest"
)

// seedFetches stores fetches through zones of the profile on the emulator: of each zone their classes, the oldest first.
func seedFetches(h *home, zones map[string][]model.Class) {
	h.t.Helper()
	paths := config.FindPaths(func(name string) string { return h.env[name] })
	noerr.Must(h.t, paths.Ensure())
	j, _, err := journal.Open(h.t.Context(), paths.JournalFile(), func() time.Time { return h.now })
	noerr.Must(h.t, err)
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		classes := zones[zone]
		for i, c := range classes {
			noerr.Must(h.t, j.PutFetch(h.t.Context(), model.LocalName, model.FetchResult{
				ID: fmt.Sprintf("f_%s_%d", zone, i), Started: h.now.Add(time.Duration(i-len(classes)) * time.Minute),
				Request:   model.FetchRequest{Zone: model.Zone{Name: model.ZoneName(zone)}, URL: "http://lab.test/ok", Via: model.ViaAPI},
				Timing:    model.Timing{DNS: -1, Total: time.Duration(200+i*i*20) * time.Millisecond},
				Diagnosis: model.Diagnosis{Class: c},
			}))
		}
	}
	noerr.Must(h.t, j.Close())
}

// zoneScreens show what the last fetches through each zone came to.
func zoneScreens() []screen {
	ok, captcha, timeout := model.ClassOK, model.ClassCaptcha, model.ClassTimeout
	before := func(h *home) {
		seedFetches(h, map[string][]model.Class{
			"unlocker_demo":    {captcha, captcha, ok, ok, ok, ok, captcha, ok, ok, ok, ok, ok, ok, ok},
			"datacenter_demo":  {ok, ok, timeout, captcha, captcha},
			"residential_demo": {captcha},
		})
	}
	return []screen{
		{name: "sandbox/zones-used", before: before, steps: func(p *uitest.Whole) {
			ready(p)
			p.PressFor("enter", "type to filter", "1.5 s")
		}},
		{name: "sandbox/what-is-sent", steps: script(ready, see("alt+w", "Authorization"))},
	}
}
