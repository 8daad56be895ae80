package batch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// behindGate is a worker whose way to the database may fail.
func (r *rig) behindGate(t *testing.T, address, process string) (*batch.Batches, *gate) {
	t.Helper()
	gate, through := newGate(t, address)
	return r.worker(t, through, process), gate
}

// runs begins to run a batch, and gives what ends it.
func runs(ctx context.Context, b *batch.Batches, id string, on func(batch.State)) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := b.Run(ctx, id, on)
		ended <- err
	}()
	return ended
}

// within waits for the end of a run.
func within(t *testing.T, most time.Duration, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(most):
		t.Fatalf("the run goes on after %s", most)
		return nil
	}
}

// TestWhatComesWhileTheDatabaseIsGoneIsTakenInByTheSameProcess takes the database from a worker in the middle of its
// sends, and then in the middle of a commit, for a moment. What comes then is in its log alone.
func TestWhatComesWhileTheDatabaseIsGoneIsTakenInByTheSameProcess(t *testing.T) {
	const items = 1200
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 4 * time.Millisecond
	var gate *gate
	r.Batches, gate = r.behindGate(t, address, "a")
	other := r.worker(t, address, "looks")
	d := draft(urls(items))
	d.AtOnce, d.Cap = 8, 100
	s := r.start(t, d)
	for _, fail := range []func(){gate.Shut, func() { gate.BreakAt(`{"n":`) }} {
		gone := false
		ended := runs(t.Context(), r.Batches, s.ID, func(now batch.State) {
			if now.Tally.Answered > s.Tally.Answered+50 && !gone {
				gone = true
				fail()
			}
		})
		if err := within(t, time.Minute, ended); !errors.Is(err, database.ErrGone) {
			t.Fatalf("ended with %v", err)
		}
		sent := r.all()
		if s = noerr.Try(other.Show(t.Context(), s.ID)).Must(t); s.State != store.Running || s.Remaining() == 0 {
			t.Fatalf("while it was gone: %s, %d remain", s.State, s.Remaining())
		}
		if <-time.After(300 * time.Millisecond); r.all() != sent {
			t.Errorf("%d were sent after the end", r.all()-sent)
		}
		gate.Open()
	}
	s = noerr.Try(r.Run(t.Context(), s.ID, func(batch.State) {})).Must(t)
	lines := r.lines(t, s.ID)
	if s.State != store.Done || len(lines) != items || s.Tally.Answered != items {
		t.Errorf("%s: %d results, %d counted", s.State, len(lines), s.Tally.Answered)
	}
	if r.all() != items {
		t.Errorf("%d were sent again, and all were answered", r.all()-items)
	}
	if price := int64(1_500_000); s.Spent < price*items || s.Reserved != 0 {
		t.Errorf("spent %d for %d requests, %d reserved", s.Spent, r.all(), s.Reserved)
	}
}

func TestAWorkerThatIsToldToEndEndsWhileTheDatabaseIsGone(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	var gate *gate
	r.Batches, gate = r.behindGate(t, address, "a")
	r.answer = func(w http.ResponseWriter, _ string, _ int) bool { // each rests before it is sent again
		w.Header().Set("X-Brd-Status-Code", "503")
		w.Header().Set("Retry-After", "0.5")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	d := draft(urls(300))
	d.AtOnce, d.Request.Retries, d.Request.Timeout = 8, 5, 2*time.Second
	s := r.start(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := runs(ctx, r.Batches, s.ID, func(batch.State) {
		if r.all() > 16 {
			gate.Shut()
			cancel()
		}
	})
	if err := within(t, time.Minute, ended); err == nil {
		t.Error("it ended as if all were well")
	}
}

// TestNothingIsSentBeyondTheLeaseWhileTheDatabaseHangs has a database say nothing for longer than a lease lasts: its slots
// may be others' then.
func TestNothingIsSentBeyondTheLeaseWhileTheDatabaseHangs(t *testing.T) {
	const items = 1500
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	var gate *gate
	r.Batches, gate = r.behindGate(t, address, "a")
	d := draft(urls(items))
	d.AtOnce, d.Request.Timeout = 8, time.Second
	s := r.start(t, d)
	begun := make(chan struct{}, 1)
	ended := runs(t.Context(), r.Batches, s.ID, func(now batch.State) {
		if now.Tally.Answered > 50 {
			select {
			case begun <- struct{}{}:
			default:
			}
		}
	})
	<-begun
	gate.Hang()
	<-time.After(4100 * time.Millisecond) // a timeout, and three seconds
	sent := r.all()
	<-time.After(500 * time.Millisecond)
	if more := r.all() - sent; more > 0 || sent == items {
		t.Errorf("%d were sent, and %d when the lease was over", sent, more)
	}
	gate.Open()
	noerr.Must(t, within(t, time.Minute, ended))
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.State != store.Done || len(r.lines(t, s.ID)) != items || r.all() != items {
		t.Errorf("%s after %d requests", s.State, r.all())
	}
}

func TestBatchesThroughOneZoneShareItsLimit(t *testing.T) {
	const limit = 16 // of an unlocker
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.pause = 20 * time.Millisecond
	workers := []*batch.Batches{r.worker(t, address, "a"), r.worker(t, address, "b")}
	r.Batches = workers[0]
	var ended []<-chan error
	for i := range 2 {
		s := r.start(t, draft(strings.ReplaceAll(urls(500), "shop", fmt.Sprint("shop", i))))
		for _, b := range workers {
			ended = append(ended, runs(t.Context(), b, s.ID, func(batch.State) {}))
		}
	}
	for _, e := range ended {
		noerr.Must(t, within(t, time.Minute, e))
	}
	if r.all() != 1000 || r.most > limit || r.most < limit/2 {
		t.Errorf("%d requests, %d at once", r.all(), r.most)
	}
	held := -1
	noerr.Must(t, postgrestest.Server(t, path).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM zone_slots").Scan(&held))
	if held != 0 {
		t.Errorf("%d parts of limits were not given back", held)
	}
}

func TestTheZoneOfARuleHasALimitToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r, d := ruled(t, "captcha x1 -> zone=isp1,item", "http://guarded.test/1\nhttp://open.test/1\n")
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), `INSERT INTO zone_slots (zone, worker, slots, wants, known_limit, renewed, until)
		VALUES ('test/isp1', 'another', 32, 0, 32, `+database.Clock+`, `+database.Clock+` + 3600000000)`)))
	s := r.start(t, d)
	ended := runs(t.Context(), r.Batches, s.ID, func(batch.State) {})
	for r.all() < 2 {
		<-time.After(20 * time.Millisecond)
	}
	<-time.After(700 * time.Millisecond)
	if r.all() != 2 {
		t.Errorf("%d requests while another worker has all of the zone", r.all())
	}
	noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), "DELETE FROM zone_slots WHERE worker = 'another'")))
	noerr.Must(t, within(t, time.Minute, ended))
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.OK() != 2 || r.all() != 3 {
		t.Errorf("%d ok after %d requests", s.OK(), r.all())
	}
}

