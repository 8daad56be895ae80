package pace

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// world is where calls are sent, in virtual time.
type world struct {
	r       *rand.Rand
	begins  time.Time
	now     time.Time
	lasts   time.Duration
	working map[string]int // the calls that each host works on
	hits    []time.Time    // that were let in within the last second
}

// seconds is a time around one second.
func (w *world) seconds() time.Duration {
	return time.Second/2 + time.Duration(w.r.Int64N(int64(time.Second)))
}

// reply is what comes of a call, and after which time.
type reply struct {
	Answer

	took time.Duration
}

// refusal comes at once.
var refusal = reply{byTarget, 50 * time.Millisecond}

func atMost(n int) func(w *world, host string) reply {
	return func(w *world, host string) reply {
		if w.working[host] >= n {
			return refusal
		}
		return reply{Answer{Good: true}, w.seconds()}
	}
}

// byTheService has all refusals come from the service.
func byTheService(target func(w *world, host string) reply) func(w *world, host string) reply {
	return func(w *world, host string) reply {
		out := target(w, host)
		out.ByService = out.TooFast
		return out
	}
}

func slow(w *world, host string) reply {
	out := atMost(8)(w, host)
	if out.Good {
		out.took *= 8
	}
	return out
}

func falling(w *world, host string) reply {
	return atMost([]int{32, 12, 24}[min(int(3*w.now.Sub(w.begins)/w.lasts), 2)])(w, host)
}

func perSecond(n int) func(w *world, host string) reply {
	return func(w *world, _ string) reply {
		for len(w.hits) > 0 && w.now.Sub(w.hits[0]) >= time.Second {
			w.hits = w.hits[1:]
		}
		if len(w.hits) >= n {
			return refusal
		}
		w.hits = append(w.hits, w.now)
		return reply{Answer{Good: true}, w.seconds()}
	}
}

// slowsPast takes longer the more it works on beyond a number, until calls time out.
func slowsPast(n int) func(w *world, host string) reply {
	return func(w *world, host string) reply {
		over := float64(w.working[host]) / float64(n)
		took := time.Duration(float64(w.seconds()) * max(1, over*over*over))
		if over > 1 && w.r.Float64() < over-1 || took > 15*time.Second {
			return reply{Answer{Fruitless: true}, 15 * time.Second}
		}
		return reply{Answer{Good: true}, took}
	}
}

// byChance has a share of the calls come to something else, whatever the pace.
func byChance(share float64, other reply) func(w *world, host string) reply {
	return func(w *world, _ string) reply {
		if w.r.Float64() < share {
			return other
		}
		return reply{Answer{Good: true}, w.seconds()}
	}
}

func weak(w *world, host string) reply {
	if host < "host2" {
		return atMost(2)(w, host)
	}
	return reply{Answer{Good: true}, w.seconds()}
}

// flown is a call in flight.
type flown struct {
	reply

	ends time.Time
	c    Call
	id   string
	sent departure
}

type sky []flown

func (s sky) Len() int           { return len(s) }
func (s sky) Less(i, j int) bool { return s[i].ends.Before(s[j].ends) }
func (s sky) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sky) Push(x any)        { *s = append(*s, x.(flown)) }
func (s *sky) Pop() any {
	old := *s
	last := old[len(old)-1]
	*s = old[:len(old)-1]
	return last
}

// simulation is a target and how many calls at once the product allows.
type simulation struct {
	cap, hosts int
	target     func(w *world, host string) reply
}

// outcome is what came of a simulation, and the most refusals within a window.
type outcome struct{ good, bad, most int }

func (o outcome) share() float64 { return float64(o.bad) / float64(o.good+o.bad) }

// run sends as many as a zone lets go, of calls to hosts by turns.
func (s simulation) run(seed uint64, lasts time.Duration, z *Zone) (out outcome) {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), begins: time.Unix(1_000_000, 0), lasts: lasts, working: map[string]int{}}
	w.now = w.begins
	var air sky
	var hits []time.Time
	next := 0
	send := func() bool {
		for range s.hosts {
			next++
			c := Call{Zone: "unlocker1", Host: fmt.Sprint("host", next%s.hosts), Cap: s.cap}
			if len(air) >= s.cap || z != nil && z.blocked(c, w.now) != nil {
				continue
			}
			f := flown{reply: s.target(w, c.Host), c: c, id: strconv.Itoa(next)}
			f.ends = w.now.Add(f.took)
			if z != nil {
				z.count(c)
				f.sent = z.depart(c, f.id)
			}
			w.working[c.Host]++
			heap.Push(&air, f)
			return true
		}
		return false
	}
	for w.now.Before(w.begins.Add(lasts)) {
		for send() {
		}
		if len(air) == 0 {
			w.now = w.now.Add(time.Second)
			continue
		}
		f := heap.Pop(&air).(flown)
		w.now = f.ends
		w.working[f.c.Host]--
		if f.Good {
			out.good++
		} else {
			out.bad++
			hits = recent(append(hits, w.now), w.now)
			out.most = max(out.most, len(hits))
		}
		if z == nil {
			continue
		}
		delete(z.Places, f.id)
		z.judge(f.c, f.sent, f.Answer, w.now)
		z.Refused = recent(z.Refused, w.now)
	}
	return out
}

