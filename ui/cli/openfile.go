package cli

import (
	"context"
	"io"
	"os"
)

// open opens a file that the operator named, or standard input for "-". A pipe may have no writer yet, and nobody may
// type at a terminal: reading anything but a plain file therefore ends with ctx, and its error. A goroutine that still
// waits for input ends with the program.
func (a *app) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if name != "-" {
		if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() || info.IsDir() {
			return os.Open(name)
		}
	}
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		file, err := io.NopCloser(a.Stdin), error(nil)
		if name != "-" {
			file, err = os.Open(name)
		}
		if err == nil {
			_, err = io.Copy(in, file)
			_ = file.Close() // it was only read
		}
		in.CloseWithError(err)
	}()
	return out, nil
}