// What waits for a slot was not sent: nobody announces it as sent when its worker dies, and it takes nothing of the cap.
func TestAWorkerWithoutASlotMarksNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), `INSERT INTO zone_slots (zone, worker, slots, wants, known_limit, renewed, until)
		VALUES ('test/unlocker1', 'another', 16, 0, 16, `+database.Clock+`, `+database.Clock+` + 3600000000)`)))
	s := r.start(t, draft(urls(150)))
	ended := runs(t.Context(), r.Batches, s.ID, func(batch.State) {})
	for claimed := 0; claimed < 2; <-time.After(10 * time.Millisecond) {
		noerr.Must(t, server.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM batch_slices WHERE worker = 'a'").Scan(&claimed))
	}
	<-time.After(700 * time.Millisecond)
	marked := -1
	noerr.Must(t, server.QueryRowContext(t.Context(), "SELECT SUM(sent) FROM batch_slices").Scan(&marked))
	if marked != 0 || r.all() != 0 {
		t.Errorf("%d items are marked, after %d requests", marked, r.all())
	}
	noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), "DELETE FROM zone_slots WHERE worker = 'another'")))
	noerr.Must(t, within(t, time.Minute, ended))
}

// TestOthersTakeOverWithin20Seconds kills a worker, and stops another one for longer than it takes to be given up. What
// that one has of its answers is late then, and counts for nothing.
func TestOthersTakeOverWithin20Seconds(t *testing.T) {
	const items = 600
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.pause = 30 * time.Millisecond
	r.Batches = r.worker(t, address, "takes-over")
	server := postgrestest.Server(t, path)
	d := draft(urls(items))
	d.AtOnce, d.Cap, d.Request.Timeout = 8, 100, time.Second
	s := r.start(t, d)
	killed, stopped := r.beginWorker(t, address, "killed"), r.beginWorker(t, address, "stopped")
	for _, w := range []string{"killed", "stopped"} {
		for marked := 0; marked == 0; <-time.After(10 * time.Millisecond) {
			noerr.Must(t, server.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM batch_slices WHERE worker = $1 AND sent > 0", w).Scan(&marked))
		}
	}
	noerr.Must(t, stopped.Process.Signal(syscall.SIGSTOP))
	_ = killed.Process.Kill()
	_ = killed.Wait()
	began := time.Now()
	open := func(worker string) (n int) {
		noerr.Must(t, server.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM batch_slices WHERE todo > 0 AND worker = $1", worker).Scan(&n))
		return n
	}
	had := map[string]int{"killed": open("killed"), "stopped": open("stopped")}
	ended := runs(t.Context(), r.Batches, s.ID, func(batch.State) {})
	for w, slices := range had {
		for open(w) > 0 {
			<-time.After(50 * time.Millisecond)
		}
		t.Logf("%d slices of the %s worker were others' after %s", slices, w, time.Since(began).Round(time.Millisecond))
	}
	if took := time.Since(began); took > 20*time.Second || had["killed"] == 0 || had["stopped"] == 0 {
		t.Errorf("taken over after %s: %v slices", took, had)
	}
	noerr.Must(t, stopped.Process.Signal(syscall.SIGCONT))
	_ = stopped.Wait()
	noerr.Must(t, within(t, time.Minute, ended))
	s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
	lines := r.lines(t, s.ID)
	late := 0
	noerr.Must(t, server.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM batch_chunks WHERE late = 1").Scan(&late))
	if s.State != store.Done || len(lines) != items || s.Tally.Answered != items || int64(r.all()-items) > s.Tally.Again || r.most > 8 {
		t.Errorf("%s: %d results, %d counted; %d requests, %d at once, %d announced", s.State, len(lines), s.Tally.Answered, r.all(), r.most, s.Tally.Again)
	}
	t.Logf("%d late commits were refused; %d requests, %d announced", late, r.all(), s.Tally.Again)
}
