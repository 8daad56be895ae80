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

// stream is standard output or standard error. Several goroutines may write to it. When ctx has ended, a write that nobody
// reads is given up, and the stream with it: a full terminal or pipe would keep the program from ending.
type stream struct {
	*os.File // for Bubble Tea and editors, which look for a terminal

	ctx    context.Context //nolint:containedctx // it lives as long as the program
	mu     sync.Mutex
	unread bool
}

// Unwrap returns the file, for a program that inherits it.
func (s *stream) Unwrap() io.Writer { return s.File }

func (s *stream) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread {
		return 0, errUnread
	}
	written := make(chan error, 1)
	go func(p []byte) {
		_, err := s.File.Write(p)
		written <- err
	}(bytes.Clone(p))
	select {
	case err := <-written:
		return len(p), err
	case <-s.ctx.Done():
	}
	select {
	case err := <-written:
		return len(p), err
	case <-time.After(unreadPatience):
		s.unread = true
		return 0, errUnread
	}
}

// WriteString and ReadFrom would pass by Write.

func (s *stream) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

func (s *stream) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{s}, r)
}
