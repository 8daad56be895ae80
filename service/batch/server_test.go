package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/servicetest"
)

// onServer opens the batches of a database as one worker of several, with a folder of its own.
func onServer(ctx context.Context, address, process, dir, url string) (*batch.Batches, func() error, error) {
	b, _, closing, err := open(ctx, dir, url)
	if err != nil {
		return nil, nil, err
	}
	server, err := database.OpenServer(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	st, err := store.OpenServer(ctx, server, process, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	b.Files = storeFiles{st}
	return b, func() error { return cmp.Or(st.Close(), server.Close(), closing()) }, nil
}

// worker is one on the tests' server, which other workers of the test share.
func (r *rig) worker(t *testing.T, address, process string) *batch.Batches {
	t.Helper()
	b, closing, err := onServer(t.Context(), address, process, t.TempDir(), r.URL)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, closing()) })
	return b
}

func TestTwoWorkersShareABatchAndItsLimit(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	workers := []*batch.Batches{r.worker(t, address, "a"), r.worker(t, address, "b")}
	r.Batches = workers[0]
	d := draft(urls(1500) + "http://shop.test/7\n")
	d.AtOnce, d.Cap = 8, 100
	s := r.start(t, d)
	if s.OnServer == "" || s.Live {
		t.Errorf("on %q, live %v", s.OnServer, s.Live)
	}
	var all sync.WaitGroup
	for _, b := range workers {
		all.Go(func() {
			end, err := b.Run(t.Context(), s.ID, func(batch.State) {})
			if err != nil || end.State != store.Done {
				t.Errorf("ended %s: %v", end.State, err)
			}
		})
	}
	all.Wait()
	s = noerr.Try(workers[1].Show(t.Context(), s.ID)).Must(t)
	if s.Tally.Answered != 1500 || s.OK() != 1500 || s.Tally.Again != 0 || s.Spent != 1500*1_500_000 || s.Reserved != 0 {
		t.Errorf("%+v, spent %d, reserved %d", s.Tally, s.Spent, s.Reserved)
	}
	if r.all() != 1500 || r.most > 8 {
		t.Errorf("%d requests, %d at once", r.all(), r.most)
	}
	if lines := r.lines(t, s.ID); len(lines) != 1500 || lines[3].URL != "http://shop.test/3" {
		t.Errorf("%d results", len(lines))
	}
	by := map[string]int{}
	n, ofA := int64(0), int64(0)
	for line, err := range workers[1].Results(t.Context(), s.ID, true) {
		noerr.Must(t, err)
		if by[line.BodyAt.Worker]++; line.N != n {
			t.Fatalf("item %d is at the place of %d", line.N, n)
		}
		if line.BodyAt.Worker == "a" {
			ofA = line.N
		}
		n++
	}
	if by["a"] == 0 || by["b"] == 0 {
		t.Errorf("results by worker: %v", by)
	}
	written, err := workers[1].Unpack(t.Context(), s.ID, t.TempDir(), nil)
	absent, is := errors.AsType[batch.AbsentError](err)
	if written != int64(by["b"]) || !is || absent["a"] != int64(by["a"]) {
		t.Errorf("%d bodies of %v: %v", written, by, err)
	}
	if _, err := workers[1].Body(t.Context(), s.ID, ofA+1); !errors.As(err, &absent) {
		t.Error(err)
	}
}

// victimDatabase and victimProcess make the victim a worker of a database.
const victimDatabase, victimProcess = "ZONEDECK_BATCH_DATABASE", "ZONEDECK_BATCH_PROCESS"

// serverVictim works on the newest batch of a database until it is killed.
func serverVictim(dir string) error {
	ctx := context.Background()
	b, closing, err := onServer(ctx, os.Getenv(victimDatabase), os.Getenv(victimProcess), dir, os.Getenv(victimURL))
	if err != nil {
		return err
	}
	all, err := b.List(ctx)
	if err == nil {
		_, err = b.Run(ctx, all[0].ID, func(batch.State) {})
	}
	return cmp.Or(err, closing())
}

// beginWorker begins a process that is a worker.
func (r *rig) beginWorker(t *testing.T, address, process string) *exec.Cmd {
	t.Helper()
	return r.beginWorkerIn(t, t.TempDir(), address, process)
}

