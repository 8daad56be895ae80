package meter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string, now func() time.Time) *Meter {
	t.Helper()
	if now == nil {
		now = func() time.Time { return noon }
	}
	s, err := state.Open(dir, now)
	noerr.Must(t, err)
	m, err := Open(Config{State: s, Now: now})
	noerr.Must(t, err)
	t.Cleanup(func() {
		noerr.Want(t, m.Close())
		noerr.Want(t, s.Close())
	})
	return m
}

// days are those that are on disk.
func days(t testing.TB, s *state.Dir) map[string]storedDay {
	t.Helper()
	out := map[string]storedDay{}
	err := daysTable.Each(s, func(date string, zones storedDay) error {
		out[date] = zones
		return nil
	})
	noerr.Must(t, err)
	return out
}

func TestTheSameUseCostsTheSameByBothMethods(t *testing.T) {
	m := open(t, "", nil)
	for _, api := range []bool{true, false} {
		m.Record(Call{Zone: fmt.Sprint("res-", api), Product: "residential", Host: "a.example", API: api, Up: 1e6, Down: 9e6, Requests: 3, Billable: true})
		m.Record(Call{Zone: fmt.Sprint("unl-", api), Product: "unlocker", Host: "a.example", API: api, Secure: true, Up: 1e6, Down: 9e6, Requests: 2, Billable: true})
		m.Record(Call{Zone: fmt.Sprint("unl-", api), Product: "unlocker", Host: "a.example", API: api, Secure: true, Up: 1e6, Down: 9e6, Requests: 5})
	}
	for zone, want := range map[string]Sum{
		"res-true":  {Up: 1e6, Down: 9e6, API: 10e6, HTTP: 3, Billable: 3, Nano: 80_000_000},
		"res-false": {Up: 1e6, Down: 9e6, HTTP: 3, Billable: 3, Nano: 80_000_000},
		"unl-true":  {Up: 2e6, Down: 18e6, API: 20e6, HTTPS: 7, Billable: 2, Nano: 3_000_000},
		"unl-false": {Up: 2e6, Down: 18e6, HTTPS: 7, Billable: 2, Nano: 3_000_000},
	} {
		if got := m.Zone(zone, noon, noon.AddDate(0, 0, 1)); got != want {
			t.Errorf("%s: %+v, want %+v", zone, got, want)
		}
	}
	if got := m.Total(); got != 166_000_000 {
		t.Errorf("total %d", got)
	}
}

func TestDaysAreUTCAndTheEndIsExclusive(t *testing.T) {
	m := open(t, "", nil)
	east := time.FixedZone("east", 5*3600)
	for _, at := range []time.Time{
		time.Date(2027, 3, 14, 23, 59, 59, 0, time.UTC), time.Date(2027, 3, 15, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 3, 15, 1, 0, 0, 0, east), // still the 14th in UTC
	} {
		m.Record(Call{Zone: "z", Product: "serp", Host: "h", Requests: 1, At: at})
	}
	var got []string
	for _, u := range m.Uses(noon, noon.AddDate(0, 0, 1)) {
		got = append(got, fmt.Sprintln(u.Day, u.Requests(), u.Hosts()))
	}
	if len(got) != 1 || got[0] != "2027-03-14 2 map[h:{0 2}]\n" {
		t.Errorf("%q", got)
	}
	if n := m.Zone("z", noon, noon).Requests(); n != 0 {
		t.Errorf("an empty window holds %d", n)
	}
	if n := m.Zone("z", noon, noon.AddDate(0, 0, 2)).Requests(); n != 3 {
		t.Errorf("both days: %d", n)
	}
}

func TestCountsSurviveARestartAndOldDaysKeepTheirCost(t *testing.T) {
	dir := t.TempDir()
	now := noon
	clock := func() time.Time { return now }
	s, err := state.Open(dir, clock)
	noerr.Must(t, err)
	m, err := Open(Config{State: s, Now: clock})
	noerr.Must(t, err)
	use := Call{Zone: "z", Product: "residential", Host: "A.example", API: true, Up: 1, Down: 999, Requests: 1, Billable: true}
	m.Record(use)
	noerr.Must(t, m.Flush())
	want := m.Zone("z", noon, noon.AddDate(0, 0, 1))
	// Not closed: what was flushed is there for the next process, as after a kill.
	again, err := Open(Config{State: s, Now: clock})
	noerr.Must(t, err)
	if got := again.Zone("z", noon, noon.AddDate(0, 0, 1)); got != want || got.Nano != 8000 {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, u := range again.Uses(noon, noon.AddDate(0, 0, 1)) {
		if h := u.Hosts(); h["a.example"] != (HostUse{1000, 1}) {
			t.Errorf("%v", h)
		}
	}
	now = noon.AddDate(0, 0, keptDays+1)
	again.Record(use)
	noerr.Must(t, again.Flush())
	if kept := days(t, s); len(kept) != 1 || kept["2028-04-18"] == nil {
		t.Errorf("days: %v", kept)
	}
	if n := again.Total(); n != 16000 {
		t.Errorf("total %d", n)
	}
	noerr.Must(t, again.Close())
	third, err := Open(Config{State: s, Now: clock})
	noerr.Must(t, err)
	if n := third.Total(); n != 16000 {
		t.Errorf("total after a restart %d", n)
	}
	for _, m := range []*Meter{m, third} {
		noerr.Want(t, m.Close())
	}
	noerr.Want(t, s.Close())
}

func TestUsageIsWrittenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, "", nil)
		m.Record(Call{Zone: "z", Product: "isp", Down: 7})
		<-time.After(flushEvery / 2) // of the bubble's clock
		synctest.Wait()
		if kept := days(t, m.conf.State); len(kept) > 0 {
			t.Error("it was written at once")
		}
		<-time.After(flushEvery)
		synctest.Wait()
		if kept := days(t, m.conf.State); kept["2027-03-14"]["z isp"].Down != 7 {
			t.Errorf("%v", kept)
		}
	})
}

