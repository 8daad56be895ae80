package pace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

// bubble is the clock of a test.
type bubble struct{}

func (bubble) Now() time.Time { return time.Now() }

// limiters are two processes of one user, which share a folder.
func limiters(t *testing.T, dir string) (a, b *Limiter, log *bytes.Buffer) {
	t.Helper()
	log = new(bytes.Buffer)
	one := func() *Limiter {
		return &Limiter{Store: Files{Dir: dir}, Clock: bubble{}, Log: slog.New(slog.NewTextHandler(log, nil))}
	}
	return one(), one(), log
}

var toShop = Call{Profile: "acme", Zone: "unlocker1", Host: "shop.example", Cap: 16, Timeout: 10 * time.Second}

// free is a product with places for all.
func free() (leave func(), err error) { return func() {}, nil }

// enter takes a place at once.
func enter(t *testing.T, l *Limiter, c Call) *Turn {
	t.Helper()
	turn, _, err := l.Enter(t.Context(), c, free, func(reason string) { t.Errorf("it waits: %s", reason) })
	noerr.Must(t, err)
	return turn
}

// full is a zone all of whose places are taken.
func full(t *testing.T, l *Limiter) (turns []*Turn) {
	t.Helper()
	enter(t, l, toShop).End(t.Context(), byService)
	for range firstLimit {
		turns = append(turns, enter(t, l, toShop))
	}
	return turns
}

func TestNothingIsWrittenBeforeARefusal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pace")
	a, _, log := limiters(t, dir)
	if got := enter(t, a, toShop).End(t.Context(), Answer{Good: true}); got != "" {
		t.Errorf("it says %q", got)
	}
	if _, err := os.Stat(dir); err == nil || log.Len() > 0 {
		t.Errorf("the folder: %v, log %q", err, log)
	}
	var none *Limiter
	if got := enter(t, none, toShop).End(t.Context(), byService); got != "" {
		t.Errorf("without a limiter it says %q", got)
	}
}

func TestTheProcessesOfAUserShareTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, b, _ := limiters(t, dir)
		turns := full(t, a)
		enter(t, b, Call{Profile: "acme", Zone: "serp1", Cap: 16}).End(t.Context(), Answer{Good: true})
		var reasons []string
		began := time.Now()
		time.AfterFunc(3*time.Second, func() {
			if got := turns[0].End(t.Context(), Answer{Good: true}); got != "zone unlocker1: at most 4 at once, because the service said too fast" {
				t.Errorf("it says %q", got)
			}
		})
		turn, _, err := b.Enter(t.Context(), toShop, free, func(reason string) { reasons = append(reasons, reason) })
		noerr.Must(t, err)
		if want := []string{"zone unlocker1: at most 4 at once, because the service said too fast"}; !slices.Equal(reasons, want) || time.Since(began) > 3*time.Second+pollEvery {
			t.Errorf("after %v: %q", time.Since(began), reasons)
		}
		for _, turn := range append(turns[1:], turn) {
			turn.End(t.Context(), Answer{Good: true})
		}
		if left, err := os.ReadDir(filepath.Join(dir, "alive")); len(left) > 0 || err != nil {
			t.Errorf("signs of life stay: %v, %v", left, err)
		}
		time.Sleep(Window) //nolint:forbidigo // the bubble's clock
		enter(t, a, toShop).End(t.Context(), Answer{Good: true})
		if left, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(left) > 0 {
			t.Errorf("after a quiet window %q stay", left)
		}
	})
}

func TestACallThatGetsNoPlaceInItsTimeIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := limiters(t, t.TempDir())
		turns := full(t, a)
		began := time.Now()
		var fast *TooFastError
		if _, _, err := b.Enter(t.Context(), toShop, free, func(string) {}); !errors.As(err, &fast) || fast.Wait != 0 || time.Since(began) != toShop.Timeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		gone := errors.New("the caller left")
		ctx, cancel := context.WithCancelCause(t.Context())
		if _, _, err := b.Enter(ctx, toShop, free, func(string) { cancel(gone) }); !errors.Is(err, gone) {
			t.Errorf("cancelled: %v", err)
		}
		turns[0].End(t.Context(), Answer{TooFast: true, ByService: true, RetryAfter: time.Minute})
		began = time.Now()
		if _, _, err := b.Enter(t.Context(), toShop, free, func(string) { t.Error("it waits") }); !errors.As(err, &fast) || fast.Wait != time.Minute || time.Since(began) != 0 {
			t.Errorf("a minute is asked for, and after %v: %v", time.Since(began), err)
		}
		for _, turn := range turns[1:] {
			turn.End(t.Context(), Answer{})
		}
	})
}

func TestAPlaceOfADeadProcessIsFree(t *testing.T) {
	a, b, _ := limiters(t, t.TempDir())
	turns := full(t, a)
	turns[0].sign.Release() // as the system does when the process ends
	enter(t, b, toShop).End(t.Context(), Answer{})
	for _, turn := range turns[1:] {
		turn.End(t.Context(), Answer{})
	}
}

func TestADamagedFileBeginsAnewAndIsTold(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                  "\x00\x00",
		"what holds back for ever": `{"Paces":{"":{"Cap":16,"Limit":0}},"Touched":"2026-11-29T16:00:00Z"}`,
		"too long":                 strings.Repeat(" ", maxFile+1),
	} {
		dir := t.TempDir()
		a, _, log := limiters(t, dir)
		for _, turn := range full(t, a) {
			turn.End(t.Context(), Answer{})
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		noerr.Must(t, os.WriteFile(files[0], []byte(text), 0o600))
		if got := enter(t, a, toShop).End(t.Context(), Answer{Good: true}); got != "the pace of zone unlocker1 begins anew: what was remembered of it is damaged" || log.Len() > 0 {
			t.Errorf("%s: it says %q, log %q", name, got, log)
		}
		if got := enter(t, a, toShop).End(t.Context(), Answer{Good: true}); got != "" {
			t.Errorf("%s: then it says %q", name, got)
		}
		noerr.Must(t, os.WriteFile(files[0], []byte(text), 0o600))
		if got := (&Turn{limiter: a, call: toShop}).End(t.Context(), byService); !strings.Contains(got, "begins anew") {
			t.Errorf("%s: at the end it says %q", name, got)
		}
	}
}

func TestAFolderThatCannotBeWrittenHoldsNothingBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	a, _, log := limiters(t, filepath.Join(file, "pace"))
	for range 2 * firstLimit {
		if got := enter(t, a, toShop).End(t.Context(), byService); got != "" {
			t.Errorf("it says %q", got)
		}
	}
	if !strings.Contains(log.String(), "the pace of a zone is not known") {
		t.Errorf("log %q", log)
	}
}
