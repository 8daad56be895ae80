package whole

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// idleFor is how long an idle console is observed.
const idleFor = 5 * time.Second

// BenchmarkIdleConsole measures the processor time of a console that nobody uses, as a
// share of one core: in a real pty of 120x40, with the emulator running in it.
func BenchmarkIdleConsole(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("processor time is read from /proc")
	}
	term := openConsole(b, 120, 40)
	term.rest(time.Second) // what a start leaves to do, such as the first collection
	var used, passed time.Duration
	for b.Loop() {
		before, start := processorTime(b, term.cmd.Process.Pid), time.Now()
		term.rest(idleFor)
		used += processorTime(b, term.cmd.Process.Pid) - before
		passed += time.Since(start)
	}
	b.ReportMetric(100*float64(used)/float64(passed), "%-of-a-core")
	b.ReportMetric(0, "ns/op") // how long it was observed
}

// rest leaves the program alone for a while.
func (t *terminal) rest(d time.Duration) {
	t.tb.Helper()
	select {
	case err := <-t.exited:
		t.tb.Fatalf("the program ended (%v):\n%s", err, t.screen())
	case <-time.After(d):
	}
}

// processorTime is how long the threads of a process have run. The scheduler's own
// count has nanoseconds, where /proc/PID/stat has hundredths of a second.
func processorTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		tb.Fatalf("threads of %d: %v", pid, err)
	}
	var sum time.Duration
	for _, path := range threads {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err) // a thread of Go's runtime does not end while the process is idle
		}
		ran, _, _ := strings.Cut(string(raw), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		noerr.Must(tb, err)
		sum += time.Duration(ns)
	}
	return sum
}
