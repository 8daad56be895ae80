package pace

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// played is a zone with the time of a test.
type played struct {
	Zone

	c   Call
	now time.Time
}

func play() *played {
	now := time.Unix(1_000_000, 0).UTC()
	return &played{Zone{Places: map[string]string{}, Touched: now}, Call{Zone: "unlocker1", Host: "shop.example", Cap: 16}, now}
}

// answered takes answers to calls that go out now, one second apart.
func (p *played) answered(n int, a Answer) {
	for range n {
		sent := departure{changes: p.changes(p.c)}
		p.now = p.now.Add(time.Second)
		p.Touched = p.now
		p.judge(p.c, sent, a, p.now)
		p.forget(p.now)
	}
}

// wanted takes as many good answers as make a window, while more calls are wanted.
func (p *played) wanted(host string) {
	p.Paces[host].Wanted = true
	p.answered(2*p.Paces[host].Limit, Answer{Good: true})
}

// want checks the limit and the sentence of a pace.
func (p *played) want(t *testing.T, host, reason string) {
	t.Helper()
	if got := p.Paces[host]; got == nil || got.Reason != reason || got.Reason[:len("at most ")+len(strconv.Itoa(got.Limit))] != "at most "+strconv.Itoa(got.Limit) {
		t.Fatalf("%q: %+v, want %q", host, got, reason)
	}
}

var (
	byTarget  = Answer{TooFast: true}
	byService = Answer{TooFast: true, ByService: true}
)

func TestTheLimitThatATargetRefusesTwiceIsAWallThatIsTriedEverMoreSeldom(t *testing.T) {
	p := play()
	p.answered(1, byTarget)
	p.want(t, "shop.example", "at most 4 at once, because it said too fast")
	p.wanted("shop.example")
	p.want(t, "shop.example", "at most 5 at once, because 8 calls were answered well while 4 were allowed")
	p.answered(1, byTarget)
	p.want(t, "shop.example", "at most 4 at once, because it said too fast while 5 were allowed")
	p.wanted("shop.example")
	p.answered(5, Answer{Good: true})
	p.answered(1, byTarget)
	p.want(t, "shop.example", "at most 4 at once, because it refused again while 5 were allowed; that many are tried next from 13:47:34 UTC")
	p.wanted("shop.example")
	p.want(t, "shop.example", "at most 4 at once, because it refused again while 5 were allowed; that many are tried next from 13:47:34 UTC")
	for _, wall := range []string{"13:48:36", "13:50:38", "13:54:40", "13:59:42", "14:04:44"} { // 60, 120, 240 and 300 s after it was tried
		p.now, p.Paces["shop.example"].Share = p.Paces["shop.example"].WallUntil, 0 // after many good answers
		p.answered(1, Answer{Good: true})
		p.want(t, "shop.example", fmt.Sprintf("at most 5 at once, because %d calls were answered well while 4 were allowed", p.goodBefore()))
		p.answered(1, byTarget)
		p.want(t, "shop.example", "at most 4 at once, because it refused again while 5 were allowed; that many are tried next from "+wall+" UTC")
		p.wanted("shop.example")
	}
	p.now = p.Paces["shop.example"].WallUntil
	p.answered(1, Answer{Good: true})
	p.wanted("shop.example")
	if got := p.Paces["shop.example"]; got.Limit != 6 || got.Wall != 0 {
		t.Errorf("it holds at the wall: %+v", got)
	}
	if p.Paces[""] != nil {
		t.Errorf("the zone has a pace: %+v", p.Paces[""])
	}
}

// goodBefore is how many good answers raised the limit, by its sentence.
func (p *played) goodBefore() (n int) {
	_, _ = fmt.Sscanf(p.Paces["shop.example"].Reason, "at most 5 at once, because %d", &n)
	return n
}

func TestARefusalLongAfterALimitWasReachedIsNotTheSecond(t *testing.T) {
	p := play()
	p.answered(1, byTarget)
	p.wanted("shop.example")
	p.answered(1, byTarget)
	p.wanted("shop.example")
	p.answered(6, Answer{Good: true}) // one more than there are at once
	p.answered(1, byTarget)
	p.want(t, "shop.example", "at most 4 at once, because it said too fast while 5 were allowed")
}

