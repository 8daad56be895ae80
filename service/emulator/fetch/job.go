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
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// jobFetchTimeout bounds one page of a job, body and all. Other fetches are bounded up
// to the target's headers, by the transport.
const jobFetchTimeout = 2 * time.Minute

// ForJob is how jobs get their pages: through the exits of the scrapers, or of the
// crawl, reading as much of the body as they ask for.
func (f *Fetcher) ForJob(ctx context.Context, r jobs.Request) (jobs.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, jobFetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return jobs.Page{}, fmt.Errorf("fetching: %w", err)
	}
	if refused := f.conf.Route.PortRefused(req.URL.Hostname(), req.URL.Port()); refused != nil {
		return jobs.Page{}, &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	product := "scrapers"
	if r.Dataset == jobs.CrawlDataset {
		product = "crawl"
	}
	e, err := f.conf.Route.Pick(account.Zone{Name: "\x00jobs", Product: product}, username.Flags{})
	if err != nil {
		return jobs.Page{}, err
	}
	resp, err := f.conf.Route.Dialer.Transport(req.URL.Hostname(), e).RoundTrip(req)
	if err != nil {
		refused := route.RefusalOf(err)
		return jobs.Page{}, &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	defer resp.Body.Close()
	// Jobs name no zone (service.md 4.2): the account itself pays.
	use := meter.Call{Product: product, Host: req.URL.Hostname(), API: true, Secure: req.URL.Scheme == "https", Requests: 1, Billable: billable(resp.StatusCode)}
	f.conf.Meter.Record(use)
	resp.Body = f.conf.Meter.Body(resp.Body, use)
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, r.Limit)); err != nil {
		return jobs.Page{}, &jobs.FetchError{Code: "net_err_closed", Reason: "the target's answer was cut off"}
	}
	return jobs.Page{
		URL: r.URL, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"),
		Location: resp.Header.Get("Location"), Body: b.Bytes(),
	}, nil
}
