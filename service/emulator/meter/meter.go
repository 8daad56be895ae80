package meter

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	// KeptDays is how long the counts of a day are kept; then only the total has them.
	KeptDays = 400
	// MaxHosts bounds the target hosts of a zone on a day; further ones count as
	// [OtherHosts].
	MaxHosts = 256
	// MaxAllHosts bounds them over all zones and days.
	MaxAllHosts = 50_000
	// MaxZones bounds the zones of a day; further ones count as [OtherHosts].
	MaxZones = 2000
	// OtherHosts is the name for everything beyond the bounds.
	OtherHosts = "other"

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
