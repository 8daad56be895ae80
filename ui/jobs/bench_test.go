package jobs

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
)

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

// noEditor is a console without an editor.
type noEditor struct{ Console }

func (noEditor) Editor() func(string) tea.ExecCommand { return nil }

func bigLedger(n int) *Model {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m := New(Deps{Clock: fixedClock(now), Console: noEditor{}, Theme: kit.NewTheme(true, false)})
	for i := range n {
		m.list.jobs = append(m.list.jobs, model.Job{
			ID: fmt.Sprintf("job-%d", i), Snapshot: fmt.Sprintf("sd_%d", i), Dataset: "gd_products", State: model.JobReady, Inputs: 200, Done: 200, Records: 200, Created: now.Add(-time.Duration(i) * time.Minute),
		})
	}
	m.list.loaded = true
	m.list.fill()
	return m
}

// A cursor move and the frame after it, with 1,000 jobs at 200x50.
func BenchmarkMoveAndDraw(b *testing.B) {
	m := bigLedger(1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.list.page.SetCursor(i % 1000)
		_ = m.Render(200, 50)
	}
}

// One event of a followed job, with 1,000 jobs in the ledger.
func BenchmarkJobEvent(b *testing.B) {
	m := bigLedger(1000)
	j := m.list.jobs[500]
	for i := 0; b.Loop(); i++ {
		j.Done = i % 200
		m.follow.event(service.Followed{Job: j, On: true})
	}
}
