package uitest

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// pace is the fake time before each key: like a person's, and longer than a new dialog
// ignores keys.
const pace = 200 * time.Millisecond

// slack is the fake time for timers without a context. A goroutine still waiting after
// it is a leak, which synctest reports.
const slack = 15 * time.Second

// Screen is a program under test and the terminal it draws on. Its methods are
// for the test's own goroutine, inside the synctest bubble of Start.
type Screen struct {
	t    *testing.T
	prog *tea.Program
	done chan error
	mu   sync.Mutex // guards emu and written: the program writes from its own goroutine
	emu  *vt.Emulator
	// written is every byte of the program's output.
	written bytes.Buffer
	// expected are the error toasts the test announced.
	expected []string
	ended    bool
}

// Start runs m on a terminal of w×h cells and waits until it is idle. It must
// be called inside synctest.Test. When the test ends the program is quit, and
// an error toast (a line with "✗ … esc dismisses") that AllowError did not
// announce fails the test.
func Start(t *testing.T, m tea.Model, w, h int) *Screen {
	t.Helper()
	s := &Screen{t: t, emu: vt.NewEmulator(w, h), done: make(chan error, 1)}
	if _, err := s.emu.WriteString("\x1b[20h"); err != nil { // without a tty the renderer writes bare \n
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, s.emu) }() // its answers must be read, or Write blocks
	s.prog = tea.NewProgram(m, tea.WithInput(nil), tea.WithOutput(s),
		tea.WithWindowSize(w, h), tea.WithoutSignalHandler(), tea.WithFPS(120),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithColorProfile(colorprofile.TrueColor))
	go func() {
		_, err := s.prog.Run()
		s.done <- err
	}()
	s.Settle()
	t.Cleanup(s.end)
	return s
}

// Write is the program's output; it is not for tests.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written.Write(p)
	return s.emu.Write(p)
}

// Written is every byte that the program wrote.
func (s *Screen) Written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.String()
}

func (s *Screen) end() {
	// The test's context has been cancelled, and with it the loads of the views; their
	// messages no longer matter.
	if !s.ended {
		s.prog.Quit()
		<-s.done
		s.ended = true
	}
	s.pass(slack)
	synctest.Wait()
	if c, ok := s.emu.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
}

// Settle waits until the program is idle and has drawn a frame.
func (s *Screen) Settle() {
	synctest.Wait()
	// A stream that has just delivered does so again 50 ms later; then comes a frame, at 60 and
	// at 120 per second.
	s.pass(70 * time.Millisecond)
	synctest.Wait()
}

// pass lets fake time pass.
func (s *Screen) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// After lets d pass on the fake clock and waits until the program is idle.
func (s *Screen) After(d time.Duration) {
	s.t.Helper()
	s.pass(d)
	s.Settle()
	s.checkErrors()
}

// Press types keys as tea.KeyPressMsg.String spells them ("enter", "ctrl+j",
// "G", "space"), one after the other at a person's pace, and waits after each.
func (s *Screen) Press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		s.pass(pace)
		s.PressFast(k)
	}
}

// PressFast types one key without letting time pass before it.
func (s *Screen) PressFast(key string) {
	s.t.Helper()
	s.Send(Key(key))
}

// Type types text character by character.
func (s *Screen) Type(text string) {
	s.t.Helper()
	s.pass(pace)
	for _, r := range text {
		s.prog.Send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	s.Settle()
	s.checkErrors()
}

// Paste pastes text like a terminal with bracketed paste: line ends arrive as carriage
// returns.
func (s *Screen) Paste(text string) {
	s.t.Helper()
	s.Send(tea.PasteMsg{Content: strings.ReplaceAll(text, "\n", "\r")})
}

// Send sends the program any message and waits until it is idle.
func (s *Screen) Send(msg tea.Msg) {
	s.t.Helper()
	s.prog.Send(msg)
	s.Settle()
	s.checkErrors()
}

// Resize changes the size of the terminal.
func (s *Screen) Resize(w, h int) {
	s.t.Helper()
	s.mu.Lock()
	s.emu.Resize(w, h)
	s.mu.Unlock()
	s.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Screen is the text on the terminal: one line per row, without trailing blanks.
func (s *Screen) Screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return trim(s.emu.String())
}

// CellAt is one cell with its style; nil outside the screen.
func (s *Screen) CellAt(x, y int) *uv.Cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.emu.CellAt(x, y); c != nil {
		return c.Clone()
	}
	return nil
}

