package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"zonedeck/internal/noerr"
	"zonedeck/internal/schematest"
	"zonedeck/internal/testrun"
	"zonedeck/keystore"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

// TestMain lets the test binary stand in for the program in scripts.
func TestMain(m *testing.M) {
	// Scripts and walks mostly wait for sockets and files: run more at once than there are processors.
	testrun.Parallel(6)
	testscript.Main(m, map[string]func(){
		"zonedeck": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			code := Main(ctx, OS())
			stop()
			os.Exit(code)
		},
	})
}

// TestScripts runs every command as a user would: in a new process, with an
// empty home and real sockets. Scripts that need a separate service find an
// emulator and a few broken services in their environment.
func TestScripts(t *testing.T) {
	t.Parallel()
	server, err := emulator.Start(t.Context(), emulator.Options{StateDir: t.TempDir(), ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, server.Shutdown(context.WithoutCancel(t.Context()))) })
	ready := server.Ready()
	hanging, polled := make(chan struct{}, 1), make(chan struct{}, 1)
	broken := brokenService(t, hanging, polled)
	if schemas, err = filepath.Abs(filepath.Join("..", "..", "docs", "schema")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			for _, v := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
				env.Setenv("XDG_"+v+"_HOME", filepath.Join(env.WorkDir, strings.ToLower(v)))
			}
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command under the race detector waits a second before it ends
			env.Setenv("API", ready.API)
			env.Setenv("PROXY", ready.Proxy)
			env.Setenv("PROXY_PORT", ready.Proxy[strings.LastIndex(ready.Proxy, ":")+1:])
			env.Setenv("CA", ready.CA)
			env.Setenv("BROKEN", broken)
			for _, k := range ready.Keys {
				name := strings.ReplaceAll(k.Name, "-", "_")
				env.Setenv("KEY_"+name, k.Value)
				env.Setenv("FINGERPRINT_"+name, keystore.NewSecret(k.Value).Fingerprint())
			}
			for _, z := range ready.Zones {
				env.Setenv("PASSWORD_"+z.Name, z.Password)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"awaitcall": func(ts *testscript.TestScript, _ bool, _ []string) {
				select {
				case <-hanging:
				case <-time.After(time.Minute):
					ts.Fatalf("nothing was sent to $BROKEN/hangs")
				}
			},
			"awaitpoll": func(ts *testscript.TestScript, _ bool, _ []string) {
				select {
				case <-polled:
				case <-time.After(time.Minute):
					ts.Fatalf("$BROKEN/polled was not asked for a job's state")
				}
			},
			"age":          age,
			"awaitfile":    awaitFile,
			"awaitout":     awaitOut,
			"emulator":     runEmulator,
			"exits":        exits,
			"expand":       expand,
			"holds":        holds,
			"keepline":     keepLine,
			"keepid":       keepID,
			"keepsnapshot": keepSnapshot,
			"matches":      matches,
		},
	})
}

// schemas is the folder of the JSON schemas.
var schemas string

// runEmulator runs "emulator", the script's embedded emulator until the script ends, or
// "emulator SPAN", which moves its time forward.
func runEmulator(ts *testscript.TestScript, _ bool, args []string) {
	_ = os.Remove(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "zonedeck", "emulator.json")) // ends the one of the commands before
	options := emulator.Options{StateDir: filepath.Join(ts.Getenv("XDG_DATA_HOME"), "zonedeck", "emulator"), ProxyAddr: "127.0.0.1:0"}
	server, err := emulator.Start(context.Background(), options)
	for patience := time.Now().Add(30 * time.Second); errors.Is(err, emulator.ErrStateInUse) && time.Now().Before(patience); {
		server, err = emulator.Start(context.Background(), options)
	}
	ts.Check(err)
	end := func() { ts.Check(server.Shutdown(context.Background())) }
	if len(args) == 0 {
		ts.Defer(end)
		return
	}
	by, err := time.ParseDuration(args[0])
	ts.Check(err)
	place := rehearsal.Place{URL: server.Ready().Control, Token: keystore.NewSecret(server.Ready().ControlToken)}
	_, err = rehearsal.New(func(context.Context) (rehearsal.Place, error) { return place, nil }).Advance(context.Background(), by)
	end()
	ts.Check(err)
}

// exits runs "exits CODE PROGRAM ARG..." and compares the exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// expand replaces $NAME in files of the script.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// age makes the files that match a pattern an hour old.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age PATTERN")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) == 0 {
		ts.Fatalf("there is no %s", args[0])
	}
	before := time.Now().Add(-time.Hour)
	for _, name := range found {
		ts.Check(os.Chtimes(name, before, before))
	}
}

