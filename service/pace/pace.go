package pace

import (
	"fmt"
	"math"
	"strings"
	"time"

	"zonedeck/model"
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

// Pace is how many calls of one zone, or of a zone to one host, may be in flight at once. It begins with a refusal; that
// of a zone also with a batch.
type Pace struct {
	Cap   int // the product's
	Limit int
	Fast  bool // it grows by half: nothing was refused yet
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
	WallBy        string    // what happens at the wall
	LastWall      int       // the wall, also after it held
	Share         float64   // of refusals
	Hold          time.Time // no call before
	Reason        string    // of the last change, at Changed
	Changed       time.Time
	Losses        Losses
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
	if next := p.next(now); grow && p.Wanted && next > p.Limit {
		if p.Limit == p.Wall { // it holds there
			p.Wall = 0
		}
		p.set(next, now, "%d calls were answered well while %d were allowed", p.Good, p.Limit)
	}
}

// next is the limit to grow to.
func (p *Pace) next(now time.Time) int {
	next := p.Limit + 1
	if p.Fast {
		next = p.Limit + max(1, p.Limit/2)
	}
	if p.Wall > p.Limit && next >= p.Wall {
		if next = p.Wall; now.Before(p.WallUntil) {
			next--
		}
	}
	return min(next, p.Cap)
}

// refuse takes a refusal of a call that was sent at a change, by whom it says. The service's own is taken strictly.
func (p *Pace) refuse(change int, now time.Time, by string, strict bool) {
	if change != p.Change {
		return
	}
	p.Share, p.Fast = p.Share*fading+1-fading, false
	level := p.Limit
	switch {
	case level == 1:
		p.set(1, now, "%s refused even that", by)
	case strict:
		p.wall(level, longestWall, now, "is refused by the service")
		p.set(level*3/4, now, "%s answered 429 while %d were allowed; that many are tried again from %s", by, level, clock(p.WallUntil))
	case p.Share > mostRefused:
		p.Wall, p.Share = 0, 0
		p.set(level*7/10, now, "%s refused more than 5 %% of the calls", by)
	case level == p.Wall, level == p.Suspect && p.Good <= level:
		p.wall(level, firstWall, now, "is refused twice")
		p.set(level-1, now, "%s refused again while %d were allowed; that many are tried next from %s", by, level, clock(p.WallUntil))
	default:
		p.Suspect = level
		p.set(level-1, now, "%s said too fast while %d were allowed", by, level)
	}
	p.Refused = true
}

// wall remembers that a limit is too high, for twice as long as before where it was the wall already, or, with losses, one
// near by.
func (p *Pace) wall(level int, first time.Duration, now time.Time, by string) {
	if level == p.Wall || by == lossWall && by == p.WallBy && abs(step(level)-step(p.LastWall)) <= 1 {
		first = 2 * p.WallFor
	}
	p.Wall, p.LastWall, p.WallFor, p.WallBy = level, level, min(first, longestWall), by
	p.WallUntil = now.Add(p.WallFor)
}

func abs(n int) int { return max(n, -n) }

// words say how many calls of the zone, or of it to a host, go at once, and why not more.
func (p *Pace) words(host string, now time.Time) string {
	if host != "" {
		host = " for " + model.Line(host, 100)
	}
	out := fmt.Sprintf("%d of %d%s: ", p.Limit, p.Cap, host)
	if p.Wall > 0 && now.Before(p.WallUntil) {
		return out + fmt.Sprintf("%d %s, tried next in %d s", p.Wall, p.WallBy, int(math.Ceil(p.WallUntil.Sub(now).Seconds())))
	}
	_, reason, _ := strings.Cut(p.Reason, ", because ")
	return out + reason
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