// beginWorkerIn begins a process that is a worker with a folder, which it may share.
func (r *rig) beginWorkerIn(t *testing.T, dir, address, process string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimURL+"="+r.URL, victimDatabase+"="+address, victimProcess+"="+process)
	cmd.Stderr = os.Stderr
	noerr.Must(t, cmd.Start())
	return cmd
}

// age makes a worker as old as after a silence that its reservation does not outlast.
func age(t *testing.T, s *database.Server, process string) {
	t.Helper()
	noerr.Must(t, noerr.From(s.Pool.Exec(t.Context(), "UPDATE workers SET beat = beat - 31000000 WHERE process = $1", process)))
}

// TestNoKillOfAWorkerLosesDoublesOrPassesTheLimit kills and stops workers beside one that stays. A fetch may take a
// second, so that the share of a dead one is back after four.
func TestNoKillOfAWorkerLosesDoublesOrPassesTheLimit(t *testing.T) {
	const atOnce = 8
	n := kills(t)
	items := max(2500, 200*n)
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	r.Batches = r.worker(t, address, "stays")
	server := postgrestest.Server(t, path)
	d := draft(urls(items))
	d.AtOnce, d.Cap, d.Request.Timeout = atOnce, 100, time.Second
	s := r.start(t, d)
	ended := make(chan batch.State, 1)
	go func() {
		end, err := r.Run(t.Context(), s.ID, func(batch.State) {})
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	stopped := r.beginWorker(t, address, "stopped")
	<-time.After(700 * time.Millisecond)
	noerr.Must(t, stopped.Process.Signal(syscall.SIGSTOP))
	age(t, server, "stopped")
	done := 0
	for ; done < n && len(ended) == 0; done++ {
		i := done
		name := fmt.Sprintf("killed%d", i)
		cmd := r.beginWorker(t, address, name)
		<-time.After(time.Duration(300+rand.IntN(500)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		age(t, server, name)
	}
	<-time.After(2 * time.Second) // it was stopped for longer than its lease lasts
	noerr.Must(t, stopped.Process.Signal(syscall.SIGCONT))
	s = <-ended
	_ = stopped.Wait()
	lines := r.lines(t, s.ID)
	repeated := r.all() - items
	t.Logf("%d kills: %d results, %d sent again, %d announced, %d at once, spent %d", done, len(lines), repeated, s.Tally.Again, r.most, s.Spent)
	if s.State != store.Done || len(lines) != items || int(s.Tally.Answered) != items {
		t.Errorf("%s with %d results of %d; counted %d", s.State, len(lines), items, s.Tally.Answered)
	}
	if int64(repeated) > s.Tally.Again || s.Tally.Again > int64(n+1)*2*(atOnce+8) {
		t.Errorf("%d sent again, %d announced", repeated, s.Tally.Again)
	}
	if r.most > atOnce {
		t.Errorf("%d at once", r.most)
	}
	if price := int64(1_500_000); s.Spent < price*int64(r.all()) || s.Spent > s.Cap {
		t.Errorf("spent %d for %d requests, cap %d", s.Spent, r.all(), s.Cap)
	}
}

// everyValue gives all that the tables of a database have, a text for each column.
func everyValue(t *testing.T, s *database.Server) (texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	columns := map[string]string{}
	const query = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema()"
	noerr.Must(t, database.Each(t.Context(), s, query, nil, func(row database.Scanner) error {
		var table, column, kind string
		err := row.Scan(&table, &column, &kind)
		value := fmt.Sprintf("%q::text", column)
		if kind == "bytea" {
			value = fmt.Sprintf("encode(%q, 'escape')", column)
		}
		columns[table+"."+column] = fmt.Sprintf("SELECT COALESCE(string_agg(%s, ' '), '') FROM %q", value, table)
		return err
	}))
	for name, query := range columns {
		var text string
		noerr.Must(t, s.QueryRowContext(t.Context(), query).Scan(&text))
		texts[name] = text
	}
	return texts
}

func TestNoSecretIsInTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	r.answer = func(w http.ResponseWriter, url string, _ int) bool { // it repeats the key
		fmt.Fprintf(w, "<html><body><h1>%s</h1><p>You sent the key %s with this request.</p></body></html>", url, servicetest.KeyValue)
		return true
	}
	for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
		d := draft(urls(120))
		d.Request.Via = via
		report, err := r.Check(t.Context(), r.known, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := noerr.Try(r.Start(t.Context(), report)).Must(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // there is no proxy
		_, _ = r.Run(ctx, s.ID, func(batch.State) {})
		cancel()
	}
	found := 0
	for name, text := range everyValue(t, postgrestest.Server(t, path)) {
		found += strings.Count(text, "http://shop.test/")
		for _, leak := range servicetest.Leaks(name, []byte(text), servicetest.KeyValue, servicetest.Password) {
			t.Error(leak)
		}
	}
	if found < 240 {
		t.Errorf("%d addresses were found: the search sees too little", found)
	}
}

// BenchmarkWorkers reports what two workers, and four, do beside one, of a target that takes 50 ms.
func BenchmarkWorkers(b *testing.B) {
	const items = 9600
	took := map[int]float64{}
	for _, n := range []int{1, 2, 4} {
		path := filepath.Join(b.TempDir(), fmt.Sprint("batches", n, len(took)))
		address := postgrestest.Address(b, path)
		target := newTarget(b)
		target.pause = 50 * time.Millisecond
		var workers []*batch.Batches
		for i := range n {
			w, closing, err := onServer(b.Context(), address, fmt.Sprint("w", i), b.TempDir(), target.URL)
			noerr.Must(b, err)
			b.Cleanup(func() { noerr.Want(b, closing()) })
			workers = append(workers, w)
		}
		_, known, closing, err := open(b.Context(), b.TempDir(), target.URL)
		noerr.Must(b, err)
		b.Cleanup(func() { noerr.Want(b, closing()) })
		d := draft(urls(items))
		d.AtOnce = 16 * n
		s := noerr.Try(workers[0].Start(b.Context(), noerr.Try(workers[0].Check(b.Context(), known, d, nil)).Must(b))).Must(b)
		began := time.Now()
		var all sync.WaitGroup
		for _, w := range workers {
			all.Go(func() {
				if _, err := w.Run(b.Context(), s.ID, func(batch.State) {}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		took[n] += time.Since(began).Seconds()
	}
	b.Logf("one worker: %.2f of 16 fetches of 50 ms at once; two: %.2f times one, four: %.2f", items*0.05/16/took[1], took[1]/took[2], took[1]/took[4])
	b.ReportMetric(took[1]/took[2], "two/one")
	b.ReportMetric(took[1]/took[4], "four/one")
	b.ReportMetric(items*0.05/16/took[1], "one/ideal")
	for b.Loop() {
	}
}

// listener takes what a worker says.
type listener chan string

func (l listener) Batch(id string, s batch.State, err error) {
	switch {
	case err != nil:
		l <- err.Error()
	case id != "":
		l <- string(s.State)
	}
}

func TestAWorkerTakesPartUntilItIsToldToEnd(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.Batches = r.worker(t, address, "plans")
	worker, lacking := r.worker(t, address, "works"), r.worker(t, address, "lacks")
	source := servicetest.SourceFor(r.known.Profile)
	source.SecretBy = func(context.Context, string) (keystore.Secret, error) {
		return keystore.Secret{}, errors.New("this machine has no key etl-main")
	}
	lacking.Fetch = fetch.New(fetch.Config{Source: source, Wire: exchange.New(exchange.Config{})})
	s := r.start(t, draft(urls(150)))
	serve := func(b *batch.Batches) (said listener, end func() error) {
		said = make(listener, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Serve(ctx, r.known.Profile.Name, said) }()
		return said, func() error { cancel(); return <-ended }
	}
	said, end := serve(lacking)
	if first, second := <-said, <-said; first != "running" || !strings.Contains(second, "this machine has no key etl-main") {
		t.Errorf("%s, %s", first, second)
	}
	noerr.Must(t, end())
	if r.all() != 0 {
		t.Errorf("%d requests without a key", r.all())
	}
	said, end = serve(worker)
	if first, second := <-said, <-said; first != "running" || second != "done" {
		t.Errorf("%s, %s", first, second)
	}
	noerr.Must(t, end())
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.Tally.Answered != 150 || s.Tally.Again != 0 || s.Live {
		t.Errorf("%+v, live %v", s.Tally, s.Live)
	}
	if err := newRig(t).Serve(t.Context(), "p", said); !errors.Is(err, batch.ErrNoServer) {
		t.Errorf("without a database: %v", err)
	}
}

func TestABatchIsCappedOnlyIfNobodyHoldsWhatIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.Batches = r.worker(t, address, "a")
	server := postgrestest.Server(t, path)
	d := draft(urls(10))
	d.Cap = 0.015 // 10 tries
	s := r.start(t, d)
	exec := func(query string, args ...any) {
		noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), query, args...)))
	}
	exec("INSERT INTO batch_workers (batch, worker, written, segment, bytes, reserved) VALUES ($1, 'b', 0, 0, 0, 7500000)", s.ID)
	exec("INSERT INTO workers (id, process, lane, began, beat) VALUES ('b', 'b', 'batch ' || $1::text, 0, "+database.Clock+")", s.ID)
	looks := 0
	s = noerr.Try(r.Run(t.Context(), s.ID, func(s batch.State) {
		if looks++; looks == 8 { // it has waited for what b may leave
			if s.State != store.Running || s.Tally.Answered != 5 {
				t.Errorf("beside b it is %s with %d answers", s.State, s.Tally.Answered)
			}
			age(t, server, "b")
		}
	})).Must(t)
	if s.State != store.Done || s.Tally.Answered != 10 || s.Reserved != 0 {
		t.Errorf("after b: %s with %d answers, reserved %d", s.State, s.Tally.Answered, s.Reserved)
	}
}

// TestACapHoldsWhenAWorkerIsKilled kills one with as many fetches in flight as go at once.
func TestACapHoldsWhenAWorkerIsKilled(t *testing.T) {
	const atOnce, most = 32, 100
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.pause = 400 * time.Millisecond
	r.Batches = r.worker(t, address, "stays")
	d := draft(urls(1000))
	d.AtOnce, d.Cap, d.Request.Timeout = atOnce, most*0.0015, 2*time.Second
	s := r.start(t, d)
	dead := r.beginWorker(t, address, "dead")
	for r.all() < 20 {
		<-time.After(20 * time.Millisecond)
	}
	_ = dead.Process.Kill()
	_ = dead.Wait()
	age(t, postgrestest.Server(t, path), "dead")
	s = noerr.Try(r.Run(t.Context(), s.ID, func(batch.State) {})).Must(t)
	if s.State != store.Capped || r.all() > most || s.Spent < 1_500_000*int64(r.all()) || s.Spent > s.Cap || s.Reserved != 0 {
		t.Errorf("%s (%s) after %d requests of at most %d: spent %d of %d, reserved %d", s.State, s.Reason, r.all(), most, s.Spent, s.Cap, s.Reserved)
	}
	if s.Tally.Again == 0 || s.Tally.Unconfirmed == 0 || s.Tally.Unconfirmed > 1_500_000*s.Tally.Again {
		t.Errorf("%d announced, %d of what is spent is unconfirmed", s.Tally.Again, s.Tally.Unconfirmed)
	}
}

func TestARemovedBatchHasNoLimitAndNoRate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	d := draft(urls(10))
	d.Rate = 1000
	s := r.start(t, d)
	noerr.Try(r.Run(t.Context(), s.ID, func(batch.State) {})).Must(t)
	noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), "INSERT INTO zone_slots (zone, worker, slots, wants, renewed, until) VALUES ($1, 'dead', 1, 0, 0, 0)", "batch "+s.ID)))
	count := func() (n int) {
		const query = "SELECT (SELECT COUNT(*) FROM zone_slots WHERE zone = $1) + (SELECT COUNT(*) FROM key_rates WHERE name = $1)"
		noerr.Must(t, server.QueryRowContext(t.Context(), query, "batch "+s.ID).Scan(&n))
		return n
	}
	if n := count(); n != 2 {
		t.Errorf("%d rows while it is there", n)
	}
	noerr.Must(t, r.Remove(t.Context(), s.ID))
	if n := count(); n != 0 {
		t.Errorf("%d rows when it is removed", n)
	}
}