// awaitFile waits until a file matches a pattern.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitfile PATTERN")
	}
	tick, late := time.NewTicker(5*time.Millisecond), time.After(30*time.Second) // which only ends a hang
	defer tick.Stop()
	for {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(found) > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("there is no %s", args[0])
		}
	}
}

// awaitOut runs "awaitout PATTERN PROGRAM ARG..." until its standard output matches.
func awaitOut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: awaitout PATTERN PROGRAM ARG...")
	}
	want, late := regexp.MustCompile(args[0]), time.After(time.Minute) // which only ends a hang
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-late:
			ts.Fatalf("it did not print %s", args[0])
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// holds compares the names in a folder.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: holds FOLDER NAME...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, args[1:]) {
		ts.Fatalf("%s holds %q, want %q", args[0], names, args[1:])
	}
}

// keepLine puts the only line of a file (or of stdout) into a variable.
func keepLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keepline NAME FILE")
	}
	line := strings.TrimSpace(ts.ReadFile(args[1]))
	if line == "" || strings.Contains(line, "\n") {
		ts.Fatalf("%s is not one line: %q", args[1], line)
	}
	ts.Setenv(args[0], line)
}

// keepID puts the identifier of the printed job into a variable.
func keepID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keepid NAME FILE")
	}
	var job struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &job))
	ts.Setenv(args[0], job.ID)
}

// keepSnapshot puts the service's identifier of the printed job into a variable.
func keepSnapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keepsnapshot NAME FILE")
	}
	var job struct{ Snapshot string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &job))
	ts.Setenv(args[0], job.Snapshot)
}

// matches checks one JSON object, or each line, against a schema of docs/schema.
func matches(ts *testscript.TestScript, neg bool, args []string) {
	lines := len(args) > 0 && args[0] == "-lines"
	if lines {
		args = args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: matches [-lines] SCHEMA FILE")
	}
	objects := []string{ts.ReadFile(args[1])}
	if lines {
		objects = strings.Split(strings.TrimSpace(objects[0]), "\n")
	}
	for _, o := range objects {
		ts.Check(schematest.Check(filepath.Join(schemas, args[0]+".json"), []byte(o)))
	}
}

