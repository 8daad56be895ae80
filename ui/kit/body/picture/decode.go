// Package picture draws an image in the terminal: by kitty's placeholders where the
// terminal is known to have them, by half blocks in every other one, tmux included, and
// over the whole terminal in pixels (kitty or sixel) where the terminal answers that it can.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // formats that are decoded
	_ "image/jpeg"
	_ "image/png"
	"io"
	"strings"

	_ "golang.org/x/image/webp"
)

// The bounds of an image, looked at before it is decoded.
const (
	maxBytes  = 64 << 20 // of the file
	maxPixels = 24 << 20
	// thumb is the longest side that is kept in memory, in pixels; a terminal shows no more.
	thumb = 1600
)

// errUnsupported is wrapped when an image has a format that is not decoded.
var errUnsupported = errors.New("PNG, JPEG, GIF and WebP are drawn, not this format")

// Image reports whether a body is an image by its content type or its first bytes.
func Image(contentType string, head []byte) bool {
	t, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if t = strings.TrimSpace(t); strings.HasPrefix(t, "image/") {
		return t != "image/svg+xml"
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return true
	}
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// decoded is an image as it is drawn: scaled down, with what it was.
type decoded struct {
	img    *image.RGBA
	format string
	w, h   int // pixels of the original
}

// decode reads an image of size bytes, of a GIF the first frame; an animated WebP is not decoded.
func decode(r io.ReaderAt, size int64) (decoded, error) {
	if size > maxBytes {
		return decoded{}, fmt.Errorf("images of up to %d MiB are drawn", maxBytes>>20)
	}
	if _, err := r.ReadAt(make([]byte, 1), 0); err != nil { // the image package would call it another format
		return decoded{}, fmt.Errorf("read the image: %w", err)
	}
	cfg, format, err := image.DecodeConfig(io.NewSectionReader(r, 0, size))
	switch {
	case errors.Is(err, image.ErrFormat):
		return decoded{}, errUnsupported
	case err != nil:
		return decoded{}, fmt.Errorf("read the image: %w", err)
	case cfg.Width <= 0 || cfg.Height <= 0:
		return decoded{}, errors.New("the image is empty")
	case int64(cfg.Width)*int64(cfg.Height) > maxPixels:
		return decoded{}, fmt.Errorf("images of up to %d million pixels are drawn; this one has %d × %d", maxPixels/1_000_000, cfg.Width, cfg.Height)
	}
	img, _, err := image.Decode(io.NewSectionReader(r, 0, size))
	if err != nil {
		return decoded{}, fmt.Errorf("read the image: %w", err)
	}
	w, h := fit(cfg.Width, cfg.Height, thumb, thumb)
	return decoded{img: scale(img, min(w, cfg.Width), min(h, cfg.Height)), format: format, w: cfg.Width, h: cfg.Height}, nil
}

// fit is the largest size with the proportions of w×h inside maxW×maxH, 1×1 at least.
func fit(w, h, maxW, maxH int) (int, int) {
	if w*maxH > h*maxW {
		return max(maxW, 1), max(min(maxW*h/w, maxH), 1)
	}
	return max(min(maxH*w/h, maxW), 1), max(maxH, 1)
}

// scale makes an image of w×h pixels; each is the average of up to 8×8 samples of what it
// covers. Transparent parts are black.
func scale(img image.Image, w, h int) *image.RGBA {
	const samples = 8
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	b := img.Bounds()
	kept, _ := img.(*image.RGBA) // drawn anew for each size: read without a conversion
	for y := range h {
		y0, y1 := b.Min.Y+y*b.Dy()/h, b.Min.Y+(y+1)*b.Dy()/h
		stepY := max((y1-y0+samples-1)/samples, 1)
		for x := range w {
			x0, x1 := b.Min.X+x*b.Dx()/w, b.Min.X+(x+1)*b.Dx()/w
			stepX := max((x1-x0+samples-1)/samples, 1)
			var r, g, bl, n uint32
			for sy := y0; sy < max(y1, y0+1); sy += stepY {
				for sx := x0; sx < max(x1, x0+1); sx += stepX {
					n++
					if kept != nil {
						c := kept.RGBAAt(sx, sy)
						r, g, bl = r+uint32(c.R), g+uint32(c.G), bl+uint32(c.B)
						continue
					}
					cr, cg, cb, _ := img.At(sx, sy).RGBA()
					r, g, bl = r+cr>>8, g+cg>>8, bl+cb>>8
				}
			}
			out.SetRGBA(x, y, color.RGBA{byte(r / n), byte(g / n), byte(bl / n), 0xff}) //nolint:gosec // averages of bytes
		}
	}
	return out
}