// TestADeadWorkerMarksNothingMore has a worker wake up that had claimed slices and reserved for them.
func TestADeadWorkerMarksNothingMore(t *testing.T) {
	const price = 1_500_000
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.Batches = r.worker(t, address, "stays")
	d := draft(urls(200))
	d.Cap = 0.15
	s := r.start(t, d)
	st := noerr.Try(r.Files.Batches(t.Context())).Must(t)
	got, _, err := st.Reserve(t.Context(), s.ID, "dead", 32*price, price)
	noerr.Must(t, err)
	attempts := map[int]int{}
	for n := range 2 {
		_, attempt, err := st.Claim(t.Context(), s.ID, n, "dead", true, price)
		noerr.Must(t, err)
		attempts[n] = attempt
	}
	noerr.Must(t, st.Server.Mark(t.Context(), s.ID, 0, attempts[0], 40))
	noerr.Must(t, st.Bury(t.Context(), s.ID, "batch "+s.ID, true, price))
	for n := range 2 {
		if err := st.Server.Mark(t.Context(), s.ID, n, attempts[n], 50); !errors.Is(err, store.ErrTaken) {
			t.Errorf("slice %d can be marked: %v", n, err)
		}
		if _, owned, err := st.Owned(t.Context(), s.ID, n, "dead"); !owned || err != nil {
			t.Errorf("slice %d is not there for its answers: %v", n, err)
		}
	}
	s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
	if s.Spent != got || s.Tally.Unconfirmed != got || s.Tally.Again != 40 || s.Reserved != 0 {
		t.Errorf("spent %d of the %d that it had reserved; %d announced, reserved %d", s.Spent, got, s.Tally.Again, s.Reserved)
	}
}