func TestHostsAndZonesAreBounded(t *testing.T) {
	m := open(t, "", nil)
	for i := range 3 * maxHosts {
		m.Record(Call{Zone: "z", Product: "isp", Host: fmt.Sprint("h", i), Requests: 1})
	}
	m.Record(Call{Zone: "z", Product: "isp", Host: strings.Repeat("x", 300), Requests: 1})
	for i := range maxZones + 50 {
		m.Record(Call{Zone: fmt.Sprint("z", i), Product: "isp", Requests: 1})
	}
	zones, requests := 0, int64(0)
	for _, u := range m.Uses(noon, noon.AddDate(0, 0, 1)) {
		zones++
		requests += u.Requests()
		if u.Zone != "z" {
			continue
		}
		h, sum := u.Hosts(), int64(0)
		for _, n := range h {
			sum += n.Requests
		}
		if len(h) != maxHosts+1 || sum != 3*maxHosts+1 || h[otherHosts].Requests != 2*maxHosts+1 {
			t.Errorf("%d hosts, %d requests, %d in the rest", len(h), sum, h[otherHosts].Requests)
		}
	}
	if zones != maxZones+1 || requests != 3*maxHosts+1+maxZones+50 {
		t.Errorf("%d zones, %d requests", zones, requests)
	}
}

func TestNothingIsLostWhenManyRecordAtOnce(t *testing.T) {
	m := open(t, "", nil)
	const writers, each = 8, 2000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				at := noon.AddDate(0, 0, i%3)
				m.Record(Call{Zone: fmt.Sprint("z", i%5), Product: "isp", Host: fmt.Sprint("h", (i+w)%40), Down: 1, Requests: 1, Billable: true, At: at})
				if i%500 == 0 {
					noerr.Want(t, m.Flush())
				}
			}
		})
	}
	wg.Wait()
	var got Sum
	hosts := int64(0)
	for _, u := range m.Uses(noon, noon.AddDate(0, 0, 9)) {
		got = got.Plus(u.Sum)
		for _, h := range u.Hosts() {
			hosts += h.Requests
		}
	}
	if got.Down != writers*each || got.Billable != writers*each || hosts != writers*each {
		t.Errorf("%+v, %d by host", got, hosts)
	}
}

func TestANilMeterRecordsNothing(t *testing.T) {
	var m *Meter
	m.Record(Call{Zone: "z"})
	body := io.NopCloser(strings.NewReader("text"))
	if m.Body(body, Call{Zone: "z"}) != body || m.Close() != nil {
		t.Error("it records")
	}
}

func TestAnUnreadableDayIsLeftOutWithANote(t *testing.T) {
	s, err := state.Open("", func() time.Time { return noon })
	noerr.Must(t, err)
	defer s.Close()
	err = s.Update(func(tx *state.Tx) error {
		return daysTable.Put(tx, "a day", storedDay{"z isp": {Product: "isp", Sum: Sum{Down: 7}}})
	})
	noerr.Must(t, err)
	m, err := Open(Config{State: s, Now: func() time.Time { return noon }})
	noerr.Must(t, err)
	defer m.Close()
	if n := s.Notes(); len(n) != 1 || !strings.HasPrefix(n[0], `"a day" of usage is left out: it cannot be read (`) || m.Total() != 0 {
		t.Errorf("%q", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	m := open(b, b.TempDir(), time.Now)
	hosts := [...]string{"a.example", "b.example", "c.example", "lab.test"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			m.Record(Call{Zone: "residential_demo", Product: "residential", Host: hosts[i&3], Up: 100, Down: 1000, Requests: 1, Billable: true})
		}
	})
}

// A zone can be deleted, and another product's be made of the same name.
func TestEachProductOfANameHasItsOwnRate(t *testing.T) {
	dir := t.TempDir()
	s, err := state.Open(dir, func() time.Time { return noon })
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, s.Close()) })
	reopened := func() *Meter {
		m, err := Open(Config{State: s, Now: func() time.Time { return noon }})
		noerr.Must(t, err)
		return m
	}
	m := reopened()
	for _, product := range []string{"datacenter", "residential", "datacenter"} {
		m.Record(Call{Zone: "z", Product: product, Host: "h", Down: 1e6, Requests: 1})
	}
	for range 2 { // as it is, and after a restart
		const want = 2*600_000 + 8_000_000
		if got := m.Zone("z", noon, noon.AddDate(0, 0, 1)); got.Nano != want || got.Down != 3e6 || m.Total() != want {
			t.Errorf("%+v, %d in all, want %d", got, m.Total(), want)
		}
		var uses []string
		for _, u := range m.Uses(noon, noon.AddDate(0, 0, 1)) {
			uses = append(uses, fmt.Sprint(u.Zone, " ", u.Product, " ", u.Nano, u.Hosts()))
		}
		slices.Sort(uses)
		if want := []string{"z datacenter 1200000 map[h:{2000000 2}]", "z residential 8000000 map[h:{1000000 1}]"}; !slices.Equal(uses, want) {
			t.Errorf("%q", uses)
		}
		noerr.Must(t, m.Close())
		m = reopened()
	}
	noerr.Must(t, m.Close())
}
