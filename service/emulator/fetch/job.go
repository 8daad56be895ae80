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

// ForJob is how jobs get their pages: by the exits of the scrapers, or of the crawl,
// past blocks, reading as much of the body as they ask for. Redirects are the job's.
// Jobs name no zone (service.md 4.2): the account itself pays.
func (f *Fetcher) ForJob(ctx context.Context, r jobs.Request) (jobs.Page, error) {
	z := account.Zone{Product: "scrapers"}
	if r.Dataset == jobs.CrawlDataset {
		z.Product = "crawl"
	}
	got, err := f.page(ctx, z, r.URL, r.Limit)
	if err != nil {
		if ctx.Err() != nil {
			return jobs.Page{}, err
		}
		refused := route.RefusalOf(err)
		return jobs.Page{}, &jobs.FetchError{Code: refused.Code, Reason: refused.Msg}
	}
	return jobs.Page{
		URL: r.URL, Status: got.status, ContentType: got.header.Get("Content-Type"),
		Location: got.header.Get("Location"), Body: got.body,
	}, nil
}

// read is a page that was read.
type read struct {
	status int
	header http.Header
	body   []byte
}

// page gets a page for the emulator's own parts, whatever the zone's product, the way
// of the unlocker, with redirects as answers.
func (f *Fetcher) page(ctx context.Context, z account.Zone, address string, limit int64) (_ read, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobFetchTimeout)
	defer cancel()
	bad := &answer.InvalidError{}
	c := call{method: http.MethodGet, header: http.Header{}}
	if c.setURL(address, bad); len(bad.Details) > 0 {
		return read{}, answer.NewRefusal(http.StatusBadRequest, "document_load_failed", bad.Error(), answer.BasisTarget)
	}
	t, err := f.begin(z, c, netip.Addr{})
	if err != nil {
		return read{}, err
	}
	resp, err := t.unlocked(ctx, false)
	defer func() { t.end(resp, err) }()
	if err != nil {
		return read{}, err
	}
	defer resp.Body.Close()
	inflated(resp)
	var b bytes.Buffer
	if _, err = io.Copy(&b, io.LimitReader(resp.Body, limit)); err != nil {
		err = cutOff()
		return read{}, err
	}
	return read{resp.StatusCode, resp.Header, b.Bytes()}, nil
}