func TestAWorkerGivesBackWhatOthersMayNeed(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 5 * time.Millisecond
	workers := []*batch.Batches{r.worker(t, address, "a"), r.worker(t, address, "b")}
	r.Batches = workers[0]
	d := draft(urls(400))
	d.AtOnce, d.Cap = 8, 0.6 // as many tries
	s := r.start(t, d)
	var all sync.WaitGroup
	for _, b := range workers {
		all.Go(func() {
			if end, err := b.Run(t.Context(), s.ID, func(batch.State) {}); err != nil || end.State != store.Done || end.Tally.Answered != 400 {
				t.Errorf("%s with %d answers: %v (%s)", end.State, end.Tally.Answered, err, end.Reason)
			}
		})
	}
	all.Wait()
}

func TestAWorkerTakesReferencesFromItsOwnProfileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	var asked []string
	with := func(variables map[string]string) {
		r.profiled(func(p *model.Profile) { p.Variables = variables })
		p := r.known.Profile
		source := servicetest.SourceFor(p)
		source.SecretBy = func(ctx context.Context, ref string) (keystore.Secret, error) {
			if asked = append(asked, ref); ref == "file:own-token" {
				return keystore.NewSecret("token-of-this-machine"), nil
			}
			return servicetest.Secret(ctx, ref)
		}
		r.Fetch = fetch.New(fetch.Config{Source: source, Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: filepath.Join(r.dir, "bodies")}})
	}
	with(map[string]string{"token": "file:own-token"})
	d := draft(urls(3))
	d.Headers = []string{"Authorization: Bearer {{token}}"}
	s := r.start(t, d)
	const forged = `UPDATE batches SET plan = replace(replace(plan, 'file:own-token', 'cmd:touch /tmp/forged'), 'env:ZONE', 'cmd:touch /tmp/forged')`
	if done := noerr.Try(server.Pool.Exec(t.Context(), forged)).Must(t); done.RowsAffected() != 1 {
		t.Fatal("nothing was forged")
	}
	with(nil)
	want := "{{token}}: a worker takes secrets from its own profile alone"
	if _, err := r.Run(t.Context(), s.ID, func(batch.State) {}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without the variable: %v; want %q", err, want)
	}
	if _, err := r.Request(t.Context(), s.ID, 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("its request without the variable: %v", err)
	}
	if _, err := r.Check(t.Context(), fetch.Known{Profile: r.known.Profile, Variables: profiles{Variables: map[string]string{"token": "asked:token"}}}, d, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("planned without the variable: %v", err)
	}
	with(map[string]string{"token": "file:own-token"})
	if request := noerr.Try(r.Request(t.Context(), s.ID, 1)).Must(t); request.URL != "http://shop.test/1" || request.Secrets["token"] != "file:own-token" || request.Zone.Password != "env:ZONE" {
		t.Errorf("item 2 is %+v", request)
	}
	if s = r.run(t, s.ID); s.State != store.Done || s.OK() != 3 {
		t.Errorf("%s: %+v", s.State, s.Tally)
	}
	for _, ref := range asked {
		if strings.HasPrefix(ref, "cmd:") {
			t.Errorf("%s was looked up", ref)
		}
	}
}

