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
	"slices"
	"strings"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
)

// flights are the calls of this process that are under way. They stand in a file of its own beside the
// journal from before a call is sent until its line of history is written: what a killed process
// leaves there was perhaps sent, and the next one that opens the journal says so. A call costs one
// small write that waits for no disk; the loss of power may take it. Its zero value is ready.
type flights struct {
	dir       string
	mu        sync.Mutex
	sign      *textfile.Sign
	file      *os.File
	size      int64              // of the file, in bytes
	rewriteAt int64              // at which it is written anew, with the calls alone that are under way
	open      map[string]*flight // by identifier
	err       error              // why none can be written down
}

type flight struct {
	line flightLine
	over bool // the call has ended
}

// flightsMost is how large the file becomes at least before it is written anew.
const flightsMost = 1 << 20

// flightLine is a line of the file: a call that is to be sent, or the end of one.
type flightLine struct {
	ID   string              `json:"id"`
	Call *model.HistoryEntry `json:"call,omitempty"`
	// Meanwhile is the text of the line that the timeline has while the call is under way, if it has one.
	Meanwhile string `json:"meanwhile,omitempty"`
	Ended     bool   `json:"ended,omitempty"`
}

const flightsEnd = ".ndjson"

// What the line of a call says whose process was killed. maySent stands before unseenEnd where the call sends something.
const (
	maySent   = "may have been sent; "
	unseenEnd = "its end was not seen: zonedeck was ended meanwhile"
	underWay  = "under way"
)

// Depart writes down that a call is about to be sent. id is what its own line in the timeline refers to. A line goes into the timeline if this process
// ends before landed is called; landed is called after the call's own line was put.
func (j *Journal) Depart(id string, a model.HistoryEntry) (landed func(), err error) {
	a.Text += maySent + unseenEnd
	if err := j.depart(flightLine{ID: id, Call: &a}); err != nil {
		return func() {}, err
	}
	return func() { j.flights.landed(id) }, nil
}

// BeginCall writes the line of a call that begins: a.Text, which names the call, and that it is under way. PutCall
// with the same Ref replaces it. If this process ends before that, the next one that opens the journal replaces it, and says
// that the end was not seen; that the call may have been sent, too, if it sends something. Like PutCall it waits for the disk.
func (j *Journal) BeginCall(ctx context.Context, a model.HistoryEntry, sends bool) error {
	unseen, what := a, a.Text
	a.Text, unseen.Text = what+": "+underWay, what+": "+unseenEnd
	if sends {
		unseen.Text = what + ": " + maySent + unseenEnd
	}
	if err := j.depart(flightLine{ID: a.Ref, Call: &unseen, Meanwhile: a.Text}); err != nil {
		return err
	}
	return j.putCall(ctx, a)
}

// depart writes down what the timeline is to have if this process ends before the call does.
func (j *Journal) depart(call flightLine) error {
	if !j.Keeps() {
		return ErrNoHistory
	}
	a := call.Call
	if a.At.IsZero() {
		a.At = j.now()
	}
	a.URL, a.Source = maskURL(a.URL), cmp.Or(j.source, a.Source)
	f := &j.flights
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(); err != nil {
		return err
	}
	if err := f.write(call); err != nil {
		return err
	}
	f.open[call.ID] = &flight{line: call}
	return nil
}

// landed takes note that a call has ended, and that its line was put.
func (f *flights) landed(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call := f.open[id]; call != nil {
		call.over = true
	}
}

// begin makes the file of this process.
func (f *flights) begin() error {
	if f.file != nil || f.err != nil {
		return f.err
	}
	f.sign, f.err = textfile.NewSign(filepath.Join(f.dir, "signs"))
	if f.err == nil {
		f.file, f.err = f.another()
	}
	f.open, f.rewriteAt = map[string]*flight{}, flightsMost
	return f.err
}

// another makes a file that is this process's. Whose it is says the name, up to the first point.
func (f *flights) another() (*os.File, error) {
	return os.OpenFile(filepath.Join(f.dir, f.sign.Name()+"."+rand.Text()+flightsEnd), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
}

// write puts a line of its own: one that a full disk cut before it takes nothing with it.
func (f *flights) write(l flightLine) error {
	text, err := json.Marshal(l)
	if err == nil {
		var n int
		n, err = f.file.Write(slices.Concat([]byte("\n"), text, []byte("\n")))
		f.size += int64(n)
	}
	if err != nil {
		return fmt.Errorf("writing down a call before it is sent: %w", err)
	}
	return nil
}

// shrink puts the calls that are under way into another file, once this one has become large. Until that
// is done both files have them.
func (f *flights) shrink() error {
	if f.size < f.rewriteAt {
		return nil
	}
	next, err := f.another()
	if err != nil {
		return err
	}
	was, size := f.file, f.size
	f.file, f.size = next, 0
	for _, call := range f.open {
		err = errors.Join(err, f.write(call.line))
	}
	if err != nil {
		was, f.file, f.size = next, was, size
	}
	f.rewriteAt = max(flightsMost, 2*f.size)
	return errors.Join(err, was.Close(), os.Remove(was.Name()))
}

// ended are the calls that have ended.
func (f *flights) ended() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, call := range f.open {
		if call.over {
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
			_ = f.write(flightLine{ID: id, Ended: true}) // else the history has it, where the next one looks
		}
	}
	switch {
	case len(ids) == 0:
	case len(f.open) > 0:
		_ = f.shrink() // else the file stays as it is
	case f.file.Truncate(0) == nil:
		f.size = 0
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
	f.file, f.err = nil, errClosed
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
	if err == nil {
		calls, err = j.untold(ctx, calls)
	}
	if err != nil {
		return err
	}
	for _, call := range calls {
		put := j.PutEntry
		if call.Meanwhile != "" {
			put = j.PutCall
		}
		if err := put(ctx, *call.Call); err != nil {
			return err
		}
	}
	if err := j.flush(ctx); err != nil {
		return err
	}
	return os.Remove(taken)
}

// untold are the calls of which the timeline has nothing: a process may be killed between what it writes there and
// what it writes here. A line without an identifier is that of the same time and address; one that says that the call is
// under way tells nothing of its end.
func (j *Journal) untold(ctx context.Context, calls []flightLine) ([]flightLine, error) {
	var untold []flightLine
	for _, c := range calls {
		var told bool
		err := j.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM activity WHERE kind = ? AND (ref = ? AND (? = '' OR text <> ?) OR ref = '' AND at = ? AND url = ?))",
			string(c.Call.Kind), c.ID, c.Meanwhile, c.Meanwhile, database.Micros(c.Call.At), c.Call.URL).Scan(&told)
		if err != nil {
			return nil, err
		}
		if !told {
			untold = append(untold, c)
		}
	}
	return untold, nil
}

// readFlights are the calls of a file that did not end. A line that was cut is none.
func readFlights(name string) ([]flightLine, error) {
	text, err := os.ReadFile(name) //nolint:gosec // of the journal's own folder
	if err != nil {
		return nil, err
	}
	ended := map[string]bool{}
	var calls []flightLine
	for line := range bytes.Lines(text) {
		var l flightLine
		switch {
		case json.Unmarshal(line, &l) != nil:
		case l.Ended:
			ended[l.ID] = true
		case l.Call != nil:
			calls = append(calls, l)
		}
	}
	return slices.DeleteFunc(calls, func(l flightLine) bool { return ended[l.ID] }), nil
}
