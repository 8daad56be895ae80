package jobs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

// victimEnv turns the test binary into a process that is killed. Its value names what
// the process does; victimDir and victimURL name the folder and the service it uses.
const (
	victimEnv = "ZONEDECK_SERVICE_VICTIM"
	victimDir = "ZONEDECK_SERVICE_VICTIM_DIR"
	victimURL = "ZONEDECK_SERVICE_VICTIM_URL"
	victimKey = "ZONEDECK_SERVICE_VICTIM_KEY" // the key's value; without one it is the tests'
)

// victim does its work until it is killed, or for some minutes.
func victim(role string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	switch role {
	case "trigger":
		err = victimTrigger(ctx)
	case "triggers":
		err = victimTriggers(ctx)
	case "download":
		err = victimDownload(ctx)
	case "download once":
		if err = downloadOnce(ctx); err == nil {
			return 0
		}
	case "follow":
		err = victimFollow(ctx)
	case "emulator":
		err = victimEmulator(ctx)
	}
	fmt.Fprintln(os.Stderr, "the victim ended by itself:", err)
	return 1
}

func victimTrigger(ctx context.Context) error {
	c, err := victimRunner(ctx)
	if err != nil {
		return err
	}
	_, err = c.Trigger(ctx, triggerOf("https://example.com/1"))
	return err
}

// victimTriggers starts one job after another, and prints the input of each that was
// accepted.
func victimTriggers(ctx context.Context) error {
	c, err := victimRunner(ctx)
	for n := 0; err == nil; n++ {
		var job model.Job
		r := triggerOf(fmt.Sprintf("https://example.com/%d-%d", os.Getpid(), n))
		if job, err = c.Trigger(ctx, r); job.State == model.JobAccepted {
			fmt.Println(r.Inputs[0].URL)
		}
	}
	return err
}

func victimDownload(ctx context.Context) error {
	c, err := victimRunner(ctx)
	if err != nil {
		return err
	}
	job, err := c.Trigger(ctx, triggerOf("https://example.com/1"))
	if err == nil {
		_, err = c.Download(ctx, job.ID, Destination{File: filepath.Join(os.Getenv(victimDir), "results"), Format: "json"}, nil)
	}
	return err
}

func triggerOf(address string) model.TriggerRequest {
	return model.TriggerRequest{Dataset: "gd_x", Inputs: []model.JobInput{{URL: address}}}
}

// victimRunner has a ledger that nothing closes but the process's end.
func victimRunner(ctx context.Context) (*Runner, error) {
	j, _, err := ledger.Open(ctx, filepath.Join(os.Getenv(victimDir), "ledger.db"), time.Now)
	if err != nil {
		return nil, err
	}
	p := servicetest.Profile(os.Getenv(victimURL))
	p.Local = true // without the rate of a key
	return New(Config{
		Source: servicetest.SourceFor(p),
		Wire:   exchange.New(exchange.Config{}), Ledger: j,
	}), nil
}

func victimEmulator(ctx context.Context) error {
	sc := scenario.Demo()
	sc.PageDelay = 10 * time.Millisecond
	s, err := emulator.Start(ctx, emulator.Options{StateDir: os.Getenv(victimDir), ProxyAddr: "127.0.0.1:0", Scenario: sc})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Ready()); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Shutdown(context.Background())
}

// startVictim starts the process; kill ends it as the kernel does when memory
// runs out.
func startVictim(t *testing.T, role, dir, url string) (out io.Reader, kill func()) {
	t.Helper()
	exe := noerr.Try(os.Executable()).Must(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), victimEnv+"="+role, victimDir+"="+dir, victimURL+"="+url, "GORACE=atexit_sleep_ms=0") // else a child under the race detector waits a second before it ends
	cmd.Stderr = os.Stderr
	stdout := noerr.Try(cmd.StdoutPipe()).Must(t)
	noerr.Must(t, cmd.Start())
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
	}
	t.Cleanup(kill)
	return stdout, kill
}

