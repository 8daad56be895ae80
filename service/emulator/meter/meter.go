// Package meter counts what every fetch used and what it cost, by zone, day (UTC, on the
// emulator's clock) and target host. Native access and the API pay the same rate of a zone
// (service.md 1 rule 1). Everything that fetches from a target records here; the account's
// endpoints and its usage limits read it.
//
// A [Meter] is safe for concurrent use. Counts are written to the state folder within a
// second, and by [Meter.Close]: a process that is killed loses the last second at most.
package meter

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	// keptDays is how long the counts of a day are kept; then only the total has them.
	keptDays = 400
	// maxHosts bounds the target hosts of a zone on a day; further ones count as
	// [otherHosts].
	maxHosts = 256
	// maxAllHosts bounds them over all zones and days.
	maxAllHosts = 50_000
	// maxZones bounds the zones of a day; further ones count as [otherHosts].
	maxZones = 2000
	// otherHosts is the name for everything beyond the bounds.
	otherHosts = "other"

	flushEvery = time.Second
	maxHost    = 253 // RFC 1035 2.3.4, without the last dot
)

// Config configures a meter.
type Config struct {
	State *state.Dir
	// Now is the emulator's clock.
	Now func() time.Time
	// Rate is what a zone is charged; nil is [DefaultRate]. It must not call the meter.
	Rate func(zone, product string) Rate
	Log  *slog.Logger
}

// Call is what one fetch used, or a part of a long one, which has no Requests.
type Call struct {
	// Zone is the zone that pays; empty is the account (jobs name no zone).
	Zone, Product string
	// Host is the target's, without port.
	Host string
	// API is true for API access, false for native access; Secure for https targets.
	API, Secure bool
	// Up and Down are bytes to and from the target.
	Up, Down int64
	Requests int64
	// Billable requests count where a plan charges by request.
	Billable bool
	// At is when; zero is now.
	At time.Time
}

// Meter counts use and cost. A nil Meter records nothing.
type Meter struct {
	conf Config

	wake chan struct{}
	done chan struct{}
	wg   sync.WaitGroup
	once sync.Once

	writing sync.Mutex // held by the one writer, and taken before mu

	mu     sync.Mutex // guards what follows, and the days
	days   map[string]*day
	today  *day // the latest
	hosts  int  // in all days
	before past
}

// past is the cost of the days that are no longer kept.
type past struct {
	Nano int64 `json:"nano_dollars"`
}

// Open reads the counts from the state folder and starts the writer.
func Open(conf Config) (*Meter, error) {
	if conf.Rate == nil {
		conf.Rate = func(_, product string) Rate { return DefaultRate(product) }
	}
	conf.Log = cmp.Or(conf.Log, slog.New(slog.DiscardHandler))
	m := &Meter{conf: conf, wake: make(chan struct{}, 1), done: make(chan struct{}), days: map[string]*day{}}
	if err := m.load(); err != nil {
		return nil, err
	}
	m.wg.Go(m.writeLoop)
	return m, nil
}

// Close ends the writer and writes the remaining counts.
func (m *Meter) Close() error {
	if m == nil {
		return nil
	}
	m.once.Do(func() { close(m.done) })
	m.wg.Wait()
	return m.Flush()
}

// Record counts one fetch.
func (m *Meter) Record(c Call) {
	if m == nil {
		return
	}
	if c.At.IsZero() {
		c.At = m.conf.Now()
	}
	if m.record(c) {
		m.wakeWriter()
	}
}

// record reports whether the day was the same as on disk until now.
func (m *Meter) record(c Call) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dayOf(c.At)
	z := d.zone(c.Zone, c.Product, m.conf.Rate)
	z.add(c)
	if c.Host != "" {
		h := z.host(c.Host, &m.hosts)
		h.Bytes += c.Up + c.Down
		h.Requests += c.Requests
	}
	clean := !d.dirty
	d.dirty = true
	return clean
}