// atPace is what a batch reaches.
func (s simulation) atPace(seed uint64, lasts time.Duration) outcome {
	p := &Pace{Cap: s.cap, Fast: true}
	p.set(min(firstLimit, s.cap), time.Unix(1_000_000, 0), "a batch begins low")
	return s.run(seed, lasts, &Zone{Paces: map[string]*Pace{"": p}})
}

// best is what the best of some numbers of calls at once reaches that never change, of those of which no more is refused
// than may be.
func (s simulation) best(seed uint64, lasts time.Duration, of []int, refused float64) (best int) {
	for _, s.cap = range of {
		if out := s.run(seed, lasts, nil); out.share() < refused {
			best = max(best, out.good)
		}
	}
	return best
}

func TestAPaceComesCloseToTheBestConstantAndIsSeldomRefused(t *testing.T) {
	// Below 0.85 are those whose growth the service's refusals stop for five minutes (8 within them), and the worst of those
	// that are refused by chance.
	for _, c := range []struct {
		name    string
		of      simulation
		best    []int   // that may be the best constant
		least   float64 // of the best constant
		refused float64 // at most, of all answers
		within  int     // of them within a window; 0 where that does not matter
	}{
		{"4 at once", simulation{64, 1, atMost(4)}, []int{3, 4}, 0.85, 0.03, 0},
		{"8 at once", simulation{64, 1, atMost(8)}, []int{7, 8}, 0.85, 0.03, 0},
		{"32 at once", simulation{64, 1, atMost(32)}, []int{30, 32}, 0.85, 0.03, 0},
		{"4 at once, by the service", simulation{64, 1, byTheService(atMost(4))}, []int{3, 4}, 0.85, 0.03, refusedOften},
		{"8 at once, by the service", simulation{64, 1, byTheService(atMost(8))}, []int{7, 8}, 0.85, 0.03, refusedOften},
		{"32 at once, by the service", simulation{64, 1, byTheService(atMost(32))}, []int{30, 32}, 0.73, 0.03, MaxRefused},
		{"answers in 8 s", simulation{64, 1, slow}, []int{7, 8}, 0.85, 0.03, 0},
		{"32, then 12, then 24 at once", simulation{64, 1, falling}, []int{11, 12, 13}, 1.51, 0.03, 0},
		{"20 in a second", simulation{64, 1, perSecond(20)}, []int{12, 14, 15, 16, 17, 18, 20}, 0.85, 0.03, 0},
		{"slows past 16, and calls time out late", simulation{64, 1, slowsPast(16)}, []int{14, 16, 18, 20}, 0.85, 0.03, 0},
		{"5 % time out at any pace", simulation{64, 1, byChance(0.05, reply{Answer{Fruitless: true}, 15 * time.Second})}, []int{64}, 0.85, 0.06, 0},
		{"1 % are refused at any pace", simulation{16, 1, byChance(0.01, refusal)}, []int{16}, 0.76, 0.03, 0},
		{"10 hosts, 2 of them weak", simulation{64, 10, weak}, []int{12, 16, 20, 24}, 0.85, 0.03, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			const lasts = 20 * time.Minute
			for seed := range uint64(2) {
				got := c.of.atPace(seed, lasts)
				goodput, share := float64(got.good)/float64(c.of.best(seed, lasts, c.best, c.refused)), got.share()
				t.Logf("seed %d: goodput %.3f, refused %.2f %%, at most %d within %v", seed, goodput, 100*share, got.most, Window)
				if goodput < c.least || share >= c.refused || c.within > 0 && got.most >= c.within {
					t.Errorf("seed %d: goodput %.3f of the best, %.2f %% refused, at most %d within %v", seed, goodput, 100*share, got.most, Window)
				}
			}
		})
	}
}
