package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi/kitty"

	"zonedeck/internal/noerr"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/uitest"
)

// two is an image of w×h pixels, red above and blue below.
func two(w, h int) *image.Paletted {
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}})
	for i := range img.Pix {
		if i/w >= h/2 {
			img.Pix[i] = 1
		}
	}
	return img
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	noerr.Must(t, png.Encode(&b, img))
	return b.Bytes()
}

// claims is a PNG whose header claims a size.
func claims(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 6, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:]))
}

func open(t *testing.T, by Protocol, b []byte) (*View, *[]string) {
	t.Helper()
	v := New(t.Context(), "test", kit.NewTheme(true, false), by)
	var raw []string
	v.Render(true, 20, 6)
	settle(t, v, &raw, v.Open(body.Source{Reader: bytes.NewReader(b), Size: int64(len(b))}))
	return v, &raw
}

// settle runs commands and keeps what is written to the terminal.
func settle(t *testing.T, v *View, raw *[]string, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settle(t, v, raw, c)
		}
	case tea.RawMsg:
		*raw = append(*raw, msg.Msg.(string))
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, m := range msgs {
			settle(t, v, raw, kit.Serve(v, m))
		}
		settle(t, v, raw, more)
	}
}

// webpOf is a lossless WebP of an image that is red or blue: a prefix code of two symbols for both
// channels, and of one for the others.
func webpOf(img image.Image) []byte {
	var out []byte
	n := 0
	put := func(v uint32, bits int) { // the lowest bit first
		for i := range bits {
			if n%8 == 0 {
				out = append(out, 0)
			}
			out[n/8] |= byte(v>>i&1) << (n % 8)
			n++
		}
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	put(0x2f, 8)
	put(uint32(w-1), 14)
	put(uint32(h-1), 14)
	put(0, 1+3+1+1+1) // no alpha, version 0, no transform, no cache of colours, one group of codes
	one := func(symbol uint32) { put(1, 1); put(0, 1); put(1, 1); put(symbol, 8) }
	two := func() { put(1, 1); put(1, 1); put(0, 1); put(0, 1); put(255, 8) }
	one(0) // green
	two()  // red
	two()  // blue
	one(255)
	one(0)
	for y := range h {
		for x := range w {
			r, _, b, _ := img.At(x, y).RGBA()
			put(r>>15, 1)
			put(b>>15, 1)
		}
	}
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	size := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	return slices.Concat([]byte("RIFF"), size(len(out)+12), []byte("WEBPVP8L"), size(len(out)), out)
}

// largeWebP is a WebP whose head claims a size and holds nothing.
func largeWebP(w, h int) []byte {
	b := webpOf(image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.LittleEndian.PutUint32(b[21:], uint32(w-1)|uint32(h-1)<<14)
	return b
}

func TestHalfBlocks(t *testing.T) {
	var jpg, anim bytes.Buffer
	img := two(40, 40)
	noerr.Must(t, errors.Join(jpeg.Encode(&jpg, img, nil), gif.EncodeAll(&anim, &gif.GIF{Image: []*image.Paletted{img, two(40, 20)}, Delay: []int{0, 0}})))
	for name, b := range map[string][]byte{"PNG": pngOf(t, img), "JPEG": jpg.Bytes(), "GIF": anim.Bytes(), "WEBP": webpOf(img)} {
		v, raw := open(t, HalfBlocks, b)
		lines := strings.Split(v.Render(true, 60, 6), "\n")
		if len(lines) != 6 || strings.Count(lines[0], "▀") != 10 || len(*raw) != 0 {
			t.Errorf("%s: %d lines, the first is %q; written: %q", name, len(lines), lines[0], *raw)
		}
		if plain := uitest.Plain(lines[5]); !strings.Contains(plain, name+", 40 × 40 pixels · drawn as half blocks") {
			t.Errorf("%s: %q", name, plain)
		}
		if name != "JPEG" && (!strings.Contains(lines[0], "38;2;255;0;0;48;2;255;0;0") || !strings.Contains(lines[2], "38;2;255;0;0;48;2;0;0;255") || !strings.Contains(lines[4], "48;2;0;0;255")) {
			t.Errorf("%s: the colours are\n%q", name, lines)
		}
	}
	v, _ := open(t, HalfBlocks, pngOf(t, img))
	v.theme.Set(true, true)
	if lines := strings.Split(v.Render(true, 60, 6), "\n"); strings.Contains(lines[0], "\x1b[") || !strings.Contains(lines[0], "::") || !strings.Contains(lines[4], "..") {
		t.Errorf("without colours:\n%s", strings.Join(lines, "\n"))
	}
}

// counting fails the test if more is read than a header needs.
type counting struct {
	r *bytes.Reader
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}

func TestWhatIsTooLargeIsNotDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		size int64
		want string
	}{
		"pixels":      {claims(100_000, 100_000), 0, "million pixels are drawn; this one has 100000 × 100000"},
		"one side":    {claims(1<<31-1, 1), 0, "million pixels"},
		"bytes":       {claims(10, 10), maxBytes + 1, "up to 64 MiB"},
		"format":      {[]byte("\x00\x00\x00\x1cftypavif"), 0, "PNG, JPEG, GIF and WebP are drawn"},
		"a WebP":      {largeWebP(16000, 16000), 0, "million pixels are drawn; this one has 16000 × 16000"},
		"a cut image": {pngOf(t, two(10, 10))[:50], 0, "read the image"},
	} {
		r := &counting{r: bytes.NewReader(append(c.head, make([]byte, 1<<20)...))}
		size := c.size
		if size == 0 {
			size = int64(len(c.head)) + 1<<20
		}
		_, err := decode(r, size)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if r.n > 64<<10 {
			t.Errorf("%s: %d bytes were read", name, r.n)
		}
	}
	v, _ := open(t, HalfBlocks, claims(100_000, 100_000))
	if got := uitest.Plain(v.Render(true, 120, 6)); !strings.Contains(got, "! images of up to") || !strings.Contains(got, "] shows the bytes") {
		t.Errorf("it is not said:\n%s", got)
	}
}

