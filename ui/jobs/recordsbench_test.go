package jobs_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	result "zonedeck/service/records"
	"zonedeck/ui/jobs/records"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// BenchmarkRecordsFrame scrolls through 10,000,000 rows and through 100 in one run: a key, the rows that it
// brings onto the screen, and the frame.
func BenchmarkRecordsFrame(b *testing.B) {
	var took [2]time.Duration
	pages := [2]*records.Page{}
	for i, n := range []int{100, 10_000_000} {
		path := filepath.Join(b.TempDir(), "rows.ndjson")
		f := noerr.Try(os.Create(path)).Must(b)
		w := bufio.NewWriterSize(f, 1<<20)
		for k := range n {
			fmt.Fprintf(w, "{\"id\":%d,\"a b\":\"x\"}\n", k)
		}
		noerr.Must(b, w.Flush())
		noerr.Must(b, f.Close())
		p := records.New(records.Deps{Ctx: b.Context(), Theme: kit.NewTheme(true, false), Open: func(_ context.Context, name string) (*result.File, error) {
			return result.Open(name, result.Options{Temp: b.TempDir()})
		}})
		settle(p, p.Show(path, "a job"))
		p.Render(119, 38)
		pages[i] = p
	}
	keys := []string{"pgdown", "pgdown", "j", "G", "pgup", "k", "g"}
	for b.Loop() {
		for i, p := range pages {
			begun := time.Now()
			for _, key := range keys {
				cmd := p.Update(uitest.Key(key))
				settle(p, cmd)
				p.Render(119, 38)
			}
			took[i] += time.Since(begun)
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N*len(keys)) }
	b.ReportMetric(each(took[0]), "µs/100-rows")
	b.ReportMetric(each(took[1]), "µs/10M-rows")
	b.ReportMetric(each(took[1])/each(took[0]), "ratio")
}

// settle runs a command, and what follows from it, as the program would.
func settle(p *records.Page, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settle(p, c)
		}
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, m := range msgs {
			if l, ok := m.(kit.Loaded); ok {
				settle(p, l.Deliver())
			}
		}
		settle(p, more)
	}
}
