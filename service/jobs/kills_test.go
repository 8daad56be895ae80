package jobs

import (
	"bufio"
	"cmp"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

// inputOf is the input of a job in the body of a POST.
var inputOf = regexp.MustCompile(`https://example\.com/[0-9]+-[0-9]+`)

// posts is a service that starts a job for each POST and remembers them.
type posts struct {
	mu      sync.Mutex
	count   map[string]int // by input
	arrived chan struct{}
}

func (p *posts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	input := string(inputOf.Find(body))
	p.mu.Lock()
	p.count[input]++
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default: // nobody waits for so many
	}
	select {
	case <-time.After(rand.N(2 * time.Millisecond)): // kills before the answer are to happen too
	case <-r.Context().Done():
	}
	_, _ = io.WriteString(w, `{"snapshot_id":"`+snapshotOf(input)+`"}`)
}

func snapshotOf(input string) string { return "sd_" + filepath.Base(input) }

// TestNoKillStartsAJobTwiceOrLosesOne kills a process that starts one job after another, at
// random moments; ZONEDECK_KILLS says how often. docs/reliability.md has the figures.
func TestNoKillStartsAJobTwiceOrLosesOne(t *testing.T) {
	kills := noerr.Try(strconv.Atoi(cmp.Or(os.Getenv("ZONEDECK_KILLS"), "8"))).Must(t)
	service := &posts{count: map[string]int{}, arrived: make(chan struct{}, 64)}
	p := servicetest.API(t, service.ServeHTTP)
	p.Local = true
	dir := t.TempDir()
	var acknowledged []string
	settled := 0
	for range kills {
		acknowledged = append(acknowledged, killOnce(t, service, dir, p.BaseURL)...)
		settled += recoverOnce(t, dir)
	}

	l, notice, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil || notice != "" {
		t.Fatalf("%v, %q", err, notice)
	}
	defer l.Close()
	c := newRunner(t, p, func(o *Config) { o.Ledger = l })
	accepted := map[string]bool{}
	service.mu.Lock()
	defer service.mu.Unlock()
	for input, n := range service.count {
		if n != 1 {
			t.Errorf("%d POSTs for %s", n, input)
		}
		same, err := c.SameInputs(t.Context(), triggerOf(input), time.Hour)
		switch {
		case err != nil || len(same) != 1:
			t.Errorf("%s was sent, and the ledger has %+v, %v", input, same, err)
		case same[0].State == model.JobAccepted && same[0].Snapshot == snapshotOf(input):
			accepted[input] = true
		case same[0].State != model.JobMayHave:
			t.Errorf("%s was sent, and is %s with %q", input, same[0].State, same[0].Snapshot)
		}
	}
	for _, input := range acknowledged {
		if !accepted[input] {
			t.Errorf("%s was told to be accepted, and is not in the ledger as such", input)
		}
	}
	list, total, err := l.Jobs(t.Context(), 1<<20)
	if err != nil || len(list) != total {
		t.Fatalf("%d of %d jobs, %v", len(list), total, err)
	}
	states := map[model.JobState]int{}
	for _, job := range list {
		states[job.State]++
	}
	if states[model.JobAccepted] != len(accepted) || states[model.JobIntent]+states[model.JobSending] > 0 {
		t.Errorf("the service accepted %d jobs, the ledger has %v", len(accepted), states)
	}
	t.Logf("%d kills, %d jobs, %d POSTs, %d jobs settled after a kill: %v", kills, total, len(service.count), settled, states)
}

// killOnce starts a process and kills it, soon after its start or after some POSTs. It
// returns the inputs of the jobs that the process knew to be accepted.
func killOnce(t *testing.T, service *posts, dir, url string) (acknowledged []string) {
	t.Helper()
	for len(service.arrived) > 0 {
		<-service.arrived
	}
	out, kill := startVictim(t, "triggers", dir, url)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			acknowledged = append(acknowledged, lines.Text())
		}
	}()
	pause := rand.N(100 * time.Millisecond)
	if rand.N(4) > 0 {
		pause = rand.N(5 * time.Millisecond)
		for range 1 + rand.N(8) {
			select {
			case <-service.arrived:
			case <-time.After(30 * time.Second):
				t.Fatal("no POST came")
			}
		}
	}
	<-time.After(pause)
	kill()
	<-read
	return acknowledged
}

// recoverOnce does what the next console does at its start.
func recoverOnce(t *testing.T, dir string) (settled int) {
	t.Helper()
	l, notice, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil || strings.Contains(notice, "cut") || strings.Contains(notice, "could not be read") || strings.Contains(notice, "damaged") {
		t.Fatalf("%v, %q", err, notice)
	}
	defer l.Close()
	jobs := noerr.Try(l.Recover(t.Context())).Must(t)
	return len(jobs)
}
