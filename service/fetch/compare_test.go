package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/servicetest"
)

func TestATwinComparesEveryZoneByEveryMethod(t *testing.T) {
	change, j, _ := withJournal(t)
	c, p := fetchOnEmulator(t, change)
	plan := model.Grid{
		Profile: p.Name, Repeat: 2,
		Base: model.FetchRequest{URL: "http://lab.test/captcha", Required: []string{"h1", ".nothing"}},
	}
	for _, name := range []string{"datacenter_demo", "unlocker_demo"} {
		z, _ := p.Zone(name)
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			plan.Cells = append(plan.Cells, model.Cell{Vary: model.Vary{Zone: z, Via: via}})
		}
	}
	seen := map[int][]model.Cell{}
	got, err := c.Compare(t.Context(), plan, func(i int, cell model.Cell) { seen[i] = append(seen[i], cell) })
	noerr.Must(t, err)
	for i, cell := range got.Cells {
		want := model.ClassCaptcha
		if cell.Zone.Name == "unlocker_demo" {
			want = model.ClassParsingDrift
		}
		if typical, _ := cell.Typical(); len(cell.Runs) != 2 || typical.Class != want || typical.Status != 200 || typical.Bytes == 0 {
			t.Errorf("%s by %s: %+v", cell.Zone.Name, cell.Via, cell.Runs)
		}
		if len(seen[i]) != 4 || !seen[i][0].Active || len(seen[i][1].Runs) != 1 || cell.Active || !reflect.DeepEqual(seen[i][3], cell) {
			t.Errorf("cell %d was told as %+v", i, seen[i])
		}
		for _, run := range cell.Runs {
			kept, err := j.Fetch(t.Context(), run.FetchID)
			if err != nil || kept.Diagnosis.Class != run.Class || run.Sent == 0 {
				t.Errorf("the history has %+v, %v; the comparison %+v", model.NewRun(kept), err, run)
			}
		}
	}
	for i := range got.Cells { // the history has them in the fetches
		for k := range got.Cells[i].Runs {
			got.Cells[i].Runs[k].Summary, got.Cells[i].Runs[k].Evidence = "", nil
		}
	}
	if kept, err := j.Comparison(t.Context(), got.ID); err != nil || !reflect.DeepEqual(kept.Cells, got.Cells) || kept.Profile != p.Name {
		t.Errorf("the history has %+v, %v\nwant %+v", kept, err, got)
	}
	if got.Cells[2].Runs[0].Found != 1 || len(plan.Cells[0].Runs) != 0 {
		t.Errorf("%d fields found; the plan became %+v", got.Cells[2].Runs[0].Found, plan.Cells)
	}
}

// The cells wait for each other here: one after the other, they would wait for ever.
func TestTheCellsOfATwinAreSentAtOnce(t *testing.T) {
	const zones = 12
	var arrived sync.WaitGroup
	arrived.Add(zones)
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	z, _ := p.Zone("unlocker1")
	plan := model.Grid{Base: model.FetchRequest{URL: "http://example.com/"}, Repeat: 1}
	for range zones {
		plan.Cells = append(plan.Cells, model.Cell{Vary: model.Vary{Zone: z, Via: model.ViaAPI}})
	}
	ft := newFetcher(t, p)
	got, err := ft.Compare(t.Context(), plan, func(i int, _ model.Cell) { ft.StopCell("", i) }) // it has a name of its own by now
	noerr.Must(t, err)
	for _, c := range got.Cells {
		if c.OK() != 1 {
			t.Errorf("%+v", c)
		}
	}
}

func TestACellThatCannotBeSentIsNamedAndTheOthersAre(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	p := demo.Profile
	p.Dialect = "documented"
	c := newFetcher(t, p, func(o *Config) { o.Source = servicetest.Source{Base: o.Source, SecretBy: demo.Secret, KeyBy: demo.Key} })
	z, _ := p.Zone("serp_demo")
	plan := model.Grid{Base: model.FetchRequest{URL: "http://lab.test/ok"}, Cells: []model.Cell{{Vary: model.Vary{Zone: z, Via: model.ViaNative}}, {Vary: model.Vary{Zone: z, Via: model.ViaAPI}}}}
	got, err := c.Compare(t.Context(), plan, nil)
	if err != nil || got.Cells[0].Problem != "via: search results (SERP) has no native access (contract 5.2): use API" || len(got.Cells[0].Runs) != 0 {
		t.Errorf("%+v, %v", got.Cells[0], err)
	}
	if got.Cells[1].OK() != 1 {
		t.Errorf("%+v", got.Cells[1])
	}
}

