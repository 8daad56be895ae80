package textfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Bounds limit what a file may hold. The library looks each table and field up among its siblings,
// from the top of the file: the time grows with the square of their number. In a long list of small
// tables it does so only within each table.
type Bounds struct {
	size  int    // bytes
	names int    // tables and fields, together; the key a.b.c is three. With list: in each of its tables, and before the first
	list  string // the name of the one top-level list, as in [[list]], that may be long; empty for none
	long  int    // tables of list
	items int    // tables, fields and list elements in the whole file; only with list
}

// maxNames limits the tables and fields of a file that is written by hand.
const maxNames = 10_000

var byHand = Bounds{size: MaxSize, names: maxNames}

// Long are the bounds of a file that is a long list of small tables: at most 200,000 tables with 100
// tables and fields each, 3,000,000 tables, fields and list elements in all, and 64 MiB.
func Long(list string) Bounds {
	return Bounds{size: 64 << 20, names: 100, list: list, long: 200_000, items: 3_000_000}
}

// Check refuses a text that exceeds the bounds; file names it in errors. It stops at a syntax error,
// which decoding will report.
func (m Bounds) Check(file string, b []byte) error {
	if len(b) > m.size {
		return &Error{File: file, Msg: fmt.Sprintf("the file is larger than %d MiB", m.size>>20), Expected: "a file written by hand or by zonedeck"}
	}
	var p unstable.Parser
	p.Reset(b)
	names, long, items := 0, 0, 0
	refuse := func(msg string, most int) error {
		it := p.Expression().Key()
		it.Next()
		line, column := position(b, int(it.Node().Raw.Offset))
		return &Error{File: file, Line: line, Column: column, Msg: msg, Expected: fmt.Sprintf("at most %d", most)}
	}
	for p.NextExpression() {
		e := p.Expression()
		if m.begins(e) {
			names = 0
			long++
		}
		n, elements := count(e)
		names += n
		items += n + elements
		switch {
		case m.list == "" && names > m.names:
			return refuse("the file has too many tables and fields", m.names)
		case m.list == "":
		case names > m.names:
			return refuse("one of the "+m.list+" has too many tables and fields", m.names)
		case long > m.long:
			return refuse("the file has too many "+m.list, m.long)
		case items > m.items:
			return refuse("the file has too many fields and elements of lists", m.items)
		}
	}
	return nil
}

// begins reports whether an expression starts a table of m.list.
func (m Bounds) begins(e *unstable.Node) bool {
	if m.list == "" || e.Kind != unstable.ArrayTable {
		return false
	}
	it := e.Key()
	return it.Next() && string(it.Node().Data) == m.list && !it.Next()
}

// count counts the tables and fields of an expression, with those in its value, and the elements of
// lists.
func count(n *unstable.Node) (names, elements int) {
	add := func(n *unstable.Node) {
		in, el := count(n)
		names, elements = names+in, elements+el
	}
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
		for it := n.Key(); it.Next(); {
			names++
		}
		if n.Kind == unstable.KeyValue {
			add(n.Value())
		}
	case unstable.InlineTable, unstable.Array:
		for it := n.Children(); it.Next(); {
			if n.Kind == unstable.Array {
				elements++
			}
			add(it.Node())
		}
	default:
	}
	return names, elements
}

// position is the line and column of an offset, both from 1.
func position(b []byte, off int) (line, column int) {
	return bytes.Count(b[:off], []byte("\n")) + 1, off - bytes.LastIndexByte(b[:off], '\n')
}

// Open opens a regular file for reading. For anything else, such as a pipe, the error is
// an *Error, and it is not opened: reading it could block forever. Other errors wrap the
// file system's; errors.Is(err, fs.ErrNotExist) means a missing file.
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

// ReadBounded returns the content of a file. It has the errors of Open, and an *Error for
// a file of more than most bytes.
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

// Plain returns an *Error if info is not that of a regular file; file names it.
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
