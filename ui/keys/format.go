package keys

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// soon is how long before a clock runs out its state turns to "soon".
const soon = model.SoonDays * 24 * time.Hour

// expiresCell is the expiry clock, with a mark where there is none.
func expiresCell(k model.Key, now time.Time) string {
	if k.Expires.Kind == model.ExpiryUnlimited {
		return k.Expires.String() + " !"
	}
	return widget.ExpiryCell(k, now)
}

func usedByCell(k model.Key) string {
	return cmp.Or(strings.Join(k.UsedBy, ", "), "-")
}

func dutyCell(d model.Duty) string {
	return string(cmp.Or(d, "unknown"))
}

// clocks describes each of the two clocks in one line.
func clocks(k model.Key, now time.Time) []string {
	expiry := map[model.ExpiryState]string{
		model.ExpiryStateValid:     "accepted until then",
		model.ExpiryStateUnlimited: "never expires; an explicit expiry is recommended (contract 2.1)",
		model.ExpiryStateUnknown:   "never recorded",
		model.ExpiryStateSoon:      "expires soon",
		model.ExpiryStateExpired:   "requests with it are rejected (contract 3)",
	}[k.Expires.State(now, soon)]
	rotation := map[model.RotationState]string{
		model.RotationFresh:   "fresh",
		model.RotationUnknown: "age unknown, so it may be overdue",
		model.RotationSoon:    "due soon",
		model.RotationDue:     "due today",
		model.RotationOverdue: pastInterval(k.Rotation),
	}[k.Rotation.State(now, soon)]
	age := widget.RotatedCell(k, now) + " · " + widget.RotationCell(k, now)
	if k.Rotation.Last.IsZero() {
		age = "unknown"
	}
	if k.Expires.Kind == model.ExpiryDate {
		expiry += ", " + widget.Moment(k.Expires.At, now)
	}
	if at, ok := k.Rotation.Due(); ok && rotation == "fresh" {
		rotation = "due " + widget.Moment(at, now)
	}
	return []string{
		"Expiry    " + expiresCell(k, now) + " · " + expiry,
		"Rotation  " + age + " · " + rotation,
	}
}

// pastInterval names the interval of a value that is older, and whose it is.
func pastInterval(r model.Rotation) string {
	whose := "contract 5.4"
	if r.Every() != model.RotationDays {
		whose = "set in the configuration"
	}
	return fmt.Sprintf("past its %d days (%s)", r.Every(), whose)
}

// skewLine says how the service's clock, by which it rejects an expired key, differs from this
// machine's; empty if that was never measured. The emulator's clock is this machine's, and what it
// was moved by stands in the note of its keys.
func (m *Model) skewLine() string {
	if m.deps.Skew == nil || m.session.Local {
		return ""
	}
	s, ok := m.deps.Skew()
	if !ok {
		return ""
	}
	return s.String()
}

// seenLine is when a key was made, and when it was used from this console.
func (m *Model) seenLine(k model.Key, now time.Time) string {
	line := "not used from this console"
	if u, ok := m.records.used[m.id(k)]; ok {
		line = "first used here " + text.Clock(u.First, now) + ", last " + text.Clock(u.Last, now)
	}
	if !k.Created.IsZero() {
		line = "created " + k.Created.UTC().Format(time.DateOnly) + " · " + line
	}
	return line
}
