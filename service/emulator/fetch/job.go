package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// jobFetchTimeout bounds one page of a job, body and all. Other fetches are bounded up
// to the target's headers, by the transport.
const jobFetchTimeout = 2 * time.Minute

// ForJob is how jobs get their pages: through the exits of the scrapers, reading
// at most limit bytes of the body.
func (f *Fetcher) ForJob(ctx context.Context, url string, limit int64) (jobs.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, jobFetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return jobs.Page{}, fmt.Errorf("fetching: %w", err)
	}
	if refused := route.PortRefused(req.URL.Hostname(), req.URL.Port()); refused != nil {
		return jobs.Page{}, &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	e, err := f.conf.Route.Pick(account.Zone{Name: "\x00jobs", Product: "scrapers"}, username.Flags{})
	if err != nil {
		return jobs.Page{}, err
	}
	resp, err := f.conf.Route.Dialer.Transport(req.URL.Hostname(), e).RoundTrip(req)
	if err != nil {
		r := route.RefusalOf(err)
		return jobs.Page{}, &jobs.FetchError{Code: r.Code, Reason: r.Msg}
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, limit)); err != nil {
		return jobs.Page{}, &jobs.FetchError{Code: "net_err_closed", Reason: "the target's answer was cut off"}
	}
	return jobs.Page{URL: url, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: b.Bytes()}, nil
}
