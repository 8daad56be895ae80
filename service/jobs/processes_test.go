package jobs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/ledger"
	"zonedeck/service/rehearsal"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// Processes that follow the jobs of one ledger.

// hang only ends a test that would never end.
const hang = time.Minute

// victimFollow follows jobs, and prints one line for each thing it sees.
func victimFollow(ctx context.Context) error {
	rn, err := victimRunner(ctx)
	if err != nil {
		return err
	}
	q, err := work.OpenFile(ctx, filepath.Join(os.Getenv(victimDir), "work.db"), work.Options{Lease: time.Hour})
	if err != nil {
		return err
	}
	rn.cfg.Queues = servicetest.QueuesFunc(func(context.Context) (work.Queue, error) { return q, nil })
	if key := os.Getenv(victimKey); key != "" {
		rn.cfg.Source = servicetest.Source{Base: rn.cfg.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) { return keystore.NewSecret(key), nil }}
	}
	return rn.Follow(ctx, func(f Followed) { fmt.Println(f.Job.ID, f.Job.State, f.On) })
}

// inFlight puts n accepted jobs into the ledger of dir.
func inFlight(t *testing.T, dir string, n int) *ledger.Ledger {
	t.Helper()
	l := ledgerIn(t, dir)
	rn := newRunner(t, servicetest.Profile("http://nowhere.test"), func(c *Config) { c.Ledger = l })
	for range n {
		job := accepted(t, rn)
		noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.Snapshot = "sd_" + job.ID
			return "", nil
		})))
	}
	return l
}

func line1(t *testing.T, out io.Reader) {
	t.Helper()
	line := make(chan error, 1)
	go func() {
		r := bufio.NewReader(out)
		_, err := r.ReadString('\n')
		line <- err
		_, _ = io.Copy(io.Discard, r) // so that the process is not held up
	}()
	select {
	case err := <-line:
		noerr.Must(t, err)
	case <-time.After(hang):
		t.Fatal("the process said nothing")
	}
}

// asked is a service that counts the questions about each job.
type asked struct {
	mu    sync.Mutex
	times map[string]int
	at    map[string]int // questions that have no answer yet
	twice []string       // jobs that were asked for by two at once
}

func (a *asked) begin(r *http.Request) (id string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id = path.Base(r.URL.Path)
	a.times[id]++
	if a.at[id]++; a.at[id] > 1 {
		a.twice = append(a.twice, id)
	}
	return id, len(a.at)
}

func (a *asked) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at[id]--; a.at[id] == 0 {
		delete(a.at, id)
	}
}