func TestKittyIsHandedTheImageAndForgetsIt(t *testing.T) {
	v, raw := open(t, Kitty, pngOf(t, two(40, 40)))
	if len(*raw) != 0 {
		t.Fatalf("before its size is known: %q", *raw)
	}
	if got := v.Render(true, 60, 6); !strings.Contains(got, "▀") {
		t.Errorf("until the terminal has it, half blocks:\n%q", got)
	}
	tick := func() { settle(t, v, raw, v.Update(kit.Tick{})) }
	tick()
	if len(*raw) != 1 {
		t.Fatalf("written: %q", *raw)
	}
	for _, part := range []string{"\x1b_G", "a=T", "U=1", "i=187", "c=10", "r=5", "q=2", "f=100", "\x1b\\"} {
		if !strings.Contains((*raw)[0], part) {
			t.Errorf("no %q in %.80q", part, (*raw)[0])
		}
	}
	got := v.Render(true, 60, 6)
	if strings.Count(got, string(kitty.Placeholder)) != 50 || strings.Contains(got, "▀") || !strings.Contains(got, "\x1b[38;5;187m") || !strings.Contains(uitest.Plain(got), "kitty graphics") {
		t.Errorf("the screen is\n%q", got)
	}
	tick()
	if len(*raw) != 1 {
		t.Errorf("it was handed over again: %q", (*raw)[1:])
	}
	if v.Render(true, 60, 12); !strings.Contains(v.Render(true, 60, 12), "▀") {
		t.Error("another size is not drawn as half blocks until it is placed")
	}
	tick()
	if len(*raw) != 2 || !strings.Contains((*raw)[1], "c=22") {
		t.Errorf("another size was not placed: %.100q", *raw)
	}
	settle(t, v, raw, v.Leave())
	if last := (*raw)[len(*raw)-1]; !strings.Contains(last, "a=d") || !strings.Contains(last, "d=I") || !strings.Contains(last, "i=187") {
		t.Errorf("the image stays in the terminal: %q", last)
	}
	n := len(*raw)
	settle(t, v, raw, v.Close())
	if len(*raw) != n {
		t.Error("it was removed twice")
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Protocol
	}{
		{map[string]string{"TERM": "xterm-kitty"}, Kitty},
		{map[string]string{"TERM": "xterm-ghostty"}, Kitty},
		{map[string]string{"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, Kitty},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, Kitty},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, HalfBlocks}, // it has no placeholders
		{map[string]string{"TERM": "xterm-kitty", "TMUX": "x"}, HalfBlocks},
		{map[string]string{"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, HalfBlocks},
		{map[string]string{"TERM": "xterm-kitty", "ZELLIJ": "0"}, HalfBlocks},
		{nil, HalfBlocks},
	} {
		if got := Detect(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}

// terminal answers as it is told and then presses a key.
type terminal struct{ answers []string }

func (c *terminal) Read(p []byte) (int, error) {
	if len(c.answers) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.answers[0])
	c.answers = c.answers[1:]
	return n, nil
}

func TestThePictureInPixels(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    string // what draws it; "" if nothing does
	}{
		"sixel":          {[]string{"\x1b[4;480;640t\x1b[?62;4;22c", "q"}, "\x1bP0;1q\"1;1;40;40"},
		"sixel in parts": {[]string{"\x1b[4;480", ";640t\x1b[?62;", "4c", "q"}, "\x1bP0;1q"},
		"kitty":          {[]string{"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c", "q"}, "\x1b_Gf=100,q=2,i=187"},
		"neither":        {[]string{"\x1b_Gi=31;ENOENT\x1b\\\x1b[?62;22c"}, ""},
		"no answer":      {[]string{"q"}, ""},
	} {
		var out bytes.Buffer
		f := &full{ctx: t.Context(), img: two(40, 40)}
		f.SetStdin(&terminal{c.answers})
		f.SetStdout(&out)
		err := f.Run()
		if c.want == "" {
			if !errors.Is(err, errNoPixels) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !strings.Contains(out.String(), c.want) || !strings.HasPrefix(out.String(), "\x1b[14t\x1b_Gi=31") {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
		if strings.Contains(c.want, "_G") != strings.Contains(out.String(), "a=d") || !strings.HasSuffix(out.String(), "\x1b[2J\x1b[H") {
			t.Errorf("%s: it is not taken off the screen: %q", name, out.String()[max(out.Len()-60, 0):])
		}
	}
}

func TestThePictureInPixelsDoesNotOutliveTheProgram(t *testing.T) {
	for name, answers := range map[string]string{"before the answer": "", "before a key": "\x1b[?62;4;22c"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in, terminal := io.Pipe()
			var out bytes.Buffer
			f := &full{ctx: ctx, img: two(40, 40)}
			f.SetStdin(in)
			f.SetStdout(&out)
			ended := make(chan error, 1)
			go func() { ended <- f.Run() }()
			if answers != "" {
				_, _ = io.WriteString(terminal, answers)
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			default:
				t.Errorf("%s: it waits for a key when the program has ended", name)
			}
			if answers != "" && !strings.HasSuffix(out.String(), "\x1b[2J\x1b[H") {
				t.Errorf("%s: it is not taken off the screen", name)
			}
			_ = terminal.Close()
		})
	}
}

// BenchmarkFirstFrame draws the largest picture that is kept, before its cells are known.
func BenchmarkFirstFrame(b *testing.B) {
	v := New(b.Context(), "test", kit.NewTheme(true, false), HalfBlocks)
	v.pic = decoded{img: scale(two(thumb, 1200), thumb, 1200), format: "png", w: thumb, h: 1200}
	for b.Loop() {
		v.drawn.lines = nil
		v.Render(true, 132, 50)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(pngOf(f, two(8, 8)))
	f.Add(claims(5000, 5000))
	f.Add(webpOf(two(8, 8)))
	f.Add([]byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00"))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if cfg, _, err := image.DecodeConfig(bytes.NewReader(b)); err == nil && cfg.Width*cfg.Height > 1<<20 && cfg.Width*cfg.Height < maxPixels {
			return // allowed, but slow to fuzz
		}
		pic, err := decode(bytes.NewReader(b), int64(len(b)))
		if err == nil && (pic.img.Bounds().Dx() > thumb || pic.img.Bounds().Dy() > thumb || pic.img.Bounds().Empty()) {
			t.Errorf("%v", pic.img.Bounds())
		}
	})
}
