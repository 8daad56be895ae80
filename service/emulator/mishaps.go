package emulator

import (
	"bytes"
	"log/slog"
	"strings"
)

// mishaps logs the messages of net/http: a panic of a handler as an error, and failed
// handshakes and lost clients for debugging.
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
