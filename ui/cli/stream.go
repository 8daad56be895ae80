package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// unreadPatience is how long output waits for a reader once the program has to end.
const unreadPatience = 500 * time.Millisecond

var errUnread = errors.New("nobody reads the output")

// outputFile is what Bubble Tea takes for a terminal, and -o for a file.
type outputFile interface {
	io.ReadWriteCloser
	Fd() uintptr
	Stat() (os.FileInfo, error)
}

// stream is standard output or standard error. Several goroutines may write to it. When ctx has ended, a write that nobody
// reads is given up, and the stream with it: a full terminal or pipe would keep the program from ending.
type stream struct {
	outputFile

	ctx    context.Context //nolint:containedctx // it lives as long as the program
	mu     sync.Mutex
	unread bool
}

// Unwrap returns the file, for a program that inherits it.
func (s *stream) Unwrap() io.Writer { return s.outputFile }

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread {
		return 0, errUnread
	}
	written := make(chan error, 1)
	go func(p []byte) {
		_, err := s.outputFile.Write(p)
		written <- err
	}(bytes.Clone(p))
	ending, late := s.ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case err := <-written:
			return len(p), err
		case <-ending:
			ending, late = nil, time.After(unreadPatience)
		case <-late:
			s.unread = true
			return 0, errUnread
		}
	}
}
