package model_test

import (
	"testing"
	"time"

	"zonedeck/model"
)

func TestSpansAreRead(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"36h": 36 * time.Hour, "7d": 7 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "5s": 5 * time.Second,
		"": 0, "7": 0, "d": 0, "-7d": 0, "0d": 0, "7 d": 0, "1.5h": 0, "99999999999w": 0, "15000w15000w": 0, "+1d": 0, "7y": 0,
	} {
		got, err := model.ParseSpan(in)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
}

// FuzzParseSpan checks that a span is positive and never overflows.
func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"7d", "1d12h", "99999999999w", "", "1w1w1w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := model.ParseSpan(s); (err == nil) != (d > 0) {
			t.Errorf("%q is %v, %v", s, d, err)
		}
	})
}
