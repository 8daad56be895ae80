package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/netip"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/route"
)

// jobFetchTimeout bounds one page of a job, body and all. Other fetches are bounded up
// to the target's headers, by the transport.
const jobFetchTimeout = 2 * time.Minute

// ForJob fetches a page for a job: through the exits of the scrapers or of the crawl, past
// blocks, and as much of the body as the job asks for. The job follows redirects itself. Jobs
// have no zone (service.md 4.2): the account pays.
func (f *Fetcher) ForJob(ctx context.Context, r jobs.Request) (jobs.Page, error) {
	z := account.Zone{Product: "scrapers"}
	if r.Dataset == jobs.CrawlDataset {
		z.Product = "crawl"
	}
	page, err := f.forJob(ctx, z, r)
	if err != nil && ctx.Err() == nil {
		refused := route.RefusalOf(err)
		err = &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	return page, err
}

func (f *Fetcher) forJob(ctx context.Context, z account.Zone, r jobs.Request) (_ jobs.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobFetchTimeout)
	defer cancel()
	address, err := pageAddress(r.URL)
	if err != nil {
		return jobs.Page{}, answer.NewRefusal(http.StatusBadRequest, "document_load_failed", err.Error(), answer.BasisTarget)
	}
	t, err := f.begin(z, call{method: http.MethodGet, url: address, header: http.Header{}}, netip.Addr{})
	if err != nil {
		return jobs.Page{}, err
	}
	resp, err := t.unlocked(ctx, false)
	defer func() { t.end(resp, err) }()
	if err != nil {
		return jobs.Page{}, err
	}
	defer resp.Body.Close()
	inflated(resp)
	var b bytes.Buffer
	if _, err = io.Copy(&b, io.LimitReader(resp.Body, r.Limit)); err != nil {
		err = cutOff()
		return jobs.Page{}, err
	}
	return jobs.Page{
		URL: r.URL, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"),
		Location: resp.Header.Get("Location"), Body: b.Bytes(),
	}, nil
}
