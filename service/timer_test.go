package service

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

func TestAClockThatJumpsDuringACallDoesNotMakeItLonger(t *testing.T) {
	var ahead atomic.Int64
	p := api(t, func(w http.ResponseWriter, _ *http.Request) {
		ahead.Store(int64(7 * 24 * time.Hour))
		_, _ = io.WriteString(w, page)
	})
	c := newTestClient(t, p, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.Timer = time.Now
	})
	res, err := c.Fetch(t.Context(), ask(p, "unlocker1"), nil)
	if err != nil || res.Timing.Total <= 0 || res.Timing.Total > time.Hour || time.Until(res.Started) > time.Hour {
		t.Errorf("begun at %v, it took %v, %v", res.Started, res.Timing.Total, err)
	}
}
