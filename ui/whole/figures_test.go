package whole

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator"
)

// The figures of docs/performance.md that concern the whole program:
//
//	go test -run '^$' -bench . -benchtime 50x ./ui/whole
//
// Where two programs are compared, both run in turn within one benchmark, and
// the medians are reported.

// median of durations, in milliseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return milliseconds(d[len(d)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timed runs a command and returns how long it took.
func timed(b *testing.B, env []string, name string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Env = env
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
	return time.Since(start)
}

// BenchmarkVersionCommand measures "zonedeck version" from start to exit, beside
// a program that does nothing.
func BenchmarkVersionCommand(b *testing.B) {
	env := environment(b.TempDir())
	zonedeck := program(b)
	var ours, nothing, zones, fetches []time.Duration
	timed(b, env, zonedeck, "request", "http://lab.test/ok", "--zone", "unlocker_demo")
	for b.Loop() {
		nothing = append(nothing, timed(b, env, "true"))
		ours = append(ours, timed(b, env, zonedeck, "version"))
		zones = append(zones, timed(b, env, zonedeck, "__complete", "request", "--zone", ""))
		fetches = append(fetches, timed(b, env, zonedeck, "__complete", "har", ""))
	}
	b.ReportMetric(median(ours), "ms/version")
	b.ReportMetric(median(nothing), "ms/true")
	b.ReportMetric(median(zones), "ms/zones")
	b.ReportMetric(median(fetches), "ms/fetches")
}

// BenchmarkRequestBesideCurl makes the same call with curl and with zonedeck: a
// page of 1 KB through POST /request of one emulator. The first zonedeck call,
// which makes the files, is not counted.
func BenchmarkRequestBesideCurl(b *testing.B) {
	if _, err := exec.LookPath("curl"); err != nil {
		b.Skip("install curl to run this benchmark")
	}
	server, err := emulator.Start(b.Context(), emulator.Options{ProxyAddr: "127.0.0.1:0"})
	noerr.Must(b, err)
	defer func() { noerr.Want(b, server.Shutdown(context.WithoutCancel(b.Context()))) }()
	ready := server.Ready()
	key := ""
	for _, k := range ready.Keys {
		if k.Name == "batch-user" {
			key = k.Value
		}
	}
	env := environment(b.TempDir(), "ZONEDECK_API_KEY="+key)
	zonedeck := program(b)
	config := filepath.Join(b.TempDir(), "curl.conf")
	text := fmt.Sprintf("silent\nheader = \"Authorization: Bearer %s\"\nheader = \"Content-Type: application/json\"\n"+
		"data = \"{\\\"zone\\\":\\\"unlocker_demo\\\",\\\"url\\\":\\\"http://lab.test/ok\\\",\\\"format\\\":\\\"raw\\\"}\"\nurl = \"%s/request\"\n", key, ready.API)
	noerr.Must(b, os.WriteFile(config, []byte(text), 0o600))
	request := []string{"--quiet", "--base-url", ready.API, "request", "http://lab.test/ok", "--zone", "unlocker_demo"}
	timed(b, env, zonedeck, request...)
	var ours, curl []time.Duration
	for b.Loop() {
		curl = append(curl, timed(b, env, "curl", "-K", config))
		ours = append(ours, timed(b, env, zonedeck, request...))
	}
	b.ReportMetric(median(ours), "ms/zonedeck")
	b.ReportMetric(median(curl), "ms/curl")
	b.ReportMetric(median(ours)-median(curl), "ms-above-curl")
}

// BenchmarkFirstPaint measures in a real pty from the start of the process to
// the first frame with the tabs on it, and the memory resident then and once
// the embedded emulator and the history are on the screen too: on a machine
// that never ran the program, on one that did, and after long use.
func BenchmarkFirstPaint(b *testing.B) {
	program(b)
	b.Run("first_start_ever", func(b *testing.B) {
		firstPaint(b, func() string { return b.TempDir() })
	})
	b.Run("a_home_there_is", func(b *testing.B) {
		dir := b.TempDir()
		term := openTerminal(b, 120, 40, environment(dir))
		term.waitFor("LOCAL EMULATOR", "batch-user")
		term.press("\x03")
		term.wait()
		firstPaint(b, func() string { return dir })
	})
	b.Run("10000_fetches_and_1000_jobs", func(b *testing.B) {
		dir := b.TempDir()
		usedHome(b, dir)
		firstPaint(b, func() string { return dir }, "412 ms")
	})
}

