package journal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// flights are the calls of this process that are under way. They stand in a file of its own beside the
// journal from before a call is sent until its line of history is written: what a killed process
// leaves there was perhaps sent, and the next one that opens the journal says so. A call costs one
// small write that waits for no disk; the loss of power may take it. Its zero value is ready.
type flights struct {
	dir  string
	mu   sync.Mutex
	sign *textfile.Sign
	file *os.File
	open map[string]bool // by identifier; true once the call has ended
	err  error           // why none can be written down
}

// flightLine is a line of the file: a call that is to be sent, or the end of one.
type flightLine struct {
	ID    string          `json:"id"`
	Call  *model.Activity `json:"call,omitempty"`
	Ended bool            `json:"ended,omitempty"`
}

const flightsEnd = ".ndjson"

// unseenEnd is the line of a call whose process was killed.
const unseenEnd = "may have been sent; its end was not seen: zonedeck was ended meanwhile"

// Depart writes down that a call is about to be sent. Its line goes into the timeline if this process
// ends before landed is called; landed is called after the call's own line was put.
func (j *Journal) Depart(id string, a model.Activity) (landed func(), err error) {
	if a.At.IsZero() {
		a.At = j.now()
	}
	a.URL, a.Text, a.Source = maskURL(a.URL), a.Text+unseenEnd, cmp.Or(j.source, a.Source)
	f := &j.flights
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(); err != nil {
		return func() {}, err
	}
	if err := f.write(flightLine{ID: id, Call: &a}); err != nil {
		return func() {}, err
	}
	f.open[id] = false
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, under := f.open[id]; under {
			f.open[id] = true
		}
	}, nil
}

// begin makes the file of this process.
func (f *flights) begin() error {
	if f.file != nil || f.err != nil {
		return f.err
	}
	f.sign, f.err = textfile.NewSign(filepath.Join(f.dir, "signs"))
	if f.err == nil {
		f.file, f.err = os.OpenFile(filepath.Join(f.dir, f.sign.Name()+flightsEnd), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	f.open = map[string]bool{}
	return f.err
}

func (f *flights) write(l flightLine) error {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = f.file.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing down a call before it is sent: %w", err)
	}
	return nil
}

// ended are the calls that have ended.
func (f *flights) ended() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, over := range f.open {
		if over {
			ids = append(ids, id)
		}
	}
	return ids
}

// settle takes calls out whose lines are in the history.
func (f *flights) settle(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.open, id)
		if len(f.open) > 0 {
			_ = f.write(flightLine{ID: id, Ended: true}) // else it is told of twice
		}
	}
	if len(ids) > 0 && len(f.open) == 0 {
		_ = f.file.Truncate(0)
	}
}

// close removes the file, unless a call is under way: whoever opens the journal next tells of it.
func (f *flights) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
		if len(f.open) == 0 {
			_ = os.Remove(f.file.Name())
		}
	}
	if f.sign != nil {
		f.sign.Release()
	}
	f.file, f.err = nil, ErrClosed
}

// recoverFlights puts a line for each call that a killed process had under way. What cannot be read
// stays for the next time.
func (j *Journal) recoverFlights(ctx context.Context) error {
	files, err := os.ReadDir(j.flights.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		owner, _, _ := strings.Cut(file.Name(), ".")
		if !strings.HasSuffix(file.Name(), flightsEnd) || textfile.Alive(filepath.Join(j.flights.dir, "signs"), owner) {
			continue
		}
		err = errors.Join(err, j.recoverFlight(ctx, filepath.Join(j.flights.dir, file.Name())))
	}
	return err
}

func (j *Journal) recoverFlight(ctx context.Context, name string) error {
	f := &j.flights
	f.mu.Lock()
	err := f.begin()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	// It is this process's from here on: of two that open the journal at once, one tells.
	taken := filepath.Join(f.dir, f.sign.Name()+"."+rand.Text()+flightsEnd)
	if err := os.Rename(name, taken); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	calls, err := readFlights(taken)
	if err != nil {
		return err
	}
	for _, a := range calls {
		if err := j.PutActivity(ctx, a); err != nil {
			return err
		}
	}
	if err := j.flush(ctx); err != nil {
		return err
	}
	return os.Remove(taken)
}

// readFlights are the calls of a file that did not end. A line that was cut is none.
func readFlights(name string) ([]model.Activity, error) {
	text, err := os.ReadFile(name) //nolint:gosec // of the journal's own folder
	if err != nil {
		return nil, err
	}
	calls := map[string]model.Activity{}
	var order []string
	for line := range bytes.Lines(text) {
		var l flightLine
		switch {
		case json.Unmarshal(line, &l) != nil:
		case l.Ended:
			delete(calls, l.ID)
		case l.Call != nil:
			calls[l.ID] = *l.Call
			order = append(order, l.ID)
		}
	}
	var out []model.Activity
	for _, id := range order {
		if a, open := calls[id]; open {
			out = append(out, a)
		}
	}
	return out, nil
}
