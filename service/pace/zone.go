package pace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"zonedeck/model"
)

// Zone is what is remembered of one zone of a profile since a refusal. The zero value holds nothing back.
type Zone struct {
	Paces   map[string]*Pace  // of hosts, and of the zone itself by ""
	Places  map[string]string // the hosts of the calls in flight, by their signs of life
	Rows    map[string]int    // answers in a row that said too fast, by host
	Refused []time.Time       // by the service
	Good    time.Time         // the last good answer
	Touched time.Time
	damaged bool // what was kept of it could not be read
	// Part is how many of each limit this process may have in flight, by host, and HeldByOthers how many the other processes
	// hold, where each knows its own places alone. A nil Part is the whole limit.
	Part, HeldByOthers map[string]int `json:"-"`
}

// Call is a call that needs a place.
type Call struct {
	Profile, Zone, Host string
	Cap                 int           // how many the product allows at once
	Timeout             time.Duration // of the wait for a place
	// Batch says that others like it follow: its zone begins low, before anything was refused.
	Batch bool
}

// Hosts are the names of the paces that concern the call.
func (c Call) Hosts() []string {
	if c.Host == "" {
		return []string{""}
	}
	return []string{"", c.Host}
}

// Answer is what came of a call. Good means neither a refusal nor a challenge; Fruitless is a timeout or a CAPTCHA, which may
// have come of the pace.
type Answer struct {
	Good, Fruitless, TooFast, ByService bool
	RetryAfter                          time.Duration // that the refusal asks for
}

// mostHosts bounds the paces of a zone.
const mostHosts = 100

// forget takes away what is over: all of it after a quiet window, and a host whose pace has not changed for one.
func (z *Zone) forget(now time.Time) {
	if now.Sub(z.Touched) >= Window && len(z.Places) == 0 {
		*z = Zone{}
	}
	z.Refused = recent(z.Refused, now)
	maps.DeleteFunc(z.Paces, func(host string, p *Pace) bool {
		if host != "" && now.Sub(p.Changed) >= Window && !now.Before(p.Hold) && !now.Before(p.WallUntil) {
			return true
		}
		counts := len(p.Losses) > 0 && now.Sub(p.Changed) < Window // whether the pace is why calls come to nothing
		return p.Limit == p.Cap && p.Wall == 0 && now.After(p.Hold) && !p.Refused && !counts
	})
}

// begin begins a damaged zone anew, which it says, and forgets what is over.
func (z *Zone) begin(zone string, now time.Time) (note string) {
	if z.damaged || !z.valid(now) {
		*z, note = Zone{Places: z.Places}, "the pace of zone "+zone+" begins anew: what was remembered of it is damaged"
	}
	z.forget(now)
	return note
}

// count counts the calls to a host that holds none back.
func (z *Zone) count(c Call) {
	if z.Paces[c.Host] == nil && len(z.Paces) < mostHosts {
		z.Paces[c.Host] = &Pace{Cap: c.Cap, Limit: c.Cap}
	}
}

// ReadZone is a zone as a store has written it; nothing is one that was never refused.
func ReadZone(text []byte) (z Zone) {
	if len(text) > 0 && json.Unmarshal(text, &z) != nil {
		z = Zone{damaged: true}
	}
	return z
}

// Blank reports whether nothing needs to be remembered.
func (z *Zone) Blank() bool { return len(z.Paces) == 0 && len(z.Refused) == 0 }

// valid reports whether a zone can be one that was written: another could hold calls back for ever.
func (z *Zone) valid(now time.Time) bool {
	last := now.Add(Window)
	for _, p := range z.Paces {
		if p == nil || p.Limit < 1 || p.Hold.After(last) || p.WallUntil.After(last) {
			return false
		}
	}
	return !slices.ContainsFunc(append(z.Refused, z.Touched), last.Before)
}

// blocked says why a call may not go now, or is nil. Without a Wait it may go when another ends.
func (z *Zone) blocked(c Call, now time.Time) *TooFastError {
	if e := usedUp(z.Refused, z.Good, len(z.Places)+z.HeldByOthers[""], now); e != nil && len(z.Refused) > 0 {
		return e
	}
	for _, host := range c.Hosts() {
		p := z.Paces[host]
		if p != nil && (p.Hold.After(now) || z.under(host) >= z.part(host, p)) {
			p.Wanted = true
			return &TooFastError{Rule: "pace", Reason: c.sentence(host, p), Wait: max(p.Hold.Sub(now), 0)}
		}
	}
	return nil
}

// part is how many of a limit this process may have in flight.
func (z *Zone) part(host string, p *Pace) int {
	if z.Part == nil {
		return p.Limit
	}
	return min(z.Part[host], p.Limit)
}

// sentence says which calls a pace holds back, and why.
func (c Call) sentence(host string, p *Pace) string {
	if host != "" {
		host = " for " + model.Line(host, 100)
	}
	return "zone " + c.Zone + host + ": " + p.Reason
}

