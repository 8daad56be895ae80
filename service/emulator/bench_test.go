package emulator

import (
	"testing"

	"zonedeck/internal/noerr"
)

// BenchmarkStart is from nothing to all listeners accepting, keys, CA and all.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(b.Context(), Options{ProxyAddr: "127.0.0.1:0"})
		noerr.Must(b, err)
		b.StopTimer()
		noerr.Must(b, s.Shutdown(b.Context()))
		b.StartTimer()
	}
}