func TestAKeyHasOneRateByWhateverNameItIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	r.profiled(func(p *model.Profile) { p.Local = false })
	for _, key := range []string{"", r.known.Profile.Key} {
		d := draft(urls(2))
		d.Request.Key = key
		r.run(t, r.start(t, d).ID)
	}
	var names string
	noerr.Must(t, postgrestest.Server(t, path).Pool.QueryRow(t.Context(), "SELECT string_agg(name, ' ') FROM key_rates WHERE name LIKE 'key %'").Scan(&names))
	if names != "key "+r.known.Profile.Name+"/"+r.known.Profile.Key {
		t.Errorf("rates: %s", names)
	}
}

func TestWhoWorksOnABatchAndWatchesItSeesItsWorkers(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	r.Batches = r.worker(t, address, "a")
	s := r.start(t, draft(urls(3000)))
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	ctx, seen := context.WithCancel(t.Context())
	err := r.Watch(ctx, s.ID, func(p batch.Progress) {
		if p.Fault != nil || p.Over() {
			t.Errorf("it was over too soon: %s, %v", p.Condition(), p.Fault)
			seen()
		}
		if words := p.WorkerWords(); len(words) == 1 && strings.HasPrefix(words[0], "a: slices ") && p.Flying > 0 {
			seen()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Stop()
}

func TestADuplicateHasALineOnAServer(t *testing.T) {
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, filepath.Join(t.TempDir(), "batches")), "a")
	if got := r.duplicatesSaid(t, true); !slices.Equal(got, []string{`1 "a"ok`, `2 "b" as 1`, `3 "c"ok`, `4 "d" as 1`}) {
		t.Errorf("in order: %q", got)
	}
}

func TestOneWorkerOfSeveralTeachesDriftWhileABatchRuns(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 2 * time.Millisecond
	first, second := r.worker(t, address, "a"), r.worker(t, address, "b")
	eldest, later := &coverage{}, &coverage{}
	first.Drift, second.Drift, r.Batches = eldest, later, first
	d := draft(urls(20_000))
	d.Request.Required, d.AtOnce = []string{"h1"}, 4
	s := r.start(t, d)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	began := sync.OnceFunc(func() {
		all.Go(func() { _, _ = second.Run(ctx, s.ID, func(batch.State) {}) })
	})
	_, err := first.Run(ctx, s.ID, func(now batch.State) {
		if eldest.count() > 0 {
			began()
		}
		if eldest.count() > 3 && now.Tally.Answered > 2000 {
			stop()
		}
	})
	all.Wait()
	if !errors.Is(err, context.Canceled) || later.count() != 0 {
		t.Errorf("%v; the later worker taught %d times", err, later.count())
	}
}

func TestAWorkerThatWasSilentHoldsWhatIsInFlight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches")
	r := newRig(t)
	r.Batches = r.worker(t, postgrestest.Address(t, path), "a")
	server := postgrestest.Server(t, path)
	answered := make(chan struct{})
	r.answer = func(http.ResponseWriter, string, int) bool { <-answered; return false }
	d := draft(urls(1))
	d.Cap = 1
	looks := 0
	s := noerr.Try(r.Run(t.Context(), r.start(t, d).ID, func(s batch.State) {
		if s.Flying == 0 {
			return
		}
		switch looks++; looks {
		case 2: // as others do with a worker that they have not heard of
			noerr.Must(t, noerr.From(server.Pool.Exec(t.Context(), "UPDATE batch_workers SET reserved = 0")))
		case 4:
			if s.Reserved != 32*1_500_000 {
				t.Errorf("it holds %d", s.Reserved)
			}
			close(answered)
		}
	})).Must(t)
	if s.State != store.Done || s.Reserved != 0 || s.Spent != 1_500_000 {
		t.Errorf("%s: reserved %d, spent %d", s.State, s.Reserved, s.Spent)
	}
}
