package pace

import (
	"fmt"
	"time"
)

// The figures of a pace, from simulations against targets that refuse above a number of calls at once, above a
// rate, and by chance.
const (
	firstLimit   = 4
	firstWall    = 30 * time.Second
	longestWall  = Window      // and the service's own from the start
	backOff      = time.Second // where fewer than one cannot go: the first of service.md 8
	fading       = 0.99        // of the share of refusals, with each answer
	mostRefused  = 0.05        // of that share, before the wall is forgotten
	refusedOften = 8           // refusals by the service within the window
	weakHosts    = 3           // that make it the zone
)

// Pace is how many calls of one zone, or of a zone to one host, may be in flight at once. It begins with a refusal.
type Pace struct {
	Cap   int // the product's
	Limit int
	// Change counts the changes of the limit, and Good the good answers since the last one to calls sent after it.
	// Refused says that this was a refusal.
	Change, Good int
	Refused      bool
	Wanted       bool // a call had to wait at this limit
	// Suspect was refused once. Wall was refused twice, and is not tried again before WallUntil, WallFor after it
	// was refused.
	Suspect, Wall int
	WallFor       time.Duration
	WallUntil     time.Time
	Share         float64   // of refusals
	Hold          time.Time // no call before
	Reason        string    // of the last change, at Changed
	Changed       time.Time
}

// set changes the limit, and keeps why.
func (p *Pace) set(limit int, now time.Time, reason string, args ...any) {
	p.Limit, p.Good, p.Wanted, p.Change, p.Changed = max(limit, 1), 0, false, p.Change+1, now
	if p.Limit == 1 {
		p.holdUntil(now.Add(backOff))
	}
	p.Reason = fmt.Sprintf("at most %d at once, because ", p.Limit) + fmt.Sprintf(reason, args...)
}

func (p *Pace) holdUntil(t time.Time) {
	if t.After(p.Hold) {
		p.Hold = t
	}
}

// good counts a good answer to a call that was sent at a change. A window of them without a refusal raises the
// limit if it may grow and more was wanted, but not to the wall before its time.
func (p *Pace) good(change int, now time.Time, grow bool) {
	p.Share *= fading
	if change != p.Change {
		return
	}
	if p.Good++; p.Good < 2*p.Limit {
		return
	}
	p.Refused = false
	if next := p.Limit + 1; grow && p.Wanted && next <= p.Cap && (next != p.Wall || !now.Before(p.WallUntil)) {
		if p.Limit == p.Wall { // it holds there
			p.Wall = 0
		}
		p.set(next, now, "%d calls were answered well while %d were allowed", p.Good, p.Limit)
	}
}

// refuse takes a refusal of a call that was sent at a change, by whom it says. The service's own is taken strictly.
func (p *Pace) refuse(change int, now time.Time, by string, strict bool) {
	if change != p.Change {
		return
	}
	p.Share = p.Share*fading + 1 - fading
	level := p.Limit
	switch {
	case level == 1:
		p.set(1, now, "%s refused even that", by)
	case strict:
		p.wall(longestWall, now)
		p.set(level*3/4, now, "%s answered 429 while %d were allowed; that many are tried again from %s", by, level, clock(p.WallUntil))
	case p.Share > mostRefused:
		p.Wall, p.Share = 0, 0
		p.set(level*7/10, now, "%s refused more than 5 %% of the calls", by)
	case level == p.Wall, level == p.Suspect && p.Good <= level:
		p.wall(firstWall, now)
		p.set(level-1, now, "%s refused again while %d were allowed; that many are tried next from %s", by, level, clock(p.WallUntil))
	default:
		p.Suspect = level
		p.set(level-1, now, "%s said too fast while %d were allowed", by, level)
	}
	p.Refused = true
}

// wall remembers that the limit is too high, for twice as long as before where it was the wall already.
func (p *Pace) wall(first time.Duration, now time.Time) {
	if p.Wall == p.Limit {
		first = 2 * p.WallFor
	}
	p.Wall, p.WallFor = p.Limit, min(first, longestWall)
	p.WallUntil = now.Add(p.WallFor)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
