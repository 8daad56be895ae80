package emulator

import (
	"bytes"
	"log/slog"
	"strings"
)

// mishaps takes what net/http says of its connections. That a client's handshake failed or
// that it went away is of no interest to anyone else; that a handler panicked is a fault
// here.
type mishaps struct{ log *slog.Logger }

func (m mishaps) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	if bytes.Contains(b, []byte("panic serving")) {
		m.log.Error("a handler panicked", "error", text)
	} else {
		m.log.Debug(text)
	}
	return len(b), nil
}
