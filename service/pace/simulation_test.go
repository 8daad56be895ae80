package pace

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// simulated is a service that refuses above a number of calls at once, in virtual time.
type simulated struct {
	cap    int
	strict bool // it is the service, not a target
	took   func(r *rand.Rand) time.Duration
	change func() map[string]int // at which a call goes out
}

// flown is a call in flight.
type flown struct {
	ends    time.Time
	refused bool
	change  map[string]int
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

// run sends for a time, as long as nothing blocks a call, and gives the good answers, the refusals, and the most
// refusals within a window.
func (s simulated) run(seed uint64, lasts time.Duration, blocked func(flying int, now time.Time) bool, answer func(f flown, now time.Time)) (good, refused, most int) {
	r := rand.New(rand.NewPCG(seed, 1))
	now := time.Unix(1_000_000, 0)
	until := now.Add(lasts)
	var air sky
	working := 0
	var hits []time.Time
	for now.Before(until) {
		for !blocked(len(air), now) {
			f := flown{change: s.change(), refused: working >= s.cap}
			if f.refused {
				f.ends = now.Add(50 * time.Millisecond)
			} else {
				working++
				f.ends = now.Add(s.took(r))
			}
			heap.Push(&air, f)
		}
		if len(air) == 0 {
			now = now.Add(time.Second)
			continue
		}
		f := heap.Pop(&air).(flown)
		now = f.ends
		if f.refused {
			refused++
			hits = recent(append(hits, now), now)
			most = max(most, len(hits))
		} else {
			working--
			good++
		}
		answer(f, now)
	}
	return good, refused, most
}

// atPace is what a zone's pace reaches after a first refusal.
func (s simulated) atPace(seed uint64, lasts time.Duration) (good, refused, most int) {
	c := Call{Zone: "unlocker1", Host: "shop.example", Cap: 64}
	z := Zone{Places: map[string]string{}, Touched: time.Unix(1_000_000, 0)}
	z.judge(c, nil, Answer{TooFast: true, ByService: s.strict}, time.Unix(1_000_000, 0))
	s.change = func() map[string]int { return z.changes(c) }
	return s.run(seed, lasts, func(flying int, now time.Time) bool {
		for i := len(z.Places); i < flying; i++ {
			z.Places[strconv.Itoa(i)] = c.Host
		}
		for i := flying; i < len(z.Places); {
			delete(z.Places, strconv.Itoa(len(z.Places)-1))
		}
		z.forget(now)
		return flying >= c.Cap || z.blocked(c, now) != nil
	}, func(f flown, now time.Time) {
		z.Touched = now
		z.judge(c, f.change, Answer{Good: !f.refused, TooFast: f.refused, ByService: f.refused && s.strict}, now)
	})
}

// atConstant is what a number of calls at once reaches that never changes.
func (s simulated) atConstant(seed uint64, lasts time.Duration, n int) int {
	s.change = func() map[string]int { return nil }
	good, _, _ := s.run(seed, lasts, func(flying int, _ time.Time) bool { return flying >= n }, func(flown, time.Time) {})
	return good
}

func TestAPaceComesCloseToTheBestConstantAndIsSeldomRefused(t *testing.T) {
	const lasts = 20 * time.Minute
	slowly := func(r *rand.Rand) time.Duration { return time.Second/2 + time.Duration(r.Int64N(int64(time.Second))) }
	for _, strict := range []bool{false, true} {
		for _, most := range []int{4, 8, 32} {
			s := simulated{cap: most, strict: strict, took: slowly}
			t.Run(fmt.Sprintf("%d at once, by the service %v", most, strict), func(t *testing.T) {
				for seed := range uint64(3) {
					good, refused, within := s.atPace(seed, lasts)
					best := 0
					for _, n := range []int{most - 1, most, most + 1} {
						best = max(best, s.atConstant(seed, lasts, n))
					}
					goodput, share := float64(good)/float64(best), float64(refused)/float64(good+refused)
					t.Logf("seed %d: goodput %.3f, refused %.2f %%, at most %d within %v", seed, goodput, 100*share, within, Window)
					if goodput < 0.85 || share >= 0.03 || strict && within >= refusedOften {
						t.Errorf("seed %d: goodput %.3f of the best, %.2f %% refused, at most %d within %v", seed, goodput, 100*share, within, Window)
					}
				}
			})
		}
	}
}
