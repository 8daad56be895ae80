package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"zonedeck/service/emulator/state"
)

// keptTasks are the tasks on disk, as they were begun and, in the end, with what came of them.
// One that was cut by the end of the process begins again at the next start.
const keptTasks = state.Table[stored]("tasks")

// The kinds of tasks.
const (
	kindDiscover = "discover"
	kindPreview  = "preview"
	kindLookup   = "lookup"
)

// stored is the stored form of a task. Status is empty until it is over.
type stored struct {
	Kind   string    `json:"kind"`
	Begun  time.Time `json:"begun"`
	Over   time.Time `json:"over"`
	Status string    `json:"status,omitempty"`
	// Ask is the body of a discover request, Results are its results.
	Ask     json.RawMessage `json:"ask,omitempty"`
	Results []Result        `json:"results,omitempty"`
	Lookup  *storedLookup   `json:"lookup,omitempty"`
}

type storedLookup struct {
	Query   string   `json:"query"`
	Title   string   `json:"title"`
	Limit   int      `json:"limit"`
	Columns []column `json:"columns"`

	Step       string      `json:"step,omitempty"`
	Steps      []stepTime  `json:"steps,omitempty"`
	Progress   int         `json:"progress,omitempty"`
	Considered int         `json:"considered,omitempty"`
	Read       int         `json:"read,omitempty"`
	Skipped    int         `json:"skipped,omitempty"`
	Values     int         `json:"values,omitempty"`
	Rows       []storedRow `json:"rows,omitempty"`
}

type storedRow struct {
	Document int            `json:"document"`
	Values   map[string]any `json:"values"`
}

// keep writes a task to disk.
func (s *Service) keep(id string, v stored) error {
	if err := s.cfg.State.Update(func(tx *state.Tx) error { return keptTasks.Put(tx, id, v) }); err != nil {
		return fmt.Errorf("%w: keeping a task: %w", errIndex, err)
	}
	return nil
}

// keepEnd writes what came of a task to disk, unless the service ended it: it begins again.
func (s *Service) keepEnd(id string, v stored) {
	if s.ctx.Err() != nil {
		return
	}
	if err := s.keep(id, v); err != nil {
		s.cfg.Log.Error("a result will be lost at the end of the process", "error", err)
	}
}

// forget removes tasks from disk.
func (s *Service) forget(ids []string) {
	if len(ids) == 0 {
		return
	}
	err := s.cfg.State.Soon(func(tx *state.Tx) error { return keptTasks.Delete(tx, ids...) })
	if err != nil {
		s.cfg.Log.Error("tasks were not removed", "error", err)
	}
}

func (t *task) stored() stored {
	v := stored{Kind: kindDiscover, Begun: t.begun, Ask: t.ask}
	if t.status != "processing" {
		v.Status, v.Over, v.Results = t.status, t.over, t.results
	}
	return v
}

func (l *lookup) stored() stored {
	in := &storedLookup{Query: l.query, Title: l.title, Limit: l.limit, Columns: l.given}
	v := stored{Kind: l.kind, Begun: l.begun, Lookup: in}
	if !l.over() {
		return v
	}
	v.Status, in.Columns = l.status, l.columns
	in.Step, in.Steps, in.Progress, in.Considered, in.Read, in.Skipped, in.Values = l.step, l.steps, l.progress, l.considered, l.read, l.skipped, l.values
	for _, r := range l.rows {
		in.Rows = append(in.Rows, storedRow{r.document, r.values})
	}
	return v
}

// load reads the tasks, and begins those again that were cut.
func (s *Service) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return keptTasks.Each(s.cfg.State, func(id string, v stored) error {
		switch {
		case v.Kind == kindDiscover:
			return s.loadTask(id, v)
		case v.Lookup == nil:
			return errors.New("it has no lookup")
		case v.Kind == kindPreview:
			return s.loadLookup(id, v, &s.previews)
		case v.Kind == kindLookup:
			return s.loadLookup(id, v, &s.lookups)
		default:
			return fmt.Errorf("its kind is %q", v.Kind)
		}
	})
}

func (s *Service) loadTask(id string, v stored) error {
	f, err := s.parseObject(v.Ask)
	if err != nil {
		return err
	}
	t := &task{request: readRequest(f), ask: v.Ask, begun: v.Begun, over: v.Over, status: v.Status, results: v.Results}
	if t.status == "" {
		t.status = "processing"
		if err := s.beginTask(id, t); err != nil {
			return err
		}
	}
	s.forget(s.tasks.put(id, t, t.begun, taskOver))
	return nil
}

func (s *Service) loadLookup(id string, v stored, on *shelf[*lookup]) error {
	in := v.Lookup
	l := &lookup{id: id, kind: v.Kind, begun: v.Begun, query: in.Query, title: in.Title, limit: in.Limit, given: in.Columns, columns: in.Columns, status: v.Status}
	l.step, l.steps, l.progress, l.considered, l.read, l.skipped, l.values = in.Step, in.Steps, in.Progress, in.Considered, in.Read, in.Skipped, in.Values
	for _, r := range in.Rows {
		l.rows = append(l.rows, row{r.Document, r.Values})
	}
	if l.status == "" {
		l.status = queued
		if err := s.examineAll(l); err != nil {
			return err
		}
	}
	s.forget(on.put(id, l, l.begun, (*lookup).over))
	return nil
}
