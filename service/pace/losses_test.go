package pace

import (
	"testing"
	"time"
)

// lost counts calls at a level, of which some came to nothing.
func (p *played) lost(all, bad, level int) {
	host := p.Paces[p.c.Host]
	for i := range all {
		p.now = p.now.Add(time.Second)
		host.lose(level, i >= all-bad, p.now)
	}
}

func ofHost() *played {
	p := play()
	p.Paces = map[string]*Pace{}
	p.count(p.c)
	return p
}

func TestALevelWhereMuchMoreComesToNothingThanBelowIsAWall(t *testing.T) {
	for name, c := range map[string]struct {
		base, lostBelow float64
		lost, limit     int
	}{
		"three, with a base":             {100, 0, 3, 12},
		"two, with a base":               {100, 0, 2, 16},
		"five, without a base":           {0, 0, 5, 16},
		"six, without a base":            {0, 0, 6, 12},
		"as much as below":               {100, 10, 6, 16},
		"no more than twice below and 2": {100, 5, 6, 16},
	} {
		p := ofHost()
		p.Paces[p.c.Host].Losses = Losses{step(4): {Bad: c.lostBelow, All: c.base}}
		p.lost(60, c.lost, 16)
		if got := p.Paces[p.c.Host]; got.Limit != c.limit {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestCallsThatWentOutBeforeAWallDoNotMoveIt(t *testing.T) {
	p := ofHost()
	p.lost(60, 6, 16)
	p.want(t, "shop.example", "at most 12 at once, because 11 % of the calls came to nothing while 16 were in flight; that many are tried next from 13:48:10 UTC")
	if got := p.Paces[""]; got != nil {
		t.Errorf("the zone has a pace: %+v", got)
	}
	p.lost(8, 8, 16)
	p.want(t, "shop.example", "at most 12 at once, because 11 % of the calls came to nothing while 16 were in flight; that many are tried next from 13:48:10 UTC")
	if got := p.Paces["shop.example"].words("", p.now); got != "12 of 16: 16 often times out or meets a CAPTCHA, tried next in 22 s" {
		t.Errorf("%q", got)
	}
}

func TestAWallBelowWhichAsMuchComesToNothingIsLifted(t *testing.T) {
	p := ofHost()
	p.lost(60, 6, 16)
	p.lost(30, 2, 12)
	if got := p.Paces["shop.example"]; got.Wall != 16 {
		t.Errorf("%+v", got)
	}
	p.lost(1, 1, 12)
	p.want(t, "shop.example", "at most 16 at once, because 10 % of the calls come to nothing below 16, too: the pace is not why")
	p.forget(p.now)
	if p.Paces["shop.example"] == nil {
		t.Error("what was counted is forgotten at once")
	}
	p.now = p.now.Add(Window)
	p.forget(p.now)
	if p.Paces["shop.example"] != nil {
		t.Error("it is remembered after a window")
	}
}