func TestAnswersToCallsThatWentOutAtAnotherLimitChangeNothing(t *testing.T) {
	p := play()
	p.answered(1, byTarget)
	old := departure{changes: p.changes(p.c)}
	p.wanted("shop.example")
	before := *p.Paces["shop.example"]
	for range 20 {
		p.judge(p.c, old, byTarget, p.now)
		p.judge(p.c, old, Answer{Good: true}, p.now)
	}
	before.Share, before.Hold = p.Paces["shop.example"].Share, p.Paces["shop.example"].Hold
	if got := *p.Paces["shop.example"]; !reflect.DeepEqual(got, before) {
		t.Errorf("%+v, before %+v", got, before)
	}
}

func TestALimitGrowsOnlyIfMoreIsWanted(t *testing.T) {
	p := play()
	p.answered(1, byTarget)
	p.answered(100, Answer{Good: true})
	p.answered(100, Answer{}) // neither a refusal nor good
	if got := p.Paces["shop.example"]; got.Limit != 4 {
		t.Errorf("%+v", got)
	}
	for i := range 4 {
		p.Places[strconv.Itoa(i)] = p.c.Host
	}
	if e := p.blocked(p.c, p.now); e == nil || e.Error() != "held back: zone unlocker1 for shop.example: at most 4 at once, because it said too fast; the next call may go when one of those under way has ended" || e.Rule != "pace" {
		t.Errorf("%v", e)
	}
	if other := (Call{Zone: "unlocker1", Host: "news.example", Cap: 16}); p.blocked(other, p.now) != nil {
		t.Error("a call to another host is blocked")
	}
	p.answered(1, Answer{Good: true})
	p.want(t, "shop.example", "at most 5 at once, because 101 calls were answered well while 4 were allowed")
	for range 11 {
		p.wanted("shop.example")
	}
	if got := p.Paces["shop.example"]; got != nil {
		t.Errorf("at the product's limit nothing is held back, and it is remembered: %+v", got)
	}
}

func TestAFallenLimitOfTheTargetIsFollowed(t *testing.T) {
	p := play()
	p.answered(1, byTarget)
	for range 8 {
		p.wanted("shop.example")
	}
	p.want(t, "shop.example", "at most 12 at once, because 22 calls were answered well while 11 were allowed")
	p.answered(5, byTarget)
	p.want(t, "shop.example", "at most 7 at once, because it said too fast while 8 were allowed")
	p.answered(1, byTarget)
	p.want(t, "shop.example", "at most 4 at once, because it refused more than 5 % of the calls")
	p.answered(5, byTarget)
	p.want(t, "shop.example", "at most 1 at once, because it refused even that")
}

func TestTheServicesOwnRefusalsAreTakenStrictly(t *testing.T) {
	p := play()
	p.answered(1, byService)
	p.want(t, "", "at most 4 at once, because the service said too fast")
	p.wanted("")
	p.answered(1, byService)
	p.want(t, "", "at most 3 at once, because the service answered 429 while 5 were allowed; that many are tried again from 13:51:50 UTC")
	for range 9 {
		p.wanted("")
	}
	p.want(t, "", "at most 4 at once, because 6 calls were answered well while 3 were allowed")
	p.answered(5, byService)
	if got := p.Paces[""]; got.Limit != 1 || p.Paces["shop.example"] != nil {
		t.Errorf("%+v", p.Paces)
	}
	p.answered(1, byService)
	p.want(t, "", "at most 1 at once, because the service answered 429 8 times within 5 minutes, and is said to block an address at 25")
	for range 2 { // fewer than one cannot go: it goes later
		if e := p.blocked(p.c, p.now); e == nil || e.Wait != backOff || p.blocked(p.c, p.now.Add(backOff)) != nil {
			t.Errorf("after a refusal with one at once: %+v", e)
		}
		p.Refused = p.Refused[1:]
		p.answered(1, byService)
	}
	for range 10 { // no growth
		p.wanted("")
	}
	p.want(t, "", "at most 1 at once, because the service answered 429 8 times within 5 minutes, and is said to block an address at 25")
	p.answered(11, byService)
	for range 2 {
		p.Places["flying"] = p.c.Host
		if e := p.blocked(p.c, p.now); e == nil || e.Rule != "breaker" || e.Wait != 0 {
			t.Errorf("with %d refused and one in flight: %+v", len(p.Refused), e)
		}
	}
	delete(p.Places, "flying")
	p.answered(1, byService)
	if e := p.blocked(p.c, p.now); e == nil || e.Rule != "breaker" || e.Wait <= 0 {
		t.Errorf("with %d refused: %+v", len(p.Refused), e)
	}
	p.now = p.now.Add(Window)
	p.forget(p.now)
	if !p.Blank() || p.blocked(p.c, p.now) != nil {
		t.Errorf("after a quiet window: %+v", p.Zone)
	}
}

