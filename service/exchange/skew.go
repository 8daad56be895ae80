package exchange

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"zonedeck/model"
)

// Skew is how far the service's clock is ahead of this machine's, by the Date header of its last
// answer. It is negative if the clock is behind.
type Skew struct {
	By time.Duration
	// Give is the uncertainty to either side: from the header's resolution of a second and
	// the duration of the call.
	Give    time.Duration
	At      time.Time // when it was measured, by this machine's clock
	Service string    // the address of the service
	// Followed is how far Config.Now was ahead of this machine's clock at that moment. It follows only the embedded
	// emulator, whose time may be moved.
	Followed time.Duration
}

// FromRecords is the skew against the clock that job records use, Config.Now.
func (s Skew) FromRecords() Skew {
	s.By -= s.Followed
	return s
}

// Significant reports whether the clocks differ by more than the uncertainty.
func (s Skew) Significant() bool { return s.By.Abs() > s.Give }

// String says it in words.
func (s Skew) String() string {
	give := "±" + max(s.Give, time.Second).Round(time.Second).String()
	if !s.Significant() {
		return "the service's clock agrees with this machine's (" + give + ")"
	}
	word := " ahead of this machine's ("
	if s.By < 0 {
		word = " behind this machine's ("
	}
	return "the service's clock is " + s.By.Abs().Round(time.Second).String() + word + give + ")"
}

// skewOf reads a Date header that was written between sent and received.
func skewOf(h http.Header, sent, received time.Time) (Skew, bool) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || received.Before(sent) {
		return Skew{}, false
	}
	// The service's moment lies within the second that begins at date, and ours within the call.
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	return Skew{By: (least + most) / 2, Give: (most - least) / 2, At: received}, true
}

// noteSkew keeps what an answer says about the service's clock.
func (w *Wire) noteSkew(p model.Profile, h http.Header, sent time.Time) {
	if s, ok := skewOf(h, sent, w.timer()); ok {
		s.Service = p.BaseURL
		if p.Local {
			s.Followed = w.now().Sub(s.At)
		}
		w.skew.Store(&s)
	}
}

// Skew is the last measurement at a profile's service; ok is false if there is none.
func (w *Wire) Skew(p model.Profile) (s Skew, ok bool) {
	if last := w.skew.Load(); last != nil && last.Service == p.BaseURL {
		return *last, true
	}
	return Skew{}, false
}

// MeasureSkew asks the service of the profile in use for its Date header. The request has no key and costs nothing;
// its answer is otherwise ignored.
func (w *Wire) MeasureSkew(ctx context.Context, source Source) (Skew, error) {
	p, _, err := Current(ctx, source)
	if err != nil {
		return Skew{}, err
	}
	resp, _, err := w.API(ctx, Call{Profile: p, Method: http.MethodGet, Path: "/"})
	if err != nil {
		return Skew{}, fmt.Errorf("ask for the service's time: %w", err)
	}
	defer resp.Body.Close()
	s, ok := w.Skew(p)
	if !ok {
		return Skew{}, fmt.Errorf("the service's answer (%d) has no Date header", resp.StatusCode)
	}
	return s, nil
}
