package ledger

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

// crashEnv names the ledger that a child process writes to until it is killed.
const crashEnv = "ZONEDECK_LEDGER_CRASH"

// crashChild writes jobs as fast as it can, and prints the id of each
// job once its acceptance is acknowledged.
func crashChild() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, _, err := Open(ctx, os.Getenv(crashEnv), time.Now)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for i := 0; ctx.Err() == nil; i++ {
		job, err := l.Begin(ctx, model.Job{Dataset: "d", Inputs: i}, "", nil, nil)
		if err == nil {
			_, err = l.Change(ctx, job.ID, func(job *model.Job) (string, error) {
				job.State = model.JobSending
				return "", nil
			})
		}
		if err == nil && i%2 == 0 {
			err = l.Accepted(job.ID, model.JobNames{Snapshot: "sd_" + job.ID})
		}
		if err == nil && i%2 == 0 {
			_, err = l.Change(ctx, job.ID, acceptAs("sd_"+job.ID))
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println(job.ID, i%2 == 0)
	}
	return 0
}

func TestKilledInTheMiddleOfWritesItLosesNoAcknowledgedJob(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	exe := noerr.Try(os.Executable()).Must(t)
	acknowledged := map[string]bool{}
	for round := range 3 {
		child := exec.CommandContext(t.Context(), exe, "-test.run=^$")
		child.Env = append(os.Environ(), crashEnv+"="+path, "GORACE=atexit_sleep_ms=0") // without this, the race detector delays the child's end by a second
		out := noerr.Try(child.StdoutPipe()).Must(t)
		noerr.Must(t, child.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			id, accepted, ok := strings.Cut(lines.Text(), " ")
			if !ok || id == "error" {
				t.Errorf("the child says %q", lines.Text())
				break
			}
			acknowledged[id] = accepted == "true"
			if n == 25+10*round {
				noerr.Must(t, child.Process.Kill())
			}
		}
		_ = child.Wait() // it was killed
	}
	if len(acknowledged) < 60 {
		t.Fatalf("only %d jobs were acknowledged", len(acknowledged))
	}
	after, notice, err := open(t, path, clock())
	noerr.Must(t, err)
	defer after.Close()
	// The last job may have its identifier in the log alone. Nothing else was lost.
	if notice != "" && !strings.HasSuffix(notice, ": 1 job identifier.") {
		t.Errorf("unexpected notice: %s", notice)
	}
	var verdict string
	if err := raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %s, %v", verdict, err)
	}
	for id, accepted := range acknowledged {
		job, err := after.Job(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if accepted && (job.State != model.JobAccepted || job.Snapshot != "sd_"+id) || !accepted && job.State != model.JobSending {
			t.Errorf("%s is %s with %q", id, job.State, job.Snapshot)
		}
	}
	// Recover settles the dead process's jobs: those in sending may have started.
	noerr.Must(t, noerr.From(after.Recover(t.Context())))
	for id, accepted := range acknowledged {
		if job, err := after.Job(t.Context(), id); err == nil && !accepted && job.State != model.JobMayHave {
			t.Errorf("%s is %s after Recover", id, job.State)
		}
	}
}
