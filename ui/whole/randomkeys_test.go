package whole

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"zonedeck/internal/noerr"
)

// keyboard is what a hand, a mouse, a paste and a terminal send. What ends the console by
// design is not in it: q, ctrl+c.
func keyboard() []string {
	all := []string{
		"\r", "\n", "\t", " ", "\x7f", "\x1b", "\x1b[Z", "\x1b[3~",
		"\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F", "\x1b[5~", "\x1b[6~", "\x1b[15~", "\x1b[1;5C", "\x1bf",
		"\x1b[200~two\r\nlines\x1b[31m\u202e\x00\x1b[201~", "\x1b[200~" + strings.Repeat("x", 5000) + "\x1b[201~",
		"é", "漢", "👩‍👩‍👧", "\u0301", "\xff\xfe", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b[?2026;2$y", "\x1b[I", "\x1b[O", "\x1b[",
		"\x1b[<64;10;10M", "\x1b[<65;60;20M", "\x1b[<0;1;1M", "\x1b[<0;999;999M\x1b[<0;999;999m",
	}
	for r := '!'; r <= '~'; r++ {
		if r != 'q' {
			all = append(all, string(r))
		}
	}
	for c := byte(1); c < 27; c++ {
		if c != 3 && c != 26 { // ctrl+c, and ctrl+z, which stops the process
			all = append(all, string(rune(c)))
		}
	}
	for x := 1; x <= 120; x += 7 {
		for y := 1; y <= 40; y += 3 {
			all = append(all, fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x, y, x, y))
		}
	}
	return all
}

// answered waits until the console has handled what was sent before: it then says that its
// terminal is too small. The screen keeps its size, because x/vt panics when what was drawn
// for a large one arrives at a small one.
func answered(term *terminal) {
	term.tb.Helper()
	for _, step := range []struct {
		size  pty.Winsize
		shows []string
	}{
		{pty.Winsize{Cols: 50, Rows: 10}, []string{"this is 50×10"}},
		{pty.Winsize{Cols: 120, Rows: 40}, []string{"1 Sandbox", "5 History"}},
	} {
		noerr.Must(term.tb, pty.Setsize(term.file, &step.size))
		term.waitFor(step.shows...)
	}
}

// TestNoKeysBreakTheConsole presses random keys; ZONEDECK_KEYS says how many, and
// ZONEDECK_SEED which. docs/reliability.md has the figures.
func TestNoKeysBreakTheConsole(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), strconv.FormatUint(otherwise, 10)), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	keys, seed := number("ZONEDECK_KEYS", 400), number("ZONEDECK_SEED", rand.Uint64())
	random, board := rand.New(rand.NewPCG(seed, 0)), keyboard()
	term := openConsole(t, 120, 40)
	pressed := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ZONEDECK_SEED=%d, and the last keys were %q", seed, pressed)
		}
	})
	for n := range keys {
		if n%40 == 0 {
			pressed = ""
			answered(term)
		}
		key := board[random.IntN(len(board))]
		pressed += key
		term.press(key)
	}
	answered(term)
	noerr.Must(t, term.cmd.Process.Signal(os.Interrupt))
	term.ends()
	for _, trouble := range []string{"panic", "goroutine ", "\x1b[31m", "\u202e"} {
		if strings.Contains(term.output(), trouble) {
			t.Errorf("the terminal got %q", trouble)
		}
	}
	if !strings.Contains(term.output(), "\x1b[?1049l") {
		t.Error("the terminal was not given back")
	}
	t.Logf("%d keys of seed %d", keys, seed)
}
