package pace

import (
	"log/slog"
	"path/filepath"
	"testing"
)

// BenchmarkACallOfAZoneThatWasNeverRefused is what each try pays.
func BenchmarkACallOfAZoneThatWasNeverRefused(b *testing.B) {
	l := &Limiter{Store: Files{Dir: filepath.Join(b.TempDir(), "pace")}, Clock: bubble{}, Log: slog.New(slog.DiscardHandler)}
	for b.Loop() {
		turn, _, err := l.Enter(b.Context(), toShop, free, func(string) {})
		if err != nil {
			b.Fatal(err)
		}
		turn.End(b.Context(), Answer{Good: true})
	}
}
