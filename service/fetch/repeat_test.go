package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/service/servicetest"

	"zonedeck/model"
)

func TestARequestThatMayChangeSomethingIsNotRetried(t *testing.T) {
	for _, tc := range []struct {
		method string
		tries  int32
	}{{"", 3}, {"GET", 3}, {"head", 3}, {"OPTIONS", 3}, {"POST", 1}, {"put", 1}, {"PATCH", 1}, {"DELETE", 1}, {"PURGE", 1}} {
		t.Run("by API, method "+tc.method, func(t *testing.T) {
			var calls atomic.Int32
			inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
			}, func(t *testing.T, c *Fetcher) {
				r := askFor(servicetest.Profile("http://api.test"), "unlocker1")
				r.Method, r.Retries = tc.method, 2
				res := fetched(t, c, r)
				if calls.Load() != tc.tries || len(res.Attempts) != int(tc.tries) {
					t.Errorf("%d calls, want %d", calls.Load(), tc.tries)
				}
				if steps := fmt.Sprint(res.Diagnosis.Steps); strings.Contains(steps, "by hand") != (tc.tries == 1) {
					t.Errorf("steps %s", steps)
				}
			})
		})
	}
}

func TestARequestThatWasNeverSentIsRetried(t *testing.T) {
	var calls atomic.Int32
	px := &loopProxy{Connect: func(_ *http.Request, conn net.Conn) bool {
		calls.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nx-brd-err-code: peer_30030\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n")
		return false
	}}
	p := nativeProfile(t, px)
	r := native(p, "https://example.com/order")
	r.Method, r.Body, r.Retries = "POST", "a=1", 1
	res := fetched(t, newFetcher(t, p), r)
	wantVerdict(t, res, model.ClassOutside, model.CauseServiceError)
	if calls.Load() != 2 {
		t.Errorf("%d calls: the tunnel was refused, so nothing had been sent", calls.Load())
	}
}

func TestATargetDoesNotSpeakForTheService(t *testing.T) {
	for name, tc := range map[string]struct {
		zone   string
		answer http.HandlerFunc
		class  model.Class
		cause  model.Cause
	}{
		"an error code through a direct tunnel is the target's": {"dc1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-brd-error-code", "client_10000")
			w.Header().Set("x-brd-status-code", "503")
			_, _ = io.WriteString(w, servicetest.Page)
		}, model.ClassOK, ""},
		"a 407 through a direct tunnel is the target's": {"dc1", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusProxyAuthRequired)
		}, model.ClassOutside, model.CauseTargetError},
		"where the service looks into the tunnel it is the service's": {"unlocker1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-brd-error-code", "client_10000")
			w.WriteHeader(http.StatusProxyAuthRequired)
		}, model.ClassOutside, model.CauseLoginRejected},
	} {
		t.Run(name, func(t *testing.T) {
			dial, ca := servicetest.TLSTarget(t, tc.answer)
			p := nativeProfile(t, &loopProxy{Target: dial})
			p.CA = ca
			r := native(p, "https://example.com/ok")
			r.Zone = servicetest.Zone(p, tc.zone)
			res := fetched(t, newFetcher(t, p), r)
			wantVerdict(t, res, tc.class, tc.cause)
		})
	}
}
