package whole

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zonedeck/ui/kit/text"
)

// frameGoal is the longest that 99 of 100 keys should take to their frame.
const frameGoal = 20 * time.Millisecond

// presses counts how long keys take to the frame that shows what they did.
type presses struct {
	term  *terminal
	times []time.Duration
}

// press writes a key and waits for the frame with every text.
func (p *presses) press(key string, texts ...string) {
	p.term.tb.Helper()
	start := time.Now()
	p.term.press(key)
	p.term.waitFor(texts...)
	p.times = append(p.times, p.term.lastRead().Sub(start))
}

func (p *presses) report(b *testing.B) {
	b.ReportMetric(median(p.times), "ms-to-frame")
	late := 0
	for _, d := range p.times {
		if d > frameGoal {
			late++
		}
	}
	b.ReportMetric(milliseconds(p.times[(len(p.times)*99-1)/100]), "ms-p99") // median has sorted them
	b.ReportMetric(milliseconds(p.times[len(p.times)-1]), "ms-worst")
	b.ReportMetric(100*float64(late)/float64(len(p.times)), "%-above-20ms")
	if mib := residentMiB(b, p.term.cmd.Process.Pid); mib > 0 {
		b.ReportMetric(mib, "MiB-resident")
	}
	b.ReportMetric(0, "ns/op") // the whole loop, which means nothing here
}

// BenchmarkKeyToFrame measures in a real pty of 200x50, with the released
// program, from the write of a key to the read of the frame that shows its
// effect: with 100 MB of HTML open, 10,000 fetches in the history and 1,000
// jobs in the ledger.
func BenchmarkKeyToFrame(b *testing.B) {
	dir := b.TempDir()
	lines := usedHome(b, dir)
	program(b)
	term := openTerminal(b, 200, 50, environment(dir))
	term.waitFor("LOCAL EMULATOR", "batch-user", "lab.test/large")
	term.pressFor("5", "[5 History]", "lab.test/large")
	term.pressFor("\r", "[1 Sandbox]", "104.9 MB", "line 1 of")
	term.press("G")
	term.waitFor(fmt.Sprintf(`id="r%d"`, lines), "100 %") // the whole body is indexed

	for _, c := range []struct {
		name string
		keys func(p *presses, n int)
	}{
		{"a line down the body", func(p *presses, n int) {
			if n == 0 {
				p.term.press("g")
				p.term.waitFor("line 1 of")
			}
			p.press("j", "line "+text.Count(n+2)+" of")
		}},
		{"to the end of the body and back", func(p *presses, _ int) {
			p.press("G", fmt.Sprintf(`id="r%d"`, lines), "100 %")
			p.press("g", `id="r1"`, "line 1 of")
		}},
		{"a letter of a search", func(p *presses, _ int) {
			term.pressFor("/", "leave the search")
			typed := "/"
			for _, letter := range "needle" {
				typed += string(letter)
				p.press(string(letter), typed)
			}
			term.pressFor("\x1b", "/ search")
		}},
		{"a line down while 100 MB are searched", func(p *presses, _ int) {
			term.pressFor("g", "line 1 of")
			term.pressFor("/", "leave the search")
			term.pressFor("nowhere", "/nowhere")
			term.press("\r")
			for n := range 5 {
				p.press("j", "line "+text.Count(n+2)+" of")
			}
			term.waitFor("not found")
			term.pressFor("/", "leave the search")
			term.pressFor("\x1b", "/ search")
		}},
		{"a tab", func(p *presses, _ int) {
			p.press("2", "[2 Jobs (", "Jobs (1000)", "job-998")
			p.press("3", "[3 Proxy]", "127.0.0.1")
			p.press("4", "[4 Keys", "batch-user")
			p.press("5", "[5 History]", "lab.test/large")
			p.press("1", "[1 Sandbox]", "104.9 MB", "line ")
		}},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "_"), func(b *testing.B) {
			p := &presses{term: term}
			for n := 0; b.Loop(); n++ {
				c.keys(p, n)
			}
			p.report(b)
		})
	}
}
