package uitest

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/charmbracelet/x/exp/teatest/v2"
	"github.com/charmbracelet/x/vt"
)

const (
	// patience bounds a wait for something to appear.
	patience = time.Minute
	// still is how long a screen must stay unchanged to count as finished.
	still = 200 * time.Millisecond
	poll  = 10 * time.Millisecond
)

// Whole is a whole program running in real time, with real services where its
// model has them. Its methods are for one goroutine.
type Whole struct {
	t   *testing.T
	tm  *teatest.TestModel
	emu *vt.Emulator
	out io.Reader
	raw bytes.Buffer // of out, as far as it was replayed
	// text is the screen's, "" when it has to be read again: a wait looks a hundred times a second.
	text string
}

// Run starts m on a terminal of w×h cells; it is quit when the test ends.
func Run(t *testing.T, m tea.Model, w, h int) *Whole {
	t.Helper()
	p := &Whole{t: t, emu: vt.NewEmulator(w, h)}
	if _, err := p.emu.WriteString("\x1b[20h"); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, p.emu) }()
	p.tm = teatest.NewTestModel(t, m, teatest.WithInitialTermSize(w, h), teatest.WithProgramOptions(
		tea.WithFPS(120), tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithEnvironment([]string{"TERM=xterm-256color"})))
	p.out = p.tm.Output()
	t.Cleanup(p.end)
	return p
}

func (p *Whole) end() {
	_ = p.tm.Quit()
	p.tm.WaitFinished(p.t, teatest.WithFinalTimeout(patience))
	if c, ok := p.emu.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
}

// replay feeds the terminal the program's new output.
func (p *Whole) replay() {
	p.t.Helper()
	n, err := io.Copy(io.MultiWriter(p.emu, &p.raw), p.out)
	if err != nil {
		p.t.Fatalf("replaying the program's output: %v", err)
	}
	if n > 0 {
		p.text = ""
	}
}

// Screen is the text on the terminal: one line per row, without trailing blanks, ending
// with one line break.
func (p *Whole) Screen() string {
	p.t.Helper()
	if p.replay(); p.text == "" {
		p.text = trim(p.emu.String())
	}
	return p.text
}

// Written is every byte that the program has written to the terminal.
func (p *Whole) Written() []byte {
	p.t.Helper()
	p.replay()
	return p.raw.Bytes()
}

// Cells are the screen as a terminal has it: its width, its cells, and its text with all its blanks.
func (p *Whole) Cells() (w int, at func(x, y int) *uv.Cell, text string) {
	p.t.Helper()
	p.replay()
	return p.emu.Width(), p.emu.CellAt, p.emu.String()
}

// Styled is the screen with its colours and attributes as escape sequences.
func (p *Whole) Styled() string {
	p.t.Helper()
	p.replay()
	return p.emu.Render() + "\n"
}

// WaitFor waits until every text is on the screen and the screen stays unchanged, and
// returns it.
func (p *Whole) WaitFor(texts ...string) string {
	p.t.Helper()
	return p.waitUntil("wanted "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// WaitGone waits until text has disappeared and the screen stays unchanged, and returns
// it.
func (p *Whole) WaitGone(text string) string {
	p.t.Helper()
	return p.waitUntil("wanted to be gone: "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func (p *Whole) waitUntil(what string, ok func(screen string) bool) string {
	p.t.Helper()
	return p.WaitUntil(func(screen string) string {
		if ok(screen) {
			return ""
		}
		return what
	})
}

// WaitUntil waits until nothing is missing from the screen and it stays unchanged, and returns it.
// missing says what is; "" is nothing.
func (p *Whole) WaitUntil(missing func(screen string) string) string {
	p.t.Helper()
	return p.restUntil(still, missing)
}

// settle waits until the screen has not changed for d.
func (p *Whole) settle(d time.Duration) {
	p.t.Helper()
	p.restUntil(d, func(string) string { return "" })
}

// restUntil waits until nothing is missing and the screen has not changed for d.
func (p *Whole) restUntil(d time.Duration, missing func(screen string) string) string {
	p.t.Helper()
	beat := time.NewTicker(poll)
	defer beat.Stop()
	deadline := time.Now().Add(patience)
	last, since, lacking := "", time.Now(), missing("")
	for {
		screen := p.Screen()
		if screen != last {
			last, since, lacking = screen, time.Now(), missing(screen)
		}
		if lacking == "" && time.Since(since) >= d {
			return screen
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s; after %s the screen is:\n%s", cmp.Or(lacking, "wanted to rest"), patience, screen)
		}
		<-beat.C
	}
}

// Press types keys, spelled as for Screen.Press.
func (p *Whole) Press(keys ...string) {
	for _, k := range keys {
		p.tm.Send(Key(k))
	}
}

// PressFor types keys with blanks between them, and waits for what they bring to the screen,
// as WaitFor does.
func (p *Whole) PressFor(keys string, texts ...string) string {
	p.t.Helper()
	p.Press(strings.Fields(keys)...)
	return p.WaitFor(texts...)
}

// Type types text character by character.
func (p *Whole) Type(text string) { p.tm.Type(text) }

// Send sends the program any message.
func (p *Whole) Send(msg tea.Msg) { p.tm.Send(msg) }

// Resize changes the size of the terminal.
func (p *Whole) Resize(w, h int) {
	p.replay()
	p.emu.Resize(w, h)
	p.text = ""
	p.tm.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Golden waits until the masked screen equals testdata/NAME.golden: on a busy machine it
// may be incomplete for a while. It fails if the two never become equal. With -update it
// writes the screen once it has stayed unchanged for a while.
func (p *Whole) Golden(t *testing.T, name string, mask func(string) string) {
	t.Helper()
	if Updating() {
		p.settle(10 * still)
	}
	draw := func() string { return mask(p.Screen()) }
	want, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	if err != nil || Updating() {
		Golden(t, name, draw())
		return
	}
	got := ""
	Await(func() bool { got = draw(); return got == string(want) })
	Golden(t, name, got)
}

// Await asks again and again whether something is so, for as long as a wait may take, and returns the last answer.
func Await(so func() bool) bool {
	beat := time.NewTicker(poll)
	defer beat.Stop()
	for end := time.Now().Add(patience); !so(); <-beat.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Updating reports whether goldens are written instead of compared.
func Updating() bool {
	update := flag.Lookup("update")
	return update != nil && update.Value.String() == "true"
}

// Golden compares a screen with testdata/NAME.golden under the test's folder.
// "go test -run Golden -update" in that package writes the files anew.
func Golden(t *testing.T, name, screen string) {
	t.Helper()
	golden.RequireEqual(named{t, name}, screen)
}

// named gives the golden library the name of the file.
type named struct {
	*testing.T
	name string
}

func (n named) Name() string { return n.name }

// Mask replaces every occurrence of old (an address with a changing port, say)
// by stars of the same width, so that columns stay where they are.
func Mask(screen string, old ...string) string {
	for _, o := range old {
		if o != "" {
			screen = strings.ReplaceAll(screen, o, strings.Repeat("*", len([]rune(o))))
		}
	}
	return screen
}
