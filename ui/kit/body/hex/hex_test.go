package hex

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/uitest"
)

func shown(t *testing.T, v *View, w, h int) []string {
	t.Helper()
	lines := strings.Split(uitest.Plain(v.Render(true, w, h)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func open(t *testing.T, r io.ReaderAt, size int64, w, h int) *View {
	t.Helper()
	v := New(t.Context(), "test", kit.NewTheme(true, false))
	v.Render(true, w, h)
	uitest.Settle(t, v.Open(body.Source{Reader: r, Size: size}), v.Update)
	return v
}

func TestBytes(t *testing.T) {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff<b>|end")
	v := open(t, bytes.NewReader(b), int64(len(b)), 77, 4)
	want := []string{
		` 00000000  89 50 4e 47 0d 0a 1a 0a  00 00 00 0d 49 48 44 52  .PNG........IHDR`,
		` 00000010  7f ff 3c 62 3e 7c 65 6e  64                       ..<b>|end`,
		``,
		strings.Repeat(" ", 77-len("byte 0 of 25 ")) + `byte 0 of 25`,
	}
	for i, got := range shown(t, v, 77, 4) {
		if got != want[i] {
			t.Errorf("line %d is\n%q, want\n%q", i, got, want[i])
		}
	}
	if got := shown(t, v, 50, 6)[1]; got != ` 00000008  00 00 00 0d 49 48 44 52  ....IHDR` {
		t.Errorf("narrow: %q", got)
	}
}

// zeros is a body of zero bytes that counts what is read of it.
type zeros struct {
	size, read int64
	fail       bool
}

func (z *zeros) ReadAt(p []byte, off int64) (int, error) {
	if z.fail {
		return 0, errors.New("the disk is gone")
	}
	n := min(int64(len(p)), z.size-off)
	clear(p[:n])
	z.read += n
	return int(n), nil
}

func TestALargeBodyIsReadWhereItIsShown(t *testing.T) {
	z := &zeros{size: 500 << 20}
	v := open(t, z, z.size, 80, 40)
	for _, key := range []tea.KeyPressMsg{{Code: tea.KeyEnd}, {Code: tea.KeyPgUp}, {Code: tea.KeyHome}} {
		uitest.Settle(t, v.Update(key), v.Update)
		if got := shown(t, v, 80, 40); strings.Contains(strings.Join(got, ""), "…") || !strings.Contains(got[38], "00 00") {
			t.Errorf("after %s:\n%s", key, strings.Join(got, "\n"))
		}
	}
	if z.read > 1<<20 {
		t.Errorf("%d bytes were read", z.read)
	}
	uitest.Settle(t, v.JumpTo(400<<20, 5), v.Update)
	if got := shown(t, v, 80, 40); !strings.Contains(strings.Join(got, "\n"), " 19000000  00") {
		t.Errorf("a mark is not on the screen:\n%s", strings.Join(got, "\n"))
	}
	z.fail = true
	uitest.Settle(t, v.Update(tea.KeyPressMsg{Code: tea.KeyHome}), v.Update)
	if got := shown(t, v, 80, 40); !strings.Contains(got[0], "the disk is gone") {
		t.Errorf("a failure is not told: %q", got[0])
	}
}

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		kind, head string
		want       bool
	}{
		{"image/png", "", true},
		{"image/svg+xml", "<svg>", false},
		{"text/html", "<p>", false},
		{"text/html", "a\x00b", true},
		{"", "\x00", true},
		{"application/json", "{}", false},
		{"application/octet-stream", "plain", false},
	} {
		if got := Binary(c.kind, []byte(c.head)); got != c.want {
			t.Errorf("%s %q: %v", c.kind, c.head, got)
		}
	}
}
