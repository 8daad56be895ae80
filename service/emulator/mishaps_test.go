package emulator

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
)

func TestAPanicIsLoggedAsAnErrorAndABrokenHandshakeIsNot(t *testing.T) {
	var out bytes.Buffer
	l := log.New(mishaps{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))}, "", 0)
	l.Printf("http: TLS handshake error from 127.0.0.1:1: EOF")
	if out.Len() > 0 {
		t.Errorf("said %q", out.String())
	}
	l.Printf("http: panic serving 127.0.0.1:1: index out of range\ngoroutine 1 [running]:")
	if got := out.String(); !strings.Contains(got, "a handler panicked") || !strings.Contains(got, "index out of range") {
		t.Errorf("said %q", got)
	}
}