func TestACancelledTwinEndsWithItsCauseAndWhatItHas(t *testing.T) {
	release := make(chan struct{})
	p := servicetest.API(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			t.Error("no key was sent")
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	z, _ := p.Zone("unlocker1")
	why := errors.New("the operator left")
	ctx, cancel := context.WithCancelCause(t.Context())
	plan := model.Grid{Base: model.FetchRequest{URL: "http://example.com/"}, Cells: []model.Cell{
		{Vary: model.Vary{Zone: model.Zone{Name: "a:b"}, Via: model.ViaAPI}}, {Vary: model.Vary{Zone: z, Via: model.ViaAPI}}, {Vary: model.Vary{Zone: z, Via: model.ViaAPI}},
	}}
	got, err := newFetcher(t, p).Compare(ctx, plan, func(_ int, c model.Cell) {
		if c.Problem != "" {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || got.Cells[0].Problem == "" || len(got.Cells[1].Runs) != 0 {
		t.Errorf("%+v, %v", got.Cells, err)
	}
}

func TestARunThatWasSentAndCutOffIsCounted(t *testing.T) {
	arrived, answers := make(chan struct{}, 3), make(chan struct{}, 1)
	answers <- struct{}{} // the first of them is answered
	defer close(answers)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-answers:
			_, _ = io.WriteString(w, "it came")
		case <-r.Context().Done():
		}
	})
	z, _ := p.Zone("unlocker1")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 2 {
			<-arrived
		}
		cancel()
	}()
	plan := model.Grid{Base: model.FetchRequest{URL: "http://example.com/"}, Repeat: 3, Cells: []model.Cell{{Vary: model.Vary{Zone: z, Via: model.ViaAPI}}}}
	got, err := newFetcher(t, p).Compare(ctx, plan, nil)
	if c := got.Cells[0]; !errors.Is(err, context.Canceled) || len(c.Runs) != 1 || c.CutOff != 1 || c.Problem != "cancelled: what was sent may have been billed" {
		t.Errorf("%d runs, %d cut off, %q: %v", len(c.Runs), c.CutOff, c.Problem, err)
	}
}

// Three runs wait for each other here, so that one after the other they would wait for ever.
func TestTheRunsOfACellAreSentAtOnceAsItSays(t *testing.T) {
	const atOnce = 3
	var mu sync.Mutex
	inside, most := 0, 0
	full := make(chan struct{})
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		if inside++; inside == atOnce && most < atOnce {
			close(full)
		}
		most = max(most, inside)
		mu.Unlock()
		<-full
		mu.Lock()
		inside--
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	z, _ := p.Zone("unlocker1")
	plan := model.Grid{Base: model.FetchRequest{URL: "http://example.com/"}, Repeat: 7, Cells: []model.Cell{{Vary: model.Vary{Zone: z, Via: model.ViaAPI}, AtOnce: atOnce}}}
	got, err := newFetcher(t, p).Compare(t.Context(), plan, nil)
	if c := got.Cells[0]; err != nil || c.OK() != 7 || most != atOnce || c.Together() > atOnce {
		t.Errorf("%d ok, %d at once, %d by their times, %v", c.OK(), most, c.Together(), err)
	}
	plan.Repeat, plan.Cells[0].AtOnce = 4, 0
	got, err = newFetcher(t, p).Compare(t.Context(), plan, nil)
	if c := got.Cells[0]; err != nil || c.OK() != 4 || c.Together() != 1 {
		t.Errorf("one after the other: %d ok, %d at once by their times, %v", c.OK(), c.Together(), err)
	}
}

