package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"zonedeck/service/view"
)

// maxMessage bounds a message of a client, in bytes.
const maxMessage = 16 << 20

// The errors of JSON-RPC 2.0 for what is not a message.
const (
	notJSON    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON: write one message a line"}}`
	tooLong    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"longer than 16 MB"}}`
	notMessage = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a message of JSON-RPC 2.0"}}`
)

// lines reads the messages of a client, one a line, and passes on those that the SDK can read: it ends
// the session at any other, which is answered with an error here. The messages of a batch are passed
// on one by one, and answered so. The end is passed on once all requests are answered: the SDK would cancel them.
type lines struct {
	in     *bufio.Reader
	answer *output
	unread []byte // what was not read yet of messages
	err    error  // of in
}

func newLines(in io.Reader, answer *output) *lines {
	return &lines{in: bufio.NewReader(in), answer: answer}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.unread) == 0 {
		if l.err != nil {
			l.answer.waitForAnswers()
			return 0, l.err
		}
		var line []byte
		var whole bool
		if line, whole, l.err = l.line(); !whole {
			l.refuse(tooLong)
			continue
		}
		l.pass(bytes.TrimSpace(line))
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// line reads a line; of one that is too long whole is false, and nothing is kept.
func (l *lines) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := l.in.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxMessage; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// pass takes the messages of a line.
func (l *lines) pass(line []byte) {
	if len(line) == 0 {
		return
	}
	if !json.Valid(line) {
		l.refuse(notJSON)
		return
	}
	messages := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &messages); err != nil || len(messages) == 0 {
			l.refuse(notMessage)
			return
		}
	}
	for _, m := range messages {
		decoded, err := jsonrpc.DecodeMessage(m)
		if err != nil {
			l.refuse(notMessage)
			continue
		}
		if r, ok := decoded.(*jsonrpc.Request); ok && r.IsCall() && r.Method != listen {
			l.answer.update(func() { l.answer.open[r.ID] = true })
		}
		l.unread = append(append(l.unread, m...), '\n')
	}
}

func (l *lines) refuse(why string) { _, _ = io.WriteString(l.answer, why+"\n") } // a client that is gone is told nothing

// listen is a request that is answered when the session ends.
const listen = "subscriptions/listen"

// output is written to by the SDK and by lines, a whole message at a time. It knows which requests have no answer yet.
type output struct {
	mu       sync.Mutex
	out      io.Writer
	open     map[jsonrpc.ID]bool // requests without an answer
	closed   bool                // no further answer comes
	answered sync.Cond           // on mu: open or closed has changed
}

func newOutput(out io.Writer) *output {
	o := &output{out: out, open: map[jsonrpc.ID]bool{}}
	o.answered.L = &o.mu
	return o
}

// Write writes a message, without a character that a terminal would obey.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.answered.Broadcast()
	if m, err := jsonrpc.DecodeMessage(p); err == nil {
		if r, ok := m.(*jsonrpc.Response); ok {
			delete(o.open, r.ID)
		}
	}
	_, err := o.out.Write(view.Visible(p))
	o.closed = o.closed || err != nil
	return len(p), err
}

// Close is called when the session ends.
func (o *output) Close() error {
	o.update(func() { o.closed = true })
	return nil
}

func (o *output) update(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	o.answered.Broadcast()
}

// waitForAnswers returns when every request is answered, or nothing can be answered any more.
func (o *output) waitForAnswers() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.open) > 0 && !o.closed {
		o.answered.Wait()
	}
}