func TestThreeHostsThatRefuseWithinAWindowAreTheZone(t *testing.T) {
	p := play()
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		if p.Paces[""] != nil {
			t.Fatalf("before %s: %+v", host, p.Paces[""])
		}
		p.c.Host = host
		p.answered(1, byTarget)
	}
	p.want(t, "", "at most 4 at once, because each of 3 hosts said too fast")
	p.answered(1, byTarget) // it takes three others to say it of the zone again
	p.want(t, "", "at most 4 at once, because each of 3 hosts said too fast")
	if len(p.Refused) != 0 {
		t.Errorf("%d count as refused by the service", len(p.Refused))
	}
	if got := p.Reason(p.c); got != "zone unlocker1 for c.example: at most 3 at once, because it said too fast while 4 were allowed" {
		t.Errorf("the last change is %q", got)
	}
	p.c.Host = ""
	if got := p.Reason(p.c); got != "zone unlocker1: at most 4 at once, because each of 3 hosts said too fast" {
		t.Errorf("without a host it is %q", got)
	}
}

func TestAHostThatAnswersWellForAWindowIsNotWeak(t *testing.T) {
	p := play()
	for _, host := range []string{"a.example", "b.example", "c.example", "d.example"} {
		p.c.Host = host
		p.answered(1, byTarget)
		p.wanted(host)
	}
	if p.Paces[""] != nil {
		t.Errorf("%+v", p.Paces[""])
	}
}

func TestWhatARefusalAsksForIsWaitedForAtMostAWindow(t *testing.T) {
	for name, c := range map[string]struct {
		a    Answer
		host string
	}{"a target": {byTarget, "shop.example"}, "the service": {byService, ""}} {
		p := play()
		c.a.RetryAfter = 7 * time.Second
		p.answered(1, c.a)
		if e := p.blocked(p.c, p.now); e == nil || e.Wait != 7*time.Second || e.Reason != (Call{Zone: "unlocker1"}).sentence(c.host, p.Paces[c.host]) {
			t.Errorf("%s: %+v", name, e)
		}
		if e := p.blocked(p.c, p.now.Add(7*time.Second)); e != nil {
			t.Errorf("%s: then %+v", name, e)
		}
		c.a.RetryAfter = 24 * time.Hour
		p.answered(1, c.a)
		if e := p.blocked(p.c, p.now); e == nil || e.Wait != Window {
			t.Errorf("%s, a day: %+v", name, e)
		}
	}
}

