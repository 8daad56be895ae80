package meter

import (
	"strings"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	keptDays = state.Table[dayKept]("usage") // by date
	keptPast = state.Table[past]("settings")
	pastName = "usage"
)

// dayKept is a day on disk: its zones by name, a space, which no name has, and product.
type dayKept map[string]zoneKept

type zoneKept struct {
	Product  string              `json:"product"`
	Up       int64               `json:"up"`
	Down     int64               `json:"down"`
	API      int64               `json:"api,omitempty"`
	HTTP     int64               `json:"http,omitempty"`
	HTTPS    int64               `json:"https,omitempty"`
	Billable int64               `json:"billable,omitempty"`
	Rate     Rate                `json:"rate"`
	Hosts    map[string][2]int64 `json:"hosts,omitempty"` // bytes, requests
}

// load reads the days. One that cannot be read is left out, with a note.
func (m *Meter) load() (err error) {
	if m.before, _, err = keptPast.Get(m.conf.State, pastName); err != nil {
		return err
	}
	return keptDays.Each(m.conf.State, func(date string, zones dayKept) error {
		at, err := time.Parse(time.DateOnly, date)
		if err == nil {
			m.days[date] = m.restored(at, zones)
		}
		return err
	})
}

func (m *Meter) restored(at time.Time, zones dayKept) *day {
	d := newDay(at)
	for key, zf := range zones {
		name, _, _ := strings.Cut(key, " ")
		// What was charged stays, also where the scenario's rates changed since.
		z := d.addZone(name, zf.Product, func(string, string) Rate { return zf.Rate })
		z.up.Add(zf.Up)
		z.down.Add(zf.Down)
		z.api.Add(zf.API)
		z.http.Add(zf.HTTP)
		z.https.Add(zf.HTTPS)
		z.billable.Add(zf.Billable)
		for host, n := range zf.Hosts {
			h := z.host(host, &m.hosts)
			h.bytes.Add(n[0])
			h.requests.Add(n[1])
		}
	}
	return d
}

// write puts a day on disk, as one step.
func (m *Meter) write(d *day) error {
	zones := dayKept{}
	d.all(func(name string, z *zoneDay) {
		s := z.sum()
		zf := zoneKept{
			Product: z.product, Up: s.Up, Down: s.Down, API: s.API, HTTP: s.HTTP, HTTPS: s.HTTPS,
			Billable: s.Billable, Rate: z.rate, Hosts: map[string][2]int64{},
		}
		for host, h := range *z.hosts.Load() {
			zf.Hosts[host] = [2]int64{h.bytes.Load(), h.requests.Load()}
		}
		zones[name+" "+z.product] = zf
	})
	return m.conf.State.Update(func(tx *state.Tx) error { return keptDays.Put(tx, d.date, zones) })
}

// forget adds the days that are too old to the past, on disk first.
func (m *Meter) forget() error {
	first := m.conf.Now().UTC().AddDate(0, 0, -KeptDays).Format(time.DateOnly)
	m.mu.Lock()
	next := m.before
	var gone []*day
	for date, d := range m.days {
		if date < first {
			gone = append(gone, d)
			d.all(func(_ string, z *zoneDay) { next.Nano += z.sum().Nano })
		}
	}
	m.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	err := m.conf.State.Update(func(tx *state.Tx) error {
		for _, d := range gone {
			if err := keptDays.Delete(tx, d.date); err != nil {
				return err
			}
		}
		return keptPast.Put(tx, pastName, next)
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.before = next
	for _, d := range gone {
		delete(m.days, d.date)
		d.all(func(_ string, z *zoneDay) { m.hosts.Add(-int64(len(*z.hosts.Load()))) })
	}
	m.mu.Unlock()
	return nil
}
