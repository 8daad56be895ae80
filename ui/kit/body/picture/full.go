package picture

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// graphics is what a terminal answered that it draws.
type graphics int

const (
	byNothing graphics = iota
	bySixel
	byKitty
)

// errNoPixels says that the terminal draws no pixels.
var errNoPixels = errors.New("the terminal answers that it draws neither sixel nor kitty graphics")

// full shows a picture over the whole terminal until a key is pressed or ctx ends. It runs while the
// program has let go of the terminal (tea.Exec), so it can ask the terminal what it draws,
// and nothing of the program's own drawing is in the way.
type full struct {
	ctx context.Context //nolint:containedctx // tea.ExecCommand's Run takes none
	img image.Image
	in  io.Reader
	out io.Writer
}

func (f *full) SetStdin(r io.Reader)  { f.in = r }
func (f *full) SetStdout(w io.Writer) { f.out = w }
func (f *full) SetStderr(io.Writer)   {}

// Run shows the picture.
func (f *full) Run() (err error) {
	if tty, ok := f.in.(term.File); ok && term.IsTerminal(tty.Fd()) {
		state, err := term.MakeRaw(tty.Fd())
		if err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		defer func() { _ = term.Restore(tty.Fd(), state) }() // the program sets it up anew
	}
	ask := "\x1b[14t" + ansi.KittyGraphics([]byte("AAAA"), "i=31", "s=1", "v=1", "a=q", "t=d", "f=24") + ansi.RequestPrimaryDeviceAttributes
	if _, err := io.WriteString(f.out, ask); err != nil {
		return err
	}
	answer, err := f.answer()
	if err != nil {
		return err
	}
	by, w, h := parse(answer)
	if by == byNothing {
		return errNoPixels
	}
	b := f.img.Bounds()
	w, h = fit(b.Dx(), b.Dy(), min(w, b.Dx()), min(h, b.Dy()))
	seq, err := inPixels(scale(f.img, w, h), by)
	if err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	if _, err := io.WriteString(f.out, ansi.EraseEntireScreen+ansi.CursorHomePosition+seq); err != nil {
		return err
	}
	_, err = f.read(64) // any key
	end := ansi.EraseEntireScreen + ansi.CursorHomePosition
	if by == byKitty {
		end = remove() + end
	}
	_, werr := io.WriteString(f.out, end)
	return errors.Join(err, werr)
}

// read reads at most size bytes from the terminal, none if ctx ends first.
func (f *full) read(size int) ([]byte, error) {
	type bytesRead struct {
		b   []byte
		err error
	}
	in, got := f.in, make(chan bytesRead, 1)
	go func() { // outlives a cancelled Run, and ends with the process
		b := make([]byte, size)
		n, err := in.Read(b)
		got <- bytesRead{b[:n], err}
	}()
	select {
	case r := <-got:
		return r.b, r.err
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
}

// da1 is the answer that every terminal gives, and that comes last.
var (
	da1    = regexp.MustCompile(`\x1b\[\?([0-9;]*)c`)
	pixels = regexp.MustCompile(`\x1b\[4;([0-9]{1,5});([0-9]{1,5})t`)
)

// answer reads what the terminal answers, at most 4 KiB. A key that is no answer ends it.
func (f *full) answer() (string, error) {
	var got strings.Builder
	for got.Len() < 4<<10 {
		b, err := f.read(256)
		got.Write(b)
		if s := got.String(); da1.MatchString(s) || s != "" && s[0] != '\x1b' {
			return s, nil
		}
		if err != nil {
			return "", fmt.Errorf("ask the terminal: %w", err)
		}
	}
	return got.String(), nil
}

// parse takes from an answer what the terminal draws, and the pixels that there is room for:
// 800×400 if it does not say.
func parse(answer string) (by graphics, w, h int) {
	w, h = 800, 400
	if m := pixels.FindStringSubmatch(answer); m != nil {
		h, _ = strconv.Atoi(m[1])
		w, _ = strconv.Atoi(m[2])
	}
	w, h = min(max(w, 100), thumb), min(max(h, 100), thumb)
	if strings.Contains(answer, "\x1b_Gi=31;OK") {
		return byKitty, w, h
	}
	if m := da1.FindStringSubmatch(answer); m != nil {
		for _, p := range strings.Split(m[1], ";")[1:] {
			if p == "4" {
				return bySixel, w, h
			}
		}
	}
	return byNothing, w, h
}
