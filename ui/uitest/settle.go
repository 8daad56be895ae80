package uitest

import (
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/kit"
)

// Settle plays the program for one view, without a terminal: it runs a command
// and all commands that follow from it, one after the other, and passes the messages to
// update; addressed ones are unpacked first.
func Settle(t *testing.T, cmd tea.Cmd, update func(tea.Msg) tea.Cmd) {
	t.Helper()
	queue := []tea.Cmd{cmd}
	for n := 0; len(queue) > 0; n++ {
		if n > 10_000 {
			t.Fatal("the commands never end")
		}
		cmd, queue = queue[0], queue[1:]
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			queue = append(queue, msg...)
		case kit.Addressed:
			msgs, more := msg.Deliver()
			for _, m := range msgs {
				if l, ok := m.(kit.Loaded); ok {
					queue = append(queue, l.Deliver())
				} else {
					queue = append(queue, update(m))
				}
			}
			queue = append(queue, more)
		default:
			if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice { // tea's unexported sequence
				for i := range v.Len() {
					queue = append(queue, v.Index(i).Interface().(tea.Cmd))
				}
				continue
			}
			queue = append(queue, update(msg))
		}
	}
}

// Plain is drawn text without styles and without blanks at the ends of lines.
func Plain(s string) string {
	lines := strings.Split(ansi.Strip(s), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}
