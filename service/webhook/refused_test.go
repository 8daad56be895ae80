package webhook

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestARunOfRefusalsIsToldBoundedAndUntilItIsOver(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	f := refusals{wake: make(chan struct{}, 1)}
	clock := func(t time.Time) string { return t.Format(time.TimeOnly) }
	look := func(after time.Duration, want string, on int) {
		t.Helper()
		at = at.Add(after)
		tell, goOn := f.due(at)
		var said []string
		for _, r := range tell {
			said = append(said, r.Text(clock))
		}
		if got := strings.Join(said, " | "); got != want || len(goOn) != on {
			t.Errorf("%s: %q, %d go on", clock(at), got, len(goOn))
		}
	}
	look(0, "", 0)
	f.add(whyDisk, at)
	look(0, "1 webhook was refused at 12:00:00: the disk is full", 1)
	for range 24 {
		f.add(whyDisk, at)
	}
	look(59*time.Second, "", 1)
	f.add(whyLarge, at)
	look(time.Second, "25 webhooks were refused since 12:00:00, the last at 12:00:00: the disk is full | 1 webhook was refused at 12:00:59: the body is larger than max_body_mb", 2)
	look(time.Minute, "", 2)
	// What is too large says nothing of what was stored; a full disk does.
	look(time.Hour, "1 webhook was refused at 12:00:59: the body is larger than max_body_mb; none since then", 1)
	f.stored(at)
	look(0, "25 webhooks were refused since 12:00:00, the last at 12:00:00: the disk is full; none since then", 0)
}

// answered is the answer to a request without a connection.
type answered struct{ *httptest.ResponseRecorder }

func (answered) SetReadDeadline(time.Time) error { return nil }

// The operator hears neither of a sender's faults nor of webhooks that come while the receiver stops.
func TestWhatASenderBreaksIsNotToldTheOperator(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, _ := listening(t, in, Config{})
	for name, c := range map[string]struct {
		body   io.Reader
		status int
		say    string
	}{
		"reset": {io.MultiReader(strings.NewReader("{"), iotest.ErrReader(&net.OpError{Op: "read", Err: syscall.ECONNRESET})), http.StatusBadRequest, "the body cannot be read\n"},
		"chunk": {httputil.NewChunkedReader(strings.NewReader("5\r\nhello\r\ngarbage\r\n")), http.StatusBadRequest, "the body cannot be read\n"},
		"short": {iotest.ErrReader(io.ErrUnexpectedEOF), http.StatusBadRequest, "the body ended early\n"},
		"slow":  {iotest.ErrReader(os.ErrDeadlineExceeded), http.StatusRequestTimeout, "the body came too slowly\n"},
	} {
		w := answered{httptest.NewRecorder()}
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", c.body))
		if _, on := r.refused.end(); w.Code != c.status || w.Body.String() != c.say || len(on) != 0 {
			t.Errorf("%s: %d, %q, %+v", name, w.Code, w.Body, on)
		}
	}
	noerr.Must(t, r.Close())
	w := answered{httptest.NewRecorder()}
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
	if _, on := r.refused.end(); w.Code != http.StatusServiceUnavailable || len(on) != 0 {
		t.Errorf("stopping: %d, %+v", w.Code, on)
	}
}

func TestTheOperatorIsToldOfWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	in, other := openInbox(t, dir), openInbox(t, dir)
	told := make(chan model.WebhookRefusals, 10)
	r, _ := listening(t, in, Config{
		Settings: Settings{Reserve: 1000, MaxBody: 20},
		disk:     rigged{room: func() uint64 { return 999 }},
		Observer: observer{refused: func(r model.WebhookRefusals) { told <- r }},
	})
	for _, c := range []struct {
		body, why string
		status    int
	}{
		{"1234567890", whyReserve, http.StatusInsufficientStorage},
		{strings.Repeat("x", 21), whyLarge, http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, r.URL(), strings.NewReader(c.body)); got != c.status {
			t.Errorf("%s: %d", c.why, got)
		}
		select {
		case got := <-told:
			if got.Reason != c.why || got.Count != 1 || got.Over {
				t.Errorf("%+v", got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: nobody was told", c.why)
		}
	}
	until(t, "it is seen, by others too", func() bool {
		others := other.Refused()
		return len(in.Refused()) == 2 && len(others) == 2 && others[0].Reason == whyReserve
	})
	for range 3 { // within the minute until the next report
		if got := post(t, r.URL(), strings.NewReader(strings.Repeat("x", 21))); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%d", got)
		}
	}
	noerr.Must(t, r.Close())
	close(told)
	var last []string
	for run := range told {
		last = append(last, fmt.Sprintf("%d %s %t", run.Count, run.Reason, run.Over))
	}
	if want := []string{"4 " + whyLarge + " false"}; !slices.Equal(last, want) {
		t.Errorf("told at the end: %q, want %q", last, want)
	}
	if left := r.OpenRefusals(); len(left) != 2 || left[0].Count != 1 || left[1].Count != 4 {
		t.Errorf("went on at the end: %+v", left)
	}
	if mine, others := in.Refused(), other.Refused(); mine != nil || others != nil {
		t.Errorf("where nobody receives: %v, %v", mine, others)
	}
}
