//go:build unix

package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/state/statetest"
)

// dyingEnv turns the test binary into a receiver that kills itself; its value is a dying as JSON.
const dyingEnv = "ZONEDECK_WEBHOOK_DYING"

// dying configures such a process.
type dying struct {
	Dir string
	// Die is the step at which the process kills itself; 0 for never.
	Die int64
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(dyingEnv); raw != "" {
		fmt.Fprintln(os.Stderr, receiveAndDie(raw))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// receiveAndDie receives until it kills itself or is killed.
func receiveAndDie(raw string) error {
	var d dying
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		return err
	}
	ctx := context.Background()
	in, _, err := Open(ctx, Options{File: filepath.Join(d.Dir, "webhooks.db"), Dir: filepath.Join(d.Dir, "webhooks"), Clock: clock(time.Now)})
	if err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	var steps atomic.Int64
	_, err = Listen(ctx, listener.Addr().String(), false, Config{Inbox: in, listener: listener, disk: rigged{at: func(string) {
		if steps.Add(1) == d.Die {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // until it is dead
		}
	}}})
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
	return errors.New("the test has ended")
}

// begin starts such a process. The test owns the listener, so no other program can take the
// address between two processes.
func (d dying) begin(t *testing.T, listener *os.File) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(d)
	noerr.Must(t, err)
	exe, err := os.Executable()
	noerr.Must(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), dyingEnv+"="+string(raw), "GORACE=atexit_sleep_ms=0") // without this, the race detector delays the child's end by a second
	cmd.ExtraFiles = []*os.File{listener}
	noerr.Must(t, noerr.From(cmd.StdinPipe()))
	noerr.Must(t, cmd.Start())
	return cmd
}

// TestNoKillLosesOrDoublesAWebhook kills a receiver at each of its steps between receiving and
// answering, while the emulator delivers and tries again. ZONEDECK_WEBHOOK_KILLS says how often;
// docs/reliability.md has the figures.
func TestNoKillLosesOrDoublesAWebhook(t *testing.T) {
	postgrestest.OnFile(t)
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("ZONEDECK_WEBHOOK_KILLS"), "6"))
	noerr.Must(t, err)
	const steps = 5 // begin, write, sync, commit, answer
	killed, twice := 0, 0
	for i := range kills {
		seen := killedAt(t, int64(1+i%steps))
		killed++
		twice += seen - 1
	}
	t.Logf("%d kills; %d webhooks came twice, because they were stored and not answered", killed, twice)
}

func killedAt(t *testing.T, die int64) (seen int) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	noerr.Must(t, err)
	defer listener.Close()
	file, err := listener.File()
	noerr.Must(t, err)
	defer file.Close()
	d := dying{Dir: t.TempDir(), Die: die}
	first := d.begin(t, file)
	transport := &http.Transport{DisableKeepAlives: true}
	schedule := make([]time.Duration, 5000)
	for i := range schedule {
		schedule[i] = 10 * time.Millisecond
	}
	e, err := deliver.Open(t.Context(), deliver.Config{
		State: statetest.Open(t, ""), Send: transport.RoundTrip, Schedule: schedule, Log: slog.New(slog.DiscardHandler),
	})
	noerr.Must(t, err)
	e.Start()
	noerr.Must(t, e.Add(deliver.Message{Snapshot: "sd_1", Status: "ready", Kind: deliver.Notify, URL: "http://" + listener.Addr().String() + "/hook"}))
	_ = first.Wait()
	if status, ok := first.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("step %d: the receiver was not killed: %v", die, first.ProcessState)
	}
	d.Die = 0
	second := d.begin(t, file)
	end := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		list := e.List("sd_1")
		done = len(list) == 1 && list[0].Status == deliver.Done
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("step %d: %+v", die, list)
		}
	}
	noerr.Must(t, errors.Join(e.Close(), second.Process.Kill()))
	_ = second.Wait()
	in := openInbox(t, d.Dir)
	list, total, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || total != 1 {
		t.Fatalf("step %d: %d of them, %v: %+v", die, total, err, list)
	}
	raw, err := os.ReadFile(list[0].File)
	bodies, globErr := filepath.Glob(filepath.Join(in.dir, "body-*"))
	if err != nil || globErr != nil || !strings.Contains(string(raw), `"sd_1"`) || len(bodies) != 1 || list[0].Times > 2 {
		t.Errorf("step %d: %q, %v, %v, %+v", die, raw, err, bodies, list)
	}
	return list[0].Times
}
