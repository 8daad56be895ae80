package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
)

// beta is an account whose service takes jobs. It reports on asked when it is asked for a job's state.
type beta struct {
	URL   string
	asked chan string // the Authorization of each question
}

func newBeta(t *testing.T) *beta {
	t.Helper()
	b := &beta{asked: make(chan string, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"snapshot_id":"sd_beta"}`
		if strings.Contains(r.URL.Path, "/progress/") {
			answer = `{"status":"running"}`
			b.asked <- r.Header.Get("Authorization")
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	b.URL = s.URL
	return b
}

// add writes the account into the files of a process, with its key behind BETA_KEY.
func (b *beta) add(t *testing.T, p Process) {
	t.Helper()
	paths := config.FindPaths(p.Getenv)
	for file, text := range map[string]string{
		paths.KeysFile(): "version = 1\n[[keys]]\nname = \"beta-main\"\nlevel = \"USER\"\nsecret = \"env:BETA_KEY\"\n",
		paths.ConfigFile(): "default_profile = \"" + model.LocalName + "\"\n[profiles.beta]\nbase_url = \"" + b.URL +
			"\"\ndialect = \"brightdata\"\nkey = \"beta-main\"\n",
	} {
		noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noerr.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

// launch launches a job of the account by a separate command that has the key.
func (b *beta) launch(t *testing.T, p Process) {
	t.Helper()
	var out, said strings.Builder
	env := p.Getenv
	p.Getenv = func(name string) string {
		if name == "BETA_KEY" {
			return "value-of-beta-0123456789"
		}
		return env(name)
	}
	p.Args, p.Stdin, p.Stdout, p.Stderr = []string{"--profile", "beta", "jobs", "trigger", "gd_products", "--input", "-"}, strings.NewReader("http://lab.test/1\n"), &out, &said
	if code := Main(t.Context(), p); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &said)
	}
}

func TestJobsOfAnAccountThatIsAddedWhileAnAgentIsServedAreFollowed(t *testing.T) {
	t.Parallel()
	b := newBeta(t)
	s := serve(t, map[string]string{"BETA_KEY": "value-of-beta-0123456789"}, "--allow-domain", "lab.test")
	b.add(t, s.process)
	b.launch(t, s.process)
	select {
	case sent := <-b.asked:
		if sent != "Bearer value-of-beta-0123456789" {
			t.Errorf("sent %q", sent)
		}
	case <-time.After(time.Minute):
		t.Fatal("nobody asked for the job")
	}
}

func TestThatJobsAreNotFollowedIsToldOnceForEachReason(t *testing.T) {
	var said strings.Builder
	told := (&app{Process: Process{Stderr: &said}}).warnOfJobs()
	of := func(id, profile string) model.Job {
		return model.Job{ID: id, Profile: profile, State: model.JobRunning}
	}
	refused := func(id string) error {
		return &exchange.CallError{Doing: "asking for " + id, Diagnosis: model.Diagnosis{Summary: "the key is rejected"}}
	}
	locked := errors.New("its key is locked")
	over := of("job-6", "gamma")
	over.State = model.JobFailed
	for _, e := range []jobs.Followed{
		{Job: of("job-1", "beta"), On: true},
		{Job: of("job-1", "beta"), Err: locked},
		{Job: of("job-2", "beta"), Err: locked},
		{Job: of("job-3", "acme"), Err: locked},
		{Job: of("job-4", "beta"), Err: refused("job-4")},
		{Job: of("job-5", "beta"), Err: refused("job-5")},
		{Job: over, Err: locked},
		{},
	} {
		told(e)
	}
	const want = "zonedeck: jobs of profile beta are not followed (for example job-1): its key is locked\n" +
		"zonedeck: jobs of profile acme are not followed (for example job-3): its key is locked\n" +
		"zonedeck: jobs of profile beta are not followed (for example job-4): the key is rejected\n"
	if said.String() != want {
		t.Errorf("%q", said.String())
	}
}

func TestAJobThatIsGivenUpIsToldOnce(t *testing.T) {
	job := model.Job{ID: "job-1", Profile: "acme", State: model.JobRunning, Snapshot: "sd_1"}
	given := job
	given.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.NotOver(24*time.Hour, ""), GivenUp: true}
	over := &exchange.CallError{Doing: "following job job-1", Diagnosis: given.Fault.Diagnosis, Text: given.Fault.Diagnosis.Summary}
	var said strings.Builder
	lines := followLines{task: &task{app: &app{json: true, Process: Process{Stdout: &said, Now: time.Now}}}, profile: "acme", last: map[string]jobs.Followed{}}
	for _, e := range []jobs.Followed{
		{Job: job, On: true},
		{Job: given, On: true, Err: over}, // its item is still in the queue
		{Job: given, Err: over},
	} {
		noerr.Must(t, lines.print(e))
	}
	var events []string
	for line := range strings.Lines(said.String()) {
		var e struct{ Event string }
		noerr.Must(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e.Event)
	}
	if want := []string{"followed", "not_followed"}; !slices.Equal(events, want) {
		t.Errorf("%q", events)
	}
}
