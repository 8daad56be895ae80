package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/ui/kit/text"
)

// destination is the target of -o: standard output, or a file.
type destination struct {
	stream io.Writer // standard output; nil for a file
	name   string
	// file is the absolute name of a regular file, which is there or not; "" for a device.
	file string
	// taken says that a file is there. fresh says that none is replaced, this one or one that comes meanwhile.
	taken, fresh bool
	// visible says that a person reads the stream, which then gets no control characters.
	visible bool
}

// destination checks the target of -o before anything is sent: a paid response
// must not be lost. Without a name it is standard output, as by "-".
func (a *app) destination(name string) (destination, error) {
	if name == "" || name == "-" {
		return a.stdout(), nil
	}
	if info, err := os.Stat(name); err == nil && a.isStdout(info) {
		// The shell opened this file; replacing it would leave the shell's empty.
		return a.stdout(), nil
	}
	file, err := textfile.Output(name)
	switch {
	case err != nil:
		return destination{}, fail(exitState, "-o: %w", err)
	case file == "":
		return destination{name: name}, nil
	}
	if err := textfile.Probe(file); err != nil {
		return destination{}, fail(exitState, "-o %s: the folder cannot be written to: %w; nothing was sent or written", name, err)
	}
	_, missing := os.Lstat(file)
	return destination{name: name, file: file, taken: missing == nil}, nil
}

func (a *app) stdout() destination {
	return destination{stream: a.Stdout, visible: a.StdoutTTY}
}

func (a *app) isStdout(info fs.FileInfo) bool {
	f, ok := a.Stdout.(*stream)
	if !ok {
		return false
	}
	out, err := f.Stat()
	return err == nil && os.SameFile(info, out)
}

// write writes a body to the destination, unless it was received into that file. It
// replaces a file atomically.
func (d destination) write(ctx context.Context, b model.BodyRef) error {
	if b.File != "" && b.File == d.file {
		return nil
	}
	src, err := exchange.OpenBody(b)
	if err != nil {
		return fail(exitState, "read the body: %w", err)
	}
	defer src.Close()
	return d.writeBy(ctx, "the body", func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

// checkFailed checks the file beside the target that keep may write.
func (d destination) checkFailed() error {
	if d.file != "" {
		if _, err := textfile.Output(d.file + textfile.Failed); err != nil {
			return fail(exitState, "-o: a fetch that fails could not be kept: %w; nothing was sent", err)
		}
	}
	return nil
}

// keep writes the body of a fetch as write does, and names where it is. What did not succeed replaces nothing: if a file is
// there, it goes into the one beside it.
func (d destination) keep(ctx context.Context, b model.BodyRef, succeeded bool) (name string, err error) {
	d.fresh = !succeeded
	if err = d.write(ctx, b); d.fresh && errors.Is(err, fs.ErrExist) {
		d.name, d.file, d.fresh = d.name+textfile.Failed, d.file+textfile.Failed, false
		err = d.write(ctx, b)
	}
	return d.name, err
}

// writeBy writes the output of fill to the destination; what names it in an error.
func (d destination) writeBy(ctx context.Context, what string, fill func(io.Writer) error) (err error) {
	if d.stream != nil {
		w := text.TerminalWriter{To: d.stream}
		if d.visible {
			err = errors.Join(fill(&w), w.Flush())
		} else {
			err = fill(d.stream)
		}
		if err != nil {
			return fail(exitState, "write %s: %w", what, err)
		}
		return nil
	}
	if d.fresh && d.file != "" {
		err = textfile.WriteNew(d.file, fill)
	} else {
		err = textfile.WriteFunc(ctx, d.name, fill)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted")
	case err != nil:
		return fail(exitState, "write %s: %w", d.name, err)
	}
	return nil
}