// Reason is the sentence of the last change that concerns a call, empty without one.
func (z *Zone) Reason(c Call) (out string) {
	var at time.Time
	for _, host := range c.Hosts() {
		if p := z.Paces[host]; p != nil && p.Changed.After(at) {
			at, out = p.Changed, c.sentence(host, p)
		}
	}
	return out
}

// words are those of the pace that changed last; empty without one.
func (z *Zone) words(now time.Time) (out string) {
	var at time.Time
	for host, p := range z.Paces {
		if p.Change > 0 && p.Changed.After(at) {
			at, out = p.Changed, p.words(host, now)
		}
	}
	return out
}

// departure is how a zone was when a call went out.
type departure struct {
	changes map[string]int // of the limits, by host
	level   int            // how many calls to the host were in flight, this one among them; 0 where they are not counted
}

// depart takes the place of a call, by its name.
func (z *Zone) depart(c Call, place string) departure {
	if z.Places == nil {
		z.Places = map[string]string{}
	}
	z.Places[place] = c.Host
	return departure{z.changes(c), z.under(c.Host) + z.HeldByOthers[c.Host]}
}

// under counts the calls in flight to a host, or all by "".
func (z *Zone) under(host string) (n int) {
	for _, of := range z.Places {
		if host == "" || of == host {
			n++
		}
	}
	return n
}

// changes are the changes of the limits at which a call goes out, by host.
func (z *Zone) changes(c Call) map[string]int {
	out := map[string]int{}
	for _, host := range c.Hosts() {
		if p := z.Paces[host]; p != nil {
			out[host] = p.Change
		}
	}
	return out
}

// judge takes what came of a call that went out at a departure.
func (z *Zone) judge(c Call, sent departure, a Answer, now time.Time) {
	if a.TooFast {
		if z.Rows == nil || len(z.Rows) >= mostHosts {
			z.Rows = map[string]int{}
		}
		z.Rows[c.Host]++
	}
	if p := z.Paces[c.Host]; p != nil && !a.TooFast && (a.Good || a.Fruitless) {
		p.lose(sent.level, a.Fruitless, now)
	}
	switch {
	case a.ByService:
		z.Refused = append(z.Refused, now)
		zone := z.refuse("", c, sent, a, now, "the service")
		if len(z.Refused) == refusedOften {
			zone.set(zone.Limit/4, now, "the service answered 429 %d times within %d minutes, and is said to block an address at 25", refusedOften, int(Window.Minutes()))
		}
	case a.TooFast:
		z.refuse(c.Host, c, sent, a, now, "it")
		if weak := z.weak(); len(weak) >= weakHosts {
			for _, p := range weak {
				p.Refused = false
			}
			z.refuse("", c, departure{changes: z.changes(c)}, Answer{}, now, fmt.Sprintf("each of %d hosts", len(weak)))
		}
	case a.Good:
		z.Good = now
		delete(z.Rows, c.Host)
		for _, host := range c.Hosts() {
			if p := z.Paces[host]; p != nil {
				p.good(sent.changes[host], now, host != "" || len(z.Refused) < refusedOften)
			}
		}
	}
}

// weak are the hosts that refused, and have not answered well for a window since.
func (z *Zone) weak() (out []*Pace) {
	for host, p := range z.Paces {
		if host != "" && p.Refused {
			out = append(out, p)
		}
	}
	return out
}

// refuse gives a refusal to the pace of a host, or of the zone, which it begins: one below as many as were in flight, where
// that is known.
func (z *Zone) refuse(host string, c Call, sent departure, a Answer, now time.Time, by string) *Pace {
	p := z.Paces[host]
	switch {
	case p == nil:
		p = &Pace{Cap: c.Cap}
		if z.Paces == nil {
			z.Paces = map[string]*Pace{}
		}
		if host == "" || z.makeRoom(now) {
			z.Paces[host] = p
		}
		fallthrough
	case p.Change == 0: // it only counted
		if p.Refused = true; host != "" && sent.level > 1 {
			p.Suspect = sent.level
			p.set(min(sent.level, p.Cap)-1, now, "%s said too fast while %d were in flight", by, sent.level)
		} else {
			p.set(min(firstLimit, c.Cap*3/4), now, "%s said too fast", by)
		}
	default:
		p.refuse(sent.changes[host], now, by, a.ByService)
	}
	p.holdUntil(now.Add(min(a.RetryAfter, Window)))
	return p
}

// makeRoom reports whether one more host can be remembered, for which it forgets the one that has not changed for the
// longest time, of those that may be called now.
func (z *Zone) makeRoom(now time.Time) bool {
	hosts, oldest, at := 0, "", now
	for host, p := range z.Paces {
		if host == "" {
			continue
		}
		if hosts++; !p.Hold.After(now) && p.Changed.Before(at) {
			oldest, at = host, p.Changed
		}
	}
	if hosts < mostHosts || oldest == "" {
		return hosts < mostHosts
	}
	delete(z.Paces, oldest)
	return true
}
