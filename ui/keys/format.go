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

// usedByCell names what uses a key, or says how many uses there are where the names do not fit.
func (m *Model) usedByCell(k model.Key) widget.Cell {
	cell := widget.Cell{Text: strings.Join(k.UsedBy, ", "), Ink: m.deps.Theme.Muted}
	switch n := len(k.UsedBy); {
	case n > 0:
		cell.Short = text.Counted(n, "use")
	case m.usesUnknown() != "":
		cell.Text = "unknown"
	default:
		cell.Text = "-"
	}
	return cell
}

func dutyCell(d model.Duty) string {
	return string(cmp.Or(d, "unknown"))
}

// clockLine is the name of a clock, and what it shows.
type clockLine struct{ name, text string }

// clocks describes each of the two clocks.
func clocks(k model.Key, now time.Time) []clockLine {
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
		model.RotationDue:     fmt.Sprintf("its %d days end today (%s)", k.Rotation.Every(), intervalOf(k.Rotation)),
		model.RotationOverdue: fmt.Sprintf("past its %d days (%s)", k.Rotation.Every(), intervalOf(k.Rotation)),
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
	return []clockLine{
		{"Expiry    ", expiresCell(k, now) + " · " + expiry},
		{"Rotation  ", age + " · " + rotation},
	}
}

// intervalOf says whose an interval is.
func intervalOf(r model.Rotation) string {
	if r.Every() != model.RotationDays {
		return "set in the configuration"
	}
	return "contract 5.4"
}

// skewLine says how the service's clock, by which it rejects an expired key, differs from this
// machine's; empty if that was never measured. The emulator's clock is this machine's, and what it
// was moved by stands in the note of its keys.
func (m *Model) skewLine() string {
	if m.deps.Service == nil || m.session.Local {
		return ""
	}
	s, ok := m.deps.Service.Skew()
	if !ok {
		return ""
	}
	return s.String()
}

// seenLine is when a key was made, and when it was first seen and last used from this console.
func (m *Model) seenLine(k model.Key, now time.Time) string {
	id := m.id(k)
	if !m.session.Local { // any other key is known by its name alone
		id.Profile = ""
	}
	line := "first seen and last used are not known"
	if u, ok := m.records.used[id]; ok {
		line = "first seen " + text.Clock(u.First, now) + " · "
		if u.Last.IsZero() {
			line += "not used from here"
		} else {
			line += "last used " + text.Clock(u.Last, now)
		}
	}
	if !k.Created.IsZero() {
		line = "created " + k.Created.UTC().Format(time.DateOnly) + " · " + line
	}
	return line
}
