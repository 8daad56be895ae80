// Package fetch fetches one page by a zone: for POST /request (service.md 4.1), in the form of
// each product, and for other parts (jobs, agent access, the unlocker behind native access). A
// [Fetcher] is safe for concurrent use.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/unlock"
	"zonedeck/service/emulator/username"
)

// Config configures a Fetcher. All of it is needed.
type Config struct {
	Account *account.Account
	Route   route.Router
	Log     *slog.Logger
	// Now is the emulator's clock.
	Now func() time.Time
	// Loose accepts unknown fields, and notes them in x-emulator-note.
	Loose bool
	// Browser renders pages.
	Browser Browser
	// Async says how a zone takes requests.
	Async func(account.Zone) AsyncMode
	// Faults stand between a zone and its targets.
	Faults *fault.Engine
	// Meter counts what fetches use.
	Meter *meter.Meter
}

// Browser is a real browser, such as *browser.Browsers.
type Browser interface {
	Render(ctx context.Context, r browser.Request) (browser.Result, error)
	Screenshot(ctx context.Context, r browser.Request) (browser.Result, error)
}

// AsyncMode says how a zone takes requests: a zone of the public service takes one kind; here it
// takes both, unless a scenario says otherwise.
type AsyncMode int

// The modes of a zone.
const (
	AsyncToo  AsyncMode = iota // both ways
	AsyncOff                   // synchronous only
	AsyncOnly                  // asynchronous only
)

// searchPage is the result page that a query without an address means.
func searchPage() *url.URL {
	return &url.URL{Scheme: "http", Host: exits.LabHost, Path: "/search"}
}

// Fetcher gets pages.
type Fetcher struct {
	conf  Config
	later *async.Store // nil until OpenLater
	ids   *route.IDs
}

// New makes a Fetcher.
func New(conf Config) *Fetcher { return &Fetcher{conf: conf, ids: route.NewIDs()} }

const (
	// maxRedirects bounds the redirects that the unlocker's family follows.
	maxRedirects = 10
	// unlockTimeout bounds getting to a page's headers, redirects and challenges and
	// all. Clients are told to wait 180 s at least (public documentation).
	unlockTimeout = 150 * time.Second

	userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
)

type task struct {
	f    *Fetcher
	zone account.Zone
	call call
	exit exits.Exit
	use  meter.Call
	id   string // the req_id of x-brd-debug
	// next is the transport of native access, which chooses the exit and counts; otherwise nil.
	next http.RoundTripper
}

// begin admits a fetch and picks its exit. The error is for route.RefusalOf; a choice
// that the product does not offer is a [*username.FlagError].
func (f *Fetcher) begin(z account.Zone, c call, caller netip.Addr) (*task, error) {
	host := c.url.Hostname()
	if z.Name != "" { // jobs name none
		if refused := f.conf.Account.Admit(z.Name, caller, host); refused != nil {
			return nil, *refused
		}
	}
	t := &task{f: f, zone: z, call: c, id: f.ids.Next(), use: meter.Call{
		Zone: z.Name, Product: z.Product, Host: host, API: true, Secure: c.url.Scheme == "https",
	}}
	var err error
	if c.city+c.zipcode != "" {
		t.exit, err = f.conf.Route.Pool.Pick(exits.Want{
			Zone: z.Name, Product: z.Product, Country: c.flags.Country, Session: c.flags.Session, Place: c.city + "/" + c.zipcode,
		})
	} else {
		t.exit, err = f.conf.Route.Pick(z, c.flags)
	}
	return t, err
}

// end counts the fetch once its outcome is known. The bytes are already counted.
func (t *task) end(resp *http.Response, err error) {
	c := t.use
	c.Requests = 1
	c.Billable = t.call.custom || err == nil && resp != nil && billable(resp.StatusCode)
	t.f.conf.Meter.Record(c)
}

// billable reports success: a plan that charges by request counts only these, unless the caller
// sends headers (public documentation).
func billable(status int) bool { return status >= 200 && status < 300 }

// get fetches the page in the way of the zone's product. The caller closes the answer's body.
// Errors are for route.RefusalOf.
func (t *task) get(ctx context.Context) (*http.Response, error) {
	switch b := products[t.zone.Product].behaviour; {
	case b == rendering, t.call.render, t.call.form == formScreenshot:
		return t.rendered(ctx)
	case b == plain:
		return t.RoundTrip(t.request(ctx))
	}
	resp, err := t.unlocked(ctx, true)
	if err != nil || t.call.expect.empty() {
		return resp, err
	}
	return t.expected(ctx, resp)
}

