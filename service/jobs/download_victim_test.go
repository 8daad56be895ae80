package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

// victimFormat and victimDie tell a process that downloads its format, and when it kills itself: at which
// step, or with a "µs" after it after how many microseconds; without one it goes to the end. A step is a look
// at the clock, which is before and within each write of the ledger and around each call, or a word of the
// progress, which is after each piece and before and after what is done on the disk.
const (
	victimFormat = "ZONEDECK_SERVICE_VICTIM_FORMAT"
	victimDie    = "ZONEDECK_SERVICE_VICTIM_DIE"
)

// downloadOnce downloads the one job of a ledger, and prints how many steps that took.
func downloadOnce(ctx context.Context) error {
	die := func() {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // until it is dead
	}
	var steps atomic.Int64
	at, _ := strconv.ParseInt(os.Getenv(victimDie), 10, 64) // 0 for none
	step := func() {
		if steps.Add(1) == at {
			die()
		}
	}
	if after, ok := strings.CutSuffix(os.Getenv(victimDie), "µs"); ok {
		n, err := strconv.Atoi(after)
		if err != nil {
			return err
		}
		time.AfterFunc(time.Duration(n)*time.Microsecond, die)
	}
	now := func() time.Time {
		step()
		return time.Now()
	}
	l, _, err := ledger.Open(ctx, filepath.Join(os.Getenv(victimDir), "ledger.db"), now)
	if err != nil {
		return err
	}
	p := servicetest.Profile(os.Getenv(victimURL))
	p.Local = true
	rn := New(Config{
		Source: servicetest.SourceFor(p),
		Wire:   exchange.New(exchange.Config{Now: now}), Ledger: l, Clock: servicetest.ClockFunc(now),
	})
	to := Destination{File: filepath.Join(os.Getenv(victimDir), "results", "out."+os.Getenv(victimFormat))}
	_, err = rn.Download(ctx, "job-1", to, func(Progress) { step() })
	var exists *ExistsError
	if errors.As(err, &exists) { // the one before was killed when all was done
		err = nil
	}
	if err == nil {
		fmt.Println(steps.Load())
	}
	return errors.Join(err, l.Close())
}