func TestTwoProcessesNeverAskForTheSameJob(t *testing.T) {
	const jobs = 20
	a := &asked{times: map[string]int{}, at: map[string]int{}}
	both := make(chan struct{}) // closed when more questions wait than one process asks at a time
	var once sync.Once
	var answered sync.WaitGroup
	answered.Add(jobs)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		id, waiting := a.begin(r)
		defer a.end(id)
		if waiting == 2*atOnce {
			once.Do(func() { close(both) })
		}
		select {
		case <-both:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Retry-After", "3600")
		_, _ = io.WriteString(w, `{"status":"running"}`)
		answered.Done()
	})
	dir := t.TempDir()
	l := inFlight(t, dir, jobs)
	startVictim(t, "follow", dir, p.BaseURL)
	startVictim(t, "follow", dir, p.BaseURL)
	done := make(chan struct{})
	go func() { answered.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(hang):
		t.Fatalf("asked: %v", a.times)
	}
	eventually(t, "every job runs", func() bool {
		list := noerr.Try(l.InFlight(t.Context())).Must(t)
		running := 0
		for _, j := range list {
			if j.State == model.JobRunning {
				running++
			}
		}
		return running == jobs
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, n := range a.times {
		if n != 1 {
			t.Errorf("%s was asked for %d times, though the service wants to be left alone for an hour", id, n)
		}
	}
	if len(a.times) != jobs || len(a.twice) > 0 {
		t.Errorf("%d jobs were asked for, and by two at once: %v", len(a.times), a.twice)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.After(hang); !holds(); {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestTheJobOfAKilledProcessIsTakenOver(t *testing.T) {
	a := &asked{times: map[string]int{}, at: map[string]int{}}
	arrived := make(chan struct{}, 8)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		id, _ := a.begin(r)
		defer a.end(id)
		a.mu.Lock()
		first := a.times[id] == 1
		a.mu.Unlock()
		arrived <- struct{}{}
		if first {
			<-r.Context().Done() // until its process is dead
			return
		}
		_, _ = io.WriteString(w, `{"status":"ready"}`)
	})
	dir := t.TempDir()
	l := inFlight(t, dir, 1)
	_, kill := startVictim(t, "follow", dir, p.BaseURL)
	select {
	case <-arrived:
	case <-time.After(hang):
		t.Fatal("nobody asks")
	}
	out, _ := startVictim(t, "follow", dir, p.BaseURL)
	line1(t, out)
	kill()
	eventually(t, "another process has asked", func() bool {
		job, err := l.Job(t.Context(), "job-1")
		return err == nil && job.State == model.JobReady
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.times["sd_job-1"]; n != 2 {
		t.Errorf("it was asked for %d times", n)
	}
}

// TestTheEmulatorSeesOneQuestionForEachJobThatIsOver has jobs that are over before two
// processes begin to follow them: the first question about each is the last one.
func TestTheEmulatorSeesOneQuestionForEachJobThatIsOver(t *testing.T) {
	const jobs = 12
	sc := scenario.Demo()
	sc.PageDelay = time.Millisecond
	demo := servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: sc})
	dir := t.TempDir()
	l := ledgerIn(t, dir)
	rn := newRunner(t, demo.Profile, func(c *Config) { c.Ledger, c.Source = l, demo.Source(demo.Profile) })
	for i := range jobs {
		job, err := rn.Trigger(t.Context(), model.TriggerRequest{
			Dataset: "gd_pages", Inputs: []model.JobInput{{URL: fmt.Sprintf("http://lab.test/search?q=%d", i)}}, Key: "batch-user",
		})
		if err != nil || job.State != model.JobAccepted {
			t.Fatalf("%+v, %v", job, err)
		}
		call := noerr.Try(rn.callFor(t.Context(), job.ID)).Must(t)
		eventually(t, "the job is over", func() bool { // nothing of it goes into the ledger
			p, err := call.poll(t.Context())
			return err == nil && p.State == model.JobReady
		})
	}
	control := rehearsal.New(func(context.Context) (rehearsal.Place, error) {
		return rehearsal.Place{URL: demo.Control, Token: keystore.NewSecret(demo.Token)}, nil
	})
	before := progressAsked(t, control)
	key := noerr.Try(demo.Secret(t.Context(), "demo:key/batch-user")).Must(t)
	t.Setenv(victimKey, key.Reveal())
	startVictim(t, "follow", dir, demo.Profile.BaseURL)
	startVictim(t, "follow", dir, demo.Profile.BaseURL)
	eventually(t, "all jobs are ready", func() bool {
		list, err := l.InFlight(t.Context())
		return err == nil && len(list) == 0
	})
	if after := progressAsked(t, control); after-before != jobs {
		t.Errorf("the emulator was asked %d times about %d jobs", after-before, jobs)
	}
}

// progressAsked counts the questions about jobs in the emulator's journal.
func progressAsked(t *testing.T, c *rehearsal.Client) (n int) {
	t.Helper()
	newest := noerr.Try(c.Newest(t.Context(), 1000)).Must(t)
	for _, r := range newest.Requests {
		if strings.Contains(r.URL, "/progress/") {
			n++
		}
	}
	return n
}