func TestOneCellIsStoppedAndCatchesUp(t *testing.T) {
	var calls atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	ft := newFetcher(t, p)
	plan, err := ft.Plan(t.Context(), model.Preset{Zones: []model.Zone{servicetest.Zone(p, "unlocker1")}, Ways: []model.Via{model.ViaAPI, model.ViaBrowser}}, model.FetchRequest{URL: "http://example.com/"})
	if err != nil || plan.Cells[0].Problem != "" || plan.Cells[1].Problem == "" {
		t.Fatalf("%+v, %v", plan, err)
	}
	time.AfterFunc(50*time.Millisecond, func() { ft.StopCell(plan.ID, 0) })
	got, err := ft.Compare(t.Context(), plan, nil)
	if err != nil || got.Cells[0].Problem != "cancelled: what was sent may have been billed" || got.Cells[0].CutOff != 1 || got.Cells[1].Problem != plan.Cells[1].Problem {
		t.Fatalf("%+v, %v", got.Cells, err)
	}
	begun := got
	got, err = ft.Compare(t.Context(), got, nil)
	if err != nil || got.Cells[0].Problem != "" || got.Cells[0].OK() != 1 || got.ID != begun.ID || begun.Started.IsZero() || !got.Started.Equal(begun.Started) {
		t.Errorf("%+v, %v", got.Cells, err)
	}
}

func TestAKeyWithoutItsValueLeavesTheOtherCells(t *testing.T) {
	locked := errors.New("the keyring is locked")
	p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })})
	ft := newFetcher(t, p, func(c *Config) {
		base := c.Source
		c.Source = servicetest.Source{
			Base:  base,
			KeyBy: func(name string) (model.Key, bool) { return model.Key{Name: name, Secret: "env:KEY"}, true },
			SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
				if ref == "env:KEY" {
					return keystore.Secret{}, locked
				}
				return base.Secret(ctx, ref)
			},
		}
	})
	preset := model.Preset{Zones: []model.Zone{servicetest.Zone(p, "dc1")}, Ways: []model.Via{model.ViaAPI, model.ViaNative}}
	plan, err := ft.Plan(t.Context(), preset, model.FetchRequest{URL: "http://lab.test/", Key: "k"})
	noerr.Must(t, err)
	plan.Cells[0].Problem = ""
	got, err := ft.Compare(t.Context(), plan, nil)
	if err != nil || got.Cells[0].Problem == "" || got.Cells[1].OK() != 1 {
		t.Errorf("%+v, %v", got.Cells, err)
	}
}

// refusing permits any key but the one named bad.
type refusing struct {
	servicetest.Source
	refuse func() error
}

func (s refusing) Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if k.Name == "bad" {
		return keystore.Secret{}, s.refuse()
	}
	return s.Source.Permit(ctx, p, k, take)
}

func TestAnErrorOfOneCellLeavesTheOthersWhereTheyKeepGoing(t *testing.T) {
	locked := errors.New("the key is not permitted")
	for name, c := range map[string]struct {
		going   bool
		ok      int
		problem string
		err     string
	}{
		"going": {true, 1, "", "unlocker1 by API was not sent: the key is not permitted"},
		"group": {false, 0, "cancelled: what was sent may have been billed", locked.Error()},
	} {
		arrived, ended := make(chan struct{}), make(chan struct{})
		p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			close(arrived)
			select {
			case <-ended:
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, servicetest.Page)
			case <-r.Context().Done():
			}
		})
		change, j, _ := withJournal(t)
		ft := newFetcher(t, p, change, func(c *Config) {
			c.Source = refusing{servicetest.Source{Base: c.Source, KeyBy: func(name string) (model.Key, bool) { return model.Key{Name: name, Secret: "env:KEY"}, true }}, func() error {
				<-arrived
				return locked
			}}
		})
		z := servicetest.Zone(p, "unlocker1")
		g := model.Grid{KeepGoing: c.going, Base: model.FetchRequest{URL: "http://example.com/"}, Cells: []model.Cell{
			{Vary: model.Vary{Zone: z, Via: model.ViaAPI, Key: "bad"}}, {Vary: model.Vary{Zone: z, Via: model.ViaAPI, Key: "good"}},
		}}
		got, err := ft.Compare(t.Context(), g, func(i int, cell model.Cell) {
			if i == 0 && !cell.Active && c.going { // else the other is cancelled while it waits
				close(ended)
			}
		})
		if !errors.Is(err, locked) || err.Error() != c.err || got.Cells[0].Problem != locked.Error() || got.Cells[1].OK() != c.ok || got.Cells[1].Problem != c.problem {
			t.Errorf("%s: %+v, %v", name, got.Cells, err)
		}
		if kept, err := j.Comparison(t.Context(), got.ID); err != nil || kept.Cells[1].Problem != c.problem || kept.Cells[1].CutOff != 1-c.ok {
			t.Errorf("%s: the history has %+v, %v", name, kept, err)
		}
	}
}
