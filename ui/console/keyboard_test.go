package console

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/internal/noerr"
)

// pieces is a terminal that gives size bytes at a time.
type pieces struct {
	terminalFile
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// decoded are the events that Bubble Tea's decoder makes of the bytes that the console reads: the
// pasted text, and the keys after it.
func decoded(t *testing.T, in []byte, size int) (pasted []string, keys string) {
	t.Helper()
	events := make(chan uv.Event)
	ended := make(chan error, 1)
	go func() {
		ended <- uv.NewTerminalReader(newKeyboard(&pieces{rest: in, size: size}, func(error) {}), "xterm-256color").StreamEvents(t.Context(), events)
		close(events)
	}()
	for e := range events {
		switch e := e.(type) {
		case uv.PasteEvent:
			pasted = append(pasted, e.Content)
		case uv.KeyPressEvent:
			keys += e.String() + " "
		}
	}
	noerr.Must(t, <-ended)
	return pasted, keys
}

func TestKeysActAfterAPasteWhateverItHolds(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "http://lab.test/ok", "http://lab.test/ok"},
		{"a device control string", "a\x1bPb", "aPb"},
		{"an application command", "a\x1b_b", "a_b"},
		{"a start of string", "a\x1bXb", "aXb"},
		{"the same in eight bits", "a\x90b\x98c\x9ed\x9fe\x9bf\x9dg", "abcdefg"},
		{"ESC at the end", "a\x1b", "a"},
		{"a control sequence", "a\x1b[31mb", "ab"},
		{"one that does not end", "a\x1b[31", "a"},
		{"a start inside", "a\x1b[200~b", "ab"},
		{"characters with bytes of C1", "ÐА–😀", "ÐА–😀"},
		{"half a character", "a\xf0\x9f\x90", "a"},
		{"half a character before a whole one", "a\xe2\x80é\xc3", "aé"},
		{"lines", "a\r\nb\tc", "a\r\nb\tc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := "k" + ansi.BracketedPasteStart + c.in + ansi.BracketedPasteEnd + "j" + ansi.BracketedPasteStart + "2" + ansi.BracketedPasteEnd + "\x1b[A"
			for _, size := range []int{1, 2, 3, 5, 7, len(in)} {
				pasted, keys := decoded(t, []byte(in), size)
				if got := strings.Join(pasted, "|"); got != c.want+"|2" || keys != "k j up " {
					t.Errorf("read %d at a time: pasted %q, keys %q; want %q", size, got, keys, c.want+"|2")
				}
			}
		})
	}
}

func TestOutsideAPasteNothingIsChanged(t *testing.T) {
	in := "\x1bPx\x1b\\\x90\x1b[200\x1b[A\xc3"
	k := newKeyboard(&pieces{rest: []byte(in), size: 2}, func(error) {})
	if got, err := io.ReadAll(k); string(got) != in || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheKeyboardStaysTheTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "tty"))
	noerr.Must(t, err)
	defer f.Close()
	k, is := newKeyboard(f, nil).(*keyboard)
	if !is || k.Fd() != f.Fd() || k.Name() != f.Name() {
		t.Errorf("%v is not the terminal %v", k, f)
	}
	e := &editor{Cmd: exec.CommandContext(t.Context(), "true")}
	if e.SetStdin(k); e.Stdin != f {
		t.Errorf("the editor reads %v instead of the terminal", e.Stdin)
	}
	if _, err := k.Read(make([]byte, maxHeld)); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("without room for what is held back: %v", err)
	}
	if r := strings.NewReader(""); newKeyboard(r, nil) != r {
		t.Error("an input that is no file is not as it was")
	}
}

// FuzzPaste checks that the decoder finds the end of every paste, and the valid text in it.
func FuzzPaste(f *testing.F) {
	for _, s := range []string{"x", "\x1bPq", "\x90\x98\x9e\x9f", "\x1b[20", "é\xc3", "\x1b\x1b[", "\x1b]0;a", "\xf0\x9f\x90\x1b_", "a\x18\x1a\x00b"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		if bytes.Contains(in, []byte(ansi.BracketedPasteEnd)) {
			return // what follows is typed
		}
		whole := ansi.BracketedPasteStart + string(in) + ansi.BracketedPasteEnd + "k"
		pasted, keys := decoded(t, []byte(whole), max(int(size), 1))
		if len(pasted) != 1 || keys != "k " {
			t.Fatalf("%q: pasted %q, then the keys %q", in, pasted, keys)
		}
		text := utf8.Valid(in) && !bytes.ContainsAny(in, "\x1b\ufffd")
		if text && pasted[0] != string(in) {
			t.Fatalf("%q is pasted as %q", in, pasted[0])
		}
	})
}
