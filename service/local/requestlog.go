package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"zonedeck/keystore/textfile"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/record"
)

// requestLog writes the emulator's journal: lines for people to stderr, JSON to a
// file. The zero value writes nothing.
type requestLog struct {
	lines   io.Writer // nil without --log
	objects io.Writer // nil without --log-file
	file    *os.File  // what objects go to, unless it is standard output
	say     func(format string, args ...any)
	// broken is the file's first error; the goroutine of follow owns it.
	broken error
	done   chan error // receives the file's first error; nil if nothing is followed
}

// openRequestLog opens the file before the emulator starts, so that a wrong name is
// reported at once.
func (e Emulation) openRequestLog() (*requestLog, error) {
	l := &requestLog{say: e.Say, lines: e.Requests, objects: e.RequestObjects}
	if e.RequestFile == "" {
		return l, nil
	}
	var err error
	if l.file, err = textfile.OpenAppend(e.RequestFile); err != nil {
		return nil, fmt.Errorf("--log-file: %w", err)
	}
	l.objects = l.file
	return l, nil
}

// follow writes until the server has ended; wait is called after that.
func (l *requestLog) follow(server *emulator.Server) {
	if l.lines == nil && l.objects == nil {
		return
	}
	l.done = make(chan error, 1)
	go func() {
		// It ends with the server, after the last request: requests that end during the
		// shutdown are logged too.
		err := server.Follow(context.Background(), func(e *record.Entry, lost uint64) error {
			l.line(e, lost)
			l.object(e, lost)
			return nil
		})
		if l.broken == nil && !errors.Is(err, record.ErrClosed) {
			l.broken = err
		}
		l.done <- l.broken
	}()
}

func (l *requestLog) line(e *record.Entry, lost uint64) {
	if l.lines == nil {
		return
	}
	if lost > 0 {
		fmt.Fprintf(l.lines, "%d requests before this one arrived too fast to be printed\n", lost)
	}
	fmt.Fprintln(l.lines, e.Line())
}

// object writes to the file until a write fails; the emulator goes on.
func (l *requestLog) object(e *record.Entry, lost uint64) {
	if l.objects == nil || l.broken != nil {
		return
	}
	enc := json.NewEncoder(l.objects)
	if lost > 0 {
		l.broken = enc.Encode(map[string]uint64{"lost": lost})
	}
	if l.broken == nil {
		l.broken = enc.Encode(e)
	}
	if l.broken != nil {
		l.say("zonedeck: --log-file: %v; nothing more is written there", l.broken)
	}
}

// wait returns the file's first error, after everything has been written.
func (l *requestLog) wait() error {
	if l.done == nil {
		return nil
	}
	return <-l.done
}

func (l *requestLog) close() {
	if l.file != nil {
		l.file.Close() // writes are unbuffered, so nothing is lost
	}
}
