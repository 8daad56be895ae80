package meter

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// day is one UTC day. Its maps are replaced, never changed, so that readers need no lock.
type day struct {
	date       string
	start, end int64 // Unix seconds
	dirty      atomic.Bool

	// zones by name; a name has several where zones of other products had it that day.
	zones atomic.Pointer[map[string][]*zoneDay]
	mu    sync.Mutex // one who adds a zone
}

func newDay(at time.Time) *day {
	at = at.UTC()
	start := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	d := &day{date: start.Format(time.DateOnly), start: start.Unix(), end: start.AddDate(0, 0, 1).Unix()}
	d.zones.Store(&map[string][]*zoneDay{})
	return d
}

func (d *day) holds(at time.Time) bool { s := at.Unix(); return d.start <= s && s < d.end }

func (d *day) zone(name, product string) *zoneDay { return of((*d.zones.Load())[name], product) }

func of(same []*zoneDay, product string) *zoneDay {
	for _, z := range same {
		if z.product == product {
			return z
		}
	}
	return nil
}

// all are the zones of the day in any order.
func (d *day) all(visit func(name string, z *zoneDay)) {
	for name, same := range *d.zones.Load() {
		for _, z := range same {
			visit(name, z)
		}
	}
}

func (d *day) addZone(name, product string, rate func(zone, product string) Rate) *zoneDay {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := *d.zones.Load()
	if len(old[name]) == 0 && len(old) >= MaxZones {
		name = OtherHosts
	}
	if z := of(old[name], product); z != nil {
		return z
	}
	z := &zoneDay{product: product, rate: rate(name, product)}
	z.hosts.Store(&map[string]*hostDay{})
	next := maps.Clone(old)
	next[name] = append(slices.Clone(old[name]), z)
	d.zones.Store(&next)
	return z
}

// zoneDay is what a zone used on a day.
type zoneDay struct {
	product string
	rate    Rate

	up, down, api, http, https, billable atomic.Int64

	hosts atomic.Pointer[map[string]*hostDay]
	mu    sync.Mutex // one who adds a host
}

func (z *zoneDay) add(c Call) {
	var billable int64
	if c.Billable {
		billable = c.Requests
	}
	addSome(&z.up, c.Up)
	addSome(&z.down, c.Down)
	if c.API {
		addSome(&z.api, c.Up+c.Down)
	}
	if c.Secure {
		addSome(&z.https, c.Requests)
	} else {
		addSome(&z.http, c.Requests)
	}
	addSome(&z.billable, billable)
}

// addSome leaves alone what does not change: a write costs the other cores their copy.
func addSome(n *atomic.Int64, by int64) {
	if by != 0 {
		n.Add(by)
	}
}

func (z *zoneDay) host(name string, all *atomic.Int64) *hostDay {
	if h := (*z.hosts.Load())[name]; h != nil {
		return h
	}
	return z.addHost(strings.ToLower(name), all)
}

func (z *zoneDay) addHost(name string, all *atomic.Int64) *hostDay {
	z.mu.Lock()
	defer z.mu.Unlock()
	old := *z.hosts.Load()
	if h := old[name]; h != nil {
		return h
	}
	if len(old) >= MaxHosts || len(name) > maxHost || all.Load() >= MaxAllHosts {
		name = OtherHosts
		if h := old[name]; h != nil {
			return h
		}
	}
	all.Add(1)
	h := &hostDay{}
	next := maps.Clone(old)
	next[name] = h
	z.hosts.Store(&next)
	return h
}

// hostDay is what went to one target host.
type hostDay struct{ bytes, requests atomic.Int64 }

func (h *hostDay) add(c Call) {
	addSome(&h.bytes, c.Up+c.Down)
	addSome(&h.requests, c.Requests)
}

// Sum is use and cost of some time.
type Sum struct {
	// Up, Down and API are bytes; API is the part of them that went by API access.
	Up, Down, API int64
	// HTTP and HTTPS are requests by the target's scheme.
	HTTP, HTTPS, Billable int64
	// Nano is the cost in 10^-9 dollars.
	Nano int64
}

// Bytes is both directions.
func (s Sum) Bytes() int64 { return s.Up + s.Down }

// Requests is all of them.
func (s Sum) Requests() int64 { return s.HTTP + s.HTTPS }

// Dollars is the cost.
func (s Sum) Dollars() float64 { return float64(s.Nano) / 1e9 }

// Plus adds up.
func (s Sum) Plus(o Sum) Sum {
	return Sum{
		s.Up + o.Up, s.Down + o.Down, s.API + o.API, s.HTTP + o.HTTP, s.HTTPS + o.HTTPS, s.Billable + o.Billable, s.Nano + o.Nano,
	}
}

func (z *zoneDay) sum() Sum {
	s := Sum{Up: z.up.Load(), Down: z.down.Load(), API: z.api.Load(), HTTP: z.http.Load(), HTTPS: z.https.Load(), Billable: z.billable.Load()}
	s.Nano = z.rate.Nano(s.Bytes(), s.Billable)
	return s
}

// HostUse is what went to one target host on a day.
type HostUse struct{ Bytes, Requests int64 }

// Use is what one zone used on one day. A name that zones of several products had that day
// has a Use for each of them.
type Use struct {
	// Day is like "2027-03-01", UTC.
	Day, Zone, Product string
	Sum

	hosts *atomic.Pointer[map[string]*hostDay]
}

// Hosts are the day's target hosts.
func (u Use) Hosts() map[string]HostUse {
	out := map[string]HostUse{}
	for name, h := range *u.hosts.Load() {
		out[name] = HostUse{h.bytes.Load(), h.requests.Load()}
	}
	return out
}

// Each visits what was used from the day of from up to, and without, the day of to; by
// day, then by zone.
func (m *Meter) Each(from, to time.Time, visit func(Use)) {
	if m == nil {
		return
	}
	first, end := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	for _, d := range m.kept() {
		if d.date < first || d.date >= end {
			continue
		}
		zones := *d.zones.Load()
		for _, name := range slices.Sorted(maps.Keys(zones)) {
			for _, z := range zones[name] {
				visit(Use{Day: d.date, Zone: name, Product: z.product, Sum: z.sum(), hosts: &z.hosts})
			}
		}
	}
}

// Zone is what one zone used, as [Meter.Each] counts days.
func (m *Meter) Zone(name string, from, to time.Time) Sum {
	var out Sum
	if m == nil {
		return out
	}
	first, end := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.days {
		if d.date < first || d.date >= end {
			continue
		}
		for _, z := range (*d.zones.Load())[name] {
			out = out.Plus(z.sum())
		}
	}
	return out
}

// Total is the cost of everything that was ever metered, in 10^-9 dollars.
func (m *Meter) Total() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.before.Nano
	for _, d := range m.days {
		d.all(func(_ string, z *zoneDay) { n += z.sum().Nano })
	}
	return n
}

// kept are the days in order.
func (m *Meter) kept() []*day {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.days), func(a, b *day) int { return strings.Compare(a.date, b.date) })
}