// brokenService answers as no healthy service does. The first path segment of the
// base address says how.
// hanging hears of a call to the service that never answers, polled of the first
// question for a job's state under /polled.
func brokenService(t *testing.T, hanging, polled chan<- struct{}) string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hangs/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		hanging <- struct{}{}
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /stalls/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 3<<20))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /image/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n")
	})
	mux.HandleFunc("/down/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Internal server error", http.StatusInternalServerError)
	})
	mux.HandleFunc("POST /silent/request", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "a page, and no word about the target")
	})
	mux.HandleFunc("POST /fast/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		http.Error(w, "You have too many running jobs for this dataset", http.StatusTooManyRequests)
	})
	mux.HandleFunc("/answers/{status}/", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.PathValue("status"))
		if err != nil {
			panic(err)
		}
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "90")
		}
		http.Error(w, "no luck", status)
	})
	mux.HandleFunc("/drops/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("POST /fails/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_fails"}`)
	})
	mux.HandleFunc("GET /fails/datasets/v3/progress/sd_fails", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_fails","dataset_id":"gd_products","status":"failed","error_message":"Failed to trigger collector"}`)
	})
	const previews = "/fails/datasets/deep_lookup/v1/preview"
	mux.HandleFunc("POST "+previews, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"preview_id":"dld_fails"}`) })
	mux.HandleFunc("GET "+previews+"/dld_fails", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"preview_id":"dld_fails","status":"failed","error":"nothing was found"}`)
	})
	mux.HandleFunc("POST /pages/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"snapshot_id":"sd_pages"}`) })
	mux.HandleFunc("GET /pages/datasets/v3/progress/sd_pages", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status":"ready"}`) })
	mux.HandleFunc("GET /pages/datasets/v3/snapshot/sd_pages", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<html>") })
	// Jobs of which something else comes in place of rows.
	inPlace := map[string]string{"sd_gd_building": `{"status":"building"}`, "sd_gd_text": "Snapshot is not ready", "sd_gd_none": "", "sd_gd_gzip": "\x1f\x8b\x08\x00", "sd_gd_br": "\x0b\x02\x80{\x03\xff"}
	mux.HandleFunc("POST /inplace/datasets/v3/trigger", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"snapshot_id":%q}`, "sd_"+r.URL.Query().Get("dataset_id"))
	})
	mux.HandleFunc("GET /inplace/datasets/v3/progress/{id}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"ready","inputs":1,"records":"0"}`)
	})
	mux.HandleFunc("GET /inplace/datasets/v3/snapshot/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, inPlace[r.PathValue("id")])
	})
	mux.HandleFunc("POST /forever/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"job_id":"j_forever","snapshot_id":"sd_forever"}`)
	})
	mux.HandleFunc("GET /forever/datasets/v3/progress/sd_forever", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_forever","dataset_id":"gd_products","status":"running"}`)
	})
	mux.HandleFunc("POST /forbids/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_forbids"}`)
	})
	mux.HandleFunc("GET /forbids/datasets/v3/progress/sd_forbids", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Invalid credentials", http.StatusUnauthorized)
	})
	mux.HandleFunc("POST /unaskable/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_unaskable"}`)
	})
	mux.HandleFunc("GET /unaskable/datasets/v3/progress/sd_unaskable", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Bad request", http.StatusBadRequest)
	})
	mux.HandleFunc("POST /polled/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_polled"}`)
	})
	mux.HandleFunc("GET /polled/datasets/v3/progress/sd_polled", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case polled <- struct{}{}:
		default:
		}
		fmt.Fprintln(w, `{"snapshot_id":"sd_polled","dataset_id":"gd_products","status":"running"}`)
	})
	// Jobs whose answer is lost. Of gd_products the service lists the job, which has one input when it is looked for and two when
	// it is taken; of gd_pages it lists another machine's job of the same time, and for a second question the job, too.
	var sent atomic.Value
	mux.HandleFunc("POST /changes/datasets/v3/trigger", func(http.ResponseWriter, *http.Request) {
		sent.Store(time.Now().Format(time.RFC3339Nano))
		panic(http.ErrAbortHandler)
	})
	var listed atomic.Int32
	mux.HandleFunc("GET /changes/datasets/v3/snapshots", func(w http.ResponseWriter, r *http.Request) {
		ids := []string{"sd_changes"}
		if r.URL.Query().Get("dataset_id") == "gd_pages" {
			ids = []string{"sd_theirs", "sd_ours"}[:min(int(listed.Add(1)), 2)]
		}
		for i, id := range ids {
			ids[i] = fmt.Sprintf(`{"id":%q,"status":"ready","created":%q}`, id, sent.Load())
		}
		fmt.Fprintf(w, "[%s]", strings.Join(ids, ","))
	})
	var looked atomic.Int32
	mux.HandleFunc("GET /changes/datasets/v3/progress/{id}", func(w http.ResponseWriter, r *http.Request) {
		inputs := 1
		switch id := r.PathValue("id"); {
		case id == "sd_changes":
			inputs = int(2 - looked.Add(1)%2)
		case !strings.HasPrefix(id, "sd_"):
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"status":"ready","inputs":%d,"records":1}`, inputs)
	})
	mux.HandleFunc("GET /changes/datasets/v3/snapshot/{id}", func(w http.ResponseWriter, r *http.Request) {
		input := "http://lab.test/ok"
		if r.PathValue("id") == "sd_theirs" {
			input = "http://lab.test/theirs"
		}
		fmt.Fprintf(w, "{\"title\":\"x\",\"input\":{\"url\":%q}}\n", input)
	})
	mux.HandleFunc("POST /cuts/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_cuts"}`)
	})
	mux.HandleFunc("GET /cuts/datasets/v3/snapshot/sd_cuts/parts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"parts":3}`)
	})
	var cut atomic.Int32 // how often the second part was cut
	mux.HandleFunc("GET /cuts/datasets/v3/snapshot/sd_cuts", func(w http.ResponseWriter, r *http.Request) {
		part := r.URL.Query().Get("part")
		fmt.Fprintf(w, "{\"part\":%s,\"n\":1}\n", part)
		if part == "2" && cut.Add(1) <= 2 {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "{\"part\":%s,\"n\":2}\n", part)
	})
	mux.HandleFunc("POST /short/datasets/v3/trigger", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"snapshot_id":"sd_short"}`)
	})
	mux.HandleFunc("GET /short/datasets/v3/progress/sd_short", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"status":"ready","records":3}`)
	})
	mux.HandleFunc("GET /short/datasets/v3/snapshot/sd_short", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"input":{"url":"http://lab.test/product/1"},"name":"lamp"}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
