package fetch

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/service/servicetest"
)

func TestAClockThatJumpsDuringACallDoesNotMakeItLonger(t *testing.T) {
	var ahead atomic.Int64
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		ahead.Store(int64(7 * 24 * time.Hour))
		_, _ = io.WriteString(w, servicetest.Page)
	})
	c := newFetcher(t, p, func(o *Config) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.Timer = time.Now
	})
	res, err := c.Fetch(t.Context(), askFor(p, "unlocker1"), nil)
	if err != nil || res.Timing.Total <= 0 || res.Timing.Total > time.Hour || time.Until(res.Started) > time.Hour {
		t.Errorf("begun at %v, it took %v, %v", res.Started, res.Timing.Total, err)
	}
}