// request makes the first request to the target, from an address that was parsed and checked
// before.
func (t *task) request(ctx context.Context) *http.Request {
	c := &t.call
	req := (&http.Request{
		Method: c.method, URL: c.url, Host: c.url.Host, Header: c.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if _, ok := c.header["User-Agent"]; !ok {
		c.header.Set("User-Agent", userAgent)
	}
	if user := c.url.User; user != nil && c.header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	if len(c.body) > 0 {
		req.ContentLength = int64(len(c.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		req.Body, _ = req.GetBody() // gives no error
	}
	return req
}

// refused returns the reason why the zone cannot reach a host and port, or nil. It checks every
// hop; the dialer checks the address.
func (t *task) refused(host, port string) *answer.Refusal {
	if r := t.f.conf.Route.PortRefused(host, port); r != nil {
		return r
	}
	if r := route.Policy(t.zone, host); r != nil {
		return r
	}
	if t.zone.Name != "" && host != t.use.Host { // begin has admitted that one
		return t.f.conf.Account.HostRefused(t.zone.Name, host)
	}
	return nil
}

// RoundTrip sends one request through the task's exit.
func (t *task) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Hostname()
	if refused := t.refused(host, req.URL.Port()); refused != nil {
		return nil, *refused
	}
	if t.next != nil {
		return t.next.RoundTrip(req)
	}
	if t.call.labPage != nil && host == t.use.Host {
		host = t.firstHost()
	}
	rt := t.f.conf.Route.Dialer.Transport(host, t.exit)
	if t.call.labPage != nil {
		rt = engineless{t.f, rt}
	}
	resp, err := t.f.conf.Faults.Transport(fault.Call{Zone: t.zone.Name, Product: t.zone.Product}, rt).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.ContentLength > 0 {
		up := t.use
		up.Up = req.ContentLength
		t.f.conf.Meter.Record(up)
	}
	resp.Body = t.f.conf.Meter.Body(resp.Body, t.use)
	return resp, nil
}

// firstHost is the host that the first request goes to.
func (t *task) firstHost() string {
	if t.call.labPage != nil {
		return t.call.labPage.Hostname()
	}
	return t.use.Host
}

// unlocked gets past blocks and, if follow is true, follows redirects. A block that remains is an
// [answer.Refusal] with the unlocker's codes.
func (t *task) unlocked(ctx context.Context, follow bool) (*http.Response, error) {
	jar, err := cookiejar.New(nil) // for this fetch only
	if err != nil {
		return nil, err
	}
	// The timer bounds the time to the headers; the body may take longer.
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(unlockTimeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	req := t.request(ctx)
	req.Header.Del("Accept-Encoding") // a block has to be read to be recognised
	client := &http.Client{Transport: unlocker{t}, Jar: jar, CheckRedirect: checkRedirect}
	if !follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = answer.NewRefusal(http.StatusBadGateway, "navigation_timeout", "the page did not come in time", answer.BasisUnlocker)
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &released{resp.Body, cancel}
	return resp, nil
}

// released is the body of a fetch with a separate context, which ends when the body is closed.
type released struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (r *released) Close() error {
	err := r.ReadCloser.Close()
	r.cancel(nil)
	return err
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return answer.NewRefusal(http.StatusBadGateway, "document_load_failed", fmt.Sprintf("more than %d redirects", maxRedirects), answer.BasisUnlocker)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return answer.NewRefusal(http.StatusForbidden, "policy_20010", "a redirect leads away from http and https", answer.BasisUnlocker)
	}
	return nil
}

type unlocker struct{ next http.RoundTripper }

func (u unlocker) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, out, err := unlock.Fetch(req.Context(), u.next, req)
	if err != nil {
		return nil, err
	}
	if out.Cleared {
		return resp, nil
	}
	resp.Body.Close()
	status, code := out.Failure()
	refused := answer.NewRefusal(status, code, blockedText(out), answer.BasisUnlocker)
	refused.RetryAfter = resp.Header.Get("Retry-After")
	return nil, refused
}

func blockedText(out unlock.Outcome) string {
	text := "the target blocks the request"
	if out.Mark != "" {
		text += " (" + out.Mark + ")"
	}
	if out.Reason != "" {
		text += ": " + out.Reason
	}
	return text
}

// flagRefused is the error for a choice that the product does not offer, nil for other refusals.
func flagRefused(err error) error {
	if flag := (*username.FlagError)(nil); errors.As(err, &flag) {
		return answer.Invalid(flag.Flag + " " + flag.Reason)
	}
	return nil
}

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
