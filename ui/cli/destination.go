package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/ui/cli/session"
)

// destination is where -o leads: standard output, or a name.
type destination struct {
	stream io.Writer // standard output; nil for a name
	name   string
}

// destination looks at what -o names before anything is sent: what is paid for
// has a place to go to.
func (a *app) destination(name string) (destination, error) {
	if name == "-" {
		return destination{stream: a.Stdout}, nil
	}
	at, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return destination{}, fail(exitState, "-o: %w", err)
	case at.IsDir():
		return destination{}, fail(exitState, "-o %s: this is a folder: name a file in it", name)
	case a.isStdout(at):
		// The shell opened it: replacing its file would leave the shell's behind.
		return destination{stream: a.Stdout}, nil
	case !at.Mode().IsRegular():
		return destination{name: name}, nil
	}
	if err := textfile.Probe(name); err != nil {
		return destination{}, fail(exitState, "-o %s: the folder cannot be written to: %w; nothing was sent", name, err)
	}
	return destination{name: name}, nil
}

func (a *app) isStdout(at fs.FileInfo) bool {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return false
	}
	out, err := f.Stat()
	return err == nil && os.SameFile(at, out)
}

// write brings a body there. A file is replaced as a whole or stays as it was.
func (d destination) write(b model.BodyRef) error {
	fill := func(w io.Writer) error { return session.CopyBody(w, b) }
	if d.stream != nil {
		if err := fill(d.stream); err != nil {
			return fail(exitState, "write the body: %w", err)
		}
		return nil
	}
	if err := textfile.WriteFunc(d.name, fill); err != nil {
		return fail(exitState, "write %s: %w", d.name, err)
	}
	return nil
}
