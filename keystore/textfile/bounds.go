package textfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxNames bounds the tables and fields of a file, together; the key a.b.c is three. The
// library compares each with those beside it and goes down to each from the top, so that the
// time grows with the square of their number.
const maxNames = 10_000

// bounded refuses a text with more than maxNames tables and fields. It stops at a fault
// of the text, which decoding will tell.
func bounded(file string, b []byte) error {
	var p unstable.Parser
	p.Reset(b)
	n := 0
	for p.NextExpression() {
		e := p.Expression()
		if n += count(e); n <= maxNames {
			continue
		}
		it := e.Key()
		it.Next()
		before := b[:it.Node().Raw.Offset]
		return &Error{
			File: file, Line: bytes.Count(before, []byte("\n")) + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'),
			Msg: "the file has too many tables and fields", Expected: fmt.Sprintf("at most %d", maxNames),
		}
	}
	return nil
}

// count counts the tables and fields of an expression, those in its value too.
func count(n *unstable.Node) int {
	all := 0
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
		for it := n.Key(); it.Next(); {
			all++
		}
		if n.Kind == unstable.KeyValue {
			all += count(n.Value())
		}
	case unstable.InlineTable, unstable.Array:
		for it := n.Children(); it.Next(); {
			all += count(it.Node())
		}
	default:
	}
	return all
}

// Open opens a file for reading. The error is an *Error for what is no plain file, such
// as a pipe, which is not opened: reading it could wait for ever. Else it wraps what the
// file system said; errors.Is(err, fs.ErrNotExist) tells a missing file.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := Plain(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return f, nil
}

// ReadBounded gives the content of a file. Beside the errors of Open there is an *Error
// for a file of more than most bytes.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(b)) > most {
		return nil, &Error{File: path, Msg: "the file is too large", Expected: fmt.Sprintf("at most %d KiB", most>>10)}
	}
	return b, nil
}

// Plain is an *Error if info is of something other than a plain file; file names it.
func Plain(file string, info fs.FileInfo) error {
	what := "a device"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return &Error{File: file, Msg: "it is " + what, Expected: "a file"}
}
