package whole

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/internal/noerr"
	"zonedeck/ui/cli"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

// loop is the program's loop in the test's hands: messages come to the model
// one by one, and each is drawn.
type loop struct {
	tb    testing.TB
	ctx   context.Context // of the whole benchmark
	root  tea.Model
	inbox chan tea.Msg
}

// do runs a command as the program would, beside the loop.
func (l *loop) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				l.do(c)
			}
		default:
			select {
			case l.inbox <- msg:
			case <-l.ctx.Done():
			}
		}
	}()
}

// send gives the model one message and returns the frame.
func (l *loop) send(msg tea.Msg) string {
	var cmd tea.Cmd
	l.root, cmd = l.root.Update(msg)
	l.do(cmd)
	return l.root.View().Content
}

// until takes what the commands deliver until a frame holds every text.
func (l *loop) until(texts ...string) {
	l.tb.Helper()
	deadline := time.After(patience)
	for {
		frame := ansi.Strip(l.root.View().Content)
		missing := ""
		for _, text := range texts {
			if !strings.Contains(frame, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		select {
		case msg := <-l.inbox:
			l.send(msg)
		case <-deadline:
			l.tb.Fatalf("%q is not on the screen:\n%s", missing, frame)
		}
	}
}

// BenchmarkUpdateAndView is the program's own part of a key press at 200x50: the
// model's Update and its View, without the terminal, on the same files as
// BenchmarkKeyToFrame. At most 4 ms.
func BenchmarkUpdateAndView(b *testing.B) {
	dir := b.TempDir()
	lines := usedHome(b, dir)
	env := map[string]string{}
	for _, pair := range environment(dir, "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0") {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	root, _, closeSession, err := cli.Console(b.Context(), cli.Process{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(name string) string { return env[name] }, Now: time.Now,
	})
	noerr.Must(b, err)
	defer func() { noerr.Want(b, closeSession()) }()
	l := &loop{tb: b, ctx: b.Context(), root: root, inbox: make(chan tea.Msg)}
	l.do(root.Init())
	l.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	l.until("LOCAL EMULATOR", "batch-user", "lab.test/large")
	l.send(uitest.Key("5"))
	l.until("[5 History]", "lab.test/large")
	l.send(uitest.Key("enter"))
	l.until("[1 Sandbox]", "104.9 MB", "line 1 of "+text.Count(lines))

	for _, c := range []struct {
		name   string
		before string // the tab
		text   string
		keys   []string
	}{
		{"sandbox, a line down and up the body", "1", "104.9 MB", []string{"j", "k"}},
		{"jobs, down and up", "2", "Jobs (1000)", []string{"j", "k"}},
		{"proxy, down and up", "3", "127.0.0.1", []string{"j", "k"}},
		{"keys, down and up", "4", "batch-user", []string{"j", "k"}},
		{"activity, down and up", "5", "lab.test/large", []string{"j", "k"}},
		{"tabs", "1", "104.9 MB", []string{"alt+2", "alt+3", "alt+4", "alt+5", "alt+1"}},
	} {
		b.Run(strings.NewReplacer(" ", "_", ",", "").Replace(c.name), func(b *testing.B) {
			l.tb = b
			l.send(uitest.Key("alt+" + c.before)) // also from a text
			l.until("["+c.before, c.text)
			var keys []tea.Msg
			for _, k := range c.keys {
				keys = append(keys, uitest.Key(k))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; b.Loop(); n++ {
				l.send(keys[n%len(keys)])
			}
		})
	}
}
