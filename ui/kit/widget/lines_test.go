package widget

import (
	"testing"
	"time"

	"zonedeck/ui/kit"
)

func TestAnAgeIsByTheClockOfItsProfile(t *testing.T) {
	const ahead = 9 * 24 * time.Hour
	machine := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	local := kit.Session{ProfileName: "local", Local: true, Ahead: ahead}
	acme := kit.Session{ProfileName: "acme"}
	hour := machine.Add(-time.Hour)
	for name, c := range map[string]struct {
		session kit.Session
		of      string
		t, now  time.Time
		want    string
		when    string
	}{
		"its own, on the emulator":             {local, "local", hour.Add(ahead), machine.Add(ahead), "1h", "11:00:00 (1h)"},
		"a real account's, on the emulator":    {local, "acme", hour, machine.Add(ahead), "1h", "2026-11-22 11:00 (1h)"},
		"its own, on a real account":           {acme, "acme", hour, machine, "1h", "11:00:00 (1h)"},
		"another's, on a real account":         {acme, "other", hour, machine, "1h", "11:00:00 (1h)"},
		"the emulator's, on a real account":    {acme, "local", hour.Add(ahead), machine, "8d ahead", "2026-12-01 11:00"},
		"of no profile":                        {local, "", hour.Add(ahead), machine.Add(ahead), "1h", "11:00:00 (1h)"},
		"the emulator's of a time gone by":     {acme, "local", hour, machine, "-", "11:00:00"},
		"the emulator's that never took place": {acme, "local", time.Time{}, machine, "-", "-"},
	} {
		if got := Age(c.session, c.of, c.t, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := DateAndAge(c.session, c.of, c.t, c.now); got != c.when {
			t.Errorf("%s: %q, want %q", name, got, c.when)
		}
	}
}