func TestAKillInTheMiddleOfATriggerLeavesOnePostAndAJobThatMayHaveStarted(t *testing.T) {
	var posts atomic.Int32
	arrived := make(chan struct{}, 8)
	p := servicetest.API(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
		arrived <- struct{}{}
		<-r.Context().Done() // no answer before the caller is dead
	})
	p.Local = true // as the victim's
	dir := t.TempDir()
	_, kill := startVictim(t, "trigger", dir, p.BaseURL)
	select {
	case <-arrived:
	case <-time.After(2 * time.Minute): // ends a hang
		t.Fatal("no POST came")
	}
	j, notice, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil || notice != "" {
		t.Fatalf("%v, %q", err, notice)
	}
	defer j.Close()
	history, _ := servicetest.Journal(t)
	c := newRunner(t, p, func(o *Config) { o.Ledger, o.Journal = j, history })
	if settled, err := c.Recover(t.Context()); err != nil || len(settled) != 0 {
		t.Fatalf("a job of a process that is alive was settled: %+v, %v", settled, err)
	}
	kill()
	settled, err := c.Recover(t.Context())
	if err != nil || len(settled) != 1 || settled[0].State != model.JobMayHave || settled[0].Dataset != "gd_x" {
		t.Fatalf("%+v, %v", settled, err)
	}
	if fault := settled[0].Fault; !reflect.DeepEqual(fault, model.TriggerUnseen(fault.At)) || fault.At.IsZero() {
		t.Errorf("the verdict on it: %+v", fault)
	}
	lines, err := history.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryJob})
	if err != nil || len(lines) != 1 {
		t.Fatalf("%+v, %v", lines, err)
	}
	const told = "job-1 gd_x, 1 input: may have started: the console ended while the request was on its way; it is not sent again by itself" +
		" · next: look for the job in the service's list before you launch it again: it may have started"
	if lines[0].Text != told || lines[0].Class != model.ClassOutside {
		t.Errorf("%s: %s", lines[0].Class, lines[0].Text)
	}
	if again, err := c.Recover(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("settled twice: %+v, %v", again, err)
	}
	same, err := c.SameInputs(t.Context(), triggerOf("https://example.com/1"), time.Hour)
	if err != nil || len(same) != 1 {
		t.Errorf("a trigger of the same inputs would not be warned of: %+v, %v", same, err)
	}
	if n := posts.Load(); n != 1 {
		t.Errorf("%d POSTs, want one", n)
	}
}

func TestAJobOutlivesTheEmulatorThatIsKilledUnderIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	out, kill := startVictim(t, "emulator", dir, "")
	line := noerr.Try(bufio.NewReader(out).ReadBytes('\n')).Must(t)
	var ready emulator.Ready
	noerr.Must(t, json.Unmarshal(line, &ready))
	var base atomic.Value
	base.Store(ready.API)
	keys := map[string]account.Key{}
	for _, k := range ready.Keys {
		keys[k.Name] = k
	}
	ledgerOf, _ := withLedger(t)
	c := newRunner(t, model.Profile{}, ledgerOf, func(o *Config) {
		o.Source = servicetest.Source{Base: o.Source, ProfileBy: func(context.Context) (model.Profile, error) {
			p := servicetest.Profile(base.Load().(string))
			p.Local = true
			return p, nil
		}}
		o.Source = servicetest.Source{Base: o.Source, KeyBy: func(name string) (model.Key, bool) {
			return model.Key{Name: name, Level: model.LevelUser, Secret: name}, true
		}}
		o.Source = servicetest.Source{Base: o.Source, SecretBy: func(_ context.Context, ref string) (keystore.Secret, error) {
			return keystore.NewSecret(keys[ref].Value), nil
		}}
		o.DownloadsDir = t.TempDir()
	})
	const n = 300
	r := model.TriggerRequest{Dataset: "gd_products"}
	for i := range n {
		r.Inputs = append(r.Inputs, model.JobInput{URL: fmt.Sprintf("http://lab.test/product/%d?n=%d", i%12+1, i)})
	}
	job, err := c.Trigger(ctx, r)
	if err != nil || job.State != model.JobAccepted {
		t.Fatalf("%+v, %v", job, err)
	}
	var once sync.Once
	job, err = c.Watch(ctx, job.ID, func(j model.Job) {
		if j.Done < 10 || j.State.Final() {
			return
		}
		once.Do(func() { // in the middle of the job
			kill()
			s, err := emulator.Start(ctx, emulator.Options{StateDir: dir, ProxyAddr: "127.0.0.1:0", CDPAddr: "127.0.0.1:0"})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { noerr.Want(t, s.Shutdown(context.WithoutCancel(ctx))) })
			if notes := s.Ready().Notes; len(notes) > 0 {
				t.Errorf("the state was damaged: %q", notes)
			}
			base.Store(s.Ready().API)
		})
	})
	if err != nil || job.State != model.JobReady || job.Done != n || job.Records != n {
		t.Fatalf("%+v, %v", job, err)
	}
	if base.Load() == ready.API {
		t.Error("the job ended before the emulator was killed")
	}
	if job, err = c.Download(ctx, job.ID, Destination{Format: "ndjson"}, nil); err != nil || len(urlsIn(t, job.File, "ndjson")) != n {
		t.Errorf("%+v, %v", job, err)
	}
}
