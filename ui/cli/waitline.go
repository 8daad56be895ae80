package cli

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/files"
)

// waitEvery is how often a wait line is redrawn.
const waitEvery = 200 * time.Millisecond

// clearLine moves to the first column and clears the line.
const clearLine = "\r\x1b[2K"

// waitLine is one line on stderr, a terminal, that says what a command is waiting
// for. It appears after files.Patience and is cleared at the end. A nil line shows
// nothing. It is safe for concurrent use.
type waitLine struct {
	app  *app
	text func(waited time.Duration) string

	mu    sync.Mutex
	drawn bool
	done  chan struct{}
	ended sync.WaitGroup
}

// wait starts a line. It returns nil if stderr is not a terminal or the terminal
// cannot clear a line. The caller must stop it.
func (a *app) wait(text func(waited time.Duration) string) *waitLine {
	if !a.StderrTTY || a.flags.quiet || a.Getenv("TERM") == "dumb" {
		return nil
	}
	l := &waitLine{app: a, text: text, done: make(chan struct{})}
	l.ended.Go(l.run)
	return l
}

func (l *waitLine) run() {
	began := time.Now()
	next := time.NewTimer(files.Patience)
	defer next.Stop()
	for {
		select {
		case <-l.done:
			return
		case now := <-next.C:
			l.mu.Lock()
			l.app.tell(clearLine+"%s", l.app.oneRow(l.text(now.Sub(began))))
			l.drawn = true
			l.mu.Unlock()
			next.Reset(waitEvery)
		}
	}
}

// above clears the line and runs f, which may print other lines.
func (l *waitLine) above(f func()) {
	if l == nil {
		f()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	f()
}

func (l *waitLine) clear() {
	if l.drawn {
		l.app.tell(clearLine)
		l.drawn = false
	}
}

// stop removes the line and ends its goroutine.
func (l *waitLine) stop() {
	if l == nil {
		return
	}
	close(l.done)
	l.ended.Wait()
	l.clear()
}

// fetchWait describes a fetch in progress.
type fetchWait struct {
	mu   sync.Mutex
	last fetch.Event
}

func (f *fetchWait) update(e fetch.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = e
}

// follow updates the line, and says above it, on a terminal, why the fetch waits.
func (f *fetchWait) follow(a *app, line *waitLine, e fetch.Event) {
	f.update(e)
	reason := ""
	switch {
	case e.Waiting > 0:
		reason = fmt.Sprintf("attempt %d: %s; waiting %s before the next", e.Attempt.N, model.ClassWord(e.Attempt.Class, ""), e.Waiting.Round(time.Millisecond))
	case e.Reason != "":
		reason = "waiting: " + e.Reason
	}
	if reason != "" && a.StderrTTY {
		line.above(func() { a.say("zonedeck: %s", reason) })
	}
}

func (f *fetchWait) text(waited time.Duration) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := fmt.Sprintf("zonedeck: %.1f s  %s", waited.Seconds(), cmp.Or(f.last.Phase, "starting"))
	if f.last.Attempt.N > 1 || f.last.Phase == fetch.PhaseWaiting {
		line += fmt.Sprintf("  attempt %d", f.last.Attempt.N)
	}
	if f.last.Bytes > 0 {
		line += fmt.Sprintf("  %d bytes", f.last.Bytes)
	}
	return line + "  (ctrl+c cancels it)"
}
