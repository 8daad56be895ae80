package pace

import (
	"math"
	"time"
)

// The figures of losses: what share of the calls at a level makes it a wall.
const (
	lossFading    = 0.998 // of what was counted at a level, with each answer there
	leastLosses   = 3     // before a level is a wall
	leastUnbased  = 6     // the same where too little is known of lower levels
	leastBase     = 20    // answers at lower levels that tell what is lost at any pace
	lowerLevels   = 0.7   // of a level, are those
	usualLoss     = 0.02  // a share that is no wall
	belowLossWall = 0.8   // of the level, is where its wall leaves the limit
)

// Losses counts the answers to calls by how many were in flight when they went out, in steps of 25 %: those that
// came to nothing, which is a timeout or a CAPTCHA, and all.
type Losses map[int]LevelCount

// LevelCount is what was counted at a level.
type LevelCount struct{ Bad, All float64 }

func (l LevelCount) share() float64 { return l.Bad / max(l.All, 1) }

// step is the place of a level among those that are counted.
func step(level int) int { return int(math.Round(math.Log(float64(level)) / math.Log(1.25))) }

// count counts an answer to a call that was one of level in flight. It returns what is known of that level.
func (l Losses) count(level int, bad bool) LevelCount {
	at := l[step(level)]
	at.Bad, at.All = at.Bad*lossFading, at.All*lossFading+1
	if bad {
		at.Bad++
	}
	l[step(level)] = at
	return at
}

// below sums up what is known of the levels up to a share of one.
func (l Losses) below(level int, share float64) (sum LevelCount) {
	for at, lost := range l {
		if math.Pow(1.25, float64(at)) <= share*float64(level)+0.5 {
			sum.Bad, sum.All = sum.Bad+lost.Bad, sum.All+lost.All
		}
	}
	return sum
}

// lose takes the answer to a call that was one of level in flight. Where much more comes to nothing than at lower levels
// it is a wall. A wall below which as much does is lifted.
func (p *Pace) lose(level int, bad bool, now time.Time) {
	if level == 0 {
		return
	}
	if p.Losses == nil {
		p.Losses = Losses{}
	}
	lost := p.Losses.count(level, bad)
	stands := p.Wall > 0 && now.Before(p.WallUntil) && level > p.Limit // and what went out before comes late
	if !bad || stands {
		return
	}
	base, least := p.Losses.below(level, lowerLevels), float64(leastUnbased)
	if base.All >= leastBase {
		least = leastLosses
	}
	limit := int(belowLossWall * float64(level))
	if lost.Bad < least-0.1 || lost.share() <= usualLoss+2*base.share() || limit >= p.Limit {
		p.liftWall(now)
		return
	}
	p.Fast = false
	p.wall(level, firstWall, now, lossWall)
	p.set(limit, now, "%.0f %% of the calls came to nothing while %d were in flight; that many are tried next from %s", 100*lost.share(), level, clock(p.WallUntil))
}

// lossWall is what happens at a wall of losses.
const lossWall = "often times out or meets a CAPTCHA"

// liftWall takes a wall of losses away if half as much is lost below it.
func (p *Pace) liftWall(now time.Time) {
	if p.Wall == 0 || p.WallBy != lossWall {
		return
	}
	below, at := p.Losses.below(p.Wall, belowLossWall), p.Losses[step(p.Wall)]
	if below.Bad < leastLosses-0.1 || below.All < leastBase || below.share() <= at.share()/2 {
		return
	}
	wall := p.Wall
	p.Wall = 0
	p.set(min(wall, p.Cap), now, "%.0f %% of the calls come to nothing below %d, too: the pace is not why", 100*below.share(), wall)
}
