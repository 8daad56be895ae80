package journal

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

	"zonedeck/model"
)

// crashEnv names the journal that a child process writes until it is killed.
const crashEnv = "ZONEDECK_JOURNAL_CRASH"

// crashChild writes history and jobs as fast as it can, and prints the id of a
// job once its acceptance was acknowledged.
func crashChild() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	j, _, err := Open(ctx, os.Getenv(crashEnv), time.Now)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for i := 0; ctx.Err() == nil; i++ {
		for n := range 20 {
			if err := j.PutFetch(ctx, "local", sampleFetch(fmt.Sprintf("f%d-%d", i, n))); err != nil {
				fmt.Println("error", err)
				return 1
			}
		}
		job, err := j.BeginJob(ctx, model.Job{Dataset: "d", Inputs: i}, "")
		if err == nil {
			_, err = j.ChangeJob(ctx, job.ID, func(job *model.Job) (JobChange, error) {
				job.State = model.JobSending
				return JobChange{}, nil
			})
		}
		if err == nil && i%2 == 0 {
			_, err = j.ChangeJob(ctx, job.ID, accept("sd_"+job.ID))
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
	path := filepath.Join(t.TempDir(), "journal.db")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Ten thousand rows to begin with, so that the kill meets a file of some size.
	j := openTest(t, path)
	fillRows(t, j, 10_000)
	acknowledged := map[string]bool{}
	for round := range 3 {
		child := exec.CommandContext(t.Context(), exe, "-test.run=^$")
		child.Env = append(os.Environ(), crashEnv+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			id, accepted, ok := strings.Cut(lines.Text(), " ")
			if !ok || id == "error" {
				t.Errorf("the child says %q", lines.Text())
				break
			}
			acknowledged[id] = accepted == "true"
			if n == 25+10*round {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // it was killed
	}
	if len(acknowledged) < 60 {
		t.Fatalf("only %d jobs were acknowledged", len(acknowledged))
	}
	after := openTest(t, path)
	var verdict string
	if err := after.w.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
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
	// The dead are settled: what was in sending may have started.
	if _, err := after.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, accepted := range acknowledged {
		if job, err := after.Job(t.Context(), id); err == nil && !accepted && job.State != model.JobMayHave {
			t.Errorf("%s is %s after Recover", id, job.State)
		}
	}
}

func fillRows(t testing.TB, j *Journal, n int) {
	t.Helper()
	zones := []string{"unlocker_demo", "serp_demo", "browser_demo", "residential_demo"}
	classes := model.Classes()
	for i := range n {
		a := model.Activity{
			At: testTime.Add(time.Duration(i) * time.Second), Kind: model.ActivityFetch, Profile: "local",
			Zone: zones[i%len(zones)], URL: fmt.Sprintf("http://lab.test/shop?page=%d", i), Via: model.ViaAPI, Key: "batch-user",
			Class: classes[i%len(classes)], Status: 200, Bytes: 18_000, Total: 400 * time.Millisecond,
			Ref: fmt.Sprintf("f%d", i), Text: "the target answered as asked",
		}
		if err := j.PutActivity(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}
