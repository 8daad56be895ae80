package meter

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// day is one UTC day. The meter's lock guards it.
type day struct {
	date       string
	start, end int64 // Unix seconds
	dirty      bool  // differs from the day on disk

	// zones by name. A name that zones of several products had that day has one for each.
	zones map[string][]*zoneDay
}

func newDay(at time.Time) *day {
	at = at.UTC()
	start := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return &day{
		date: start.Format(time.DateOnly), start: start.Unix(), end: start.AddDate(0, 0, 1).Unix(),
		zones: map[string][]*zoneDay{},
	}
}

func (d *day) holds(at time.Time) bool { s := at.Unix(); return d.start <= s && s < d.end }

// zone finds or adds a zone; rate is called for a new one.
func (d *day) zone(name, product string, rate func(zone, product string) Rate) *zoneDay {
	if len(d.zones[name]) == 0 && len(d.zones) >= MaxZones {
		name = OtherHosts
	}
	for _, z := range d.zones[name] {
		if z.product == product {
			return z
		}
	}
	z := &zoneDay{product: product, rate: rate(name, product), hosts: map[string]*HostUse{}}
	d.zones[name] = append(d.zones[name], z)
	return z
}

// all visits the zones of the day, in any order.
func (d *day) all(visit func(name string, z *zoneDay)) {
	for name, zones := range d.zones {
		for _, z := range zones {
			visit(name, z)
		}
	}
}

// nano is the day's cost in 10^-9 dollars.
func (d *day) nano() int64 {
	n := int64(0)
	d.all(func(_ string, z *zoneDay) { n += z.sum().Nano })
	return n
}

type zoneDay struct {
	product string
	rate    Rate
	used    Sum // without the cost
	hosts   map[string]*HostUse
}

func (z *zoneDay) add(c Call) {
	z.used.Up += c.Up
	z.used.Down += c.Down
	if c.API {
		z.used.API += c.Up + c.Down
	}
	if c.Secure {
		z.used.HTTPS += c.Requests
	} else {
		z.used.HTTP += c.Requests
	}
	if c.Billable {
		z.used.Billable += c.Requests
	}
}

func (z *zoneDay) sum() Sum {
	s := z.used
	s.Nano = z.rate.Nano(s.Bytes(), s.Billable)
	return s
}

// host finds or adds a target host; kept counts the hosts of all days.
func (z *zoneDay) host(name string, kept *int) *HostUse {
	if h := z.hosts[name]; h != nil {
		return h
	}
	name = strings.ToLower(name)
	if h := z.hosts[name]; h != nil {
		return h
	}
	if len(z.hosts) >= MaxHosts || len(name) > maxHost || *kept >= MaxAllHosts {
		name = OtherHosts
		if h := z.hosts[name]; h != nil {
			return h
		}
	}
	*kept++
	h := &HostUse{}
	z.hosts[name] = h
	return h
}

// Sum is the use and the cost over some time.
type Sum struct {
	// Up, Down and API are bytes; API is the part of them that passed through the API.
	Up   int64 `json:"up"`
	Down int64 `json:"down"`
	API  int64 `json:"api,omitempty"`
	// HTTP and HTTPS are requests by the target's scheme.
	HTTP     int64 `json:"http,omitempty"`
	HTTPS    int64 `json:"https,omitempty"`
	Billable int64 `json:"billable,omitempty"`
	// Nano is the cost in 10^-9 dollars. It is not kept: the rate is.
	Nano int64 `json:"-"`
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

// HostUse is what one target host was used for on a day.
type HostUse struct{ Bytes, Requests int64 }

// Use is what one zone used on one day. A name that zones of several products had that day
// has a Use for each of them.
type Use struct {
	// Day is like "2027-03-01", UTC.
	Day, Zone, Product string
	Sum

	meter *Meter
	zone  *zoneDay
}

// Hosts are the day's target hosts.
func (u Use) Hosts() map[string]HostUse {
	u.meter.mu.Lock()
	defer u.meter.mu.Unlock()
	out := make(map[string]HostUse, len(u.zone.hosts))
	for name, h := range u.zone.hosts {
		out[name] = *h
	}
	return out
}

// Uses lists the use from the day of from up to, and without, the day of to; by day, then by
// zone.
func (m *Meter) Uses(from, to time.Time) []Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Use
	for _, d := range m.between(from, to) {
		for _, name := range slices.Sorted(maps.Keys(d.zones)) {
			for _, z := range d.zones[name] {
				out = append(out, Use{Day: d.date, Zone: name, Product: z.product, Sum: z.sum(), meter: m, zone: z})
			}
		}
	}
	return out
}

// Zone is what one zone used, over the same days as [Meter.Uses].
func (m *Meter) Zone(name string, from, to time.Time) Sum {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out Sum
	for _, d := range m.between(from, to) {
		for _, z := range d.zones[name] {
			out = out.Plus(z.sum())
		}
	}
	return out
}

// Total is the cost of everything that was ever metered, in 10^-9 dollars.
func (m *Meter) Total() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.before.Nano
	for _, d := range m.days {
		n += d.nano()
	}
	return n
}

// between lists the days from the day of from up to, and without, the day of to. The caller
// holds the lock.
func (m *Meter) between(from, to time.Time) []*day {
	first, end := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	var out []*day
	for _, date := range slices.Sorted(maps.Keys(m.days)) {
		if first <= date && date < end {
			out = append(out, m.days[date])
		}
	}
	return out
}