// BenchmarkFirstPaintOfManyKeys is the first paint with 100,000 keys in the inventory, and with 8, in turn.
func BenchmarkFirstPaintOfManyKeys(b *testing.B) {
	program(b)
	few, many := b.TempDir(), b.TempDir()
	keysAt(b, few, 8)
	keysAt(b, many, 100_000)
	var ofFew, ofMany []time.Duration
	for b.Loop() {
		for home, paint := range map[string]*[]time.Duration{few: &ofFew, many: &ofMany} {
			term := paintedFirst(b, home)
			*paint = append(*paint, term.lastRead().Sub(term.started))
			term.waitFor("LOCAL EMULATOR", "batch-user")
			term.press("\x03")
			term.wait()
		}
	}
	b.ReportMetric(median(ofFew), "ms-of-8")
	b.ReportMetric(median(ofMany), "ms-of-100000")
	b.ReportMetric(median(ofMany)/median(ofFew), "ratio")
	b.ReportMetric(0, "ns/op") // with the end of the program, which is not the figure
}

// keysAt writes an inventory of n keys, with all their fields, into a home.
func keysAt(tb testing.TB, home string, n int) {
	tb.Helper()
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, "[[keys]]\nname = \"key-%06d\"\nlevel = \"USER\"\nduty = \"batch job\"\nexpires = \"2027-0%d-01\"\ncreated = \"2026-01-01\"\nrotated = \"2026-0%d-02\"\n"+
			"secret = \"env:KEY_%d\"\nfingerprint = \"%016x\"\nlast4 = \"%04d\"\nused_by = [\"nightly\", \"reports\"]\nnote = \"of the batch\"\n\n", i, 1+i%9, 1+i%9, i, i, i%10_000)
	}
	path := filepath.Join(home, "data", "zonedeck", "keys.toml")
	noerr.Must(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	noerr.Must(tb, os.WriteFile(path, []byte(file.String()), 0o600))
}

// paintedFirst starts the console and waits for its first frame.
func paintedFirst(b *testing.B, home string) *terminal {
	b.Helper()
	term := openTerminal(b, 120, 40, environment(home))
	term.waitFor("1 Sandbox", "5 History")
	return term
}

// firstPaint starts the console again and again; it is ready when it shows
// every text.
func firstPaint(b *testing.B, home func() string, texts ...string) {
	var paint []time.Duration
	var atPaint, ready float64
	for b.Loop() {
		term := paintedFirst(b, home())
		paint = append(paint, term.lastRead().Sub(term.started))
		atPaint = max(atPaint, residentMiB(b, term.cmd.Process.Pid))
		term.waitFor(append(texts, "LOCAL EMULATOR", "batch-user")...)
		ready = max(ready, residentMiB(b, term.cmd.Process.Pid))
		term.press("\x03")
		term.wait()
	}
	b.ReportMetric(median(paint), "ms-to-paint")
	b.ReportMetric(milliseconds(slices.Max(paint)), "ms-worst")
	if ready > 0 {
		b.ReportMetric(atPaint, "MiB-at-paint")
		b.ReportMetric(ready, "MiB-ready")
	}
	b.ReportMetric(0, "ns/op") // with the end of the program, which is not the figure
}

// residentMiB is the memory a process holds; 0 where the system does not tell.
func residentMiB(tb testing.TB, pid int) float64 {
	tb.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	noerr.Must(tb, err)
	for line := range bytes.Lines(raw) {
		if rest, ok := strings.CutPrefix(string(line), "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			noerr.Must(tb, err)
			return float64(kb) / 1024
		}
	}
	tb.Fatal("no VmRSS")
	return 0
}

// BenchmarkBinarySize reports the size of the released binary.
func BenchmarkBinarySize(b *testing.B) {
	path := program(b)
	var size int64
	for b.Loop() {
		info, err := os.Stat(path)
		noerr.Must(b, err)
		size = info.Size()
	}
	b.ReportMetric(float64(size)/1e6, "MB")
}