// Expect fails the test unless every text is on the screen.
func (s *Screen) Expect(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if screen := s.Screen(); !strings.Contains(screen, text) {
			s.t.Fatalf("%q is not on the screen:\n%s", text, screen)
		}
	}
}

// ExpectNot fails the test when one of the texts is on the screen.
func (s *Screen) ExpectNot(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if screen := s.Screen(); strings.Contains(screen, text) {
			s.t.Fatalf("%q is on the screen:\n%s", text, screen)
		}
	}
}

// Below is the screen below the title line, whose clock goes on by itself.
func (s *Screen) Below() string {
	_, rest, _ := strings.Cut(s.Screen(), "\n")
	return rest
}

// Refusal is the warning, or the reason why the key does nothing, that the screen has shown
// since it was before; "" if there is none.
func (s *Screen) Refusal(key, before string) string {
	for line := range strings.Lines(s.Below()) {
		refuses := strings.HasPrefix(line, " ! ") || strings.HasPrefix(line, " i "+key+" ")
		if refuses && !strings.Contains(before, line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// AllowError announces an error toast; call it before the step that causes it.
func (s *Screen) AllowError(text string) { s.expected = append(s.expected, text) }

// dismissHint appears in every error toast and nowhere else.
const dismissHint = "esc dismisses"

func (s *Screen) checkErrors() {
	s.t.Helper()
	if screen := s.Screen(); Unexpected(screen, s.expected) {
		s.t.Fatalf("an unexpected error:\n%s", screen)
	}
}

// Unexpected reports whether a screen shows more error toasts than it shows of
// the texts that were announced.
func Unexpected(screen string, announced []string) bool {
	errors := strings.Count(screen, dismissHint)
	for _, text := range announced {
		if strings.Contains(screen, text) {
			errors--
		}
	}
	return errors > 0
}

// Ended waits for the program to end without being quit and returns its error. It fails the test
// if the program is still running after a minute of fake time.
func (s *Screen) Ended() error {
	s.t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case err := <-s.done:
		s.ended = true
		return err
	case <-timer.C:
		s.t.Fatalf("the program is still running:\n%s", s.Screen())
		return nil
	}
}

// Running reports whether the program has not ended.
func (s *Screen) Running() bool {
	select {
	case err := <-s.done:
		s.done <- err
		return false
	default:
		return true
	}
}

func trim(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Click clicks on the first cell that shows a text.
func (s *Screen) Click(text string) {
	s.t.Helper()
	for y, l := range strings.Split(s.Screen(), "\n") {
		if before, _, ok := strings.Cut(l, text); ok {
			s.Send(tea.MouseClickMsg{X: ansi.StringWidth(before), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	s.t.Fatalf("%q is not on the screen:\n%s", text, s.Screen())
}

// Looks compares the screen at 80x24 with its golden, and holds it at 120x40 by its structure. The
// terminal has the size of before afterwards.
func (s *Screen) Looks(name string) {
	s.t.Helper()
	before := [2]int{s.emu.Width(), s.emu.Height()}
	if before != [2]int{80, 24} {
		s.Resize(80, 24)
	}
	Golden(s.t, name+"-80x24", s.Screen())
	s.Resize(200, 60)
	widest := s.Screen()
	s.Resize(120, 40)
	for _, fault := range StructureFaults(s.Screen(), widest, 120, 40) {
		s.t.Errorf("%s at 120x40: %s\n%s", name, fault, s.Screen())
	}
	s.Resize(before[0], before[1])
}
