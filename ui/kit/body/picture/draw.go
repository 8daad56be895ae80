package picture

import (
	"bytes"
	"fmt"
	"image"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
)

// Protocol is how pictures are drawn among the text.
type Protocol int

// The protocols.
const (
	// HalfBlocks are characters with two colours, which every terminal has.
	HalfBlocks Protocol = iota
	// Kitty is kitty's graphics by placeholder characters.
	Kitty
)

// Detect says what the terminal is known to draw by its environment: kitty and Ghostty have
// placeholders. A multiplexer in between draws half blocks.
func Detect(getenv func(string) string) Protocol {
	for _, name := range []string{"TMUX", "STY", "ZELLIJ"} {
		if getenv(name) != "" {
			return HalfBlocks
		}
	}
	switch term := getenv("TERM"); {
	case term == "xterm-kitty", term == "xterm-ghostty":
		return Kitty
	case strings.HasPrefix(term, "screen"), strings.HasPrefix(term, "tmux"):
		return HalfBlocks
	case getenv("KITTY_WINDOW_ID") != "", getenv("TERM_PROGRAM") == "ghostty":
		return Kitty
	}
	return HalfBlocks
}

// halfBlocks draws an image of w×2h pixels as h lines of w cells: the upper half of a cell
// is its foreground, the lower one its background. Without colours, brightness is a
// character.
func halfBlocks(img *image.RGBA, noColor bool) []string {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	out := make([]string, 0, (h+1)/2)
	for y := 0; y < h; y += 2 {
		var line strings.Builder
		last := ""
		for x := range w {
			up := img.RGBAAt(x, y)
			low := up
			if y+1 < h {
				low = img.RGBAAt(x, y+1)
			}
			if noColor {
				const ramp = " .:-=+*#%@"
				light := (299*(int(up.R)+int(low.R)) + 587*(int(up.G)+int(low.G)) + 114*(int(up.B)+int(low.B))) / 2000
				line.WriteByte(ramp[light*(len(ramp)-1)/255])
				continue
			}
			style := fmt.Sprintf("\x1b[38;2;%d;%d;%d;48;2;%d;%d;%dm", up.R, up.G, up.B, low.R, low.G, low.B)
			if style != last {
				line.WriteString(style)
				last = style
			}
			line.WriteString("▀")
		}
		if !noColor {
			line.WriteString(ansi.ResetStyle)
		}
		out = append(out, line.String())
	}
	return out
}

// imageID is the number that the picture has in the terminal. Only one is shown at a time.
// It is below 256, so that it survives as a colour of a palette.
const imageID = 187

// maxPlace is the most rows or columns that placeholders can count.
const maxPlace = 255

// placeholders are rows of cells that kitty draws its image in.
func placeholders(cols, rows int) []string {
	out := make([]string, rows)
	for y := range rows {
		var line strings.Builder
		fmt.Fprintf(&line, "\x1b[38;5;%dm", imageID)
		for x := range cols {
			line.WriteRune(kitty.Placeholder)
			line.WriteRune(kitty.Diacritic(y))
			line.WriteRune(kitty.Diacritic(x))
		}
		line.WriteString(ansi.ResetStyle)
		out[y] = line.String()
	}
	return out
}

// transmit is the sequence that hands an image to kitty, to be drawn in cols×rows
// placeholders. The terminal answers nothing.
func transmit(img image.Image, cols, rows int) (string, error) {
	var out bytes.Buffer
	err := kitty.EncodeGraphics(&out, img, &kitty.Options{
		Action: kitty.TransmitAndPut, Quiet: 2, ID: imageID, Format: kitty.PNG, Transmission: kitty.Direct, Chunk: true,
		VirtualPlacement: true, Columns: cols, Rows: rows,
	})
	return out.String(), err
}

// remove is the sequence that makes kitty forget the image.
func remove() string {
	o := kitty.Options{Action: kitty.Delete, Quiet: 2, Delete: kitty.DeleteID, DeleteResources: true, ID: imageID}
	return ansi.KittyGraphics(nil, o.Options()...)
}

// inPixels is the sequence that draws an image where the cursor is.
func inPixels(img image.Image, by graphics) (string, error) {
	var out bytes.Buffer
	if by == bySixel {
		if err := new(sixel.Encoder).Encode(&out, img); err != nil {
			return "", err
		}
		return ansi.SixelGraphics(0, 1, 0, out.Bytes()), nil
	}
	err := kitty.EncodeGraphics(&out, img, &kitty.Options{
		Action: kitty.TransmitAndPut, Quiet: 2, ID: imageID, Format: kitty.PNG, Transmission: kitty.Direct, Chunk: true,
	})
	return out.String(), err
}
