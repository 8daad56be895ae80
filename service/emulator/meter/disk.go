package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	folder   = "usage"
	pastName = "before.json"
	version  = 1
)

// dayFile is a day on disk.
type dayFile struct {
	SchemaVersion int `json:"schema_version"`
	// Zones by name, a space, which no name has, and the product.
	Zones map[string]zoneFile `json:"zones"`
}

type zoneFile struct {
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

// load reads the days. A file that cannot be read is put aside, and a note says so.
func (m *Meter) load() error {
	dir := m.conf.State.Path(folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the usage: %w", err)
	}
	if err := state.RemoveHalfWritten(dir); err != nil {
		return err
	}
	if err := m.conf.State.Read(filepath.Join(folder, pastName), &m.before); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the usage: %w", err)
	}
	for _, e := range entries {
		date, isJSON := strings.CutSuffix(e.Name(), ".json")
		at, err := time.Parse(time.DateOnly, date)
		if !isJSON || err != nil {
			continue // not a day
		}
		if date < m.before.Before {
			// Counted in the past already; the process ended before it could go.
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("removing an old day: %w", err)
			}
			continue
		}
		var f dayFile
		if err := m.conf.State.Read(filepath.Join(folder, e.Name()), &f); err != nil {
			return err
		}
		m.days[date] = m.restored(at, f)
	}
	return nil
}

func (m *Meter) restored(at time.Time, f dayFile) *day {
	d := newDay(at)
	for key, zf := range f.Zones {
		name, _, _ := strings.Cut(key, " ") // a file of an earlier version has the name alone
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
	f := dayFile{SchemaVersion: version, Zones: map[string]zoneFile{}}
	d.all(func(name string, z *zoneDay) {
		s := z.sum()
		zf := zoneFile{
			Product: z.product, Up: s.Up, Down: s.Down, API: s.API, HTTP: s.HTTP, HTTPS: s.HTTPS,
			Billable: s.Billable, Rate: z.rate, Hosts: map[string][2]int64{},
		}
		for host, h := range *z.hosts.Load() {
			zf.Hosts[host] = [2]int64{h.bytes.Load(), h.requests.Load()}
		}
		f.Zones[name+" "+z.product] = zf
	})
	return state.WriteJSON(m.conf.State.Path(filepath.Join(folder, d.date+".json")), f)
}

// forget adds the days that are too old to the past, which is on disk before they go.
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
	next.SchemaVersion, next.Before = version, first
	if err := state.WriteJSON(m.conf.State.Path(filepath.Join(folder, pastName)), next); err != nil {
		return err
	}
	m.mu.Lock()
	m.before = next
	for _, d := range gone {
		delete(m.days, d.date)
		d.all(func(_ string, z *zoneDay) { m.hosts.Add(-int64(len(*z.hosts.Load()))) })
	}
	m.mu.Unlock()
	for _, d := range gone {
		err := os.Remove(m.conf.State.Path(filepath.Join(folder, d.date+".json")))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an old day: %w", err)
		}
	}
	return nil
}
