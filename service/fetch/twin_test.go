package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/servicetest"
)

func TestATwinComparesEveryZoneByEveryMethod(t *testing.T) {
	change, j, _ := withJournal(t)
	c, p := fetchOnEmulator(t, change)
	twin := model.Twin{
		Profile: p.Name, Repeat: 2,
		Request: model.FetchRequest{URL: "http://lab.test/captcha", Required: []string{"h1", ".nothing"}},
	}
	for _, name := range []string{"datacenter_demo", "unlocker_demo"} {
		z, _ := p.Zone(name)
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			twin.Cells = append(twin.Cells, model.TwinCell{Zone: z, Via: via})
		}
	}
	seen := map[int][]model.TwinCell{}
	got, err := c.Twin(t.Context(), twin, func(i int, cell model.TwinCell) { seen[i] = append(seen[i], cell) })
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range got.Cells {
		want := model.ClassCaptcha
		if cell.Zone.Name == "unlocker_demo" {
			want = model.ClassParsingDrift
		}
		if typical, _ := cell.Typical(); len(cell.Runs) != 2 || typical.Class != want || typical.Status != 200 || typical.Bytes == 0 {
			t.Errorf("%s by %s: %+v", cell.Zone.Name, cell.Via, cell.Runs)
		}
		if len(seen[i]) != 2 || len(seen[i][0].Runs) != 1 || !reflect.DeepEqual(seen[i][1], cell) {
			t.Errorf("cell %d was told as %+v", i, seen[i])
		}
		for _, run := range cell.Runs {
			kept, err := j.Fetch(t.Context(), run.Fetch)
			if err != nil || model.NewTwinRun(kept) != run || run.Sent == 0 {
				t.Errorf("the history has %+v, %v; the comparison %+v", model.NewTwinRun(kept), err, run)
			}
		}
	}
	if kept, err := j.Twin(t.Context(), got.ID); err != nil || !reflect.DeepEqual(kept.Cells, got.Cells) || kept.Profile != p.Name {
		t.Errorf("the history has %+v, %v\nwant %+v", kept, err, got)
	}
	if got.Cells[2].Runs[0].Found != 1 || len(twin.Cells[0].Runs) != 0 {
		t.Errorf("%d fields found; the plan became %+v", got.Cells[2].Runs[0].Found, twin.Cells)
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
	twin := model.Twin{Request: model.FetchRequest{URL: "http://example.com/"}, Repeat: 1}
	for range zones {
		twin.Cells = append(twin.Cells, model.TwinCell{Zone: z, Via: model.ViaAPI})
	}
	got, err := newFetcher(t, p).Twin(t.Context(), twin, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	twin := model.Twin{Request: model.FetchRequest{URL: "http://lab.test/ok"}, Cells: []model.TwinCell{{Zone: z, Via: model.ViaNative}, {Zone: z, Via: model.ViaAPI}}}
	told := 0
	got, err := c.Twin(t.Context(), twin, func(int, model.TwinCell) { told++ })
	if err != nil || got.Cells[0].Problem != "via: search results (SERP) has no native access (contract 5.2): use API" || len(got.Cells[0].Runs) != 0 {
		t.Errorf("%+v, %v", got.Cells[0], err)
	}
	if got.Cells[1].OK() != 1 || told != 2 {
		t.Errorf("%+v, told %d times", got.Cells[1], told)
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
	twin := model.Twin{Request: model.FetchRequest{URL: "http://example.com/"}, Cells: []model.TwinCell{
		{Zone: model.Zone{Name: "a:b"}, Via: model.ViaAPI}, {Zone: z, Via: model.ViaAPI}, {Zone: z, Via: model.ViaAPI},
	}}
	got, err := newFetcher(t, p).Twin(ctx, twin, func(int, model.TwinCell) { cancel(why) })
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
	twin := model.Twin{Request: model.FetchRequest{URL: "http://example.com/"}, Repeat: 3, Cells: []model.TwinCell{{Zone: z, Via: model.ViaAPI}}}
	got, err := newFetcher(t, p).Twin(ctx, twin, nil)
	if c := got.Cells[0]; !errors.Is(err, context.Canceled) || len(c.Runs) != 1 || c.CutOff != 1 {
		t.Errorf("%d runs, %d cut off: %v", len(c.Runs), c.CutOff, err)
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
	cell := model.TwinCell{Zone: z, Via: model.ViaAPI, AtOnce: atOnce}
	told := 0
	got, err := newFetcher(t, p).RunCell(t.Context(), model.FetchRequest{URL: "http://example.com/"}, cell, 7, func(model.TwinCell) { told++ })
	if err != nil || got.OK() != 7 || told != 7 || most != atOnce || got.Together() > atOnce {
		t.Errorf("%d ok, told %d times, %d at once, %d by their times, %v", got.OK(), told, most, got.Together(), err)
	}
	cell.AtOnce = 0
	got, err = newFetcher(t, p).RunCell(t.Context(), model.FetchRequest{URL: "http://example.com/"}, cell, 4, func(model.TwinCell) {})
	if err != nil || got.OK() != 4 || got.Together() != 1 {
		t.Errorf("one after the other: %d ok, %d at once by their times, %v", got.OK(), got.Together(), err)
	}
}