func (m *Meter) wakeWriter() {
	select {
	case m.wake <- struct{}{}:
	default: // it is awake already
	}
}

// dayOf finds or begins the day of a moment. The caller holds the lock.
func (m *Meter) dayOf(at time.Time) *day {
	if m.today != nil && m.today.holds(at) {
		return m.today
	}
	date := at.UTC().Format(time.DateOnly)
	d := m.days[date]
	if d == nil {
		d = newDay(at)
		m.days[date] = d
	}
	if m.today == nil || m.today.start < d.start {
		m.today = d
	}
	return d
}

// writeLoop writes changed days, at most once a second.
func (m *Meter) writeLoop() {
	t := time.NewTimer(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-m.done:
			return
		case <-m.wake:
		}
		t.Reset(flushEvery)
		select {
		case <-m.done:
			return
		case <-t.C:
		}
		if err := m.Flush(); err != nil {
			m.conf.Log.Error("usage was not written; it is tried again", "error", err)
			m.wakeWriter()
		}
	}
}

// Flush writes every day that changed since it was last written.
func (m *Meter) Flush() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	errs := []error{m.forget()}
	for date, zones := range m.changed() {
		if err := m.write(date, zones); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Rate is the price of a zone's plan, in dollars.
type Rate struct {
	// GB is per 10^9 bytes in either direction.
	GB float64 `json:"per_gb"`
	// Thousand is per 1,000 billable requests.
	Thousand float64 `json:"per_thousand"`
}

// DefaultRate is a product's rate if the scenario sets none. The contract shows no prices: all
// of these are assumptions.
func DefaultRate(product string) Rate {
	switch product {
	case "datacenter":
		return Rate{GB: 0.60}
	case "isp":
		return Rate{GB: 0.80}
	case "residential":
		return Rate{GB: 8}
	case "mobile":
		return Rate{GB: 12}
	case "browser":
		return Rate{GB: 8}
	case "unlocker", "serp", "crawl", "scrapers", "datasets", "discover", "agent":
		return Rate{Thousand: 1.50}
	case "deep_lookup":
		return Rate{Thousand: 1000}
	default:
		return Rate{}
	}
}

// Nano is a price in 10^-9 dollars.
func (r Rate) Nano(bytes, billable int64) int64 {
	// Dollars per 10^9 bytes are 10^-9 dollars per byte.
	return int64(math.Round(float64(bytes)*r.GB + float64(billable)*r.Thousand*1e6))
}

// Body counts a target's body while it is read, for the zone and host of c. It ignores c's
// sizes and requests: [Meter.Record] counts the fetch itself.
func (m *Meter) Body(body io.ReadCloser, c Call) io.ReadCloser {
	if m == nil || body == nil {
		return body
	}
	c.Up, c.Requests, c.Billable = 0, 0, false
	return &countedBody{body, m, c}
}

type countedBody struct {
	io.ReadCloser
	m    *Meter
	call Call
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.call.Down = int64(n)
		b.m.Record(b.call)
	}
	return n, err
}

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
	if len(d.zones[name]) == 0 && len(d.zones) >= maxZones {
		name = otherHosts
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

// eachZone visits the zones of the day, in any order.
func (d *day) eachZone(visit func(name string, z *zoneDay)) {
	for name, zones := range d.zones {
		for _, z := range zones {
			visit(name, z)
		}
	}
}

// nano is the day's cost in 10^-9 dollars.
func (d *day) nano() int64 {
	n := int64(0)
	d.eachZone(func(_ string, z *zoneDay) { n += z.sum().Nano })
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
	if len(z.hosts) >= maxHosts || len(name) > maxHost || *kept >= maxAllHosts {
		name = otherHosts
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
	for _, d := range m.daysBetween(from, to) {
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
	for _, d := range m.daysBetween(from, to) {
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

// daysBetween lists the days from the day of from up to, and without, the day of to. The caller
// holds the lock.
func (m *Meter) daysBetween(from, to time.Time) []*day {
	first, end := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	var out []*day
	for _, date := range slices.Sorted(maps.Keys(m.days)) {
		if first <= date && date < end {
			out = append(out, m.days[date])
		}
	}
	return out
}

const (
	daysTable = state.Table[storedDay]("usage") // by date
	pastTable = state.Table[past]("settings")
	pastName  = "usage"
)

// storedDay is a day on disk: its zones by name, a space, which no name has, and product.
type storedDay map[string]storedZone

type storedZone struct {
	Product string `json:"product"`
	Sum
	Rate  Rate                `json:"rate"`
	Hosts map[string][2]int64 `json:"hosts,omitempty"` // bytes, requests
}

// load reads the days. A day that cannot be read is left out, with a note.
func (m *Meter) load() (err error) {
	if m.before, _, err = pastTable.Get(m.conf.State, pastName); err != nil {
		return err
	}
	return daysTable.Each(m.conf.State, func(date string, zones storedDay) error {
		at, err := time.Parse(time.DateOnly, date)
		if err == nil {
			m.days[date] = m.restored(at, zones)
		}
		return err
	})
}

func (m *Meter) restored(at time.Time, zones storedDay) *day {
	d := newDay(at)
	for key, kept := range zones {
		name, _, _ := strings.Cut(key, " ")
		// Charges stay as they were, even if the scenario's rates have changed since.
		z := d.zone(name, kept.Product, func(string, string) Rate { return kept.Rate })
		z.used = z.used.Plus(kept.Sum)
		for host, n := range kept.Hosts {
			h := z.host(host, &m.hosts)
			h.Bytes += n[0]
			h.Requests += n[1]
		}
	}
	return d
}

// changed takes copies of the days that differ from those on disk, by date. From now on
// they count as written.
func (m *Meter) changed() map[string]storedDay {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]storedDay{}
	for date, d := range m.days {
		if d.dirty {
			d.dirty = false
			out[date] = d.stored()
		}
	}
	return out
}

func (d *day) stored() storedDay {
	zones := storedDay{}
	d.eachZone(func(name string, z *zoneDay) {
		kept := storedZone{Product: z.product, Sum: z.used, Rate: z.rate, Hosts: map[string][2]int64{}}
		for host, h := range z.hosts {
			kept.Hosts[host] = [2]int64{h.Bytes, h.Requests}
		}
		zones[name+" "+z.product] = kept
	})
	return zones
}

// write puts a day on disk in one step. A day that could not be written is tried again.
func (m *Meter) write(date string, zones storedDay) error {
	err := m.conf.State.Update(func(tx *state.Tx) error { return daysTable.Put(tx, date, zones) })
	if err != nil {
		m.mu.Lock()
		m.days[date].dirty = true
		m.mu.Unlock()
	}
	return err
}

// forget adds the days that are too old to the past, on disk first.
func (m *Meter) forget() error {
	old, next := m.old()
	if len(old) == 0 {
		return nil
	}
	err := m.conf.State.Update(func(tx *state.Tx) error {
		for _, d := range old {
			if err := daysTable.Delete(tx, d.date); err != nil {
				return err
			}
		}
		return pastTable.Put(tx, pastName, next)
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = next
	for _, d := range old {
		delete(m.days, d.date)
		d.eachZone(func(_ string, z *zoneDay) { m.hosts -= len(z.hosts) })
	}
	return nil
}

// old lists the days that are too old, and the past with their cost.
func (m *Meter) old() ([]*day, past) {
	first := m.conf.Now().UTC().AddDate(0, 0, -keptDays).Format(time.DateOnly)
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.before
	var old []*day
	for date, d := range m.days {
		if date < first {
			old = append(old, d)
			next.Nano += d.nano()
		}
	}
	return old, next
}