func TestAZoneThatCouldHoldBackForEverIsNotOneThatWasWritten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	far := now.Add(Window + 1)
	good := func() Zone {
		return Zone{Touched: now, Refused: []time.Time{now}, Paces: map[string]*Pace{"": {Cap: 4, Limit: 1, Hold: now.Add(Window), WallUntil: now.Add(Window)}}}
	}
	for name, change := range map[string]func(z *Zone){
		"no pace":            func(z *Zone) { z.Paces[""] = nil },
		"a limit of none":    func(z *Zone) { z.Paces[""].Limit = 0 },
		"held back":          func(z *Zone) { z.Paces[""].Hold = far },
		"a wall":             func(z *Zone) { z.Paces[""].WallUntil = far },
		"refused":            func(z *Zone) { z.Refused = append(z.Refused, far) },
		"touched":            func(z *Zone) { z.Touched = far },
		"nothing of it, too": func(*Zone) {},
	} {
		z := good()
		change(&z)
		if want := name == "nothing of it, too"; z.valid(now) != want {
			t.Errorf("%s: valid %v", name, !want)
		}
	}
}

func TestTheHostsOfAZoneAreBoundedAndTheOneUnchangedForLongestIsForgotten(t *testing.T) {
	p := play()
	remembered := func(host int) bool { return p.Paces[fmt.Sprintf("host%d.example", host)] != nil }
	refuse := func(host int, asked time.Duration) {
		p.c.Host, p.now = fmt.Sprintf("host%d.example", host), p.now.Add(-999*time.Millisecond)
		p.answered(1, Answer{TooFast: true, RetryAfter: asked})
		delete(p.Paces, "")
		for _, pace := range p.Paces {
			pace.Refused = false
		}
	}
	refuse(0, time.Minute)
	for i := range mostHosts {
		refuse(i+1, 0)
	}
	if len(p.Paces) != mostHosts || !remembered(0) || remembered(1) || !remembered(mostHosts) {
		t.Errorf("of %d: the first, which must wait, %v, the second %v, the last %v", len(p.Paces), remembered(0), remembered(1), remembered(mostHosts))
	}
	for _, pace := range p.Paces {
		pace.Hold = p.now.Add(time.Minute)
	}
	refuse(mostHosts+1, 0)
	if remembered(mostHosts + 1) {
		t.Error("a host that must wait was forgotten for another")
	}
	p.answered(1, byService)
	if p.Paces[""] == nil {
		t.Error("the zone itself has no pace")
	}
}

func TestAHostWhosePaceHasNotChangedForAWindowIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Pace, now time.Time)
		kept   bool
	}{
		"unchanged":     {func(p *Pace, now time.Time) { p.Changed = now.Add(-Window) }, false},
		"changed later": {func(p *Pace, now time.Time) { p.Changed = now.Add(1 - Window) }, true},
		"held back":     {func(p *Pace, now time.Time) { p.Changed, p.Hold = now.Add(-Window), now.Add(1) }, true},
		"at a wall":     {func(p *Pace, now time.Time) { p.Changed, p.WallUntil = now.Add(-Window), now.Add(1) }, true},
	} {
		p := play()
		p.answered(1, byTarget)
		c.change(p.Paces["shop.example"], p.now)
		p.forget(p.now)
		if got := p.Paces["shop.example"] != nil; got != c.kept {
			t.Errorf("%s: remembered %v", name, got)
		}
	}
}

func TestAnswersThatSayTooFastAreCountedForAHostUntilAGoodOne(t *testing.T) {
	p := play()
	p.answered(2, byTarget)
	p.c.Host = "news.example"
	p.answered(1, byService)
	p.c.Host = "shop.example"
	p.answered(1, Answer{}) // no answer came
	if p.Rows["shop.example"] != 2 || p.Rows["news.example"] != 1 {
		t.Errorf("%v", p.Rows)
	}
	p.answered(1, Answer{Good: true})
	if p.Rows["shop.example"] != 0 || p.Rows["news.example"] != 1 {
		t.Errorf("after a good one %v", p.Rows)
	}
	for i := range 2 * mostHosts {
		p.c.Host = fmt.Sprint(i)
		p.answered(1, byTarget)
	}
	if len(p.Rows) > mostHosts {
		t.Errorf("%d hosts are counted", len(p.Rows))
	}
}

func TestACallToNoHostConcernsTheZoneAlone(t *testing.T) {
	if got := (Call{}).Hosts(); !slices.Equal(got, []string{""}) {
		t.Errorf("%q", got)
	}
}
