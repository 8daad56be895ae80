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
	Product string `json:"product"`
	Sum
	Rate  Rate                `json:"rate"`
	Hosts map[string][2]int64 `json:"hosts,omitempty"` // bytes, requests
}

// load reads the days. A day that cannot be read is left out, with a note.
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
func (m *Meter) changed() map[string]dayKept {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]dayKept{}
	for date, d := range m.days {
		if d.dirty {
			d.dirty = false
			out[date] = d.kept()
		}
	}
	return out
}

func (d *day) kept() dayKept {
	zones := dayKept{}
	d.all(func(name string, z *zoneDay) {
		kept := zoneKept{Product: z.product, Sum: z.used, Rate: z.rate, Hosts: map[string][2]int64{}}
		for host, h := range z.hosts {
			kept.Hosts[host] = [2]int64{h.Bytes, h.Requests}
		}
		zones[name+" "+z.product] = kept
	})
	return zones
}

// write puts a day on disk in one step. A day that could not be written is tried again.
func (m *Meter) write(date string, zones dayKept) error {
	err := m.conf.State.Update(func(tx *state.Tx) error { return keptDays.Put(tx, date, zones) })
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
	defer m.mu.Unlock()
	m.before = next
	for _, d := range old {
		delete(m.days, d.date)
		d.all(func(_ string, z *zoneDay) { m.hosts -= len(z.hosts) })
	}
	return nil
}

// old lists the days that are too old, and the past with their cost.
func (m *Meter) old() ([]*day, past) {
	first := m.conf.Now().UTC().AddDate(0, 0, -KeptDays).Format(time.DateOnly)
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
