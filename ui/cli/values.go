package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"zonedeck/ui/kit/text"
)

// parseDuration parses a Go duration, and also days and weeks ("14d", "1.5w",
// "1d12h").
func parseDuration(s string) (time.Duration, error) {
	wrong := fmt.Errorf("duration %q: write it like 30s, 5m, 14d or 2w", s)
	total, rest := time.Duration(0), s
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		head, tail, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(head, 64)
		if err != nil {
			return 0, wrong
		}
		total += time.Duration(n * float64(unit.length))
		rest = tail
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return 0, wrong
		}
		total += d
	}
	if s == "" || total < 0 {
		return 0, wrong
	}
	return total, nil
}

// durationFlag is a pflag.Value that also accepts days and weeks.
type durationFlag struct{ d time.Duration }

func (f *durationFlag) String() string {
	switch days := f.d / (24 * time.Hour); {
	case f.d == 0:
		return ""
	case f.d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", days)
	default:
		return f.d.String()
	}
}

func (f *durationFlag) Type() string { return "duration" }

func (f *durationFlag) Set(s string) (err error) {
	f.d, err = parseDuration(s)
	return err
}

// onceFlag is a flag of which one value alone can be used. A second one is refused: it would replace the first without a word.
type onceFlag string

func (f *onceFlag) String() string { return string(*f) }
func (f *onceFlag) Type() string   { return "string" }

func (f *onceFlag) Set(s string) error {
	if *f != "" {
		return fmt.Errorf("given twice, after %q: only one can be used", string(*f))
	}
	*f = onceFlag(s)
	return nil
}

// sanitizeLine makes text that may hold remote bytes safe for the terminal.
func sanitizeLine(s string) string { return text.Clean(s) }
